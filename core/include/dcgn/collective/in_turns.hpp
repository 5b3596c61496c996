// Collectives in one turn (turn.hpp), with payloads in packets, in one step or two. In one step ranks send each other
// their whole payloads. In two steps each rank gets a part, reduces it or keeps it, and sends it to all others: the
// thread that takes packet i from the first half of a segment sends it on to the second half, so no thread waits for a
// whole part.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/blocks_turn.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/turn.hpp>
#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/message/inbox.hpp>
#include <dcgn/message/payload.hpp>

#include <cstdint>

namespace dcgn::collective {

using dcgn::detail::Kept;
using message::InboxHalves;

// `bytes` divided among ranks: a part of `each` for each rank, shorter or empty for the last ones.
struct TurnParts {
  std::uint32_t bytes, each;

  DCGN_HOST_DEVICE std::uint32_t at(int k) const { return lesser(static_cast<std::uint32_t>(k) * each); }
  DCGN_HOST_DEVICE std::uint32_t length(int k) const { return at(k + 1) - at(k); }

 private:
  DCGN_HOST_DEVICE std::uint32_t lesser(std::uint32_t end) const { return end < bytes ? end : bytes; }
};
DCGN_HOST_DEVICE inline TurnParts parts_of(std::int64_t bytes, int ranks, std::int64_t element) {
  const auto all = static_cast<std::uint32_t>(bytes), count = static_cast<std::uint32_t>(ranks),
             unit = static_cast<std::uint32_t>(16 % element ? element : 16), units = (all + unit - 1) / unit;
  return {all, (units + count - 1) / count * unit};
}

// How a payload goes: whole, in one step; in parts, in two steps; or not in a turn.
enum class Steps : std::uint32_t { none, one, two };

// In one step only if `whole_fits`.
DCGN_HOST_DEVICE inline Steps steps_of(std::uint32_t packets, std::int64_t bytes, int ranks, std::int64_t element,
                                       bool whole_fits = true) {
  const InboxHalves halves(packets);
  const std::int64_t most = ranks > 2 ? turn_in_one_step : turn_of_two_in_one_step;
  if (whole_fits && bytes * (ranks - 1) <= most && bytes <= halves.whole_bytes()) return Steps::one;
  if (bytes > ranks * halves.half_bytes()) return Steps::none;
  return parts_of(bytes, ranks, element).each <= halves.half_bytes() ? Steps::two : Steps::none;
}

// push_row writes a payload into a segment, take_row takes one from there and returns false if the wait is given up.
// `Words`, here and below: the caller knows that the buffer consists of aligned words.
DCGN_HOST_DEVICE inline message::Payload payload_in(const message::Row& row, std::int64_t bytes) {
  const auto length = static_cast<std::uint64_t>(bytes);
  return {row, message::payload_packets(length), length};
}

template <bool Words = false, message::Loads L = message::Loads::cached, class Crew>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline void push_row(const Crew& crew, const message::Row& row,
                                                             const unsigned char* from, std::int64_t bytes) {
  const message::Payload p = payload_in(row, bytes);
  if (!Words && !message::is_words(from, static_cast<std::uint64_t>(bytes)))
    return message::push_bytes(p, from, message::Hands::all_of(crew));
  message::each_part<1>(p, message::Hands::all_of(crew), [&](const auto& part, auto& d) {
    part.template load_own<L>(from, d);
    p.write(part, d);
    return true;
  });
}
template <bool Words = false, class Crew>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool take_row(const Crew& crew, const message::Row& row,
                                                             unsigned char* to, std::int64_t bytes,
                                                             const message::Watch watch) {
  const message::Payload p = payload_in(row, bytes);
  const message::Hands hands = message::Hands::all_of(crew);
  if (!Words && !message::is_words(to, static_cast<std::uint64_t>(bytes)))
    return message::take_bytes(p, watch, to, hands);
  return message::take_payload<1>(p, watch, to, hands);
}
// For calls in place. If the buffer consists of words, the thread that sends a word also stores the one that replaces
// it. Otherwise nothing may be stored before everything has been sent.
template <class Scope>
DCGN_HOST_DEVICE void await_sent(const Scope& scope, const unsigned char* from, const unsigned char* to,
                                 std::int64_t each) {
  if (from == to && !message::is_words(from, static_cast<std::uint64_t>(each))) scope.sync();
}

// ---- calls that move data

// Each rank sends `bytes` to each rank in `sends` and receives as many from each in `receives`.
struct Moved {
  Call call;
  int root;
  std::int64_t bytes;
  const unsigned char* out;
  std::int64_t out_stride;  // from what goes to one rank to the next; 0: all get the same
  unsigned char* in;
  std::int64_t in_stride;
  std::uint32_t sends, receives;
  bool keeps = true;      // the calling rank copies its own part
  bool in_parts = false;  // broadcast in two steps: each rank gets a part of the root's buffer first
  bool right = false;     // no argument is wrong, as a plan for turns or addresses found

