// The measurement of point-to-point messages, once for all: CPU threads, slots at any scope, and MPI's processes. All
// that differs is an End, which says who takes part and how to send and receive:
//   unsigned rank(), size(); bool leader();  void sync();   among the threads of this end
//   bool send(const void*, std::int64_t), recv(void*, std::int64_t);   to and from the other end; false: give up
// Every function here is called by all threads of an end.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/gpu/clock.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::bench {

// What an end needs besides its calls.
struct Buffers {
  unsigned char* out;
  unsigned char* in;       // both as large as a message
  std::uint64_t* control;  // two words: for messages between the ends, and for counting
};

struct Plan {
  std::int64_t bytes;
  std::uint64_t target_ns;  // what the timed rounds should take together
};

// What the leading end finds out. All blocks have the same number of rounds.
struct Samples {
  static constexpr std::uint64_t most_blocks = 200;
  std::uint64_t blocks;
  std::uint64_t rounds;           // to and fro, in each block
  std::uint64_t ns[most_blocks];  // how long each block took
  std::uint64_t wrong;            // bytes that were not what the other end sent, on either side
};

// Figures stand on at least this many rounds, except where they would take longer than patience allows.
inline constexpr std::uint64_t least_rounds = 10'000, least_rounds_large = 50, patience_ns = 2'000'000'000;
inline constexpr std::int64_t large = 128 << 10;

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

template <class End>
DCGN_HOST_DEVICE bool ping(const End& end, const Buffers& b, std::int64_t bytes, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i)
    if (!end.send(b.out, bytes) || !end.recv(b.in, bytes)) return false;
  return true;
}

template <class End>
DCGN_HOST_DEVICE bool pong(const End& end, const Buffers& b, std::int64_t bytes, std::uint64_t rounds) {
  for (std::uint64_t i = 0; i < rounds; ++i)
    if (!end.recv(b.in, bytes) || !end.send(b.out, bytes)) return false;
  return true;
}

DCGN_HOST_DEVICE inline std::uint64_t warm_up_rounds(std::int64_t bytes) {
  return bytes <= 4096 ? 2000 : bytes <= large ? 200 : 3;
}

// One end: warms up twice, the second time with a look at the clock; decides how many rounds there will be and tells
// the other end; then the rounds; then one more with patterns that both ends check.
template <class End>
DCGN_HOST_DEVICE bool lead(const End& end, const Buffers& b, const Plan& plan, Samples& samples) {
  const std::int64_t bytes = plan.bytes;
  fill(end, b, bytes, 0);
  const std::uint64_t warm = warm_up_rounds(bytes);
  if (!ping(end, b, bytes, warm)) return false;
  const std::uint64_t begin = now_ns();
  if (!ping(end, b, bytes, warm)) return false;
  if (end.leader()) {
    const std::uint64_t round_ns = (now_ns() - begin) / warm + 1;
    std::uint64_t wanted = plan.target_ns / round_ns;
    const std::uint64_t least = patience_ns / round_ns < least_rounds ? patience_ns / round_ns : least_rounds;
    if (bytes <= large && wanted < least) wanted = least;
    if (wanted < least_rounds_large) wanted = least_rounds_large;
    samples.blocks = wanted < Samples::most_blocks ? wanted : Samples::most_blocks;
    samples.rounds = b.control[0] = (wanted + samples.blocks - 1) / samples.blocks;
    b.control[1] = samples.blocks;
  }
  end.sync();
  const std::uint64_t rounds = b.control[0], blocks = b.control[1];
  if (!end.send(b.control, 16)) return false;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const std::uint64_t block_begin = now_ns();
    if (!ping(end, b, bytes, rounds)) return false;
    if (end.leader()) samples.ns[k] = now_ns() - block_begin;
  }
  fill(end, b, bytes, 0);
  if (!ping(end, b, bytes, 1)) return false;
  count_wrong(end, b, bytes, 0);
  if (!end.recv(b.control, 8)) return false;
  if (end.leader()) samples.wrong = b.control[0] + b.control[1];
  return true;
}

// The other end.
template <class End>
DCGN_HOST_DEVICE bool follow(const End& end, const Buffers& b, const Plan& plan) {
  const std::int64_t bytes = plan.bytes;
  fill(end, b, bytes, 1);
  if (!pong(end, b, bytes, 2 * warm_up_rounds(bytes)) || !end.recv(b.control, 16)) return false;
  if (!pong(end, b, bytes, b.control[0] * b.control[1])) return false;
  fill(end, b, bytes, 1);
  if (!pong(end, b, bytes, 1)) return false;
  count_wrong(end, b, bytes, 1);
  return end.send(b.control + 1, 8);
}

}  // namespace dcgn::bench
