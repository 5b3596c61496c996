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

// The same of memory that other multiprocessors write: not from this one's cache.
DCGN_HOST_DEVICE inline TwoWords load_two_anew(const void* from) {
#if defined(__CUDA_ARCH__)
  TwoWords words;
  asm volatile("ld.relaxed.gpu.global.v2.b64 {%0,%1},[%2];"
               : "=l"(words.first), "=l"(words.second)
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return words;
#else
  return load_two(from);
#endif
}

DCGN_HOST_DEVICE inline void store_two(void* to, TwoWords words) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.global.v2.b64 [%0],{%1,%2};" ::"l"(__cvta_generic_to_global(to)), "l"(words.first), "l"(words.second)
               : "memory");
#else
  memcpy(to, &words, sizeof words);
#endif
}

// Stores that are made where `due` says so, without a branch.
DCGN_HOST_DEVICE inline void store_two_if(bool due, void* to, std::uint64_t first, std::uint64_t second) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{.reg .pred p; setp.ne.u32 p,%3,0; @p st.global.v2.b64 [%0],{%1,%2};}" ::"l"(__cvta_generic_to_global(to)),
      "l"(first), "l"(second), "r"(static_cast<std::uint32_t>(due))
      : "memory");
#else
  if (due) store_two(to, {first, second});
#endif
}
DCGN_HOST_DEVICE inline void store_if(bool due, void* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("{.reg .pred p; setp.ne.u32 p,%2,0; @p st.global.b64 [%0],%1;}" ::"l"(__cvta_generic_to_global(to)),
               "l"(value), "r"(static_cast<std::uint32_t>(due))
               : "memory");
#else
  if (due) memcpy(to, &value, sizeof value);
#endif
}

}  // namespace dcgn::message
