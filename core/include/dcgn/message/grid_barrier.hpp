// A barrier of several blocks of a kernel, in memory of the slot that they make calls for; with room for what one of
// them tells the others, and for orders that they follow without a barrier between.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::message {

struct alignas(64) GridBarrier {
  // Loaded as one word: see load_meeting().
  struct alignas(8) Meeting {
    // Blocks that have come, and a top bit that changes when all have: each adds 1, the leader's what is missing.
    std::uint32_t arrived = 0;
    // 1 from when a block refuses until all have seen it. Meetings take these two bytes in turn, because a block may
    // refuse at the next meeting before others have looked at this one's.
    std::uint8_t refused[2] = {};

    // In the meeting that began with this word in `arrived`.
    DCGN_HOST_DEVICE bool is_refused(std::uint32_t before) const { return before >> 31 ? refused[1] : refused[0]; }
  };
  Meeting meeting;
  std::uint32_t reported = 0;                                        // whether a block has said that others do not come
  alignas(16) unsigned char scratch[gpu::block_scratch_bytes] = {};  // written while all others wait
  // Orders are numbered and take one of two places in turn: those after the next ones are issued when all blocks but
  // the leader's have done with the present ones.
  alignas(64) std::uint32_t issued = 0;    // the number of the last orders
  alignas(64) std::uint32_t done[2] = {};  // blocks that have done with those in either place
  alignas(16) unsigned char orders[2][gpu::block_scratch_bytes] = {};
};

// If all have come, what each of them wrote before is visible, and so is whether one refused. Like packets, it relies
// on loads of 8 bytes that see smaller stores whole.
DCGN_HOST_DEVICE inline GridBarrier::Meeting load_meeting(const GridBarrier& barrier) {
  GridBarrier::Meeting m;
#if defined(__CUDA_ARCH__)
  std::uint64_t word;
  asm volatile("ld.acquire.gpu.b64 %0,[%1];" : "=l"(word) : "l"(&barrier.meeting) : "memory");
  m.arrived = static_cast<std::uint32_t>(word);
  m.refused[0] = static_cast<std::uint8_t>(word >> 32);
  m.refused[1] = static_cast<std::uint8_t>(word >> 40);
#else
  m.arrived = load_acquire(barrier.meeting.arrived);
  for (int k = 0; k < 2; ++k) m.refused[k] = load_relaxed(barrier.meeting.refused[k]);
#endif
  return m;
}

// Pauses of a wait between looks at the clock and the abort word.
inline constexpr std::uint32_t look_every = 64;

}  // namespace dcgn::message
