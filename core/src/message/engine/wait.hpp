// Waiting: deadlines, the abort word, and what a waiting rank tells the watchdog. Called by a call's leader alone.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/endpoint.hpp>
#include "message/engine/background.hpp"
#include "message/engine/fragments.hpp"

#include <cstdint>

namespace dcgn::message {

// What a call waits for, as a report names it.
struct Waited {
  Envelope envelope;
  bool is_receive = false;
  std::uint32_t requests = 0;  // incomplete ones; 0 where the call waits for something else
  std::uint64_t capacity = 0;  // of a receive's buffer
};

DCGN_HOST_DEVICE inline bool aborted(const Endpoint& me) {
  return load_relaxed(*me.phase) == static_cast<std::uint32_t>(Phase::aborted);
}

// Tells the watchdog which collectives the rank has begun, as far as it keeps them.
DCGN_HOST_DEVICE void publish_turns(Endpoint& me);

// Tells the watchdog why the job should stop. The first alarm of a rank stands.
DCGN_HOST_DEVICE inline void raise_alarm(Endpoint& me, Alarm alarm) {
  if (load_relaxed(me.notice->alarm) == static_cast<std::uint32_t>(Alarm::none)) {
    me.notice->failure = me.last_failure;
    publish_turns(me);
    store_release(me.notice->alarm, static_cast<std::uint32_t>(alarm));
  }
}

// Grows with everything that the rank does.
DCGN_HOST_DEVICE std::uint64_t activity(const Endpoint& me);

// As Notice::is_receive where a rank waits for blocks of its own: `requests` of `waits_for.bytes` have come; 0: some.
inline constexpr std::uint32_t awaits_blocks = 2;

// Whether the phase is a survey that the rank has not answered. It answers once, whatever it waits for later: the
// watchdog reads what it has been told without a lock. What it has answered is beside the rank's own state: the notice
// is in the host's memory, and a GPU reads that a microsecond long.
DCGN_HOST_DEVICE inline bool is_to_answer(const Endpoint& me, std::uint32_t phase) {
  return phase >= static_cast<std::uint32_t>(Phase::survey) && phase != load_relaxed(me.answered);
}

// Answers a survey.
DCGN_HOST_DEVICE void publish(Endpoint& me, const Envelope& waits_for, std::uint32_t is_receive, std::uint32_t requests,
                              std::uint32_t survey, std::uint64_t waited);

class Waiter {
 public:
  static constexpr std::uint64_t idle_after_ns = 100'000'000;  // then the rank counts as idle

  DCGN_HOST_DEVICE explicit Waiter(Endpoint& me) : me_(me) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  [[gnu::always_inline]] DCGN_HOST_DEVICE ~Waiter() {
    if (begun_) me_.statistics.wait_ns += now_ns() - begun_;
    rested();
    set_idle(false);
  }

  // Whether to look at every FIFO now: before the answer to a survey, and before a wait is given up because its rank
  // has ended. Otherwise who waits for one rank looks at a few others at a time: a GPU's thread takes a tenth of a
  // millisecond to look at a thousand FIFOs, and so would its message.
  DCGN_HOST_DEVICE bool is_thorough() const {
    return (to_answer_ || ended_seen_) && pauses_ % look_every == look_every - 1;
  }

  // Something was done; the deadline counts from here.
  DCGN_HOST_DEVICE void progressed() {
    rested();
    set_idle(false);
    idle_since_ = 0;
    ended_seen_ = false;
  }

  // Nothing could be done: lets others run. ok to go on waiting; otherwise why the call has to give up.
  template <class Describe>
  DCGN_HOST_DEVICE Code pause(const Describe& describe) {
#if !defined(__CUDA_ARCH__)
    if (me_.background) {
      if (me_.background->is_calling()) {  // held to no deadline: the program may be computing
        me_.background->step_back(describe());
        return aborted(me_) || me_.stopped ? Code::aborted : Code::ok;
      }
      const bool any = me_.background->go_on();
      if (me_.stopped) return Code::aborted;  // by one of those: what this call has begun is taken back, too
      if (any) {
        progressed();
        return Code::ok;
      }
    }
#endif
    relax();
    if (!begun_) begun_ = now_ns();
    return ++pauses_ % look_every == 0 && !(me_.without & without_checks) ? look(describe()) : Code::ok;
  }

  // A call that does not wait found nothing: lets others run. It answers surveys, so that a report names it, but since
  // its rank can do something else instead of polling again, it is neither idle nor held to the deadline.
  template <class Describe>
  DCGN_HOST_DEVICE Code poll(const Describe& describe) {
#if !defined(__CUDA_ARCH__)
    if (me_.background) me_.background->go_on();
    if (me_.stopped) return Code::aborted;
#endif
    relax();
    const std::uint32_t phase = load_acquire(*me_.phase);
    if (phase == static_cast<std::uint32_t>(Phase::aborted)) return Code::aborted;
    if (is_to_answer(me_, phase)) publish(describe(), phase, 0);
    return Code::ok;
  }

 private:
  DCGN_HOST_DEVICE Code look(const Waited& w);

  // Whether copies are under way for this rank.
  DCGN_HOST_DEVICE bool is_served() const {
#if !defined(__CUDA_ARCH__)
    if (me_.fragments && me_.fragments->busy()) return true;
#endif
    return me_.copies.under_way.first;
  }

  DCGN_HOST_DEVICE Code give_up(Code code, Alarm alarm, std::uint64_t now) {
    gave_up_ = code;
    gave_up_at_ = now;
    set_idle(true);
    raise_alarm(me_, alarm);
    return Code::ok;
  }

  // The next pause is a short one again.
  DCGN_HOST_DEVICE void rested() {
#if !defined(__CUDA_ARCH__)
    if (pauses_) detail::relax_reset_host();
#endif
  }

  DCGN_HOST_DEVICE void set_idle(bool idle) {
    if (idle != idle_) tell_idle(idle);
  }
  DCGN_HOST_DEVICE void tell_idle(bool idle);

  DCGN_HOST_DEVICE void publish(const Waited& w, std::uint32_t survey, std::uint64_t waited) {
    message::publish(me_, w.envelope, w.is_receive, w.requests, survey, waited);
  }

  Endpoint& me_;
  std::uint32_t pauses_ = 0;
  std::uint32_t noticed_ = 0;  // the survey that was seen last
  std::uint64_t begun_ = 0;
  std::uint64_t idle_since_ = 0;
  std::uint64_t gave_up_at_ = 0;
  [[maybe_unused]] std::uint64_t asked_at_ = 0;  // whether the other one has ended
  Code gave_up_ = Code::ok;
  bool to_answer_ = false;  // a survey has been seen, and is answered at the next look
  bool idle_ = false;
  bool ended_seen_ = false;
};

}  // namespace dcgn::message
