// A progress bar on stderr, with the time that passed and about how much is left, where that is a terminal; nothing
// elsewhere.
#pragma once

#include <chrono>
#include <string>

namespace dcgn::tool {

class Progress {
 public:
  explicit Progress(std::string label);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // wipes the bar

  // `note` comes after the time.
  void update(int done, int total, const std::string& note = {});
  void update(double share) { update(static_cast<int>(share * 1000), 1000); }

 private:
  std::string label_;
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begun_, last_;
};

}  // namespace dcgn::tool
