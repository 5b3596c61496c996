// Collectives by a block of a GPU among few ranks (message/rows.hpp), of what their FIFOs carry. What passes between
// ranks is what the rounds of moving.hpp and reducing.hpp send, so others may take part otherwise.
//
// These calls are inlined, but for what is rare: a call would put into memory what the threads of a block have in
// registers, which takes as long as all the rest.
#pragma once

#include <dcgn/arch/scope.hpp>
#include <dcgn/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/moving.hpp>
#include <dcgn/collective/reducing.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/rows.hpp>

#include <cstdint>

namespace dcgn::collective {

// Whether calls of this group can be such.
template <class Scope>
DCGN_HOST_DEVICE bool goes_in_fifos(const Scope& scope, const Member& m) {
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
concept ReducesInFifos = message::exchanges_rows<Scope> && R::folds_words && R::element_size <= 4;

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
DCGN_HOST_DEVICE Reduction reduction_in_fifos(const Scope& scope, const Member& m, const Input& in, const Output& out,
                                              bool& fits) {
  constexpr auto element = static_cast<std::uint32_t>(R::element_size);
  const auto size = static_cast<std::uint32_t>(m.group.size);
  fits = goes_in_fifos(scope, m) & (in.count > 0) &
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
[[gnu::noinline]] DCGN_HOST_DEVICE static Code go_on_in_rounds(const gpu::BlockScope scope, const Member m,
                                                               const Reduction a, std::uint32_t number, Lacks lacks,
                                                               std::uint32_t missing, const R r) {
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
DCGN_HOST_DEVICE Outcome all_reduce_in_fifos(const gpu::BlockScope& scope, const Member& m, const Reduction& a,
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

}  // namespace dcgn::collective
