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
  std::uint32_t looks = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  while (!look()) {
    if (++looks == most) return false;
    relax_briefly();
  }
#if !defined(__CUDA_ARCH__)
  if (looks) detail::relax_reset_host();
#endif
  return true;
}

}  // namespace dcgn::message
