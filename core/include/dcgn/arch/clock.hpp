// Nanoseconds from an arbitrary start, on the host and in kernels. Each device has its own start.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn {

namespace detail {
std::uint64_t now_host();
}

// Of std::chrono::steady_clock, or a GPU's global timer, whose steps may be a microsecond.
DCGN_HOST_DEVICE inline std::uint64_t now_ns() {
#if defined(__CUDA_ARCH__)
  std::uint64_t t;
  asm volatile("mov.u64 %0,%%globaltimer;" : "=l"(t));
  return t;
#else
  return detail::now_host();
#endif
}

}  // namespace dcgn