  DCGN_HOST_DEVICE const unsigned char* from(int k) const { return out + k * out_stride; }
  DCGN_HOST_DEVICE unsigned char* to(int k) const { return in + k * in_stride; }
};

// Up to 8 bytes, beside the signatures.
DCGN_HOST_DEVICE inline TurnPlan plan_small(const Member& m, const Moved& a) {
  return {a.call,  Signature(a.call, m.group.pair, a.root, 0, static_cast<std::uint32_t>(a.bytes)),
          a.bytes, a.root,
          a.sends, a.receives};
}
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code move_small_by_steps(Kept<Scope> scope, const Member m, const Moved a,
                                                                   bool has_begun) {
  const auto length = static_cast<std::uint64_t>(a.bytes);
  Turn<Scope> turn(scope, m);
  return turn.run(
      plan_small(m, a), [&](int k) { return message::load_small(a.from(k), length); }, [] {},
      [&](int k, std::uint64_t value, const message::Flight&) {
        message::store_small(a.to(k), length, value);
        return true;
      },
      [&](bool) {
        const int self = turn.self();
        if (a.keeps && scope.leader() && a.to(self) != a.from(self))
          message::store_small(a.to(self), length, message::load_small(a.from(self), length));
        return true;
      },
      has_begun);
}
template <class Scope>
DCGN_HOST_DEVICE Code move_small(const Scope& scope, const Member& m, const Moved& a) {
  bool has_begun = false;
  if constexpr (Turn<Scope>::by_lanes && Scope::in_warp) {
    const Turn<Scope> turn(scope, m);
    const auto lane = static_cast<int>(scope.rank());
    const auto length = static_cast<std::uint64_t>(a.bytes);
    const bool keeps = a.keeps && lane == turn.self();
    const std::uint64_t value =
        lane < turn.size() && ((a.sends >> lane & 1) || keeps) ? message::load_small(a.from(lane), length) : 0;
    const auto take = [&](std::uint64_t got) {
      if (lane < turn.size() && ((a.receives >> lane & 1) || keeps)) message::store_small(a.to(lane), length, got);
    };
    if (turn.run_at_once(plan_small(m, a), value, take, has_begun)) return Code::ok;
  }
  return move_small_by_steps<Scope>(scope, m, a, has_begun);
}

// More than 8 bytes, in one step or two. One function for both, because it is compiled into kernels.
template <bool Words, class Scope>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code move_rows(const Scope& scope, const Member& m, const Moved& a) {
  const auto length = static_cast<std::uint64_t>(a.bytes);
  TurnOf<Scope> turn(scope, m);
  const int self = turn.self();
  const bool is_root = self == a.root;
  const TurnParts parts = a.in_parts ? parts_of(a.bytes, turn.size(), 1) : TurnParts{};
  const std::uint32_t second = InboxHalves(m.group.inbox_packets).second;
  const auto pass_on = [&](int part, std::uint32_t to) {
    turn.each_by_crews(to, [&](int k, const message::Crew& crew) {
      push_row<Words, TurnOf<Scope>::loads>(crew, turn.flight(k).sent(second), a.out + parts.at(part),
                                            parts.length(part));
    });
  };
  return turn.run_rows(
      {a.call, Signature(a.call, m.group.pair, a.root, 0, Signature::payload), a.bytes, a.root, a.sends, a.receives},
      [&] {
        if (a.sends && !(a.in_parts && !is_root))
          turn.each_by_crews(a.sends, [&](int k, const message::Crew& crew) {
            push_row<Words, TurnOf<Scope>::loads>(crew, turn.flight(k).sent(InboxHalves::first),
                                                  a.in_parts ? a.out + parts.at(k) : a.from(k),
                                                  a.in_parts ? parts.length(k) : a.bytes);
          });
        if (a.in_parts && is_root) pass_on(self, turn.others());
        if (!Words) await_sent(scope, a.out, a.in, a.bytes);
        if (a.keeps && a.to(self) != a.from(self))
          message::copy_bytes(turn.carriers(), a.to(self), a.from(self), length);
      },
      [&](bool) {
        bool came = true;
        if (a.in_parts && !is_root) {
          const std::uint32_t to = turn.others() & ~turn.bit(a.root);
          const message::Payload own = payload_in(turn.flight(a.root).came(InboxHalves::first), parts.length(self));
          unsigned char* const mine = a.in + parts.at(self);
          if (Words || message::is_words(mine, parts.length(self))) {
            came = message::each_part<1>(own, message::Hands::all_of(turn.carriers()), [&](const auto& part, auto& d) {
              if (!message::await_part(own, part, d, turn.watch())) return false;
              part.store(mine, d);
              for (int k = 0; k < turn.size(); ++k)
                if (to >> k & 1) turn.flight(k).sent(second).write(part, d);
              return true;
            });
          } else {
            came = message::take_bytes(own, turn.watch(), mine, message::Hands::all_of(turn.carriers()));
            scope.sync();
            if (came) pass_on(self, to);
          }
        }
        turn.each_by_crews(a.receives, [&](int k, const message::Crew& crew) {
          came = came && take_row<Words>(crew, turn.flight(k).came(a.in_parts ? second : InboxHalves::first),
                                         a.in_parts ? a.in + parts.at(k) : a.to(k),
                                         a.in_parts ? parts.length(k) : a.bytes, turn.watch());
        });
        return came;
      });
}
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code move_apart(Kept<Scope> scope, const Member m, const Moved a) {
  return move_rows<false>(scope, m, a);
}

// True if parts of so many bytes fit into a turn.
template <class Scope>
DCGN_HOST_DEVICE bool fits_turn(const Scope& scope, const Member& m, std::int64_t bytes) {
  return (bytes >= 0) & (bytes <= most_to_move_in_turn) & goes_in_turns(scope, m) &
         (bytes <= InboxHalves(m.group.inbox_packets).whole_bytes());
}

// These fill in what a call moves. False if it does not go in a turn, or if an argument is wrong.
template <class Scope>
DCGN_HOST_DEVICE bool plan_broadcast(const Scope& scope, const Member& m, void* data, std::int64_t bytes, int root,
                                     Moved& a) {
  const bool right = m.group.has(root) && bytes >= 0 && (data || !bytes), here = m.group.rank == root;
  const Steps steps = right && bytes <= most_to_move_in_turn && goes_in_turns(scope, m)
                          ? steps_of(m.group.inbox_packets, bytes, m.group.size, 1)
                          : Steps::none;
  const bool in_parts = steps == Steps::two;
  auto* const buffer = static_cast<unsigned char*>(data);
  const std::uint32_t others = others_in(m.group);
  a = {Call::broadcast,
       root,
       bytes,
       buffer,
       0,
       buffer,
       0,
       here || in_parts ? others : 0,
       here       ? 0
       : in_parts ? others
                  : bit_of(root),
       false,
       in_parts,
       right};
  return steps != Steps::none;
}
// all_gather, and all_to_all, of parts of so many bytes.
template <class Scope>
DCGN_HOST_DEVICE bool plan_parts(const Scope& scope, const Member& m, Call call, const Input& in, const Output& out,
                                 std::int64_t element, Moved& a) {
  const bool to_each = call == Call::all_to_all;
  a.right = false;
  if (m.group.size < 1 || (to_each && in.count % m.group.size)) return false;
  const std::int64_t given = in.count * element, bytes = to_each ? given / m.group.size : given,
                     all = bytes * m.group.size;
  const std::uint32_t others = others_in(m.group);
  a = {call, no_root, bytes, in.data, to_each ? bytes : 0, out.data, bytes, others, others};
  a.right = out.count * element >= all && (in.data || !all) && (out.data || !all) &&
            lies_apart(in.data, given, out.data, all, to_each ? out.data : out.data + bytes * m.group.rank);
  return a.right && fits_turn(scope, m, bytes);
}
template <class Scope>
DCGN_HOST_DEVICE bool plan_gather(const Scope& scope, const Member& m, const Input& in, const Output& out,
                                  std::int64_t element, int root, Moved& a) {
  const std::int64_t bytes = in.count * element, all = bytes * m.group.size;
  const bool here = m.group.rank == root;
  if (!m.group.has(root) || (!in.data && bytes) || !fits_turn(scope, m, bytes)) return false;
  a = {Call::gather, root, bytes, in.data, 0, out.data, bytes, here ? 0 : 1u << root, here ? others_in(m.group) : 0,
       here};
  return !here || (out.count * element >= all && (out.data || !all) &&
                   lies_apart(in.data, bytes, out.data, all, out.data + root * bytes));
}
template <class Scope>
DCGN_HOST_DEVICE bool plan_scatter(const Scope& scope, const Member& m, const Input& in, const Output& out,
                                   std::int64_t element, int root, Moved& a) {
  const std::int64_t bytes = out.count * element, all = bytes * m.group.size;
  const bool here = m.group.rank == root;
  if (!m.group.has(root) || (!out.data && bytes) || !fits_turn(scope, m, bytes)) return false;
  a = {Call::scatter,         root, bytes, in.data, bytes, out.data, 0, here ? others_in(m.group) : 0,
       here ? 0 : 1u << root, here};
  return !here || (in.count == out.count * m.group.size && (in.data || !all) &&
                   lies_apart(out.data, bytes, in.data, all, in.data + root * bytes));
}

// Out of line. Of several blocks the first one makes the call: all make only those of words, in the kernel's own code.
template <class Scope>
DCGN_HOST_DEVICE Code move_in_turn(const Scope& scope, const Member& m, const Moved& a) {
  if constexpr (message::plans_ahead<Scope>) {
    return scope.lead_block([&](const gpu::BlockScope& block) { return Outcome{move_in_turn(block, m, a)}; }).code;
  } else {
    if (a.bytes <= static_cast<std::int64_t>(message::small_bytes)) return move_small(scope, m, a);
    return move_apart<Scope>(scope, m, a);
  }
}
// A block moves words in the kernel's own code: true for more than 8 bytes in aligned words.
DCGN_HOST_DEVICE inline bool moves_words(const Moved& a) {
  const auto length = static_cast<std::uint64_t>(a.bytes);
  return (a.bytes > static_cast<std::int64_t>(message::small_bytes)) & message::is_words(a.out, length) &
         message::is_words(a.in, length);
}

// ---- calls that reduce

// Operations whose elements fill words: threads reduce packets as they arrive.
template <class R>
concept FoldsPackets = requires {
  R::folds_words;
}
&&R::folds_words&& R::element_size <= 4;

// Reduces a part of the payloads of `count` ranks, that of rank k from row(k), in order of rank. `words` has the
// operand of rank `self`, then the result. False if the wait is given up.
template <class Part, std::uint32_t Packets, class RowOf, class Watched, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool fold_part(const RowOf& row, int self, int count, const Part& part,
                                                              std::uint32_t (&words)[Packets][3],
                                                              const Watched& watched, const R& r) {
  constexpr int at_once = Packets == 1 ? 4 : 2;  // ranks whose packets are loaded together
  std::uint32_t sum[Packets][3]{};
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (int begin = 0; begin < count; begin += at_once) {
    std::uint32_t d[at_once][Packets][3]{};
    const bool came = message::await(watched, [&] {
      bool here = true;
      for (int i = 0; i < at_once; ++i) {
        const int k = begin + i;
        if (k >= count || k == self) continue;
        here = static_cast<int>(row(k).read(part, d[i])) & here;
      }
      return here;
    });
    if (!came) return false;
    for (int i = 0; i < at_once; ++i) {
      const int k = begin + i;
      if (k >= count) continue;
      for (std::uint32_t c = 0; c < Packets; ++c)
        for (int w = 0; w < 3; ++w) {
          const std::uint32_t next = k == self ? words[c][w] : d[i][c][w];
          sum[c][w] = k ? r.fold_word(sum[c][w], next) : next;
        }
    }
  }
  for (std::uint32_t c = 0; c < Packets; ++c)
    for (int w = 0; w < 3; ++w) words[c][w] = sum[c][w];
  return true;
}

// Loads the words of a part of a buffer, and stores them; the buffer need not be aligned or end with a word.
template <bool Words, message::Loads L, class Part, std::uint32_t Packets>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline void load_part(const Part& part, const message::PayloadLayout& layout,
                                                              const unsigned char* from, bool in_words,
                                                              std::uint32_t (&d)[Packets][3]) {
  if constexpr (!Words)
    if (!in_words) {
      for (std::uint32_t k = 0; k < Packets; ++k)
        for (std::uint32_t w = 0; w < 3; ++w) {
          const std::uint32_t word = part.has(k) ? message::word_of(part.packet(k), w, layout.packets) : ~0u;
          d[k][w] = word > layout.whole
                        ? 0
                        : message::join_bytes(from + std::uint64_t{word} * 4, word < layout.whole ? 4 : layout.rest);
        }
      return;
    }
  part.template load_own<L>(from, d);
}
template <bool Words, class Part, std::uint32_t Packets>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline void store_part(const Part& part, const message::PayloadLayout& layout,
                                                               unsigned char* to, bool in_words,
                                                               const std::uint32_t (&d)[Packets][3]) {
  if constexpr (!Words)
    if (!in_words) {
      for (std::uint32_t k = 0; k < Packets; ++k)
        for (std::uint32_t w = 0; w < 3; ++w)
          if (const std::uint32_t word = part.has(k) ? message::word_of(part.packet(k), w, layout.packets) : ~0u;
              word <= layout.whole)
            message::split_bytes(to + std::uint64_t{word} * 4, word < layout.whole ? 4 : layout.rest, d[k][w]);
      return;
    }
  part.store(to, d);
}

// Each rank sends `count` elements to each rank in `sends`, and reduces those that ranks 0 to operands - 1 have for it.
struct Reduced {
  Call call;
  int root;
  std::int64_t count;
  const unsigned char* in;
  std::int64_t in_stride;  // from what goes to one rank to the next; 0: all get the same
  unsigned char* out;
  std::uint32_t sends;
  int operands;           // 0: this rank gets no result
  bool in_parts = false;  // all_reduce in two steps: each rank reduces a part and sends it to all

