// Plain copies between buffers, by all threads of a call.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

#if defined(__CUDA_ARCH__)
// Past the multiprocessor's own cache, which may have an older state of another GPU's memory.
__device__ inline uint4 load_line(const uint4* from) {
  uint4 line;
  asm volatile("ld.relaxed.sys.v4.u32 {%0,%1,%2,%3},[%4];"
               : "=r"(line.x), "=r"(line.y), "=r"(line.z), "=r"(line.w)
               : "l"(from)
               : "memory");
  return line;
}

__device__ inline unsigned char load_byte(const unsigned char* from) {
  std::uint32_t byte;
  asm volatile("ld.relaxed.sys.u8 %0,[%1];" : "=r"(byte) : "l"(from) : "memory");
  return static_cast<unsigned char>(byte);
}

// Lines of 16 bytes, eight of each thread's loads under way at once: another GPU's memory is a microsecond away.
__device__ inline void copy_lines(uint4* to, const uint4* from, std::uint64_t lines, std::uint64_t rank,
                                  std::uint64_t stride) {
  constexpr int depth = 8;
  std::uint64_t i = rank;
  for (; i + (depth - 1) * stride < lines; i += depth * stride) {
    uint4 line[depth];
#pragma unroll
    for (int k = 0; k < depth; ++k) line[k] = load_line(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < depth; ++k) to[i + k * stride] = line[k];
  }
  for (; i < lines; i += stride) to[i] = load_line(from + i);
}
#endif

// Copies bytes with all of so many threads, 16 at a time where the alignment allows.
template <class Threads>
DCGN_HOST_DEVICE void copy_bytes(const Threads& threads, unsigned char* to, const unsigned char* from,
                                 std::uint64_t bytes) {
#if defined(__CUDA_ARCH__)
  const std::uintptr_t skew = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  std::uint64_t done = 0;
  if ((skew & 15) == 0) {
    const std::uint64_t head = (16 - (reinterpret_cast<std::uintptr_t>(to) & 15)) & 15;
    done = head < bytes ? head : bytes;
    for (std::uint64_t i = threads.rank(); i < done; i += threads.size()) to[i] = load_byte(from + i);
    const std::uint64_t lines = (bytes - done) / 16;
    copy_lines(reinterpret_cast<uint4*>(to + done), reinterpret_cast<const uint4*>(from + done), lines, threads.rank(),
               threads.size());
    done += lines * 16;
  } else if ((skew & 3) == 0) {
    const std::uint64_t head = (4 - (reinterpret_cast<std::uintptr_t>(to) & 3)) & 3;
    done = head < bytes ? head : bytes;
    for (std::uint64_t i = threads.rank(); i < done; i += threads.size()) to[i] = load_byte(from + i);
    const std::uint64_t words = (bytes - done) / 4;
    auto* to4 = reinterpret_cast<std::uint32_t*>(to + done);
    const auto* from4 = reinterpret_cast<const std::uint32_t*>(from + done);
    for (std::uint64_t i = threads.rank(); i < words; i += threads.size()) to4[i] = load_relaxed(from4[i]);
    done += words * 4;
  }
  for (std::uint64_t i = done + threads.rank(); i < bytes; i += threads.size()) to[i] = load_byte(from + i);
#else
  // A share of whole cache lines each.
  const std::uint64_t share = (bytes / threads.size() + 63) / 64 * 64;
  const std::uint64_t begin = share * threads.rank();
  if (begin >= bytes) return;
  const std::uint64_t end = threads.rank() + 1 == threads.size() || begin + share > bytes ? bytes : begin + share;
  memcpy(to + begin, from + begin, end - begin);
#endif
}

}  // namespace dcgn::message
