// A turn: one collective of slots of a process, by stores into each other's inboxes (message/inbox.hpp).
//
// Every rank sends every other rank the call's signature: with its payload, or at the end if it has no payload for that
// rank. It waits for the ranks that send it a payload. All threads of the scope carry payloads; one lane of the first
// warp handles the signatures of one peer. A block synchronises twice: at the start, so that all its threads see what
// any of them wrote, and at the end.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/message/blocks_scope.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/message/inbox.hpp>
#include <dcgn/message/spin.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace dcgn::collective {

using message::Signature;

// True if all ranks of the communicator have inboxes of each other, and are few enough for each to send to all others
// at once. All ranks get the same answer. A broken scope takes the other path, which refuses it.
//
// What a call plans with is loaded once, into its Group: after a meeting of blocks nothing in memory is in a cache.
template <class Scope>
DCGN_HOST_DEVICE bool goes_in_turns(const Scope& scope, const Member& m) {
  return (m.group.size > 1) & (m.group.size <= at_once_ranks) & !scope.broken() & (m.group.inbox_packets > 0);
}

// True if such a call may work on the ranks' buffers directly.
template <class Scope>
DCGN_HOST_DEVICE bool may_go_straight(const Scope& scope, const Member& m, std::int64_t bytes,
                                      std::int64_t from_bytes) {
  return bytes >= from_bytes && goes_in_turns(scope, m) && !(m.port.me->without & message::without_addresses);
}

// Sets of ranks are bit masks. They are empty where ranks are too many for a turn, or a rank is none.
DCGN_HOST_DEVICE inline std::uint32_t bit_of(int k) { return static_cast<unsigned>(k) < 32 ? 1u << k : 0; }
DCGN_HOST_DEVICE inline std::uint32_t others_in(const Group& g) {
  return g.size > at_once_ranks ? 0 : (bit_of(g.size) - 1) & ~bit_of(g.rank);
}

// True if the scope's first warp has a lane for each rank; otherwise one thread handles them all.
template <class Scope>
DCGN_HOST_DEVICE bool has_lanes(const Scope& scope, int ranks) {
  if constexpr (Scope::single || !dcgn::detail::decides_in_block)
    return true;
  else if constexpr (message::plans_ahead<Scope>)
    return static_cast<int>(scope.threads_of_leader()) >= ranks;
  else
    return static_cast<int>(scope.size()) >= ranks;
}
// True if, besides, it has threads to carry payloads: of several blocks all but the first warp do.
template <class Scope>
DCGN_HOST_DEVICE bool has_carriers(const Scope& scope, int ranks) {
  if constexpr (message::plans_ahead<Scope>)
    if (scope.size() <= scope.threads_of_first_warp()) return false;
  return has_lanes(scope, ranks);
}
// Runs act(scope) on the first warp, or on the one thread of a thread scope, or on the leader if the warp has too few
// lanes.
template <class Scope, class Act>
DCGN_HOST_DEVICE auto lead_few(const Scope& scope, int ranks, const Act& act) {
  if constexpr (Scope::single) {
    return act(scope);
  } else if constexpr (Scope::in_warp) {
    if (has_lanes(scope, ranks)) return act(scope);
    return scope.lead([&] { return act(gpu::ThreadScope()); });
  } else {
    return scope.lead_warp([&](const gpu::WarpScope& warp) { return lead_few(warp, ranks, act); });
  }
}

// Runs act(scope, blocks) likewise, at once: if several `blocks` make the call, act() awaits the others.
template <class Scope, class Act>
DCGN_HOST_DEVICE auto lead_few_at_once(const Scope& scope, int ranks, const Act& act) {
  if constexpr (message::plans_ahead<Scope>)
    return scope.lead_warp_at_once([&](const gpu::WarpScope& warp) {
      return lead_few(warp, ranks, [&](const auto& few) { return act(few, &scope); });
    });
  else
    return lead_few(scope, ranks, [&](const auto& few) { return act(few, nullptr); });
}

