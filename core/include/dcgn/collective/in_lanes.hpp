// Collectives by a block of a GPU among few ranks (message/rows.hpp), of what their lanes carry. What passes between
// ranks is what the rounds of moving.hpp and reducing.hpp send, so others may take part otherwise.
//
// These calls are inlined, but for what is rare: a call would put into memory what the threads of a block have in
// registers, which takes as long as all the rest.
#pragma once

#include <dcgn/collective/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/reducing.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/gpu/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/rows.hpp>

#include <cstdint>

namespace dcgn::collective {

// Whether calls of this group can be such.
template <class Scope>
DCGN_HOST_DEVICE bool goes_in_lanes(const Scope& scope, const Member& m) {
  return (m.group.size >= 2) & (m.group.size <= message::Rows::most) & (m.port.near == m.port.size) &
         (scope.size() >= gpu::warp_size);
}

// Each thread takes its share of what comes from all others: place(k) is where that of rank k goes.
template <class Place, class Length>
DCGN_HOST_DEVICE bool take_from_all(const gpu::BlockScope& scope, const message::Rows& rows, int self, int size,
                                    const Place& place, const Length& length, const std::uint32_t& phase) {
  const message::Shift shift(scope, static_cast<std::uint32_t>(size - 1));
  bool came = true;
  for (auto i = static_cast<int>(shift.first); i < size - 1 && came; i += static_cast<int>(shift.step)) {
    const int k = i < self ? i : i + 1;
    came = take_row(shift.hands, rows.from[k], place(k), length(k), phase);
  }
  return came;
}
// And sends each its own.
template <class Place, class Length>
DCGN_HOST_DEVICE void push_to_each(const gpu::BlockScope& scope, const message::Rows& rows, int self, int size,
                                   const Place& place, const Length& length) {
  const message::Shift shift(scope, static_cast<std::uint32_t>(size - 1));
  for (auto i = static_cast<int>(shift.first); i < size - 1; i += static_cast<int>(shift.step)) {
    const int k = i < self ? i : i + 1;
    push_to_all(shift.hands, rows.to, 1u << k, place(k), length(k));
  }
}

// ---- all_reduce: of what ranks send each other whole, or in pieces that each reduces and sends to all. Each thread
// reduces its words as they come, and nothing is stored but the result.

template <class Scope, class R>
concept ReducesInLanes = message::exchanges_rows<Scope> && R::folds_words && R::element_size <= 4;

// What is to be reduced, and how it is cut; in 32 bits, since registers are few and divisions of more are long.
struct Reduction {
  const unsigned char* in;
  unsigned char* out;
  std::uint32_t bytes, each;  // of all, and of a piece, which may be the whole
  bool whole;

  DCGN_HOST_DEVICE std::uint32_t at(int k) const { return whole ? 0 : lesser(static_cast<std::uint32_t>(k) * each); }
  DCGN_HOST_DEVICE std::uint32_t length(int k) const { return whole ? bytes : at(k + 1) - at(k); }

