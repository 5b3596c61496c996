// A kernel that ends the whole program, by exit(), while other ranks are at work: that is no success, and is said.
#pragma once

#include <string>

namespace dcgn::device {

// From its first call on: an exit() in a kernel of an emulated GPU, in a fiber of a Schedule or while the calling
// thread has an EarlyExit prints a line on stderr that names who has called it, and ends the program at once, with the
// status that was given or, where that says success, EXIT_FAILURE; no more handlers of exit() are called, which would
// take from the other threads what they use.
void refuse_early_exit();

// Whose code the calling thread runs, as that line names it; empty where that is nobody's.
std::string who_runs();

// While it lives, the calling thread runs `who`, unless a fiber on it says otherwise.
class EarlyExit {
 public:
  explicit EarlyExit(const std::string& who);
  EarlyExit(const EarlyExit&) = delete;
  EarlyExit& operator=(const EarlyExit&) = delete;
  ~EarlyExit();
};

}  // namespace dcgn::device
