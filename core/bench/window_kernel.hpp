// The plan of windows of messages. An End has one call more than for round trips (bench/ping_kernel.hpp):
//   bool window(const unsigned char* out, int sends, unsigned char* in, int receives, std::int64_t bytes);
// begins all receives, then all sends, and waits for all; message i lies at i * bytes.
#pragma once

#include "bench/ping_kernel.hpp"

#include <cstdint>

namespace dcgn::bench {

struct WindowPlan {
  std::int64_t bytes;
  std::uint64_t target_ns;  // what the timed rounds should take together
  int window;               // messages in a round, each way
  bool bidirectional;       // or from the leading end to the other, which then answers

  DCGN_HOST_DEVICE std::int64_t extent() const { return bytes * window; }
  DCGN_HOST_DEVICE bool both_ways() const { return bidirectional; }
  DCGN_HOST_DEVICE std::uint64_t warm_up() const { return bytes <= 4096 ? 100 : bytes <= large ? 20 : 2; }
  DCGN_HOST_DEVICE std::uint64_t least(std::uint64_t patience) const { return larger(20, smaller(patience, 200)); }
  template <class End>
  DCGN_HOST_DEVICE bool lead(const End& end, const Buffers& b, std::uint64_t rounds) const {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (!end.window(b.out, window, b.in, bidirectional ? window : 0, bytes)) return false;
      if (!bidirectional && !end.recv(b.control, 8)) return false;
    }
    return true;
  }
  template <class End>
  DCGN_HOST_DEVICE bool follow(const End& end, const Buffers& b, std::uint64_t rounds) const {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (!end.window(b.out, bidirectional ? window : 0, b.in, window, bytes)) return false;
      if (!bidirectional && !end.send(b.control, 8)) return false;
    }
    return true;
  }
};

}  // namespace dcgn::bench