 private:
  DCGN_HOST_DEVICE std::uint32_t lesser(std::uint32_t end) const { return end < bytes ? end : bytes; }
};

// `fits` says whether a call can be such.
template <class Scope, class R>
DCGN_HOST_DEVICE Reduction reduction_in_lanes(const Scope& scope, const Member& m, const Input& in, const Output& out,
                                              bool& fits) {
  constexpr auto element = static_cast<std::uint32_t>(R::element_size);
  const auto size = static_cast<std::uint32_t>(m.group.size);
  fits = goes_in_lanes(scope, m) & (in.count > 0) &
         (in.count < static_cast<std::int64_t>(all_reduce_by_addresses / element)) & (out.count >= in.count);
  if (!fits) return {};
  const auto count = static_cast<std::uint32_t>(in.count);
  Reduction a{in.data, out.data, count * element, count * element, false};
  const auto fits_scratch = [&] {  // as goes_whole() and has_space() have it
    return (a.each + 63) / 64 * 64 * size <= m.port.me->collectives.scratch_bytes;
  };
  a.whole = a.bytes * (size - 1) <= whole_at_once && fits_scratch();
  if (!a.whole) a.each = (count + size - 1) / size * element;
  const auto from = reinterpret_cast<std::uintptr_t>(in.data), to = reinterpret_cast<std::uintptr_t>(out.data);
  const bool clear = (from == to) | (from + a.bytes <= to) | (to + a.bytes <= from);
  const std::uint32_t last = a.length(static_cast<int>(size) - 1);
  fits =
      clear & fits_scratch() & (a.each % 4 == 0) & message::fits_row(in.data, last) & message::fits_row(out.data, last);
  return a;
}

// Goes on where something is missing: of the first round, of the second, or all of the second.
enum class Lacks : std::uint32_t { operands, results, second_round };

template <class R>
[[gnu::noinline]] DCGN_HOST_DEVICE Code go_on_in_rounds(const gpu::BlockScope scope, const Member m, const Reduction a,
                                                        std::uint32_t number, Lacks lacks, std::uint32_t missing,
                                                        const R r) {
  const Channel c(scope, m, Call::all_reduce, number);
  const std::int64_t mine = a.at(c.rank()), length = a.length(c.rank()), share = share_bytes(c, c.size());
  message::note_missing(scope, c.me(), c.all(), missing);
  if (lacks == Lacks::operands) {
    const Code code =
        c.make_up(c.among_all(a.whole ? message::whole(a.in, length) : message::cut(a.in, a.each, a.bytes),
                              message::in_row(c.scratch(), length, share), false));
    if (code != Code::ok) return code;
    r.fold(scope, a.out + mine, {c.scratch(), share, c.size(), c.rank(), a.in + mine}, length / r.element());
    if (a.whole) return code;
  }
  const unsigned char* const result = a.out + mine;
  const message::Round round = c.among_all(message::whole(result, length), message::cut(a.out, a.each, a.bytes), false);
  return lacks == Lacks::results ? c.make_up(round) : c.round(round);
}

template <class R>
DCGN_HOST_DEVICE Outcome all_reduce_in_lanes(const gpu::BlockScope& scope, const Member& m, const Reduction& a,
                                             const R& r) {
  using message::Exchange, message::Hands, message::Rows;
  const std::uint32_t* const phase = m.port.me->phase;
  const std::uint32_t number = m.port.turns->begun[m.group.pair];
  const int size = m.group.size, self = m.group.rank;
  for (int step = 0; step < (a.whole ? 1 : 2); ++step) {
    const bool scatters = step == 0 && !a.whole;  // a piece for each
    const Exchange e = exchange_rows(
        scope, m.port, peers_of(m.group), size, tag_of(Call::all_reduce, number), m.group.collective_context(),
        [&](int k) { return a.length(scatters ? k : self); }, [&](int k) { return a.length(scatters ? self : k); },
        [&] { begin_turn(m, Call::all_reduce, number, a.bytes); },
        [&](const Rows& rows) {
          const auto length = [&](int k) { return a.length(k); };
          if (scatters)
            push_to_each(
                scope, rows, self, size, [&](int k) { return a.in + a.at(k); }, length);
          else
            push_to_all(Hands::all_of(scope), rows.to, Rows::all_but(self, size), (step ? a.out : a.in) + a.at(self),
                        length(self));
        },
        [&](const Rows& rows) {
          if (step == 0)
            return fold_rows(Hands::all_of(scope), rows.from, self, size, a.in + a.at(self), a.out + a.at(self),
                             a.length(self), *phase,
                             [&](std::uint32_t x, std::uint32_t y) { return r.fold_word(x, y); });
          return take_from_all(
              scope, rows, self, size, [&](int k) { return a.out + a.at(k); }, [&](int k) { return a.length(k); },
              *phase);
        });
    if (e.state == Exchange::State::all) continue;
    if (e.state == Exchange::State::none && step == 0) return {};
    const Lacks lacks = e.state == Exchange::State::none ? Lacks::second_round
                        : step                           ? Lacks::results
                                                         : Lacks::operands;
    return {go_on_in_rounds<R>(scope, m, a, number, lacks, e.missing, r), true};
  }
  return {Code::ok, true};
}

// ---- what is moved: each says whether it has done it, with what came of it in `code`

// Goes on with parts for all: `from_each` bytes from one part of `in` to the next, 0 where all get the same.
[[gnu::noinline]] DCGN_HOST_DEVICE inline Code go_on_with_parts(const gpu::BlockScope scope, const Member m, Call call,
                                                                std::uint32_t number, std::uint32_t missing,
                                                                const unsigned char* in, std::int64_t from_each,
                                                                unsigned char* out, std::int64_t bytes) {
  const Channel c(scope, m, call, number);
  message::note_missing(scope, c.me(), c.all(), missing);
  return c.make_up(c.among_all(message::in_row(in, bytes, from_each), message::in_row(out, bytes, bytes)));
}
[[gnu::noinline]] DCGN_HOST_DEVICE inline void copy_own(const gpu::BlockScope scope, unsigned char* to,
                                                        const unsigned char* from, std::uint32_t bytes) {
  if (to != from) message::copy_bytes(scope, to, from, bytes);
}

// all_gather, or all_to_all, which has a part of `in` for each.
template <class Scope>
DCGN_HOST_DEVICE bool parts_in_lanes(const Scope& scope, const Member& m, Call call, const unsigned char* in,
                                     unsigned char* out, std::int64_t bytes, bool right, Code& code) {
  if constexpr (message::exchanges_rows<Scope>) {
    const bool to_each = call == Call::all_to_all;
    if (!right | !goes_in_lanes(scope, m) | (bytes >= least_by_addresses(*m.port.me)) | !message::fits_row(in, bytes) |
        !message::fits_row(out, bytes))
      return false;
    const int size = m.group.size, self = m.group.rank;
    const auto each = static_cast<std::uint32_t>(bytes), from_each = to_each ? each : 0;
    const std::uint32_t number = m.port.turns->begun[m.group.pair];
    const message::Exchange e = exchange_rows(
        scope, m.port, peers_of(m.group), size, tag_of(call, number), m.group.collective_context(),
        [&](int) { return each; }, [&](int) { return each; }, [&] { begin_turn(m, call, number, bytes); },
        [&](const message::Rows& rows) {
          if (to_each)
            push_to_each(
                scope, rows, self, size, [&](int k) { return in + static_cast<std::uint32_t>(k) * each; },
                [&](int) { return each; });
          else
            push_to_all(message::Hands::all_of(scope), rows.to, message::Rows::all_but(self, size), in, each);
          const auto mine = static_cast<std::uint32_t>(self);
          copy_own(scope, out + mine * each, in + mine * from_each, each);
        },
        [&](const message::Rows& rows) {
          return take_from_all(
              scope, rows, self, size, [&](int k) { return out + static_cast<std::uint32_t>(k) * each; },
              [&](int) { return each; }, *m.port.me->phase);
        });
    if (e.state == message::Exchange::State::none) return false;
    code = e.state == message::Exchange::State::all
               ? Code::ok
               : go_on_with_parts(scope, m, call, number, e.missing, in, from_each, out, bytes);
    return true;
  }
  return false;
}

// Goes on with a broadcast: with its second round where nothing of that has begun, else with what a round lacks.
[[gnu::noinline]] DCGN_HOST_DEVICE inline Code go_on_broadcasting(const gpu::BlockScope scope, const Member m,
                                                                  unsigned char* data, std::int64_t bytes, int root,
                                                                  std::uint32_t number, Lacks lacks,
                                                                  std::uint32_t missing) {
  const Channel c(scope, m, Call::broadcast, number);
  const RootRounds rounds(c, data, bytes, root);
  const message::Round round = lacks == Lacks::operands ? rounds.first() : rounds.second();
  if (lacks == Lacks::second_round) return c.round(round);
  message::note_missing(scope, c.me(), round.from, missing);
  const Code code = c.make_up(round);
  return code == Code::ok && lacks == Lacks::operands && rounds.in_pieces() ? c.round(rounds.second()) : code;
}

template <class Scope>
DCGN_HOST_DEVICE bool broadcast_in_lanes(const Scope& scope, const Member& m, void* buffer, std::int64_t bytes,
                                         int root, Code& code) {
  if constexpr (message::exchanges_rows<Scope>) {
    if (!goes_in_lanes(scope, m) | !m.group.has(root) | (bytes >= broadcast_by_addresses)) return false;
    auto* const data = static_cast<unsigned char*>(buffer);
    const int size = m.group.size, self = m.group.rank;
    const auto all = static_cast<std::uint32_t>(bytes), ranks = static_cast<std::uint32_t>(size);
    const bool here = self == root, in_pieces = RootRounds::goes_in_pieces(bytes, size);
    const std::uint32_t each = in_pieces ? (all + 16 * ranks - 1) / (16 * ranks) * 16 : all;
    const auto at = [&](int k) { return in_pieces ? static_cast<std::uint32_t>(k) * each : 0; };
    const auto length = [&](int k) { return in_pieces && k + 1 == size ? all - at(k) : each; };
    if ((at(size - 1) >= all) | !message::fits_row(data, length(size - 1))) return false;
    const std::uint32_t number = m.port.turns->begun[m.group.pair];
    for (int step = 0; step < (in_pieces ? 2 : 1); ++step) {
      const std::uint32_t others = message::Rows::all_but(self, size);
      const std::uint32_t sends = step ? others & ~(1u << root) : here ? others : 0;
      const std::uint32_t receives = here ? 0 : step ? others : 1u << root;
      const bool scatters = step == 0 && in_pieces;
      const message::Exchange e = exchange_rows(
          scope, m.port, peers_of(m.group), size, tag_of(Call::broadcast, number), m.group.collective_context(),
          [&](int k) { return sends >> k & 1 ? length(scatters ? k : self) : 0; },
          [&](int k) { return receives >> k & 1 ? length(step ? k : self) : 0; },
          [&] { begin_turn(m, Call::broadcast, number, bytes, root); },
          [&](const message::Rows& rows) {
            if (!sends) return;
            if (scatters)
              push_to_each(
                  scope, rows, self, size, [&](int k) { return data + at(k); }, length);
            else
              push_to_all(message::Hands::all_of(scope), rows.to, sends, data + at(self), length(self));
          },
          [&](const message::Rows& rows) {
            if (!receives) return true;
            const std::uint32_t& phase = *m.port.me->phase;
            if (step)
              return take_from_all(
                  scope, rows, self, size, [&](int k) { return data + at(k); }, length, phase);
            return take_row(message::Hands::all_of(scope), rows.from[root], data + at(self), length(self), phase);
          });
      if (e.state == message::Exchange::State::all) continue;
      if (e.state == message::Exchange::State::none && step == 0) return false;
      const Lacks lacks = e.state == message::Exchange::State::none ? Lacks::second_round
                          : step                                    ? Lacks::results
                                                                    : Lacks::operands;
      code = go_on_broadcasting(scope, m, data, bytes, root, number, lacks, e.missing);
      return true;
    }
    code = Code::ok;
    return true;
  }
  return false;
}

}  // namespace dcgn::collective
