// What the sanitizers must be told about fibers; nothing in builds without them.
//
// ThreadSanitizer sees every fiber as a thread of its own, and a switch between fibers as no synchronisation: what one
// GPU thread writes and another reads is a race unless a barrier, a word of arch/atomic.hpp, a launch or a join orders
// the two. The scheduler's own data is touched by all fibers of a carrier, one at a time; Unobserved hides it.
#pragma once

#include <cstddef>

#if defined(__has_feature)  // clang
#if __has_feature(thread_sanitizer)
#define DCGN_TSAN 1
#endif
#if __has_feature(address_sanitizer)
#define DCGN_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)  // g++
#define DCGN_TSAN 1
#endif
#if defined(__SANITIZE_ADDRESS__)
#define DCGN_ASAN 1
#endif

#if defined(DCGN_TSAN)
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#define DCGN_NO_TSAN __attribute__((no_sanitize("thread")))
#else
#define DCGN_NO_TSAN
#endif
#if defined(DCGN_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace dcgn::device::sanitizer {

#if defined(DCGN_TSAN) || defined(DCGN_ASAN)
inline constexpr bool any = true;
#else
inline constexpr bool any = false;
#endif
#if defined(DCGN_TSAN)
inline constexpr bool tsan = true;
#else
inline constexpr bool tsan = false;
#endif

// What came before release(address) in one fiber happens before what follows acquire(address) in another.
inline void release([[maybe_unused]] void* address) {
#if defined(DCGN_TSAN)
  __tsan_release(address);
#endif
}
inline void acquire([[maybe_unused]] void* address) {
#if defined(DCGN_TSAN)
  __tsan_acquire(address);
#endif
}

// While one lives, ThreadSanitizer ignores this fiber's accesses. It belongs to the fiber, not to the carrier: a
// fiber that is switched away from inside it goes on ignoring when it comes back.
class Unobserved {
 public:
#if defined(DCGN_TSAN)
  Unobserved() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unobserved() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  Unobserved() {}  // not trivial, lest the compiler call it unused
  ~Unobserved() {}
#endif
  Unobserved(const Unobserved&) = delete;
  Unobserved& operator=(const Unobserved&) = delete;
};

}  // namespace dcgn::device::sanitizer
