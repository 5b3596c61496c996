// What kernels do with copies.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/gpu/context.hpp>
#include <dcgn/gpu/relax.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::test {

// A kernel that is there before the copy is asked for: waits for the word, then sums the bytes.
struct SumWhenDone {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, const std::uint32_t* word, std::uint32_t value,
                                   const unsigned char* bytes, std::size_t size, std::uint64_t* sum) const {
    while (load_acquire(*word) != value) relax();
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < size; ++i) total += (i + 1) * bytes[i];
    *sum = total;
  }
};

}  // namespace dcgn::test
