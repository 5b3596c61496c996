// What a kernel knows of itself: its coordinates, its block's shared memory and barriers, its warp.
//
// A kernel is a function object that takes a Context first and reads everything from it, never from built-in
// variables; so one source runs as CUDA and on the emulated GPU:
//
//   struct Fill {
//     DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, float* out) const {
//       out[ctx.block_rank() * ctx.num_threads() + ctx.thread_rank()] = 1.0f;
//     }
//   };
//
// A plain __global__ function may hold one too (`dcgn::gpu::Context ctx;`): the CUDA-only form.
#pragma once

#include <dcgn/arch/relax.hpp>
#include <dcgn/dim3.hpp>
#include <dcgn/host_device.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dcgn {

namespace device {
class EmulatedThread;  // core/src/device/emulated/
}

namespace detail {
// The emulated GPU's side of the calls below.
Dim3 thread_index(const device::EmulatedThread&);
Dim3 block_index(const device::EmulatedThread&);
Dim3 block_dim(const device::EmulatedThread&);
Dim3 grid_dim(const device::EmulatedThread&);
unsigned thread_rank(const device::EmulatedThread&);
void* shared_memory(device::EmulatedThread&);
std::size_t shared_bytes(const device::EmulatedThread&);
void* block_scratch(device::EmulatedThread&);
void sync_block(device::EmulatedThread&);
void sync_whole_block(device::EmulatedThread&);
void sync_warp(device::EmulatedThread&);
void sync_whole_warp(device::EmulatedThread&);
// Every lane of the warp gives `value` and gets what lane `lane` of its warp gave (its own where there is none).
std::uint64_t shuffle(device::EmulatedThread&, std::uint64_t value, unsigned lane);
std::uint32_t ballot(device::EmulatedThread&, bool predicate);
}  // namespace detail

namespace gpu {

// Threads in a warp.
inline constexpr unsigned warp_size = 32;
// Bytes that broadcast() in a block may carry, and those behind them, of what a call writes down for all of its
// threads.
inline constexpr std::size_t block_scratch_bytes = 256, block_table_bytes = 384;

// What one thread of a launch has.
class Context {
 public:
#if defined(__CUDACC__)
  __device__ Context() : thread_(nullptr) {}
#endif
  // Made by the launch; in a __global__ function, by its declaration.
  explicit Context(device::EmulatedThread& thread) : thread_(&thread) {}

  DCGN_HOST_DEVICE Dim3 thread_index() const;
  DCGN_HOST_DEVICE Dim3 block_index() const;
  DCGN_HOST_DEVICE Dim3 block_dim() const;  // threads in a block
  DCGN_HOST_DEVICE Dim3 grid_dim() const;   // blocks in the grid

  // The same, flattened with x fastest.
  DCGN_HOST_DEVICE unsigned thread_rank() const;
  [[gnu::always_inline]] DCGN_HOST_DEVICE unsigned block_rank() const { return grid_dim().linear(block_index()); }
  DCGN_HOST_DEVICE unsigned num_threads() const { return block_dim().volume(); }
  DCGN_HOST_DEVICE unsigned num_blocks() const { return grid_dim().volume(); }
  DCGN_HOST_DEVICE unsigned lane() const { return thread_rank() % warp_size; }
  DCGN_HOST_DEVICE unsigned warp() const { return thread_rank() / warp_size; }
  // Lanes of this thread's warp: 32, or fewer in the last warp of a block.
  DCGN_HOST_DEVICE unsigned warp_lanes() const {
    const unsigned left = num_threads() - warp() * warp_size;
    return left < warp_size ? left : warp_size;
  }

  // The block's dynamic shared memory (Launch::shared_bytes of it), 16-byte aligned, not cleared.
  template <class T = std::byte>
  DCGN_HOST_DEVICE T* shared() const;
  DCGN_HOST_DEVICE std::size_t shared_bytes() const;

  // Every thread of the block arrives before any leaves; what they wrote to memory before is visible to all after.
  DCGN_HOST_DEVICE void sync_block() const;
  // The same, and says whether every thread gave true.
  DCGN_HOST_DEVICE bool sync_block_all(bool predicate) const;
  // The same for the threads of the warp.
  DCGN_HOST_DEVICE void sync_warp() const;
  // The same in calls that need every thread there is: a launch on an emulated GPU fails where one of the block, or of
  // the warp, has returned or is in another barrier.
  DCGN_HOST_DEVICE void sync_whole_block() const;
  DCGN_HOST_DEVICE void sync_whole_warp() const;

  // Warp exchange. All lanes of the warp take part. T is 1 to 8 bytes, trivially copyable.
  template <class T>
  DCGN_HOST_DEVICE T shuffle(T value, unsigned source_lane) const;
  template <class T>
  DCGN_HOST_DEVICE T shuffle_up(T value, unsigned delta) const {
    return shuffle(value, lane() < delta ? lane() : lane() - delta);
  }
  template <class T>
  DCGN_HOST_DEVICE T shuffle_down(T value, unsigned delta) const {
    return shuffle(value, lane() + delta < warp_lanes() ? lane() + delta : lane());
  }
  template <class T>
  DCGN_HOST_DEVICE T shuffle_xor(T value, unsigned mask) const {
    return shuffle(value, (lane() ^ mask) < warp_lanes() ? lane() ^ mask : lane());
  }
  DCGN_HOST_DEVICE std::uint32_t ballot(bool predicate) const;  // bit i: what lane i gave
  DCGN_HOST_DEVICE bool any(bool predicate) const { return ballot(predicate) != 0; }
  DCGN_HOST_DEVICE bool all(bool predicate) const {
#if defined(__CUDA_ARCH__)
    return __all_sync(0xffffffffu, predicate) != 0;
#else
    const unsigned lanes = warp_lanes();
    return ballot(predicate) == (lanes == warp_size ? 0xffffffffu : (1u << lanes) - 1u);
#endif
  }

  // Thread 0's value, to every thread of the block. T is trivially copyable, at most block_scratch_bytes.
  // Begins and ends with a block barrier.
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const;
  // The same with one barrier: there must be another one before the next broadcast() or publish().
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& value) const;
  // Where these put it: block_scratch_bytes that all threads of the block reach, and block_table_bytes behind them.
  DCGN_HOST_DEVICE void* scratch() const;

 private:
#if defined(__CUDACC__)
  __device__ static void* cuda_scratch() {
    __shared__ alignas(16) unsigned char scratch[block_scratch_bytes + block_table_bytes];
    return scratch;
  }
#endif
  device::EmulatedThread* thread_;  // null on CUDA
};

}  // namespace gpu
}  // namespace dcgn

#include <dcgn/arch/context_inline.hpp>
