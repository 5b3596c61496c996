// A turn (turn.hpp) of several blocks. All threads carry payloads. One warp of the first block handles the signatures,
// in functions of the library: the code of a kernel is short, and only that warp saves registers. The blocks meet
// twice: at the start, when that warp has written where the packets lie, and at the end.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/turn.hpp>
#include <dcgn/message/blocks_scope.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::collective {

// Turn::open() and Turn::hear(), by a warp or a thread.
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Code open_turn(Few scope, const Member m, const TurnPlan plan);
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Heard hear_turn(Few scope, const Member m, const TurnPlan plan);

template <class Scope>
class BlocksTurn {
 public:
  DCGN_HOST_DEVICE BlocksTurn(const Scope& scope, const Member& m)
      : scope_(scope), m_(m), me_(*m.port.me), self_(m.group.rank), size_(m.group.size) {}

  DCGN_HOST_DEVICE const Scope& scope() const { return scope_; }
  DCGN_HOST_DEVICE Endpoint& me() const { return me_; }
  DCGN_HOST_DEVICE int self() const { return self_; }
  DCGN_HOST_DEVICE int size() const { return size_; }
  DCGN_HOST_DEVICE std::uint32_t others() const { return ((1u << size_) - 1) & ~bit(self_); }
  DCGN_HOST_DEVICE static std::uint32_t bit(int k) { return 1u << k; }
  DCGN_HOST_DEVICE message::Watch watch() const { return {*me_.phase, me_.collectives.given_up}; }
  // This turn's packets between this rank and rank k, once it has begun.
  DCGN_HOST_DEVICE message::Flight flight(int k) const { return me_.collectives.flights[k]; }
  template <class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void each_by_crews(std::uint32_t ranks, const Act& act) const {
    each_peer_by_crews(scope_, size_, ranks, act);
  }

  template <class Push, class Take>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code run_rows(const TurnPlan& plan, const Push& push, const Take& take) {
    const Code opened = lead_few(scope_, size_, [&](const auto& few) {
                          return Outcome{open_turn(few, m_, plan), true};
                        }).code;
    if (opened != Code::ok) return give_up<Scope>(scope_, me_, plan.call, opened);
    push();
    Heard heard;
    const gpu::BlockScope block = scope_.block();
    if (scope_.is_leaders_block() && block.looks())
      heard = lead_few(block.lookers(), size_, [&](const auto& few) { return hear_turn(few, m_, plan); });
    const bool came = take(heard.code == Code::ok);
    const bool good = scope_.agree(came & (heard.code == Code::ok) & (heard.late == Code::ok || !plan.ends));
    return good ? Code::ok : give_up<Scope>(scope_, me_, plan.call, heard.code == Code::ok ? heard.late : heard.code);
  }

 private:
  const Scope& scope_;
  const Member& m_;
  Endpoint& me_;
  int self_, size_;
};

template <class Scope>
using TurnOf = std::conditional_t<message::plans_ahead<Scope>, BlocksTurn<Scope>, Turn<Scope>>;

}  // namespace dcgn::collective
