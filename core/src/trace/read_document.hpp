// Reads a trace back.
#pragma once

#include "trace/document.hpp"

#include <istream>
#include <string>

namespace dcgn::trace {

// What write_chrome() has written. Throws Error(configuration) for anything else, with the name that it is given, the
// line, and what was expected there; io where it cannot be read.
Document read_chrome(std::istream& in, const std::string& name);

}  // namespace dcgn::trace
