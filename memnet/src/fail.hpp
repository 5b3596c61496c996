#pragma once

#include <dcgn/error.hpp>

#include <string>

namespace dcgn::memnet {

// What the simulator was asked for cannot be: `where` names the part that says so.
[[noreturn]] inline void fail(const char* where, const std::string& detail) {
  throw Error(Code::configuration, where, detail);
}

}  // namespace dcgn::memnet
