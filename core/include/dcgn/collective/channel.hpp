// What the algorithms are written with: messages of one collective call between the ranks of its communicator.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/group.hpp>
#include <dcgn/message/calls.hpp>
#include <dcgn/message/device_barrier.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/rounds.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::collective {

using message::Call;
using message::Endpoint;
using message::Flaw;

// ---- arguments

// The group of all ranks as the algorithms take it, with all of its members set.
DCGN_HOST_DEVICE inline Group whole_world(const message::Port& port) {
  Group g;
  g.size = port.size;
  g.rank = port.me->rank;
  g.inbox_packets = port.me->collectives.world_packets;
  return g;
}

// False for a host's part of a call of the world, too (hosts.hpp).
DCGN_HOST_DEVICE inline bool is_whole_world(const message::Port& port, const Group& g) {
  return g.is_world() && g.size == port.size;
}

// A rank and the communicator that it makes a call of.
struct Member {
  message::Port port;
  Group group;
};

// The call of this number begins, to which all ranks must give so many bytes; by one thread.
DCGN_HOST_DEVICE inline void begin_turn(message::Turns& turns, const Group& group, Call call, std::uint32_t number,
                                        std::int64_t bytes, int root = no_root) {
  turns.begun[group.pair] = number + 1;
  turns.latest[number % message::Turns::kept] = turn_word(group.collective_context(), tag_of(call, number), root);
  turns.sizes[number % message::Turns::kept] = static_cast<std::uint64_t>(bytes);
}

// True if this rank has FIFOs of its own to all ranks of the group.
DCGN_HOST_DEVICE inline bool is_near(const message::Port& p, const Group& g) {
  if (p.near == p.size) return true;
  const auto near = [&](int r) { return p.fifo(g.in_world(r)) < static_cast<std::uint32_t>(p.near); };
  return !g.table && near(0) && near(g.size - 1);
}

// Whether `a` lies at `same`, or clear of b; sizes in bytes.
DCGN_HOST_DEVICE inline bool lies_apart(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes,
                                        const void* same) {
  const auto from = reinterpret_cast<std::uintptr_t>(a), to = reinterpret_cast<std::uintptr_t>(b);
  const bool clear = a_bytes <= 0 || b_bytes <= 0 || from + static_cast<std::uint64_t>(a_bytes) <= to ||
                     to + static_cast<std::uint64_t>(b_bytes) <= from;
  return clear || (a == same && same);
}

// What was found wrong; the first problem stands.
class Checks {
 public:
  DCGN_HOST_DEVICE explicit Checks(const Member& member) : member_(member) {
    require(member.group.size > 0, Code::not_attached, Flaw::not_member, 0, 0);
  }
  DCGN_HOST_DEVICE const message::Failure& failure() const { return failure_; }

