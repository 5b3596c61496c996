// The measurement of point-to-point messages, once for all: CPU threads, slots at any scope, and MPI's processes. All
// that differs is an End, which says who takes part and how to send and receive:
//   unsigned rank(), size(); bool leader();  void sync();   among the threads of this end
//   bool send(const void*, std::int64_t), recv(void*, std::int64_t);   to and from the other end; false: give up
// Every function here is called by all threads of an end. A plan says what a round is (Plan: to and fro; WindowPlan, in
// window_kernel.hpp) and has
//   std::int64_t extent();                    the bytes that an end sends, and receives, at most in a round
//   bool both_ways();                         whether the leading end receives them, too
//   std::uint64_t warm_up(), least(patience); rounds: before the clock, and timed at least
//   bool lead(end, buffers, rounds), follow(end, buffers, rounds);   the rounds; false: give up
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::bench {

// What an end needs besides its calls.
struct Buffers {
  unsigned char* out;
  unsigned char* in;       // both as large as a message
  std::uint64_t* control;  // two words: for messages between the ends, and for counting
};

// What the leading end finds out. All blocks have the same number of rounds.
struct Samples {
  static constexpr std::uint64_t most_blocks = 200;
  std::uint64_t blocks;
  std::uint64_t rounds;           // to and fro, in each block
  std::uint64_t ns[most_blocks];  // how long each block took
  std::uint64_t wrong;            // bytes that were not what the other end sent, on either side
};

// Figures of small messages stand on at least this many rounds, except where they would take longer than patience
// allows.
inline constexpr std::uint64_t least_rounds = 10'000, most_patience_ns = 2'000'000'000;
inline constexpr std::int64_t large = 128 << 10;

DCGN_HOST_DEVICE constexpr std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }
DCGN_HOST_DEVICE constexpr std::uint64_t larger(std::uint64_t a, std::uint64_t b) { return a < b ? b : a; }

// How long a measurement may take that is to take `target_ns`.
DCGN_HOST_DEVICE constexpr std::uint64_t patience_ns(std::uint64_t target_ns) {
  return smaller(10 * target_ns, most_patience_ns);
}

// A message to and fro.
struct Plan {
  std::int64_t bytes;
  std::uint64_t target_ns;  // what the timed rounds should take together

  DCGN_HOST_DEVICE std::int64_t extent() const { return bytes; }
  DCGN_HOST_DEVICE bool both_ways() const { return true; }
  DCGN_HOST_DEVICE std::uint64_t warm_up() const { return bytes <= 4096 ? 2000 : bytes <= large ? 200 : 3; }
  DCGN_HOST_DEVICE std::uint64_t least(std::uint64_t patience) const {
    return larger(50, bytes <= large ? smaller(patience, least_rounds) : 0);
  }
  template <class End>
  DCGN_HOST_DEVICE bool lead(const End& end, const Buffers& b, std::uint64_t rounds) const {
    for (std::uint64_t i = 0; i < rounds; ++i)
      if (!end.send(b.out, bytes) || !end.recv(b.in, bytes)) return false;
    return true;
  }
  template <class End>
  DCGN_HOST_DEVICE bool follow(const End& end, const Buffers& b, std::uint64_t rounds) const {
    for (std::uint64_t i = 0; i < rounds; ++i)
      if (!end.recv(b.in, bytes) || !end.send(b.out, bytes)) return false;
    return true;
  }
};

DCGN_HOST_DEVICE inline unsigned char pattern(std::int64_t i, unsigned salt) {
  const auto word = static_cast<std::uint32_t>(i) * 2654435761u + salt * 40503u;
  return static_cast<unsigned char>(word >> 24 ^ word >> 13);
}

template <class End>
DCGN_HOST_DEVICE void fill(const End& end, const Buffers& b, std::int64_t bytes, unsigned salt) {
  for (std::int64_t i = end.rank(); i < bytes; i += end.size()) {
    b.out[i] = pattern(i, salt);
    b.in[i] = static_cast<unsigned char>(~pattern(i, 1 - salt));  // differs everywhere from what will come
  }
  end.sync();
}

// Counts into control[1].
template <class End>
DCGN_HOST_DEVICE void count_wrong(const End& end, const Buffers& b, std::int64_t bytes, unsigned salt) {
  if (end.leader()) b.control[1] = 0;
  end.sync();
  std::uint64_t wrong = 0;
  for (std::int64_t i = end.rank(); i < bytes; i += end.size()) wrong += b.in[i] != pattern(i, 1 - salt);
  if (wrong) fetch_add(b.control[1], wrong);
  end.sync();
}

// One end: warms up twice, the second time with a look at the clock; decides how many rounds there will be and tells
// the other end; then the rounds; then one more with patterns that both ends check. The rounds are called in one place
// only: a kernel has all of the calls' code for each.
template <class End, class AnyPlan>
DCGN_HOST_DEVICE bool lead(const End& end, const Buffers& b, const AnyPlan& plan, Samples& samples) {
  fill(end, b, plan.extent(), 0);
  std::uint64_t rounds = plan.warm_up(), last = 1;
  for (std::uint64_t k = 0; k <= last; ++k) {
    const bool checked = k > 1 && k == last;
    if (checked) {
      fill(end, b, plan.extent(), 0);
      rounds = 1;
    }
    const std::uint64_t begin = now_ns();
    if (!plan.lead(end, b, rounds)) return false;
    const std::uint64_t took = now_ns() - begin;
    if (k == 1) {
      if (end.leader()) {
        const std::uint64_t round_ns = took / rounds + 1;
        const std::uint64_t wanted =
            larger(plan.target_ns / round_ns, plan.least(patience_ns(plan.target_ns) / round_ns));
        samples.blocks = smaller(wanted, Samples::most_blocks);
        samples.rounds = b.control[0] = (wanted + samples.blocks - 1) / samples.blocks;
        b.control[1] = samples.blocks;
      }
      end.sync();
      rounds = b.control[0];
      last = 2 + b.control[1];
      if (!end.send(b.control, 16)) return false;
    } else if (k > 1 && !checked && end.leader()) {
      samples.ns[k - 2] = took;
    }
  }
  count_wrong(end, b, plan.both_ways() ? plan.extent() : 0, 0);
  if (!end.recv(b.control, 8)) return false;
  if (end.leader()) samples.wrong = b.control[0] + b.control[1];
  return true;
}

// The other end.
template <class End, class AnyPlan>
DCGN_HOST_DEVICE bool follow(const End& end, const Buffers& b, const AnyPlan& plan) {
  std::uint64_t rounds = 2 * plan.warm_up();
  for (int k = 0; k < 3; ++k) {
    if (k != 1) fill(end, b, plan.extent(), 1);
    if (!plan.follow(end, b, rounds)) return false;
    if (k == 0 && !end.recv(b.control, 16)) return false;
    rounds = k == 0 ? b.control[0] * b.control[1] : 1;
  }
  count_wrong(end, b, plan.extent(), 1);
  return end.send(b.control + 1, 8);
}

}  // namespace dcgn::bench
