// The measurement of windows of messages, once for all ends as in ping_kernel.hpp. An End has one call more:
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
  bool both_ways;           // or from the leading end to the other, which then answers

  DCGN_HOST_DEVICE std::int64_t extent() const { return bytes * window; }
};

template <class End>
DCGN_HOST_DEVICE bool lead_rounds(const End& end, const Buffers& b, const WindowPlan& plan, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (!end.window(b.out, plan.window, b.in, plan.both_ways ? plan.window : 0, plan.bytes)) return false;
    if (!plan.both_ways && !end.recv(b.control, 8)) return false;
  }
  return true;
}

template <class End>
DCGN_HOST_DEVICE bool follow_rounds(const End& end, const Buffers& b, const WindowPlan& plan, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i) {
    if (!end.window(b.out, plan.both_ways ? plan.window : 0, b.in, plan.window, plan.bytes)) return false;
    if (!plan.both_ways && !end.send(b.control, 8)) return false;
  }
  return true;
}

DCGN_HOST_DEVICE inline std::uint64_t warm_up_windows(std::int64_t bytes) {
  return bytes <= 4096 ? 100 : bytes <= large ? 20 : 2;
}

// As lead() and follow() of round trips: warms up, times the rounds, checks one more.
template <class End>
DCGN_HOST_DEVICE bool lead(const End& end, const Buffers& b, const WindowPlan& plan, Samples& samples) {
  constexpr std::uint64_t least_windows = 200, least_windows_large = 20;
  fill(end, b, plan.extent(), 0);
  const std::uint64_t warm = warm_up_windows(plan.bytes);
  if (!lead_rounds(end, b, plan, warm)) return false;
  const std::uint64_t begin = now_ns();
  if (!lead_rounds(end, b, plan, warm)) return false;
  if (end.leader()) {
    const std::uint64_t round_ns = (now_ns() - begin) / warm + 1;
    const std::uint64_t patience = patience_ns / round_ns;
    std::uint64_t wanted = plan.target_ns / round_ns;
    if (wanted < least_windows) wanted = patience < least_windows ? patience : least_windows;
    if (wanted < least_windows_large) wanted = least_windows_large;
    samples.blocks = wanted < Samples::most_blocks ? wanted : Samples::most_blocks;
    samples.rounds = b.control[0] = (wanted + samples.blocks - 1) / samples.blocks;
    b.control[1] = samples.blocks;
  }
  end.sync();
  const std::uint64_t rounds = b.control[0], blocks = b.control[1];
  if (!end.send(b.control, 16)) return false;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const std::uint64_t block_begin = now_ns();
    if (!lead_rounds(end, b, plan, rounds)) return false;
    if (end.leader()) samples.ns[k] = now_ns() - block_begin;
  }
  fill(end, b, plan.extent(), 0);
  if (!lead_rounds(end, b, plan, 1)) return false;
  count_wrong(end, b, plan.both_ways ? plan.extent() : 0, 0);
  if (!end.recv(b.control, 8)) return false;
  if (end.leader()) samples.wrong = b.control[0] + b.control[1];
  return true;
}

template <class End>
DCGN_HOST_DEVICE bool follow(const End& end, const Buffers& b, const WindowPlan& plan) {
  fill(end, b, plan.extent(), 1);
  if (!follow_rounds(end, b, plan, 2 * warm_up_windows(plan.bytes)) || !end.recv(b.control, 16)) return false;
  if (!follow_rounds(end, b, plan, b.control[0] * b.control[1])) return false;
  fill(end, b, plan.extent(), 1);
  if (!follow_rounds(end, b, plan, 1)) return false;
  count_wrong(end, b, plan.extent(), 1);
  return end.send(b.control + 1, 8);
}

}  // namespace dcgn::bench