  DCGN_HOST_DEVICE void require(bool good, Code code, Flaw flaw, std::int64_t value, std::int64_t expected,
                                int peer = any_source) {
    if (good || failure_.code != Code::ok) return;
    failure_ = {code, Call::none, value, expected, {.peer = peer}, flaw};
  }
  DCGN_HOST_DEVICE void root(int root) {
    require(member_.group.has(root), Code::invalid_rank, Flaw::root, root, member_.group.size - 1);
    root_ = root;
  }
  // What was given as one.
  DCGN_HOST_DEVICE int given_root() const { return root_; }
  // What all ranks must give alike, where there is such a thing.
  DCGN_HOST_DEVICE void alike(std::int64_t bytes) { alike_ = bytes; }
  DCGN_HOST_DEVICE std::int64_t given_alike() const { return alike_; }
  DCGN_HOST_DEVICE void buffer(const void* data, std::int64_t bytes) {
    require(bytes >= 0, Code::invalid_size, Flaw::none, bytes, 0);
    require(data || bytes <= 0, Code::null_buffer, Flaw::none, bytes, 0);
  }
  DCGN_HOST_DEVICE void input(const Input& in, std::int64_t expected, std::int64_t element) {
    buffer(in.data, in.count * element);
    require(in.count == expected, Code::invalid_size, Flaw::input, in.count, expected);
  }
  DCGN_HOST_DEVICE void output(const Output& out, std::int64_t least, std::int64_t element) {
    buffer(out.data, out.count * element);
    require(out.count >= least, Code::invalid_size, Flaw::output, out.count, least);
  }
  // One for each rank, none negative, each within a buffer of so many elements.
  DCGN_HOST_DEVICE void parts(const Parts& p, std::int64_t elements) {
    const std::int64_t size = member_.group.size;
    counts(p);
    require(p.how_many_displacements == size, Code::invalid_size, Flaw::displacements, p.how_many_displacements, size);
    for (int r = 0; failure_.code == Code::ok && r < size; ++r) {
      require(p.displacements[r] >= 0, Code::invalid_size, Flaw::displacement, p.displacements[r], 0, r);
      const std::int64_t end = p.displacements[r] + p.counts[r];
      require(end <= elements || !p.counts[r], Code::invalid_size, Flaw::part, end, elements, r);
    }
  }
  // The same of an output, where no two may have an element in common. Of very many only those in order are looked at.
  DCGN_HOST_DEVICE void output_parts(const Parts& p, std::int64_t elements) {
    parts(p, elements);
    if (failure_.code != Code::ok) return;
    const int size = member_.group.size;
    bool in_order = true;
    std::int64_t end = 0;
    for (int r = 0; r < size; ++r) {
      if (!p.counts[r]) continue;
      in_order = in_order && p.displacements[r] >= end;
      end = p.displacements[r] + p.counts[r];
    }
    if (in_order || size > 1024) return;
    for (int r = 1; r < size; ++r)
      for (int q = 0; q < r; ++q)
        require(!p.counts[q] || !p.counts[r] || p.displacements[q] + p.counts[q] <= p.displacements[r] ||
                    p.displacements[r] + p.counts[r] <= p.displacements[q],
                Code::invalid_size, Flaw::parts_overlap, q, 0, r);
  }
  DCGN_HOST_DEVICE void counts(const Parts& p) {
    const std::int64_t size = member_.group.size;
    require(p.how_many_counts == size, Code::invalid_size, Flaw::counts, p.how_many_counts, size);
    for (int r = 0; failure_.code == Code::ok && r < size; ++r)
      require(p.counts[r] >= 0, Code::invalid_size, Flaw::count, p.counts[r], 0, r);
  }
  DCGN_HOST_DEVICE void apart(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes,
                              const void* same) {
    const auto from_b = [b](const void* p) {
      const auto distance =
          static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) - reinterpret_cast<std::uintptr_t>(b));
      return distance < 0 ? -distance : distance;
    };
    require(lies_apart(a, a_bytes, b, b_bytes, same), Code::invalid_size, Flaw::overlap, from_b(a),
            same ? from_b(same) : -1);
  }
  // Where elements are computed with.
  DCGN_HOST_DEVICE void reachable(const void* data) {
    require(!data || !message::is_device_memory(*member_.port.me, data), Code::unsupported, Flaw::device_memory, 0, 0);
  }

 private:
  const Member& member_;
  message::Failure failure_{};
  int root_ = no_root;
  std::int64_t alike_ = no_size;
};

// ---- messages

// What those come to who have not met.
struct Outcome {
  Code code = Code::aborted;
  bool done = false;

  // What calls come to as a rule: see BlocksScope::lead_warp().
  DCGN_HOST_DEVICE static Outcome usual() { return {Code::ok, true}; }
  DCGN_HOST_DEVICE bool is_usual() const { return code == Code::ok && done; }
};

template <class Scope>
class Channel {
 public:
  // Begins a call: `check(checks)` is run by the scope's leader alone, or by all threads where each decides for itself.
  // code() says whether the call can go on. What the threads wrote before is visible to all of them then.
  template <class Check>
  DCGN_HOST_DEVICE Channel(const Scope& scope, const Member& member, Call call, const Check& check)
      : scope_(scope), port_(member.port), group_(member.group), call_(call) {
    Endpoint& me = *member.port.me;
    Checks checks(member);
    const auto look = [&] {
      check(checks);
      const Code code = checks.failure().code;
      return Turn{code, code == Code::ok ? tag_of(call, member.port.turns->begun[member.group.pair]) : 0, me.without};
    };
    const auto begin = [&](Code code) {
      if (code == Code::ok) {
        begin_turn(*member.port.turns, member.group, call, member.port.turns->begun[member.group.pair],
                   checks.given_alike(), checks.given_root());
        return;
      }
      message::Failure failure = checks.failure();
      failure.call = call;
      message::fail(me, failure);
    };
    if (Scope::in_block && message::calls_in_block(me)) {
      scope.sync();
      turn_ = look();
      scope.sync();  // all have seen how things stand
      if (scope.leader()) begin(turn_.code);
    } else {
      turn_ = scope.lead([&] {
        const Turn turn = look();
        begin(turn.code);
        return turn;
      });
      if (const message::Argument a = message::check_scope(scope); a.code != Code::ok) {
        turn_.code = a.code;
        if (scope.leader()) message::fail(me, a.code, call, a.value, a.expected);
      }
    }
  }