  DCGN_HOST_DEVICE const unsigned char* from(int k) const { return in + k * in_stride; }
};

// Reduces this rank's part as packets arrive and calls then(part, words) for each piece. False if the wait is given up.
template <bool Words, class AnyTurn, class R, class Then>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool fold_rows(const AnyTurn& turn, int operands,
                                                              const unsigned char* in, unsigned char* out,
                                                              std::int64_t bytes, const R& r, const Then& then) {
  const auto length = static_cast<std::uint64_t>(bytes);
  const message::PayloadLayout layout(message::payload_packets(length), length);
  const bool in_words = Words || message::is_words(in, length), out_words = Words || message::is_words(out, length);
  const int self = turn.self();
  return message::each_part<1>(layout, message::Hands::all_of(turn.carriers()), [&](const auto& part, auto& d) {
    if (self < operands) load_part<Words, AnyTurn::loads>(part, layout, in, in_words, d);
    if (!fold_part([&](int k) { return turn.flight(k).came(InboxHalves::first); }, self, operands, part, d,
                   turn.watch(), r))
      return false;
    store_part<Words>(part, layout, out, out_words, d);
    then(part, d);
    return true;
  });
}

// The same for elements of any kind, by way of scratch memory with room for every operand.
template <class AnyTurn, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool fold_in_scratch(const AnyTurn& turn, int operands,
                                                                    const unsigned char* in, unsigned char* out,
                                                                    std::int64_t bytes, const R& r) {
  unsigned char* const scratch = turn.me().collectives.scratch;
  const std::int64_t share = (bytes + 63) / 64 * 64;
  bool came = true;
  turn.each_by_crews(turn.others() & ((1u << operands) - 1), [&](int k, const message::Crew& crew) {
    came = came && take_row(crew, turn.flight(k).came(InboxHalves::first), scratch + k * share, bytes, turn.watch());
  });
  came = turn.scope().agree(came);
  if (came) r.fold(turn.scope(), out, Operands{scratch, share, operands, turn.self(), in}, bytes / r.element());
  return came;
}

// True if operands of so many bytes can be reduced that way. All ranks get the same answer.
template <class R>
DCGN_HOST_DEVICE bool has_room(const Endpoint& me, std::int64_t bytes, int ranks, const R& r) {
  if constexpr (FoldsPackets<R>) return true;
  return (bytes + 63) / 64 * 64 * ranks <= static_cast<std::int64_t>(me.collectives.scratch_bytes) &&
         bytes % r.element() == 0;
}

// Up to 8 bytes, beside the signatures.
template <class R>
DCGN_HOST_DEVICE TurnPlan plan_small(const Member& m, const Reduced& a, const R& r) {
  const std::int64_t bytes = a.count * r.element();
  return {a.call,  Signature(a.call, m.group.pair, a.root, r.element(), static_cast<std::uint32_t>(bytes)),
          bytes,   a.root,
          a.sends, others_in(m.group) & ((1u << a.operands) - 1)};
}
// This rank's operand for rank k.
template <class R>
DCGN_HOST_DEVICE std::uint64_t load_operand(const Reduced& a, int k, const R& r) {
  return message::load_small(a.from(k), static_cast<std::uint64_t>(a.count * r.element()));
}
// Reduces operand(0), operand(1), ... and stores the result.
template <class Scope, class Operand, class R>
DCGN_HOST_DEVICE void fold_small(const Scope& scope, const Reduced& a, const Operand& operand, const R& r) {
  if (!a.operands) return;
  std::uint64_t sum = operand(0);
  for (int k = 1; k < a.operands; ++k) sum = r.fold_eight(sum, operand(k), a.count);
  if (scope.leader()) message::store_small(a.out, static_cast<std::uint64_t>(a.count * r.element()), sum);
}

template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Outcome reduce_small_by_steps(Kept<Scope> scope, const Member m,
                                                                        const Reduced a, const R r, bool has_begun) {
  Turn<Scope> turn(scope, m);
  const auto lookers = scope.lookers();
  const int self = turn.self();
  std::uint64_t operand = 0;  // first this rank's operand for the lane's rank, then that rank's operand
  if constexpr (Turn<Scope>::by_lanes)
    if (const auto lane = static_cast<int>(lookers.rank()); lane < turn.size()) operand = load_operand(a, lane, r);
  const Code code = turn.run(
      plan_small(m, a, r), [&](int k) { return Turn<Scope>::by_lanes ? operand : load_operand(a, k, r); }, [] {},
      [&](int, std::uint64_t value, const message::Flight&) {
        operand = value;
        return true;
      },
      [&](bool good) {
        if (!turn.signs() || !good) return true;
        const auto of = [&](int k) {
          if constexpr (Turn<Scope>::by_lanes) return lookers.shuffle(operand, static_cast<unsigned>(k));
          if (k == self) return load_operand(a, self, r);
          const message::Flight its = turn.flight(k);
          std::uint32_t d[3]{};
          message::read_packet(*its.from, its.turn + 1, d);
          return message::long_word(d);
        };
        fold_small(turn.scope(), a, of, r);
        return true;
      },
      has_begun);
  return {code, true};
}

template <class Scope, class R, class Blocks>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Outcome reduce_small(const Scope& scope, const Member& m,
                                                                    const Reduced& a, const R& r, Blocks blocks) {
  bool has_begun = false;
  if constexpr (Turn<Scope>::by_lanes) {
    Turn<Scope, Blocks> turn(scope, m, blocks);
    if (!turn.await_blocks(true)) return {};  // the operands
    const auto lane = static_cast<int>(scope.rank());
    const std::uint64_t operand = lane < turn.size() ? load_operand(a, lane, r) : 0;
    const auto take = [&](std::uint64_t value) {
      fold_small(
          scope, a, [&](int k) { return scope.shuffle(value, static_cast<unsigned>(k)); }, r);
    };
    if (turn.run_at_once(plan_small(m, a, r), operand, take, has_begun)) return {Code::ok, true};
  } else if constexpr (Turn<Scope, Blocks>::may_be_of_blocks) {
    if (blocks && !blocks->await_others(scope, true)) return {};
  }
  return reduce_small_by_steps<Scope>(scope, m, a, r, has_begun);
}

// More than 8 bytes, in one step or two. One function for both, because it is compiled into kernels.
template <bool Words, class AnyTurn, class R>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code reduce_rows(AnyTurn& turn, const Member& m, const Reduced& a,
                                                                const R& r) {
  const std::int64_t bytes = a.count * r.element();
  const auto length = static_cast<std::uint64_t>(bytes);
  const int self = turn.self();
  const TurnParts parts = a.in_parts ? parts_of(bytes, turn.size(), r.element()) : TurnParts{};
  const std::uint32_t second = InboxHalves(m.group.inbox_packets).second;
  const std::int64_t own_begin = a.in_parts ? parts.at(self) : 0, own_bytes = a.in_parts ? parts.length(self) : bytes;
  const auto send_result = [&](const auto& part, const auto& d) {
    for (int k = 0; k < turn.size() && a.in_parts; ++k)
      if (k != self) turn.flight(k).sent(second).write(part, d);
  };
  return turn.run_rows(
      {a.call, Signature(a.call, m.group.pair, a.root, r.element(), Signature::payload), bytes, a.root, a.sends,
       turn.others() & ((1u << a.operands) - 1)},
      [&] {
        if (a.in_parts || a.in_stride) {
          turn.each_by_crews(a.sends, [&](int k, const message::Crew& crew) {
            push_row<Words, AnyTurn::loads>(crew, turn.flight(k).sent(InboxHalves::first),
                                            a.in_parts ? a.in + parts.at(k) : a.from(k),
                                            a.in_parts ? parts.length(k) : bytes);
          });
          if (a.in_parts && !Words) await_sent(turn.scope(), a.in, a.out, bytes);
        } else if (a.sends) {
          const message::PayloadLayout layout(message::payload_packets(length), length);
          const bool in_words = Words || message::is_words(a.in, length);
          message::each_part<1>(layout, message::Hands::all_of(turn.carriers()), [&](const auto& part, auto& d) {
            load_part<Words, AnyTurn::loads>(part, layout, a.in, in_words, d);
            for (int k = 0; k < turn.size(); ++k)
              if (a.sends >> k & 1) turn.flight(k).sent(InboxHalves::first).write(part, d);
            return true;
          });
        }
      },
      [&](bool) {
        if (!a.operands) return true;
        bool came = true;
        const unsigned char* const own = a.from(self) + own_begin;
        if constexpr (FoldsPackets<R>) {
          came = fold_rows<Words>(turn, a.operands, own, a.out + own_begin, own_bytes, r, send_result);
        } else {
          came = fold_in_scratch(turn, a.operands, own, a.out + own_begin, own_bytes, r);
          if (came && a.in_parts)
            turn.each_by_crews(turn.others(), [&](int k, const message::Crew& crew) {
              push_row<Words, AnyTurn::loads>(crew, turn.flight(k).sent(second), a.out + own_begin, own_bytes);
            });
        }
        if (a.in_parts)
          turn.each_by_crews(turn.others(), [&](int k, const message::Crew& crew) {
            came = came && take_row<Words>(crew, turn.flight(k).came(second), a.out + parts.at(k), parts.length(k),
                                           turn.watch());
          });
        return came;
      });
}

// Out of line, for a thread or a warp: they lose little when a function call saves their registers.
template <class Scope, class R>
[[gnu::noinline]] DCGN_HOST_DEVICE static Outcome reduce_apart(Kept<Scope> scope, const Member m, const Reduced a,
                                                               const R r) {
  if constexpr (!Scope::single)  // a function that seems to call itself has a stack of unknown size
    if (!has_lanes(scope, m.group.size))
      return scope.lead([&] { return reduce_apart<gpu::ThreadScope>(gpu::ThreadScope(), m, a, r); });
  Turn<Scope> turn(scope, m);
  return {reduce_rows<false>(turn, m, a, r), true};
}

// A call that reduces; `longest`: bytes of a rank's longest buffer. If it goes in a turn, up to 8 bytes, and words of
// blocks, are reduced in the kernel's own code. If it does not, otherwise(scope) makes it.
template <class Scope, class R, class Otherwise>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline Code reduce_by(const Scope& scope, const Member& m, bool in_turn,
                                                              const Reduced& a, std::int64_t longest, const R& r,
                                                              const Otherwise& otherwise) {
  if (in_turn) {
    const std::int64_t bytes = a.count * r.element();
    if constexpr (R::folds_words)
      if (bytes <= static_cast<std::int64_t>(message::small_bytes))
        return lead_few_at_once(scope, m.group.size,
                                [&](const auto& few, auto blocks) { return reduce_small(few, m, a, r, blocks); })
            .code;
    if constexpr (!Scope::in_warp && FoldsPackets<R>) {
      const auto length = static_cast<std::uint64_t>(bytes);
      if (has_carriers(scope, m.group.size) & message::is_words(a.in, length) & message::is_words(a.out, length)) {
        TurnOf<Scope> turn(scope, m);
        if constexpr (!R::reads_operands_alone) turn.acquire_all();
        return reduce_rows<true>(turn, m, a, r);
      }
    }
  }
  // Of several blocks the first one makes a turn out of line.
  return by_first_if_short(scope, in_turn ? 0 : longest, [&]<class S>(const S& s) {
    if constexpr (!message::plans_ahead<S>)
      if (in_turn) return reduce_apart<S>(s, m, a, r).code;
    return otherwise(s);
  });
}

}  // namespace dcgn::collective
