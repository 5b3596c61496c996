// A barrier of several blocks of a kernel, in memory of the slot that they make calls for; with room for what one of
// them tells the others, and for orders that they follow without a barrier between.
#pragma once

#include <dcgn/arch/context.hpp>

#include <cstdint>

namespace dcgn::message {

struct alignas(64) GridBarrier {
  // Blocks that have come, and a top bit that changes when all have: each adds 1, the leader's what is missing.
  std::uint32_t arrived = 0;
  // 1 from when a thread did not agree until all have seen it; in turn one of two words, since who leaves a barrier
  // first may refuse at the next one before others have looked for this one's.
  std::uint32_t refused[2] = {};
  std::uint32_t reported = 0;                                        // whether a block has said that others do not come
  alignas(16) unsigned char scratch[gpu::block_scratch_bytes] = {};  // written while all others wait
  // Orders are numbered and take one of two places in turn: those after the next ones are issued when all blocks but
  // the leader's have done with the present ones.
  alignas(64) std::uint32_t issued = 0;    // the number of the last orders
  alignas(64) std::uint32_t done[2] = {};  // blocks that have done with those in either place
  alignas(16) unsigned char orders[2][gpu::block_scratch_bytes] = {};
};

// Pauses of a wait between looks at the clock and the abort word.
inline constexpr std::uint32_t look_every = 64;

}  // namespace dcgn::message