  // Goes on with a call that has begun, the one of this number.
  DCGN_HOST_DEVICE Channel(const Scope& scope, const Member& member, Call call, std::uint32_t number)
      : scope_(scope),
        port_(member.port),
        group_(member.group),
        call_(call),
        turn_{Code::ok, tag_of(call, number), member.port.me->without} {}

  // The same call by some of its threads.
  template <class Whole>
  DCGN_HOST_DEVICE Channel(const Scope& scope, const Channel<Whole>& c)
      : scope_(scope),
        port_(c.port_),
        group_(c.group_),
        call_(c.call_),
        turn_{c.turn_.code, c.turn_.tag, c.turn_.without},
        root_(c.root_),
        kept_(c.kept_) {}

  // A part of the same call, made by some of its ranks, while the caller keeps so many bytes more of the scratch.
  DCGN_HOST_DEVICE Channel(const Channel& c, const Group& group, std::int64_t kept = 0)
      : scope_(c.scope_),
        port_(c.port_),
        group_(group),
        call_(c.call_),
        turn_(c.turn_),
        root_(c.root_),
        kept_(c.kept_ + static_cast<std::uint32_t>(kept)) {}

  // The same call, in which messages say that this is the root; of what is a part of another call, that call's.
  DCGN_HOST_DEVICE Channel with_root(int root) const {
    Channel c(*this);
    if (c.root_ < 0) c.root_ = root;
    return c;
  }

  // act(channel) by the first block of several, else by all; the result of a struct that says `aborted` of itself.
  template <class Act>
  DCGN_HOST_DEVICE auto in_first_block(const Act& act) const {
    if constexpr (message::plans_ahead<Scope>)
      return scope_.lead_block(
          [&](const gpu::BlockScope& block) { return act(Channel<gpu::BlockScope>(block, *this)); });
    else
      return act(*this);
  }

  DCGN_HOST_DEVICE Code code() const { return turn_.code; }
  DCGN_HOST_DEVICE int rank() const { return group_.rank; }
  DCGN_HOST_DEVICE int size() const { return group_.size; }
  DCGN_HOST_DEVICE const Scope& scope() const { return scope_; }
  DCGN_HOST_DEVICE Endpoint& me() const { return *port_.me; }
  DCGN_HOST_DEVICE unsigned char* scratch() const { return port_.me->collectives.scratch + kept_; }
  DCGN_HOST_DEVICE std::int64_t scratch_bytes() const {
    return static_cast<std::int64_t>(port_.me->collectives.scratch_bytes - kept_);
  }
  // The rank so many after this one, less than size() in either direction.
  DCGN_HOST_DEVICE int beside(int distance) const {
    const int r = rank() + distance;
    return r < 0 ? r + size() : r >= size() ? r - size() : r;
  }

  DCGN_HOST_DEVICE Code send(const void* data, std::int64_t bytes, int to) const;
  // As many bytes as this, from a rank that sends as many.
  DCGN_HOST_DEVICE Code recv(void* data, std::int64_t bytes, int from) const;
  // Both at once.
  DCGN_HOST_DEVICE Code exchange(const void* out, std::int64_t out_bytes, int to, void* in, std::int64_t in_bytes,
                                 int from) const;

