// Who takes part in a call: one thread, a warp, or a block.
//
// Every thread of the scope makes the same call with the same arguments; the first one decides and all carry the
// bytes. sync() and broadcast() order memory among the threads of the scope. When a call returns, what was received is
// visible to every thread of the scope.
#pragma once

#include <dcgn/gpu/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::gpu {

// The calling thread alone; also what a CPU rank's calls use.
class ThreadScope {
 public:
  DCGN_HOST_DEVICE unsigned rank() const { return 0; }
  DCGN_HOST_DEVICE unsigned size() const { return 1; }
  DCGN_HOST_DEVICE bool leader() const { return true; }
  DCGN_HOST_DEVICE void sync() const {}
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    return value;
  }
};

// The lanes of the calling thread's warp.
class WarpScope {
 public:
  DCGN_HOST_DEVICE explicit WarpScope(const Context& context) : context_(context) {}
  DCGN_HOST_DEVICE unsigned rank() const { return context_.lane(); }
  DCGN_HOST_DEVICE unsigned size() const { return context_.warp_lanes(); }
  DCGN_HOST_DEVICE bool leader() const { return context_.lane() == 0; }
  DCGN_HOST_DEVICE void sync() const { context_.sync_warp(); }
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    T result = value;
#if defined(__CUDA_ARCH__)
    constexpr unsigned words = (sizeof(T) + 7) / 8;
    std::uint64_t bits[words] = {};
    memcpy(bits, &value, sizeof(T));
    for (unsigned i = 0; i < words; ++i) bits[i] = context_.shuffle(bits[i], 0);
    memcpy(&result, bits, sizeof(T));
#else
    // On the host the lanes can read each other's stacks.
    const auto leaders = reinterpret_cast<const T*>(context_.shuffle(reinterpret_cast<std::uintptr_t>(&value), 0));
    if (!leader()) result = *leaders;
#endif
    context_.sync_warp();  // a shuffle alone does not order memory
    return result;
  }

 private:
  const Context& context_;
};

// All threads of the calling thread's block.
class BlockScope {
 public:
  DCGN_HOST_DEVICE explicit BlockScope(const Context& context) : context_(context) {}
  DCGN_HOST_DEVICE unsigned rank() const { return context_.thread_rank(); }
  DCGN_HOST_DEVICE unsigned size() const { return context_.num_threads(); }
  DCGN_HOST_DEVICE bool leader() const { return context_.thread_rank() == 0; }
  DCGN_HOST_DEVICE void sync() const { context_.sync_block(); }
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    return context_.broadcast(value);
  }

 private:
  const Context& context_;
};

DCGN_HOST_DEVICE inline ThreadScope this_thread() { return {}; }
DCGN_HOST_DEVICE inline WarpScope this_warp(const Context& context) { return WarpScope(context); }
DCGN_HOST_DEVICE inline BlockScope this_block(const Context& context) { return BlockScope(context); }

}  // namespace dcgn::gpu