// act(scope). If a rank's longest buffer has fewer than by_first_block bytes, the first of several blocks runs
// act(block) for all, because each meeting of the blocks takes longer than that.
template <class Scope, class Act>
DCGN_HOST_DEVICE Code by_first_if_short(const Scope& scope, std::int64_t longest, const Act& act) {
  if constexpr (message::plans_ahead<Scope>)
    if (longest < by_first_block && !scope.broken())
      return scope.lead_block([&](const gpu::BlockScope& block) { return Outcome{act(block)}; }).code;
  return act(scope);
}

// What a turn does.
struct TurnPlan {
  Call call;
  Signature signature;
  std::int64_t bytes;      // the same at all ranks
  int root;                // or no_root
  std::uint32_t sends;     // ranks that this one has a payload for
  std::uint32_t receives;  // ranks that have a payload for this one
  bool orders = false;     // packets also order other memory: a receiver sees all that the sender wrote before
  bool begins = true;      // the first turn of its call
  bool ends = true;        // the last turn of its call: see Turn::late()
};

// A tile of the scope's threads, which carries the payloads of peers number first, first + step, ...
struct PeerCrew {
  message::Crew crew;
  std::uint32_t first = 0, step = 1;

  DCGN_HOST_DEVICE PeerCrew(std::uint32_t rank, std::uint32_t size, std::uint32_t peers) : crew{rank, size} {
    constexpr std::uint32_t warp = gpu::warp_size;
    const std::uint32_t warps = size / warp;
    if (peers < 2 || warps < 2) return;
    step = warps < peers ? warps : peers;
    first = rank / warp % step;
    crew = {rank / warp / step * warp + rank % warp, (warps / step + (first < warps % step)) * warp};
    if (rank >= warps * warp) first = peers;  // in a last, incomplete warp: no peers
  }
};

// Calls act(k, crew) for each of `ranks`, at most `size`, on the tile of the scope's threads that carries its payload.
template <class Scope, class Act>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline void each_peer_by_crews(const Scope& scope, int size,
                                                                       std::uint32_t ranks, const Act& act) {
  std::uint32_t count = 0;
  for (std::uint32_t left = ranks; left; left &= left - 1) ++count;
  const PeerCrew its(scope.rank(), scope.size(), count);
  std::uint32_t number = 0, next = its.first;
  for (int k = 0; k < size; ++k) {
    if (!(ranks >> k & 1) || number++ != next) continue;
    act(k, its.crew);
    next += its.step;
  }
}

// Ends a call that cannot complete: every thread gets the code that the leader found. A function of its own without a
// reference to the Turn: an object whose address is passed on would be kept in memory, not in registers.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code give_up(dcgn::detail::Kept<Scope> scope, Endpoint& me, Call call,
                                                       Code code) {
  if (scope.broken()) {
    const message::Argument a = message::check_scope(scope);
    if (a.code == Code::ok) return Code::aborted;
    if (scope.leader()) message::fail(me, a.code, call, a.value, a.expected);
    return a.code;
  }
  if (scope.leader()) {
    if (code == Code::ok) code = Code::aborted;
    message::abandon(me);
    store_relaxed(me.collectives.given_up, 0);
  }
  code = scope.publish(code);
  scope.sync();
  return scope.broken() ? Code::aborted : code;
}

// What the threads of a block share in a turn: where its packets lie, by rank.
using Flights = message::Flight[message::most_in_turn];

// The inbox of the rank that a lane handles: where it is, if there is one, and what it holds.
struct LaneInbox {
  message::Inbox* place = nullptr;
  message::InboxState its;