  // ---- rounds, of ranks of this process
  // Whether all threads of the scope go without this.
  DCGN_HOST_DEVICE bool without(message::Without idea) const { return turn_.without & idea; }
  DCGN_HOST_DEVICE bool is_near() const { return collective::is_near(port_, group_); }
  // Whether so many ranks send to each other at once.
  DCGN_HOST_DEVICE bool at_once() const {
    return size() <= at_once_ranks && !without(message::without_rounds) && is_near();
  }
  DCGN_HOST_DEVICE bool to_root_at_once() const {
    return size() <= to_root_at_once_ranks && !without(message::without_rounds) && is_near();
  }
  // All ranks, by their numbers.
  DCGN_HOST_DEVICE message::Peers everyone() const { return peers_of(group_); }
  DCGN_HOST_DEVICE message::Range all() const { return {0, size()}; }
  DCGN_HOST_DEVICE message::Range only(int r) const { return {r, r + 1}; }
  // Rounds of all with all, and with the root.
  using Out = message::Spread<const unsigned char>;
  using In = message::Spread<unsigned char>;
  DCGN_HOST_DEVICE message::Round among_all(const Out& out, const In& in, bool keeps = true) const {
    return {.peers = everyone(), .to = all(), .from = all(), .out = out, .in = in, .keeps = keeps};
  }
  DCGN_HOST_DEVICE message::Round gathering(int root, const Out& out, const In& in) const {
    const bool here = rank() == root;
    return {.peers = everyone(),
            .to = here ? message::Range{} : only(root),
            .from = here ? all() : message::Range{},
            .out = out,
            .in = in,
            .keeps = here};
  }
  DCGN_HOST_DEVICE message::Round scattering(int root, const Out& out, const In& in) const {
    const bool here = rank() == root;
    return {.peers = everyone(),
            .to = here ? all() : message::Range{},
            .from = here ? message::Range{} : only(root),
            .out = out,
            .in = in,
            .keeps = here};
  }
  DCGN_HOST_DEVICE const Group& group() const { return group_; }
  DCGN_HOST_DEVICE const message::Port& port() const { return port_; }
  // What is sent is visible to all threads of the scope, and what has come is afterwards.
  DCGN_HOST_DEVICE Code round(const message::Round& r) const { return is_one(r) ? full_round(r) : rounds(r); }
  DCGN_HOST_DEVICE Code empty_round(const message::Round& r) const {
    return is_one(r) ? one_round<true>(r) : rounds(r);
  }

  // The same words to all ranks and from all, who are few and near; what comes from rank r, and this one's own, goes to
  // words(r). What the threads wrote before is visible to all who have received, and what came to all of the scope.
  template <int Count, class Words>
  DCGN_HOST_DEVICE Code exchange(const std::uint64_t (&mine)[Count], const Words& words) const {
    return exchange_words(mine, words(0), words(1) - words(0));
  }
  // What tells this call from others.
  DCGN_HOST_DEVICE std::uint32_t mark() const { return static_cast<std::uint32_t>(turn_.tag); }
  DCGN_HOST_DEVICE Code attend(const message::Attendance& attendance) const {
    return in_first_block([&](const auto& part) {
             return Outcome{
                 message::attend(part.scope_, *port_.me, call_, attendance, turn_.tag, group_.collective_context())};
           })
        .code;
  }
  // What the lapses say of one.
  DCGN_HOST_DEVICE Code make_up(const message::Round& r) const {
    return message::make_up(scope_, port_, call_, r, tag(), group_.collective_context());
  }

  // Rank r has given something else than this one.
  DCGN_HOST_DEVICE Code mismatch(Flaw flaw, std::int64_t value, std::int64_t expected, int r) const {
    if (scope_.leader())
      message::fail(me(), {Code::mismatch, call_, value, expected, {.peer = group_.in_world(r)}, flaw});
    return Code::mismatch;
  }

  // By all threads of the scope, all of whom see it.
  DCGN_HOST_DEVICE void copy(void* to, const void* from, std::int64_t bytes) const;

 private:
  template <class>
  friend class Channel;

  struct Turn {
    Code code = Code::aborted;  // where the threads of the scope did not meet
    std::int32_t tag = 0;
    std::uint32_t without = 0;
  };

  // Of messages; words of exchange() have the bare one.
  DCGN_HOST_DEVICE std::int32_t tag() const { return tag_with_root(turn_.tag, root_); }

  // A round for each of the words. Those of rank r are `stride` words behind those of the rank before.
  template <int Count>
  DCGN_HOST_DEVICE Code exchange_words(const std::uint64_t (&mine)[Count], std::uint64_t* words,
                                       std::int64_t stride) const;
  template <bool Empty>
  DCGN_HOST_DEVICE Code one_round(const message::Round& r) const;
  DCGN_HOST_DEVICE Code full_round(const message::Round& r) const;
  // One after the other, of as many ranks as one has.
  DCGN_HOST_DEVICE Code rounds(const message::Round& all) const;
  DCGN_HOST_DEVICE static bool is_one(const message::Round& r) {
    return r.to.count() <= message::most_at_once && r.from.count() <= message::most_at_once;
  }

  const Scope& scope_;
  const message::Port& port_;
  const Group& group_;
  const Call call_;
  Turn turn_;
  int root_ = no_root;
  std::uint32_t kept_ = 0;  // of the scratch, by what this is a part of
};

}  // namespace dcgn::collective
