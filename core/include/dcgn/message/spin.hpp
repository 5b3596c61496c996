// How a call waits for a cell or a word for a while, without the rank's progress.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>

namespace dcgn::message {

// Looks before a fast call gives up and the general one goes on, which runs the rank's progress, too: for the next
// message; for the answer to an announced one.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t quick_looks = 16384;  // four milliseconds
inline constexpr std::uint32_t quick_answer_looks = 2048;
#else
inline constexpr std::uint32_t quick_looks = 32, quick_answer_looks = 32;
#endif

// Calls look() until it returns true; returns false where give_up(calls so far) says so first.
template <class Look, class GiveUp>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool spin(const Look& look, const GiveUp& give_up) {
  std::uint32_t looks = 0;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  while (!look()) {
    if (give_up(++looks)) return false;
    relax_briefly();
  }
#if !defined(__CUDA_ARCH__)
  if (looks) detail::relax_reset_host();
#endif
  return true;
}

// Looks at most so many times.
template <class Look>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool spin(std::uint32_t most, const Look& look) {
  return spin(look, [&](std::uint32_t looks) { return looks == most; });
}

// For what must be about to come: false where the job is aborted meanwhile. `phase`: the rank's word.
template <class Look>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool spin_until_aborted(const std::uint32_t& phase, const Look& look) {
  return spin(look, [&](std::uint32_t looks) {
    return looks % 256 == 0 && load_relaxed(phase) == static_cast<std::uint32_t>(Phase::aborted);
  });
}

}  // namespace dcgn::message
