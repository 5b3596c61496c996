#include "fiber.hpp"

#include "sanitizer.hpp"

#include <dcgn/arch/relax.hpp>

#include <boost/context/detail/fcontext.hpp>

#include <cxxabi.h>

#include <atomic>
#include <cstdlib>

namespace dcgn {

namespace detail {
constinit thread_local FiberLocal agent;
}

namespace device {

namespace context = boost::context::detail;

// Runs between two fibers, on data of both; so nothing here, nor what it calls, may be instrumented for
// ThreadSanitizer.
struct Fiber::Switch {
  Fiber* from;
  Fiber* to;

  DCGN_NO_TSAN static void land(const context::transfer_t& arrival) noexcept {
    const auto* how = static_cast<const Switch*>(arrival.data);
    Fiber& from = *how->from;
#if defined(DCGN_ASAN)
    // Says where the stack is that was left, which for the thread's own is known from nowhere else.
    const void* low = nullptr;
    std::size_t bytes = 0;
    __sanitizer_finish_switch_fiber(how->to->asan_frames_, &low, &bytes);
    if (from.is_thread_) from.stack_ = {static_cast<std::byte*>(const_cast<void*>(low)), bytes};
#endif
    from.context_ = arrival.fctx;
    if constexpr (!sanitizer::tsan)
      if (from.ended_) {
        release_stack(from.stack_);
        from.stack_ = {};
      }
  }

  DCGN_NO_TSAN static void enter(context::transfer_t arrival) {
    Fiber& self = *static_cast<const Switch*>(arrival.data)->to;
    land(arrival);
    sanitizer::acquire(&self);                 // who added it
    sanitizer::acquire(&dcgn::detail::agent);  // the start of the thread that carries it
    sanitizer::acquire(self.stack_.low);       // whoever had this stack before has done with it
    Fiber& next = self.run();
    sanitizer::release(self.stack_.low);
    self.ended_ = true;
    self.switch_to(next);
    std::abort();  // nobody switches to an ended fiber
  }
};

#if defined(DCGN_TSAN)
namespace {
// ThreadSanitizer ends the process at 8128 threads, or sooner for want of mappings, and takes 0.3 ms for each. Fibers
// beyond this number at a time pass for part of the one that made them: their races go unseen, nothing else changes.
constexpr int max_tsan_fibers = 2048;
std::atomic<int> tsan_fibers{0};
}  // namespace
#endif

Fiber::Fiber(StackSize size, [[maybe_unused]] Kin kin) : is_thread_(false), size_(size) {
#if defined(DCGN_TSAN)
  // Here and not at the first switch, lest a fiber seem to come after what its predecessor in turn has done.
  prepare();
  tsan_owned_ = tsan_fibers.fetch_add(1, std::memory_order_relaxed) < max_tsan_fibers && kin == Kin::own;
  tsan_ = tsan_owned_ ? __tsan_create_fiber(0) : __tsan_get_current_fiber();
#endif
}

Fiber::~Fiber() {
#if defined(DCGN_TSAN)
  if (tsan_owned_) __tsan_destroy_fiber(tsan_);
  if (!is_thread_) {
    tsan_fibers.fetch_sub(1, std::memory_order_relaxed);
    release_stack(stack_);
  }
#else
  if (!is_thread_ && stack_) release_stack(stack_);  // never begun, or left in the middle
#endif
}

Fiber& Fiber::run() { std::abort(); }  // the thread's own fiber is never begun

void Fiber::prepare() noexcept {
  stack_ = acquire_stack(size_);
  context_ = context::make_fcontext(stack_.high(), stack_.bytes, &Switch::enter);
}

DCGN_NO_TSAN void Fiber::switch_to(Fiber& to) noexcept {
  if (!to.context_) to.prepare();

  auto& exceptions = *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  exceptions_ = exceptions;
  exceptions = to.exceptions_;
  agent_ = dcgn::detail::agent;
  dcgn::detail::agent = to.agent_;

  const Switch how{this, &to};
#if defined(DCGN_ASAN)
  __sanitizer_start_switch_fiber(ended_ ? nullptr : &asan_frames_, to.stack_.low, to.stack_.bytes);
#endif
#if defined(DCGN_TSAN)
  if (is_thread_) {
    tsan_ = __tsan_get_current_fiber();
    sanitizer::release(&dcgn::detail::agent);
  }
  if (tsan_ != to.tsan_) __tsan_switch_to_fiber(to.tsan_, __tsan_switch_to_fiber_no_sync);
#endif
  Switch::land(context::jump_fcontext(to.context_, const_cast<Switch*>(&how)));
}

}  // namespace device
}  // namespace dcgn
