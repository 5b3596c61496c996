// How a call waits for a packet or a word for a while, without the rank's progress.
#pragma once

#include <dcgn/arch/relax.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::message {

// Looks before a fast call gives up and the general one goes on, which runs the rank's progress, too: for the next
// message; for the answer to an announced one.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t fast_looks = 16384;  // four milliseconds
inline constexpr std::uint32_t fast_answer_looks = 2048;
#else
inline constexpr std::uint32_t fast_looks = 32, fast_answer_looks = 32;
#endif

// Calls look() until it returns true, at most so many times; false where it never did.
template <class Look>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool spin(std::uint32_t most, const Look& look) {
#if defined(__CUDA_ARCH__)
  if (look()) return true;
#pragma unroll 1
  for (std::uint32_t looks = 1; looks != most; ++looks)
    if (look()) return true;
  // Reads the clock for ptxas, which would set in each look what is so when none finds anything: that takes a thread
  // and a warp 0.02 us a message.
  std::uint32_t now;
  asm volatile("mov.u32 %0,%%clock;" : "=r"(now));
  return false;
#else
  std::uint32_t looks = 0;
  for (; !look(); relax_briefly())
    if (++looks == most) return false;
  if (looks) detail::relax_reset_host();
  return true;
#endif
}

}  // namespace dcgn::message
