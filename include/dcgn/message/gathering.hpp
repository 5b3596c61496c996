// Where several blocks of a kernel meet: a barrier and room for what one of them tells the others, in memory of the
// slot that they make calls for.
#pragma once

#include <dcgn/gpu/context.hpp>

#include <cstdint>

namespace dcgn::message {

struct alignas(64) Gathering {
  std::uint32_t arrived = 0;  // blocks, in this round
  std::uint32_t round = 0;    // grows when the last one has come
  std::uint32_t refused = 0;  // 1 once a thread did not agree, which it does only when the job is aborted
  // Used in turns: who has read the one may be a barrier ahead of who writes the other.
  alignas(16) unsigned char scratch[2][gpu::block_scratch_bytes] = {};
};

}  // namespace dcgn::message
