#include "tool/progress.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <utility>

namespace dcgn::tool {

Progress::Progress(std::string label)
    : label_(std::move(label)), shown_(isatty(STDERR_FILENO) == 1), begun_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::update(int done, int total, const std::string& note) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (done < total && now - last_ < std::chrono::milliseconds(50)) return;
  last_ = now;
  constexpr int width = 40;
  const int filled = static_cast<int>(static_cast<long>(done) * width / total);
  const double passed = std::chrono::duration<double>(now - begun_).count();
  constexpr double worth_saying = 5;  // seconds
  const double left = done > 0 ? passed * (total - done) / done : 0;
  fmt::print(stderr, "\r{} [{:=<{}}{:{}}] {:3d}%  {:.1f} s{}{}{}\033[K", label_, "", filled, "", width - filled,
             static_cast<int>(static_cast<long>(done) * 100 / total), passed,
             left >= worth_saying ? fmt::format(", about {:.0f} s left", left) : "", note.empty() ? "" : "  ", note);
  drawn_ = true;
}

}  // namespace dcgn::tool
