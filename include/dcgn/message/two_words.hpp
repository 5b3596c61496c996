// What a GPU's thread loads and stores at once.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// 16 bytes of a rank's own memory at once.
struct TwoWords {
  std::uint64_t first, second;
};

DCGN_HOST_DEVICE inline TwoWords load_two(const void* from) {
  TwoWords words;
#if defined(__CUDA_ARCH__)
  asm volatile("ld.global.v2.b64 {%0,%1},[%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
#else
  memcpy(&words, from, sizeof words);
#endif
  return words;
}

DCGN_HOST_DEVICE inline void store_two(void* to, TwoWords words) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v2.b64 [%0],{%1,%2};" ::"l"(__cvta_generic_to_global(to)), "l"(words.first), "l"(words.second)
               : "memory");
#else
  memcpy(to, &words, sizeof words);
#endif
}

}  // namespace dcgn::message
