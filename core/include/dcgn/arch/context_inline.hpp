// The two ways Context is carried out. Included by context.hpp alone.
#pragma once

#include <dcgn/arch/atomic.hpp>

namespace dcgn::gpu {

#if defined(__CUDA_ARCH__)
#define DCGN_CUDA_OR_EMULATED(cuda, emulated) cuda
#else
#define DCGN_CUDA_OR_EMULATED(cuda, emulated) emulated
#endif

DCGN_HOST_DEVICE inline Dim3 Context::thread_index() const {
  return DCGN_CUDA_OR_EMULATED(Dim3(threadIdx.x, threadIdx.y, threadIdx.z), detail::thread_index(*thread_));
}
DCGN_HOST_DEVICE inline Dim3 Context::block_index() const {
  return DCGN_CUDA_OR_EMULATED(Dim3(blockIdx.x, blockIdx.y, blockIdx.z), detail::block_index(*thread_));
}
DCGN_HOST_DEVICE inline Dim3 Context::block_dim() const {
  return DCGN_CUDA_OR_EMULATED(Dim3(blockDim.x, blockDim.y, blockDim.z), detail::block_dim(*thread_));
}
DCGN_HOST_DEVICE inline Dim3 Context::grid_dim() const {
  return DCGN_CUDA_OR_EMULATED(Dim3(gridDim.x, gridDim.y, gridDim.z), detail::grid_dim(*thread_));
}
DCGN_HOST_DEVICE inline unsigned Context::thread_rank() const {
  return DCGN_CUDA_OR_EMULATED((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x,
                               detail::thread_rank(*thread_));
}
DCGN_HOST_DEVICE inline void Context::sync_block() const {
  DCGN_CUDA_OR_EMULATED(__syncthreads(), detail::sync_block(*thread_));
}
// Lanes that a warp lacks do not hold up the others, and a mask that the compiler does not know costs as much as a trip
// to the cache: so warps are always addressed as a whole.
DCGN_HOST_DEVICE inline void Context::sync_warp() const {
  DCGN_CUDA_OR_EMULATED(__syncwarp(), detail::sync_warp(*thread_));
}
DCGN_HOST_DEVICE inline void Context::sync_whole_block() const {
  DCGN_CUDA_OR_EMULATED(__syncthreads(), detail::sync_whole_block(*thread_));
}
DCGN_HOST_DEVICE inline void Context::sync_whole_warp() const {
  DCGN_CUDA_OR_EMULATED(__syncwarp(), detail::sync_whole_warp(*thread_));
}
DCGN_HOST_DEVICE inline std::uint32_t Context::ballot(bool predicate) const {
  return DCGN_CUDA_OR_EMULATED(__ballot_sync(0xffffffffu, predicate), detail::ballot(*thread_, predicate));
}

#undef DCGN_CUDA_OR_EMULATED

DCGN_HOST_DEVICE inline bool Context::sync_block_all(bool predicate) const {
#if defined(__CUDA_ARCH__)
  // ptxas must not know the predicate: a barrier of one that is constant it makes once more where the result is used,
  // were that by one thread (CUDA 13.0).
  unsigned threads;
  asm volatile("mov.u32 %0,%%ntid.x;" : "=r"(threads));
  return __syncthreads_and(predicate && threads != 0) != 0;
#else
  auto& all = *static_cast<std::uint32_t*>(detail::block_scratch(*thread_));
  sync_block();  // a publish() may still be read
  if (thread_rank() == 0) store_relaxed(all, 1);
  sync_block();
  if (!predicate) store_relaxed(all, 0);
  sync_block();
  const bool result = load_relaxed(all) != 0;
  sync_block();
  return result;
#endif
}

DCGN_HOST_DEVICE inline std::size_t Context::shared_bytes() const {
#if defined(__CUDA_ARCH__)
  unsigned bytes;
  asm("mov.u32 %0,%%dynamic_smem_size;" : "=r"(bytes));
  return bytes;
#else
  return detail::shared_bytes(*thread_);
#endif
}

template <class T>
DCGN_HOST_DEVICE inline T* Context::shared() const {
#if defined(__CUDA_ARCH__)
  extern __shared__ uint4 dcgn_dynamic_shared[];
  return reinterpret_cast<T*>(dcgn_dynamic_shared);
#else
  return static_cast<T*>(detail::shared_memory(*thread_));
#endif
}

template <class T>
DCGN_HOST_DEVICE inline T Context::shuffle(T value, unsigned source_lane) const {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a lane exchanges at most 8 bytes");
  std::uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(T));
#if defined(__CUDA_ARCH__)
  using Bits = std::conditional_t<sizeof(T) <= 4, unsigned, unsigned long long>;
  bits = __shfl_sync(0xffffffffu, static_cast<Bits>(bits), source_lane);
#else
  bits = detail::shuffle(*thread_, bits, source_lane);
#endif
  memcpy(&value, &bits, sizeof(T));
  return value;
}

DCGN_HOST_DEVICE inline void* Context::scratch() const {
#if defined(__CUDA_ARCH__)
  return cuda_scratch();
#else
  return detail::block_scratch(*thread_);
#endif
}

template <class T>
DCGN_HOST_DEVICE inline T Context::publish(const T& value) const {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= block_scratch_bytes, "too large to broadcast");
  void* const place = scratch();
  if (thread_rank() == 0) memcpy(place, &value, sizeof(T));
  sync_block();
  T result = value;
  memcpy(&result, place, sizeof(T));
  return result;
}

template <class T>
DCGN_HOST_DEVICE inline T Context::broadcast(const T& value) const {
  const T result = publish(value);
  sync_block();
  return result;
}

}  // namespace dcgn::gpu
