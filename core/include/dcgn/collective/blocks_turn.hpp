// A turn (turn.hpp) of several blocks. They meet at the start; then the first warp of each looks where the packets lie.
// That of the first block handles the signatures, in a function of the library: the code of a kernel is short, and only
// that warp saves registers. All other threads carry payloads. The turn is noted as over when all blocks have looked,
// and they meet again at the end.
//
// Memory order: the first meeting leaves a multiprocessor's cache as it is, because clearing it takes up to a
// quarter of a microsecond. So buffers are read past that cache. The second meeting clears it, as a result may lie in
// it.
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
                                                        const gpu::BlocksScope& blocks, const Found found);
// Before that, if peers have not read the segments yet.
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Outcome await_segments(Few scope, const Member m, const TurnPlan plan,
                                                          const gpu::BlocksScope& blocks, const Found found);

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

  static constexpr message::Loads loads = message::Loads::fresh;
  // If a call reads more than buffers that the other blocks may have written, it says so before it begins.
  DCGN_HOST_DEVICE void acquire_all() { acquires_ = true; }

  DCGN_HOST_DEVICE const Scope& scope() const { return scope_; }
  DCGN_HOST_DEVICE Endpoint& me() const { return me_; }
  DCGN_HOST_DEVICE int self() const { return self_; }
  DCGN_HOST_DEVICE int size() const { return size_; }
  DCGN_HOST_DEVICE std::uint32_t others() const { return ((1u << size_) - 1) & ~bit(self_); }
  DCGN_HOST_DEVICE static std::uint32_t bit(int k) { return 1u << k; }
  DCGN_HOST_DEVICE message::Watch watch() const { return {*me_.phase, me_.collectives.given_up}; }
  // This turn's packets between this rank and rank k, once it has begun.
  DCGN_HOST_DEVICE message::Flight flight(int k) const { return flights()[k]; }
  // In all but the first warp. Warps are numbered across the blocks, so that all multiprocessors carry a short payload.
  DCGN_HOST_DEVICE Carriers carriers() const {
    constexpr unsigned warp = gpu::warp_size;
    const unsigned signers = scope_.threads_of_first_warp(), threads = scope_.threads_of_leader(),
                   thread = scope_.block().rank(), number = thread / warp * scope_.blocks() + scope_.block_rank(),
                   rank = threads % warp ? scope_.rank() : number * warp + thread % warp;
    return {rank - signers, scope_.size() - signers};
  }
  template <class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void each_by_crews(std::uint32_t ranks, const Act& act) const {
    each_peer_by_crews(carriers(), size_, ranks, act);
  }

  template <class Push, class Take>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code run_rows(const TurnPlan& plan, const Push& push, const Take& take) {
    Heard heard;
    Found found;
    if constexpr (Turn<gpu::WarpScope>::by_lanes)
      if (const int lane = static_cast<int>(scope_.block().rank()); lane < size_ && lane != self_)
        found.inbox.find(message::inbox_of(me_, peers_of(m_.group)[lane]));
    const bool opened = scope_.meet_and_look(
        acquires_,
        [&](const gpu::WarpScope& warp) {
          return lead_few(warp, size_, [&](const auto& few) { return Looked{finds_packets(few, found)}; }).good;
        },
        [&](const gpu::WarpScope& warp) {
          return lead_few(warp, size_, [&](const auto& few) { return Looked{gets_ready(few, plan, found, heard)}; })
              .good;
        });
    bool came = true;
    if (opened && scope_.is_in_first_warp()) {
      heard =
          lead_few(scope_.warp(), size_, [&](const auto& few) { return run_signatures(few, m_, plan, scope_, found); });
    } else if (opened) {
      push();
      came = take(true);
    }
    if (!opened && scope_.leader())  // other blocks may wait for packets
      store_relaxed(me_.collectives.given_up, static_cast<std::uint32_t>(message::Phase::aborted));
    const bool good = scope_.agree(opened & came & (heard.code == Code::ok) & (heard.late == Code::ok || !plan.ends));
    if (good) return Code::ok;
    Code code = heard.code == Code::ok ? heard.late : heard.code;
    if (!found.free && scope_.leader()) code = message::refuse(me_, plan.call);
    return give_up<Scope>(scope_, me_, plan.call, code);
  }

 private:
  struct Looked {
    bool good;
  };

  DCGN_HOST_DEVICE Flights& flights() const { return *scope_.block().template table<Flights>(); }

  // act(k, inbox) for each other rank, by the thread of the block's first warp that handles it.
  template <class Few, class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void each_other(const Few& few, LaneInbox& inbox, const Act& act) const {
    if constexpr (Turn<Few>::by_lanes) {
      if (inbox.place) act(static_cast<int>(few.rank()), inbox);
    } else if (few.leader()) {
      for (int k = 0; k < size_; ++k) {
        if (k == self_) continue;
        inbox.find(message::inbox_of(me_, peers_of(m_.group)[k]));
        act(k, inbox);
      }
    }
  }
  // When all blocks have come, since until then their threads may make other calls of the slot. False if the slot is in
  // another call: if that begins or ends just now, blocks may differ.
  template <class Few>
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool finds_packets(const Few& few, Found& found) const {
    found.free = message::is_free(me_);
    if (scope_.is_leaders_block()) found.number = load_relaxed(m_.port.turns->begun[m_.group.pair]);
    each_other(few, found.inbox, [&](int k, LaneInbox& inbox) {
      inbox.see(message::load_two_anew(&inbox.place->turn));
      flights()[k] = message::flight_of(inbox.its, m_.group.inbox_packets, inbox.its.turn);
      found.unread = found.unread || (inbox.its.turn - inbox.its.seen > message::most_unseen_turns &&
                                      !message::is_read(inbox.its, m_.group.inbox_packets));
    });
    if (few.agree(found.free & !found.unread)) return true;
    found.unread = true;
    found.free = few.agree(found.free);
    return found.free;
  }
  // Waits until the peers have read the segments that this turn writes. Then the first warp sends its signatures at
  // once, for what it calls next takes time to save registers.
  template <class Few>
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool gets_ready(const Few& few, const TurnPlan& plan, Found& found,
                                                          Heard& heard) const {
    if (scope_.is_leaders_block()) {
      if (found.unread) {
        heard.code = await_segments(few, m_, plan, scope_, found).code;
        found.awaited = true;
        if (heard.code != Code::ok) return false;
      }
      if constexpr (Turn<Few>::by_lanes) {
        found.has_signed = true;
        if (const auto lane = few.rank(); plan.sends >> lane & 1)
          send_signature(flights()[lane], plan.signature, static_cast<std::uint64_t>(plan.bytes));
      }
      return true;
    }
    if (!found.unread) return true;
    bool read = true;
    each_other(few, found.inbox, [&](int k, LaneInbox& inbox) {
      inbox.its.turn = flights()[k].turn;  // of this one, if the thread handles all
      read = read && message::await(watch(), [&] { return message::is_read(inbox.its, m_.group.inbox_packets); });
    });
    return few.agree(read);
  }

  const Scope& scope_;
  const Member& m_;
  Endpoint& me_;
  int self_, size_;
  bool acquires_ = false;
};

template <class Scope>
using TurnOf = std::conditional_t<message::plans_ahead<Scope>, BlocksTurn<Scope>, Turn<Scope>>;

}  // namespace dcgn::collective
