// What a rank that waits looks at, and what it tells the watchdog.
#include "message/engine/compiled.hpp"

#include "message/engine/wait.hpp"

#include <dcgn/arch/clock.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE void publish_turns(Endpoint& me) {
  const Turns& turns = *me.collectives.turns;
  for (std::uint32_t i = 0; i < Turns::kept; ++i) {
    const std::uint64_t word = turns.latest[i], size = turns.sizes[i];
    const std::uint32_t pair = Turns::pair_of(word), number = Turns::number_at(i, turns.begun[pair]);
    store_relaxed(me.notice->sizes[i], size);
    store_relaxed(me.notice->turn_numbers[i], number);
    store_relaxed(me.notice->seals[i], Turns::seal(turns.communicators[pair], word, size, number));
    store_relaxed(me.notice->turns[i], word);
  }
}

DCGN_HOST_DEVICE std::uint64_t activity(const Endpoint& me) {
  std::uint64_t sum = me.statistics.activity;
  for (std::int32_t p = 0; p < fifos(me); ++p)
    sum += me.out[p].messages_by_fast_calls() + me.in[p].messages_by_fast_calls();
  return sum;
}

DCGN_HOST_DEVICE void publish(Endpoint& me, const Envelope& waits_for, std::uint32_t is_receive, std::uint32_t requests,
                              std::uint32_t survey, std::uint64_t waited) {
  Notice& n = *me.notice;
  publish_turns(me);
  n.arrived = me.unexpected_count;
  n.call = me.call;
  n.is_receive = is_receive;
  n.stalled = me.stalled;
  n.requests = requests;
  n.waits_for = waits_for;
  n.activity = activity(me);
  n.waited_ns = waited;
  // The first ones to come; those of a list are in order.
  const Record* first[notice_envelopes];
  int count = 0;
  for (const List& list : me.unexpected) {
    const Record* u = list.first;
    for (int i = 0; u && i < notice_envelopes; ++i, u = u->next) {
      int at = count;
      while (at > 0 && first[at - 1]->order > u->order) --at;
      if (at == notice_envelopes) break;
      if (count < notice_envelopes) ++count;
      for (int k = count - 1; k > at; --k) first[k] = first[k - 1];
      first[at] = u;
    }
  }
  for (int i = 0; i < count; ++i) n.unexpected[i] = first[i]->envelope;
  store_relaxed(me.answered, survey);
  store_release(n.survey, survey);
}

DCGN_HOST_DEVICE void Waiter::tell_idle(bool idle) {
  idle_ = idle;
  store_release(me_.notice->idle, idle ? 1u : 0u);
}

DCGN_HOST_DEVICE Code Waiter::look(const Waited& w) {
  const std::uint32_t phase = load_acquire(*me_.phase);
  if (phase == static_cast<std::uint32_t>(Phase::aborted)) return gave_up_ == Code::ok ? Code::aborted : gave_up_;
  const std::uint64_t now = now_ns();
  if (!idle_since_) idle_since_ = now;
  const std::uint64_t waited = now - idle_since_;
  if (waited > idle_after_ns && !is_served()) set_idle(true);
  // A survey is answered at the next look: by then every FIFO has been looked at since it began. What was found before
  // proves nothing, should this thread have been away from the processor in between.
  const bool asked = is_to_answer(me_, phase);
  if (asked && phase == noticed_) publish(w, phase, waited);
  to_answer_ = asked && phase != noticed_;
  if (asked) noticed_ = phase;
  if (gave_up_ != Code::ok) {
    // The watchdog has been told, and aborts the job once it knows what everybody waits for. Should it be gone:
    return now - gave_up_at_ > 10'000'000'000u ? gave_up_ : Code::ok;
  }
  if (waited > me_.limits.deadline_ns) return give_up(Code::deadline, Alarm::deadline, now);
#if defined(__CUDA_ARCH__)
  // The word that says who has ended is in the host's memory: a GPU asks once a millisecond.
  constexpr std::uint64_t ask_every_ns = 1'000'000;
  if (!ended_seen_ && now - (asked_at_ > idle_since_ ? asked_at_ : idle_since_) < ask_every_ns) return Code::ok;
  asked_at_ = now;
#endif
  // Who has ended neither sends nor receives any more: one more look at everything, then the wait is hopeless.
  if (w.requests <= 1 && w.envelope.peer != me_.rank && is_near(me_, w.envelope.peer) &&
      load_acquire(me_.ended[w.envelope.peer - me_.first])) {
    if (ended_seen_) return give_up(Code::rank_ended, Alarm::rank_ended, now);
    ended_seen_ = true;
  }
  return Code::ok;
}

}  // namespace dcgn::message

#endif
