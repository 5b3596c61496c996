// A turn (turn.hpp) of several blocks. The first warp of the first block handles the signatures, in a function of the
// library: the code of a kernel is short, and only that warp saves registers. All other threads carry payloads. The
// blocks meet twice: at the start, when that warp has written where the packets lie, and at the end.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/turn.hpp>
#include <dcgn/message/blocks_scope.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::collective {

// By a warp or a thread of `blocks`, all of which make the call.
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Heard run_signatures(Few scope, const Member m, const TurnPlan plan,
                                                        const gpu::BlocksScope& blocks);

// The threads of several blocks that carry payloads.
struct Carriers {
  unsigned first, threads;

  DCGN_HOST_DEVICE unsigned rank() const { return first; }
  DCGN_HOST_DEVICE unsigned size() const { return threads; }
};

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
  // In all but the first warp.
  DCGN_HOST_DEVICE Carriers carriers() const {
    const unsigned signers = scope_.threads_of_first_warp();
    return {scope_.rank() - signers, scope_.size() - signers};
  }
  template <class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void each_by_crews(std::uint32_t ranks, const Act& act) const {
    each_peer_by_crews(carriers(), size_, ranks, act);
  }

  template <class Push, class Take>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code run_rows(const TurnPlan& plan, const Push& push, const Take& take) {
    Heard heard;
    const bool opened = scope_.go_with_first_warp([&](const gpu::WarpScope& warp) {
      heard = lead_few(warp, size_, [&](const auto& few) { return run_signatures(few, m_, plan, scope_); });
      return heard.opened;
    });
    bool came = true;
    if (opened && !scope_.is_in_first_warp()) {
      push();
      came = take(true);
    }
    const bool good = scope_.agree(opened & came & (heard.code == Code::ok) & (heard.late == Code::ok || !plan.ends));
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
