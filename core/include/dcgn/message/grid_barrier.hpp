// A barrier of several blocks of a kernel, in memory of the slot that they make calls for; with room for what one of
// them tells the others, and for orders that they follow without a barrier between.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::message {

struct alignas(64) GridBarrier {
  // One word: see arrive_at() and load_meeting().
  struct alignas(8) Meeting {
    // 1 from when a block refuses until all have seen it. Meetings take these two bytes in turn, because a block may
    // refuse at the next meeting before others have looked at this one's.
    std::uint8_t refused[2] = {};
    // Blocks that have come, and a top bit that changes when all have: each adds 1, the leader's what is missing. The
    // upper half of the word, so nothing is carried into the other.
    std::uint32_t arrived = 0;

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
  alignas(64) std::uint32_t looks = 0;  // blocks that have looked where a turn's packets lie
};

#if defined(__CUDA_ARCH__)
__device__ inline GridBarrier::Meeting meeting_of(std::uint64_t word) {
  return {{static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8)},
          static_cast<std::uint32_t>(word >> 32)};
}
#endif

// If all have come, it says whether one refused, and what each wrote before is visible after on_device::acquire_seen();
// without that to loads that go past a multiprocessor's cache, too. For those PTX gives no promise: like packets, they
// rely on loads that are issued in order and meet in the GPU's second cache. This one relies on loads of 8 bytes, and
// atomic additions, that see smaller stores whole.
DCGN_HOST_DEVICE inline GridBarrier::Meeting load_meeting(const GridBarrier& barrier) {
#if defined(__CUDA_ARCH__)
  std::uint64_t word;
  asm volatile("ld.relaxed.gpu.b64 %0,[%1];" : "=l"(word) : "l"(&barrier.meeting) : "memory");
  return meeting_of(word);
#else
  GridBarrier::Meeting m;
  m.arrived = load_acquire(barrier.meeting.arrived);
  for (int k = 0; k < 2; ++k) m.refused[k] = load_relaxed(barrier.meeting.refused[k]);
  return m;
#endif
}

// Adds to `arrived`; what the calling thread wrote before is visible to who finds this. Returns the word before: if it
// and `add` change the top bit, all others have come, and the same holds of them.
DCGN_HOST_DEVICE inline GridBarrier::Meeting arrive_at(GridBarrier& barrier, std::uint32_t add) {
#if defined(__CUDA_ARCH__)
  std::uint64_t word;
  asm volatile("atom.add.release.gpu.global.u64 %0,[%1],%2;"
               : "=l"(word)
               : "l"(__cvta_generic_to_global(&barrier.meeting)), "l"(std::uint64_t{add} << 32)
               : "memory");
  return meeting_of(word);
#else
  GridBarrier::Meeting m;
  m.arrived = fetch_add(barrier.meeting.arrived, add);
  for (int k = 0; k < 2; ++k) m.refused[k] = load_relaxed(barrier.meeting.refused[k]);
  return m;
#endif
}

// Pauses of a wait between looks at the clock and the abort word.
inline constexpr std::uint32_t look_every = 64;

}  // namespace dcgn::message