  // What never changes.
  DCGN_HOST_DEVICE void find(message::Inbox& inbox) {
    place = &inbox;
    const message::TwoWords places = message::load_two(place);
    its.to = reinterpret_cast<message::Packet*>(places.first);
    its.from = reinterpret_cast<message::Packet*>(places.second);
  }
  // The rest, from inbox.turn on, as it is now.
  DCGN_HOST_DEVICE void see(const message::TwoWords& state) {
    its.turn = static_cast<std::uint32_t>(state.first);
    its.seen = static_cast<std::uint32_t>(state.first >> 32);
    its.signature = static_cast<std::uint32_t>(state.second);
    its.bytes = static_cast<std::uint32_t>(state.second >> 32);
  }
};

// Sends a signature, and the value beside it.
[[gnu::always_inline]] DCGN_HOST_DEVICE inline void send_signature(const message::Flight& to, Signature signature,
                                                                   std::uint64_t value) {
  message::write_packet(*to.to, static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32),
                        signature.word, to.turn + 1);
}

// What a block's first warp has found when all of several blocks have come.
struct Found {
  LaneInbox inbox;
  std::uint32_t number = 0;  // of the calls that the rank has begun
  bool free = true;          // the slot is in no other call
  bool unread = false;       // whether a peer may not have read the segment that this turn writes
  bool awaited = false;      // whether the leader knows that all blocks have looked
  bool has_signed = false;   // whether the first warp has sent its signatures
};

// What the signatures of a turn said.
struct Heard {
  Code code = Code::ok;
  Code late = Code::ok;  // a mismatch in the call before
};

// By a warp or thread of several blocks, `Blocks` is const gpu::BlocksScope*, which may be null; otherwise the code of
// those is left out.
template <class Scope, class Blocks = std::nullptr_t>
class Turn {
 public:
  // True if each lane of a warp handles one rank; false if one thread handles all.
  static constexpr bool by_lanes = dcgn::detail::decides_in_block && !Scope::single;
  static constexpr bool may_be_of_blocks = !std::is_null_pointer_v<Blocks>;
  static constexpr message::Loads loads = message::Loads::cached;  // of buffers
  DCGN_HOST_DEVICE void acquire_all() const {}                     // a barrier of a block or warp does: see BlocksTurn

  // Among `size` peers of a communicator, or among all of its ranks; at most as many as has_lanes() allows.
  // `blocks`: those that make the call, if several; then await_blocks() comes before everything else.
  [[gnu::always_inline]] DCGN_HOST_DEVICE Turn(const Scope& scope, const message::Port& port, const Group& group,
                                               const message::Peers& peers, int size, Blocks blocks = nullptr)
      : scope_(scope),
        group_(group),
        me_(*port.me),
        peers_(peers),
        size_(size),
        packets_(group.inbox_packets),
        blocks_(blocks) {
    if (signs())
      find_inboxes();
    else
      lane_ = size;
  }
  // Of several blocks, which have come and look where its packets lie.
  [[gnu::always_inline]] DCGN_HOST_DEVICE Turn(const Scope& scope, const Member& m, Blocks blocks, const Found& found)
      : scope_(scope),
        group_(m.group),
        me_(*m.port.me),
        peers_(peers_of(m.group)),
        size_(m.group.size),
        packets_(m.group.inbox_packets),
        lane_(signs() ? static_cast<int>(scope.lookers().rank()) : m.group.size),
        inbox_(found.inbox),
        others_look_(true),
        blocks_(blocks) {}
  [[gnu::always_inline]] DCGN_HOST_DEVICE Turn(const Scope& scope, const Member& m, Blocks blocks = nullptr)
      : Turn(scope, m.port, m.group, peers_of(m.group), m.group.size, blocks) {}

