// What `dcgn doctor` looks at, one after the other.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace dcgn::tool {

struct Finding {
  enum class State {
    ok,
    note,     // something that can be had is not here
    problem,  // something that is here, or asked for, does not work
  };
  std::string what;  // "driver"
  State state = State::ok;
  std::string found;   // "CUDA 13.0"
  std::string advice;  // what to do about it; empty where all is well
};

const char* to_string(Finding::State state);

// Each may have several findings; they do not throw.
std::vector<std::function<std::vector<Finding>()>> doctor_checks();

}  // namespace dcgn::tool
