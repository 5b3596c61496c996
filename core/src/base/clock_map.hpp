// Times by one clock as times by another, from readings of both at the beginning and at the end: what one drifts from
// the other meanwhile is taken out in proportion.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dcgn::base {

// When one clock showed `clock` the other showed `host`, by so much more or less at most.
struct Reading {
  std::uint64_t clock = 0, host = 0, error = 0;
};

class ClockMap {
 public:
  ClockMap() = default;  // of a clock that is the other one
  ClockMap(const Reading& begin, const Reading& end) : begin_(begin), error_(std::max(begin.error, end.error)) {
    const std::int64_t clock = difference(end.clock, begin.clock), host = difference(end.host, begin.host);
    if (clock > 0) drift_ = static_cast<double>(host - clock) / static_cast<double>(clock);
  }
  // Only what the first reading says.
  explicit ClockMap(const Reading& begin) : ClockMap(begin, begin) {}

  std::uint64_t operator()(std::uint64_t clock) const {
    const std::int64_t since = difference(clock, begin_.clock);
    const auto drift = static_cast<std::int64_t>(static_cast<double>(since) * drift_);
    return begin_.host + static_cast<std::uint64_t>(since + drift);
  }
  std::uint64_t error() const { return error_; }

 private:
  static std::int64_t difference(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a - b); }

  Reading begin_;
  double drift_ = 0;
  std::uint64_t error_ = 0;
};

}  // namespace dcgn::base
