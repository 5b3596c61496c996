// How far apart in time the screens of a wall show their pictures.
#pragma once

#include "wall/src/back_end_process.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

namespace dcgn::wall {

// By the clock that the back ends of one host have in common.
class Pace {
 public:
  // At a frame's beginning; counts it where all have shown a new picture.
  void count(const std::deque<BackEndProcess>& backs) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    for (const BackEndProcess& back : backs) {
      if (back.last().swaps <= pictures_) return;
      first = std::min(first, back.last().swapped_ns);
      last = std::max(last, back.last().swapped_ns);
    }
    pictures_ = backs.front().last().swaps;
    spreads_ms_.push_back(static_cast<double>(last - first) * 1e-6);
    // Pictures that the last screen was yet to show when the first one showed this: this one, and earlier ones.
    int skew = last > first ? 1 : 0;
    for (const std::int64_t earlier : recent_) skew += earlier > first ? 1 : 0;
    most_skew_ = std::max(most_skew_, skew);
    recent_.push_back(last);
    if (recent_.size() > 16) recent_.pop_front();
  }

  void tell(Report& report) {
    report.pictures = pictures_;
    report.most_skew = most_skew_;
    if (spreads_ms_.empty()) return;
    std::sort(spreads_ms_.begin(), spreads_ms_.end());
    report.median_spread_ms = spreads_ms_[spreads_ms_.size() / 2];
    report.most_spread_ms = spreads_ms_.back();
  }

 private:
  std::int64_t pictures_ = 0;
  int most_skew_ = 0;
  std::vector<double> spreads_ms_;
  std::deque<std::int64_t> recent_;
};

}  // namespace dcgn::wall
