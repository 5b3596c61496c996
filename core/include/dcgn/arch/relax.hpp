// The one hook through which everything in the library waits.
#pragma once

#include <dcgn/host_device.hpp>

namespace dcgn {

namespace detail {
void relax_host();              // runs other threads of the block, then yields the processor, ever more readily
void pass_on_host(int sender);  // what this rank has sent to another process leaves now, and not when somebody waits
void relax_reset_host();        // the wait made progress: the next relax_host() starts from a short pause again

// A pointer that every thread has for itself, and in deterministic mode every fiber. Read and written atomically, which
// costs nothing, because ThreadSanitizer takes the fibers of a thread for threads that share it.
class FiberLocal {
 public:
  constexpr FiberLocal() = default;
  FiberLocal(const FiberLocal&) = delete;
  FiberLocal& operator=(const FiberLocal&) = delete;
  operator void*() const { return __atomic_load_n(&pointer_, __ATOMIC_RELAXED); }
  void operator=(void* pointer) { __atomic_store_n(&pointer_, pointer, __ATOMIC_RELAXED); }

 private:
  void* pointer_ = nullptr;
};

extern constinit thread_local FiberLocal agent;  // the rank that the calling CPU thread serves
}  // namespace detail

// One step of a wait. On a GPU it backs off for a few tens of nanoseconds; on the host it lets other threads of the
// block (or, in deterministic mode, of the whole job) run, and yields the processor when nobody of them can. Any loop
// that waits for another thread must call it.
DCGN_HOST_DEVICE inline void relax() {
#if defined(__CUDA_ARCH__)
  __nanosleep(20);
#else
  detail::relax_host();
#endif
}

// The same where what is waited for must be about to come: a GPU thread does not back off.
DCGN_HOST_DEVICE inline void relax_briefly() {
#if !defined(__CUDA_ARCH__)
  detail::relax_host();
#endif
}

}  // namespace dcgn