  [[gnu::always_inline]] DCGN_HOST_DEVICE const Scope& scope() const { return scope_; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE Endpoint& me() const { return me_; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE int self() const { return peers_.self; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE int size() const { return size_; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE std::uint32_t others() const { return all() & ~(1u << peers_.self); }
  [[gnu::always_inline]] DCGN_HOST_DEVICE std::uint32_t all() const { return (1u << size_) - 1; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE static std::uint32_t bit(int k) { return 1u << k; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::Watch watch() const {
    return {*me_.phase, me_.collectives.given_up};
  }

  // True for the threads that handle signatures.
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool signs() const { return scope_.looks(); }

  // This turn's packets between this rank and rank k. Any thread of the scope may ask.
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::Flight flight(int k) const { return flights()[k]; }
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::Flight flight_of(const message::InboxState& inbox,
                                                                    std::uint32_t turns_ago = 0) const {
    return message::flight_of(inbox, packets_, inbox.turn - turns_ago);
  }

  // Calls act(k, inbox) for each of `ranks` that the calling thread handles.
  template <class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void each_seen_to(std::uint32_t ranks, const Act& act) const {
    if constexpr (by_lanes) {
      if (lane_ < size_ && (ranks >> lane_ & 1)) act(lane_, inbox_.its);
    } else {
      for (int k = lane_; k < size_; ++k)
        if (ranks >> k & 1) act(k, k == self() ? message::InboxState{} : load(k));
    }
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE const Scope& carriers() const { return scope_; }
  // Calls act(k, crew) for each of `ranks`, on the tile of threads that carries its payload.
  template <class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void each_by_crews(std::uint32_t ranks, const Act& act) const {
    each_peer_by_crews(scope_, size_, ranks, act);
  }

  // The fast path of a turn without payloads, by a warp: each lane sends `value` to its rank and gives take() what that
  // rank sent. It calls no function, so all its state stays in registers. False if anything unusual happens: the caller
  // goes on with run(), which skips the sends if `has_begun`.
  template <class Take>
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool run_at_once(const TurnPlan& plan, std::uint64_t value, const Take& take,
                                                           bool& has_begun) const {
    static_assert(by_lanes && Scope::in_warp);
    const bool other = lane_ < size_ && lane_ != self(), receives = other && (plan.receives >> lane_ & 1);
    const message::InboxState& inbox = inbox_.its;
    const std::uint32_t unseen = inbox.turn - inbox.seen;
    const bool ready = !other || unseen == 0 || (!receives && (unseen <= message::most_unseen_turns || is_read(inbox)));
    has_begun = scope_.agree((load_busy().first == 0) & ready);
    if (!has_begun) return false;
    begin(plan, [&](int) { return value; });
    const message::Flight its = flight_of(inbox);
    std::uint32_t d[3]{};
    const bool here = !receives || (message::spin(message::fast_looks,
                                                  [&] { return message::read_packet(*its.from, its.turn + 1, d); }) &&
                                    d[2] == plan.signature.word);
    if (!scope_.vote(here)) return false;
    take(receives ? message::long_word(d) : value);
    end(plan);
    scope_.sync();
    return true;
  }

  // The whole turn, by all threads of the scope.
  //   value(k)               the word that goes to rank k beside the signature
  //   push()                 sends this rank's payloads
  //   got(k, value, flight)  takes the word of rank k, on the thread that handles it; false if it is a mismatch
  //   take(good)             takes the other ranks' payloads; false if a wait was given up. `good` is false on threads
  //                          that know of a mismatch.
  // `has_begun`: everything has been sent already.
  template <class Value, class Push, class Got, class Take>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code run(const TurnPlan& plan, const Value& value, const Push& push,
                                                   const Got& got, const Take& take, bool has_begun = false) {
    Code code = Code::ok;
    const bool signs = this->signs();
    if (!has_begun) {
      if (signs) code = prepare(plan);
      if (!scope_.agree(code == Code::ok)) return give_up<Scope>(scope_, me_, plan.call, code);
      if (signs) {
        if (plan.orders) message::order_memory();
        begin(plan, value);
      }
      push();
    }
    if (signs) {
      code = read_signatures(plan, got);
      if (plan.orders) message::order_memory();
      if (code != Code::ok && scope_.leader())
        store_relaxed(me_.collectives.given_up, static_cast<std::uint32_t>(message::Phase::aborted));
    }
    const bool came = take(code == Code::ok);
    if constexpr (Scope::in_warp) scope_.sync();  // all have done with the flights
    if (signs) end(plan);
    const bool good = scope_.agree(came & (code == Code::ok) & (late_ == Code::ok || !plan.ends));
    return good ? Code::ok : give_up<Scope>(scope_, me_, plan.call, code == Code::ok ? late_ : code);
  }

  // A turn with payloads in packets.
  template <class Push, class Take>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code run_rows(const TurnPlan& plan, const Push& push, const Take& take) {
    return run(
        plan, [&](int) { return static_cast<std::uint64_t>(plan.bytes); }, push,
        [](int, std::uint64_t, const message::Flight&) { return true; }, take);
  }

  // If several blocks make the call, awaits those that have not come; false if they do not come. Until then their
  // threads may make other calls of the slot, so only now it looks where the packets of this turn lie. `acquires`: see
  // BlocksScope::await_others().
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool await_blocks(bool acquires = false) {
    if constexpr (may_be_of_blocks) {
      if (!blocks_) return true;
      if (!blocks_->await_others(scope_, acquires || !by_lanes)) return false;
      if constexpr (by_lanes)
        if (inbox_.place) inbox_.see(message::load_two_anew(&inbox_.place->turn));
    }
    return true;
  }
  // Before functions that load what other multiprocessors may have written.
  DCGN_HOST_DEVICE void look_anew() const {
    if constexpr (may_be_of_blocks)
      if (blocks_) message::order_memory();
  }
  // Of a turn of several blocks, when all have looked where its packets lie: waits, as any call does, until the peers
  // have read the segments.
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code await_segments(const TurnPlan& plan) {
    return scope_.broadcast(signs() ? prepare(plan) : Code::ok);
  }
  // What one warp, or thread, does in such a turn. Its loads wait for each other as little as can be: all blocks wait
  // for it.
  [[gnu::always_inline]] DCGN_HOST_DEVICE Heard run_signatures(const TurnPlan& plan, message::Turns& turns,
                                                               const Found& found) {
    static_assert(may_be_of_blocks);
    Code code = Code::ok;
    if (signs()) {
      if (!found.has_signed)
        each_seen_to(plan.sends, [&](int, const message::InboxState& inbox) {
          sign(plan, inbox, static_cast<std::uint64_t>(plan.bytes));
        });
      if (scope_.leader()) {
        begin_turn(turns, group_, plan.call, found.number, plan.bytes, plan.root);
        awaits_looks_ = !found.awaited;
        if (awaits_looks_) have_looked_ = blocks_->have_looked();
      }
      code = read_signatures(plan, [](int, std::uint64_t, const message::Flight&) { return true; });
      await_looks();
      scope_.lookers().sync();
      if (code != Code::ok && scope_.leader())
        store_relaxed(me_.collectives.given_up, static_cast<std::uint32_t>(message::Phase::aborted));
      end(plan);
    }
    return {scope_.broadcast(code), scope_.broadcast(late_)};
  }

  // A mismatch in the call before, found now by the threads that handle signatures. This call still completes, because
  // other ranks complete it; it returns this code at its end.
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code late() const { return late_; }

 private:
  // By the leader of a turn of several blocks, before anything changes that these look at.
  [[gnu::always_inline]] DCGN_HOST_DEVICE void await_looks() {
    if constexpr (may_be_of_blocks) {
      if (!awaits_looks_) return;
      blocks_->await_looks(have_looked_);  // in a stopped job nothing matters any more
      awaits_looks_ = false;
    }
  }

  // Where this turn's packets lie, written by the threads that handle signatures for the other threads of their block.
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::Flight* flights() const {
    if constexpr (Scope::in_warp)
      return me_.collectives.flights;
    else
      return *scope_.template table<Flights>();
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::Inbox& place_of(int k) const {
    if constexpr (by_lanes)
      return *inbox_.place;
    else
      return message::inbox_of(me_, peers_[k]);
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::InboxState load(int k) const {
    LaneInbox inbox;
    inbox.find(place_of(k));
    inbox.see(message::load_two(&inbox.place->turn));
    return inbox.its;
  }

  [[gnu::always_inline]] DCGN_HOST_DEVICE bool is_of_blocks() const {
    if constexpr (may_be_of_blocks)
      return blocks_ != nullptr;
    else
      return false;
  }
  // By the first warp of a block, or its leader. The warp synchronises first: one of its lanes may have made the call
  // before by itself.
  [[gnu::always_inline]] DCGN_HOST_DEVICE void find_inboxes() {
    const auto lookers = scope_.lookers();
    lookers.sync();
    lane_ = static_cast<int>(lookers.rank());
    if constexpr (by_lanes)
      if (lane_ < size_ && lane_ != peers_.self) {
        inbox_.find(message::inbox_of(me_, peers_[lane_]));
        if (!is_of_blocks()) inbox_.see(message::load_two(&inbox_.place->turn));
      }
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE void note_flights(const TurnPlan& plan) const {
    if (others_look_ || (by_lanes && plan.signature.form() != Signature::payload)) return;
    each_seen_to(others(), [&](int k, const message::InboxState& inbox) {
      const message::Flight its = flight_of(inbox);
      message::Flight& to = flights()[k];
      to.to = its.to;
      to.from = its.from;
      to.turn = its.turn;
    });
  }
  template <class Value>
  [[gnu::always_inline]] DCGN_HOST_DEVICE void begin(const TurnPlan& plan, const Value& value) const {
    each_seen_to(plan.sends, [&](int k, const message::InboxState& inbox) { sign(plan, inbox, value(k)); });
    if (!plan.begins || !scope_.leader()) return;
    message::Turns& turns = *me_.collectives.turns;
    std::uint32_t& begun = turns.begun[group_.pair];
    begin_turn(turns, group_, plan.call, is_of_blocks() ? load_relaxed(begun) : begun, plan.bytes, plan.root);
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE void end(const TurnPlan& plan) const {
    each_seen_to(others(), [&](int k, const message::InboxState& inbox) {
      if (!(plan.sends >> k & 1)) sign(plan, inbox, static_cast<std::uint64_t>(plan.bytes));
      const std::uint32_t turn = inbox.turn + 1, known = inbox.turn - message::most_unseen_turns;
      const bool later = static_cast<std::int32_t>(known - inbox.seen) > 0;
      const std::uint32_t seen = plan.receives >> k & 1 ? turn : later ? known : inbox.seen;
      message::store_two(&place_of(k).turn, {turn | static_cast<std::uint64_t>(seen) << 32,
                                             plan.signature.word | static_cast<std::uint64_t>(plan.bytes) << 32});
    });
  }

  [[gnu::always_inline]] DCGN_HOST_DEVICE message::AwaitedFlights awaited(const TurnPlan& plan, std::uint32_t ranks,
                                                                          bool before) const {
    const bool has_begun = !before || !plan.begins;
    return {peers_,
            size_,
            ranks,
            plan.signature,
            before ? message::most_unseen_turns + 1 : 0,
            tag_of(plan.call, me_.collectives.turns->begun[group_.pair] - has_begun),
            group_.collective_context(),
            plan.bytes};
  }

  // Whether the slot is in a call, and whether it is stopped.
  [[gnu::always_inline]] DCGN_HOST_DEVICE message::TwoWords load_busy() const {
    return is_of_blocks() ? message::load_two_anew(&me_.busy) : message::load_two(&me_.busy);
  }
  // By the threads that handle signatures: finds this turn's packets and waits until the peers have read the segments.
  // Returns why the call cannot begin, or ok.
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code prepare(const TurnPlan& plan) {
    const message::TwoWords closed = load_busy();
    note_flights(plan);
    bool ready = closed.first == 0;
    each_seen_to(others(), [&](int, const message::InboxState& inbox) {
      ready = ready && (inbox.turn - inbox.seen <= message::most_unseen_turns || is_read(inbox));
    });
    const auto lookers = scope_.lookers();
    if (lookers.vote(ready)) return Code::ok;
    Code code = Code::ok;
    look_anew();
    if (scope_.leader())
      code = closed.first ? message::refuse(me_, plan.call)
                          : message::await_flights(me_, plan.call, awaited(plan, others(), true));
    return lookers.broadcast(code);
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool is_read(const message::InboxState& inbox) const {
    return message::is_read(inbox, packets_);
  }

  [[gnu::always_inline]] DCGN_HOST_DEVICE void sign(const TurnPlan& plan, const message::InboxState& inbox,
                                                    std::uint64_t value) const {
    send_signature(flight_of(inbox), plan.signature, value);
  }

  template <class Got>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code read_signatures(const TurnPlan& plan, const Got& got) {
    const auto lookers = scope_.lookers();
    std::uint32_t left = plan.receives;  // of the ranks that this thread handles
    int differs = -1;                    // rank k now, or size_ + k in the turn before
    std::uint64_t its_value = 0, its_word = 0;
    const auto compare = [&](int k, const std::uint32_t(&d)[3], bool same) {
      if (same || (differs >= 0 && differs <= k)) return;
      differs = k;
      its_value = message::long_word(d);
      its_word = d[2];
    };
    for (;;) {
      bool here = true;
      each_seen_to(left, [&](int k, const message::InboxState& inbox) {
        const message::Flight its = flight_of(inbox);
        std::uint32_t d[3]{};
        here = message::spin(message::fast_looks, [&] { return message::read_packet(*its.from, its.turn + 1, d); }) &&
               plan.signature.is_of_call(d[2]) && here;
        if (!here) return;
        left &= ~bit(k);
        compare(k, d,
                d[2] == plan.signature.word && plan.signature.is_alike(d, static_cast<std::uint64_t>(plan.bytes)) &&
                    got(k, message::long_word(d), its));
        // The call before, if this rank did not wait for a packet of it.
        if (inbox.seen != inbox.turn && message::await_packet(flight_of(inbox, 1).came(0), 0, d, watch()))
          compare(size_ + k, d, d[2] == inbox.signature && Signature(d[2]).is_alike(d, inbox.bytes));
      });
      if (lookers.vote(here)) break;
      Code code = Code::ok;
      await_looks();
      look_anew();
      if (scope_.leader()) code = message::await_flights(me_, plan.call, awaited(plan, plan.receives, false));
      code = lookers.broadcast(code);
      if (code != Code::ok) return code;
    }
    if (lookers.vote(differs < 0)) return Code::ok;
    const bool before = lookers.vote(differs < 0 || differs >= size_);
    differs = lookers.first_found((differs >= size_) == before ? differs : -1, its_value, its_word);
    Code code = Code::ok;
    await_looks();
    look_anew();
    if (scope_.leader())
      code = message::name_mismatch(me_, peers_, before ? differs - size_ : differs, before,
                                    Signature(static_cast<std::uint32_t>(its_word)), its_value, plan.signature,
                                    static_cast<std::uint64_t>(plan.bytes));
    code = lookers.broadcast(code);
    if (!before) return code;
    late_ = code;
    return Code::ok;
  }

  const Scope& scope_;
  const Group& group_;
  Endpoint& me_;
  message::Peers peers_;
  int size_;
  std::uint32_t packets_;
  int lane_ = 0;              // the rank, or the first rank, that the calling thread handles
  LaneInbox inbox_;           // of the one
  bool others_look_ = false;  // themselves where packets lie
  bool awaits_looks_ = false, have_looked_ = false;
  Code late_ = Code::ok;
  [[no_unique_address]] Blocks blocks_;  // other multiprocessors may have made the slot's last call
};

}  // namespace dcgn::collective
