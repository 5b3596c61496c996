// Where and with what a measurement was made.
#pragma once

#include <string>

namespace dcgn::bench {

std::string machine();   // processor, cores that may be used, GPUs, compiler
std::string commit();    // of the source tree when this was built, "-dirty" where it had changes; "unknown"
std::string command();   // of this process, as it was typed
std::string date_now();  // UTC, as in 2026-01-31T12:00:00Z

}  // namespace dcgn::bench
