// The memory model in one place: the loads and stores by which ranks signal each other.
//
// All are at system scope: the other side may be another block, another GPU or a CPU thread. On the host they are
// std::atomic_ref operations, which ThreadSanitizer understands; on a GPU, PTX of the same order. There are no fences;
// packets, of 16 bytes, have stores and loads of their own in message/packet.hpp. In deterministic mode each one is a
// point where the scheduler may switch to another thread.
#pragma once

#include <dcgn/host_device.hpp>

#include <atomic>
#include <cstdint>
#include <type_traits>

namespace dcgn {

namespace detail {
// Set while a deterministic schedule runs on this thread (see core/src/device/emulated/schedule.hpp).
extern constinit thread_local bool exploring;
void schedule_point_host();
}  // namespace detail

// Where the deterministic scheduler may let another thread go first. Nothing otherwise.
DCGN_HOST_DEVICE inline void schedule_point() {
#if !defined(__CUDA_ARCH__)
  if (detail::exploring) [[unlikely]]
    detail::schedule_point_host();
#endif
}

template <class T>
concept Word = std::is_trivially_copyable_v<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

namespace detail {
#if defined(__CUDA_ARCH__)
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

__device__ inline std::uint32_t ptx_load_acquire(const std::uint32_t* p) {
  std::uint32_t v;
  asm volatile("ld.acquire.sys.b32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline std::uint64_t ptx_load_acquire(const std::uint64_t* p) {
  std::uint64_t v;
  asm volatile("ld.acquire.sys.b64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline std::uint32_t ptx_load_relaxed(const std::uint32_t* p) {
  std::uint32_t v;
  asm volatile("ld.relaxed.sys.b32 %0,[%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline std::uint64_t ptx_load_relaxed(const std::uint64_t* p) {
  std::uint64_t v;
  asm volatile("ld.relaxed.sys.b64 %0,[%1];" : "=l"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void ptx_store_release(std::uint32_t* p, std::uint32_t v) {
  asm volatile("st.release.sys.b32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
}
__device__ inline void ptx_store_release(std::uint64_t* p, std::uint64_t v) {
  asm volatile("st.release.sys.b64 [%0],%1;" ::"l"(p), "l"(v) : "memory");
}
__device__ inline void ptx_store_relaxed(std::uint32_t* p, std::uint32_t v) {
  asm volatile("st.relaxed.sys.b32 [%0],%1;" ::"l"(p), "r"(v) : "memory");
}
__device__ inline void ptx_store_relaxed(std::uint64_t* p, std::uint64_t v) {
  asm volatile("st.relaxed.sys.b64 [%0],%1;" ::"l"(p), "l"(v) : "memory");
}
#endif
}  // namespace detail

// Reads a word; everything that its writer wrote before the matching store_release is visible afterwards.
template <Word T>
DCGN_HOST_DEVICE inline T load_acquire(const T& word) {
  schedule_point();
#if defined(__CUDA_ARCH__)
  return __builtin_bit_cast(T, detail::ptx_load_acquire(reinterpret_cast<const detail::Bits<T>*>(&word)));
#else
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_acquire);
#endif
}

// Reads a word and nothing more.
template <Word T>
DCGN_HOST_DEVICE inline T load_relaxed(const T& word) {
#if defined(__CUDA_ARCH__)
  return __builtin_bit_cast(T, detail::ptx_load_relaxed(reinterpret_cast<const detail::Bits<T>*>(&word)));
#else
  return std::atomic_ref<T>(const_cast<T&>(word)).load(std::memory_order_relaxed);
#endif
}

// Writes a word; whoever reads it with load_acquire sees all that this thread wrote, or had seen, before.
template <Word T>
DCGN_HOST_DEVICE inline void store_release(T& word, std::type_identity_t<T> value) {
  schedule_point();
#if defined(__CUDA_ARCH__)
  detail::ptx_store_release(reinterpret_cast<detail::Bits<T>*>(&word), __builtin_bit_cast(detail::Bits<T>, value));
#else
  std::atomic_ref<T>(word).store(value, std::memory_order_release);
#endif
}

// Writes a word and nothing more.
template <Word T>
DCGN_HOST_DEVICE inline void store_relaxed(T& word, std::type_identity_t<T> value) {
#if defined(__CUDA_ARCH__)
  detail::ptx_store_relaxed(reinterpret_cast<detail::Bits<T>*>(&word), __builtin_bit_cast(detail::Bits<T>, value));
#else
  std::atomic_ref<T>(word).store(value, std::memory_order_relaxed);
#endif
}

// The same of a byte, whatever others write beside it.
DCGN_HOST_DEVICE inline void store_relaxed(std::uint8_t& byte, std::uint8_t value) {
  schedule_point();
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.u8 [%0],%1;" ::"l"(&byte), "r"(static_cast<std::uint32_t>(value)) : "memory");
#else
  std::atomic_ref<std::uint8_t>(byte).store(value, std::memory_order_relaxed);
#endif
}
#if !defined(__CUDA_ARCH__)
inline std::uint8_t load_relaxed(const std::uint8_t& byte) {
  return std::atomic_ref<std::uint8_t>(const_cast<std::uint8_t&>(byte)).load(std::memory_order_relaxed);
}
#endif

// Adds to an integer and returns what it held; acquires and releases. Between a GPU and the host, or two GPUs without
// native peer atomics, only where their link has atomic operations: PCIe as a rule has not.
template <Word T>
requires std::is_integral_v<T> DCGN_HOST_DEVICE inline T fetch_add(T& word, std::type_identity_t<T> value) {
  schedule_point();
#if defined(__CUDA_ARCH__)
  detail::Bits<T> old;
  if constexpr (sizeof(T) == 4)
    asm volatile("atom.add.acq_rel.sys.u32 %0,[%1],%2;"
                 : "=r"(old)
                 : "l"(&word), "r"(__builtin_bit_cast(std::uint32_t, value))
                 : "memory");
  else
    asm volatile("atom.add.acq_rel.sys.u64 %0,[%1],%2;"
                 : "=l"(old)
                 : "l"(&word), "l"(__builtin_bit_cast(std::uint64_t, value))
                 : "memory");
  return __builtin_bit_cast(T, old);
#else
  return std::atomic_ref<T>(word).fetch_add(value, std::memory_order_acq_rel);
#endif
}

#if !defined(__CUDA_ARCH__)
// Between threads of the host that each write one word and then read another: one of them sees what the other wrote.
inline std::uint32_t add_in_order(std::uint32_t& word, std::uint32_t value) {
  return std::atomic_ref<std::uint32_t>(word).fetch_add(value);
}
inline std::uint32_t load_in_order(const std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word)).load();
}
#endif

// Replaces `expected` by `desired` and returns what the word held; acquires and releases.
template <Word T>
DCGN_HOST_DEVICE inline T compare_exchange(T& word, std::type_identity_t<T> expected, std::type_identity_t<T> desired) {
  schedule_point();
#if defined(__CUDA_ARCH__)
  detail::Bits<T> old;
  if constexpr (sizeof(T) == 4)
    asm volatile("atom.cas.acq_rel.sys.b32 %0,[%1],%2,%3;"
                 : "=r"(old)
                 : "l"(&word), "r"(__builtin_bit_cast(std::uint32_t, expected)),
                   "r"(__builtin_bit_cast(std::uint32_t, desired))
                 : "memory");
  else
    asm volatile("atom.cas.acq_rel.sys.b64 %0,[%1],%2,%3;"
                 : "=l"(old)
                 : "l"(&word), "l"(__builtin_bit_cast(std::uint64_t, expected)),
                   "l"(__builtin_bit_cast(std::uint64_t, desired))
                 : "memory");
  return __builtin_bit_cast(T, old);
#else
  std::atomic_ref<T>(word).compare_exchange_strong(expected, desired, std::memory_order_acq_rel,
                                                   std::memory_order_acquire);
  return expected;
#endif
}

// The same between the threads of one GPU, which costs less there; on the host there is no difference.
namespace on_device {

// As above, at the scope of the device.
DCGN_HOST_DEVICE inline std::uint32_t load_acquire(const std::uint32_t& word) {
#if defined(__CUDA_ARCH__)
  std::uint32_t v;
  asm volatile("ld.acquire.gpu.b32 %0,[%1];" : "=r"(v) : "l"(&word) : "memory");
  return v;
#else
  return dcgn::load_acquire(word);
#endif
}

// Likewise.
DCGN_HOST_DEVICE inline void store_release(std::uint32_t& word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.b32 [%0],%1;" ::"l"(&word), "r"(value) : "memory");
#else
  dcgn::store_release(word, value);
#endif
}
DCGN_HOST_DEVICE inline void store_release(std::uint64_t& word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.gpu.b64 [%0],%1;" ::"l"(&word), "l"(value) : "memory");
#else
  dcgn::store_release(word, value);
#endif
}

// Acquires and releases.
DCGN_HOST_DEVICE inline std::uint32_t fetch_add(std::uint32_t& word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  std::uint32_t old;
  asm volatile("atom.add.acq_rel.gpu.u32 %0,[%1],%2;" : "=r"(old) : "l"(&word), "r"(value) : "memory");
  return old;
#else
  return dcgn::fetch_add(word, value);
#endif
}

// Releases only: who needs what others wrote acquires once it has seen that all have come.
DCGN_HOST_DEVICE inline std::uint32_t fetch_add_release(std::uint32_t& word, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  std::uint32_t old;
  asm volatile("atom.add.release.gpu.u32 %0,[%1],%2;" : "=r"(old) : "l"(&word), "r"(value) : "memory");
  return old;
#else
  return dcgn::fetch_add(word, value);
#endif
}

// For words that are polled, and acquired once, when they have what is waited for: relaxed, but acquires on the host.
DCGN_HOST_DEVICE inline std::uint32_t load_to_acquire(const std::uint32_t& word) {
#if defined(__CUDA_ARCH__)
  return load_relaxed(word);
#else
  return dcgn::load_acquire(word);
#endif
}
// What others had released in such words is visible then. It clears the multiprocessor's cache, so its next loads wait.
DCGN_HOST_DEVICE inline void acquire_seen() {
#if defined(__CUDA_ARCH__)
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.acquire.gpu;" ::: "memory");
#else
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
#endif
#endif
}

// Orders nothing.
template <class T>
requires std::is_unsigned_v<T> DCGN_HOST_DEVICE inline T fetch_add_relaxed(T& word, std::type_identity_t<T> value) {
#if defined(__CUDA_ARCH__)
  T old;
  if constexpr (sizeof(T) == 4)
    asm volatile("atom.relaxed.gpu.add.u32 %0,[%1],%2;" : "=r"(old) : "l"(&word), "r"(value) : "memory");
  else
    asm volatile("atom.relaxed.gpu.add.u64 %0,[%1],%2;" : "=l"(old) : "l"(&word), "l"(value) : "memory");
  return old;
#else
  return dcgn::fetch_add(word, value);
#endif
}

}  // namespace on_device
}  // namespace dcgn
