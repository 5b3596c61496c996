// What a link allows to kernels that have no protocol at all.
#pragma once

#include "bench/ping_kernel.hpp"

#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>

#include <cstdint>

namespace dcgn::bench {

struct alignas(16) Line {
  std::uint64_t low, high;
};

// A load of what another GPU has, past the caches of this one.
DCGN_HOST_DEVICE inline Line load_line(const Line* from) {
#if defined(__CUDA_ARCH__)
  Line line;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0,%1},[%2];" : "=l"(line.low), "=l"(line.high) : "l"(from) : "memory");
  return line;
#else
  return *from;
#endif
}

// A store that the compiler neither drops nor puts off, though the next pass writes the same.
DCGN_HOST_DEVICE inline void store_line(Line* to, const Line& line) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v2.u64 [%0],{%1,%2};" ::"l"(to), "l"(line.low), "l"(line.high) : "memory");
#else
  *to = line;
#endif
}

// Which of the two memories of a copy is the other GPU's.
enum class Crossing { stores, loads };

// Copies messages from one memory to another, `passes` of them out of a window: all threads carry one together, in
// lines of 16 bytes, four of them under way in each thread.
template <Crossing How>
struct CopyKernel {
  static constexpr unsigned max_threads = 1024;
  // Where a message of the window lies: at a line of its own.
  DCGN_HOST_DEVICE static std::int64_t begin_of(int message, std::int64_t bytes) {
    return message * ((bytes + 15) / 16 * 16);
  }
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned char* to, const unsigned char* from, std::int64_t bytes,
                                   int window, std::uint64_t passes) const {
    constexpr int under_way = 4;
    const auto load = [](const Line* line) { return How == Crossing::loads ? load_line(line) : *line; };
    const auto threads = static_cast<std::int64_t>(ctx.num_blocks()) * ctx.num_threads();
    const auto me = static_cast<std::int64_t>(ctx.block_rank()) * ctx.num_threads() + ctx.thread_rank();
    const std::int64_t lines = bytes / 16;
    for (std::uint64_t pass = 0; pass < passes; ++pass) {
      const std::int64_t begin = begin_of(static_cast<int>(pass % static_cast<unsigned>(window)), bytes);
      auto* out = reinterpret_cast<Line*>(to + begin);
      const auto* in = reinterpret_cast<const Line*>(from + begin);
      std::int64_t i = me;
      for (; i + (under_way - 1) * threads < lines; i += under_way * threads) {
        Line held[under_way];
        for (int k = 0; k < under_way; ++k) held[k] = load(in + i + k * threads);
        for (int k = 0; k < under_way; ++k) store_line(out + i + k * threads, held[k]);
      }
      for (; i < lines; i += threads) store_line(out + i, load(in + i));
      volatile unsigned char* rest = to + begin;
      for (i = lines * 16 + me; i < bytes; i += threads) rest[i] = from[begin + i];
    }
  }
};

// One side of a flag's way to and fro: a word where this side looks, and one where the other does. Both begin as 0.
struct FlagSide {
  std::uint64_t* mine;
  std::uint64_t* others;
};

// A number and four bytes that came with it, in one word.
DCGN_HOST_DEVICE inline std::uint64_t flag_of(std::uint32_t number, std::uint32_t datum) {
  return static_cast<std::uint64_t>(number) << 32 | datum;
}

// Waits for the flag with this number; gives up after ten seconds, when the other side must be gone.
DCGN_HOST_DEVICE inline bool await_flag(const std::uint64_t& word, std::uint32_t number, std::uint32_t& datum) {
  constexpr std::uint64_t give_up_ns = 10'000'000'000u;
  constexpr std::uint32_t look_at_clock_every = 1 << 16;
  std::uint64_t begin = 0, value;
  for (std::uint32_t looks = 1; (value = load_relaxed(word)) >> 32 != number; ++looks) {
    relax_briefly();
    if (looks % look_at_clock_every) continue;
    if (!begin) begin = now_ns();
    if (now_ns() - begin > give_up_ns) return false;
  }
#if !defined(__CUDA_ARCH__)
  detail::relax_reset_host();
#endif
  datum = static_cast<std::uint32_t>(value);
  return true;
}

// How often a flag goes to and fro: the same on both sides.
struct FlagPlan {
  std::uint32_t blocks, rounds;
};

DCGN_HOST_DEVICE inline void lead_flag(const FlagSide& side, const FlagPlan& plan, Samples& samples) {
  std::uint32_t number = 0, datum = 0;
  samples.blocks = 0;
  samples.wrong = 0;
  samples.rounds = plan.rounds;
  for (std::uint32_t k = 0; k < plan.blocks; ++k) {
    const std::uint64_t begin = now_ns();
    for (std::uint32_t i = 0; i < plan.rounds; ++i) {
      ++number;
      store_relaxed(*side.others, flag_of(number, number * 3));
      if (!await_flag(*side.mine, number, datum)) return;
      samples.wrong += datum != number * 5;
    }
    samples.ns[k] = now_ns() - begin;
  }
  samples.blocks = plan.blocks;
}

DCGN_HOST_DEVICE inline void follow_flag(const FlagSide& side, const FlagPlan& plan) {
  std::uint32_t datum = 0;
  for (std::uint32_t number = 1; number <= plan.blocks * plan.rounds; ++number) {
    if (!await_flag(*side.mine, number, datum)) return;
    store_relaxed(*side.others, flag_of(number, datum / 3 * 5));
  }
}

// A block for each side: where there are two in a launch, the second follows.
struct FlagKernel {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, FlagSide leader, FlagSide follower, bool leads, FlagPlan plan,
                                   Samples* samples) const {
    if (ctx.thread_rank() != 0) return;
    if (leads && ctx.block_rank() == 0)
      lead_flag(leader, plan, *samples);
    else
      follow_flag(follower, plan);
  }
};

}  // namespace dcgn::bench
