// Patterns in GPU memory, for the peers that message between GPUs: bench::pattern() at every byte.
#pragma once

#include "bench/ping_kernel.hpp"

#include <cstdint>

namespace dcgn::bench::peer {

// What end `salt` sends, and in `in` what differs everywhere from what it is to receive.
static __global__ void write_patterns(unsigned char* out, unsigned char* in, std::int64_t bytes, unsigned salt) {
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x) {
    out[i] = pattern(i, salt);
    in[i] = static_cast<unsigned char>(~pattern(i, 1 - salt));
  }
}

// Adds to `wrong` the bytes that the other end did not send.
static __global__ void count_wrong(const unsigned char* in, std::int64_t bytes, unsigned salt,
                                   unsigned long long* wrong) {
  unsigned long long mine = 0;
  for (std::int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += gridDim.x * blockDim.x)
    mine += in[i] != pattern(i, 1 - salt);
  if (mine) atomicAdd(wrong, mine);
}

inline constexpr unsigned pattern_blocks = 256, pattern_threads = 256;

}  // namespace dcgn::bench::peer
