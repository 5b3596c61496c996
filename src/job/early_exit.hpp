// A CPU kernel that ends the whole program, by exit(), while other ranks are at work: that is no success, and is said.
#pragma once

#include <string>

namespace dcgn::job {

// While it lives, the calling thread runs `who`. An exit() by it prints a line on stderr and ends the program at once,
// with the status that it gave or, where that says success, EXIT_FAILURE; no more handlers of exit() are called, which
// would take from the other threads what they use.
class EarlyExit {
 public:
  explicit EarlyExit(const std::string& who);
  EarlyExit(const EarlyExit&) = delete;
  EarlyExit& operator=(const EarlyExit&) = delete;
  ~EarlyExit();
};

}  // namespace dcgn::job
