// Collectives that only move by a block of a GPU among few ranks: see dcgn/collective/in_fifos.hpp.
#pragma once

#include <dcgn/collective/in_fifos.hpp>
#include <dcgn/collective/in_packets.hpp>

#include <cstdint>

namespace dcgn::collective {

// ---- what is moved: each says whether it has done it, with what came of it in `code`

// Goes on with parts for all: `from_each` bytes from one part of `in` to the next, 0 where all get the same.
DCGN_HOST_DEVICE Code go_on_with_parts(const gpu::BlockScope scope, const Member m, Call call, std::uint32_t number,
                                       std::uint32_t missing, const unsigned char* in, std::int64_t from_each,
                                       unsigned char* out, std::int64_t bytes);
DCGN_HOST_DEVICE void copy_own(const gpu::BlockScope scope, unsigned char* to, const unsigned char* from,
                               std::uint32_t bytes);

// all_gather, or all_to_all, which has a part of `in` for each.
template <class Scope>
DCGN_HOST_DEVICE bool parts_in_fifos(const Scope& scope, const Member& m, Call call, const unsigned char* in,
                                     unsigned char* out, std::int64_t bytes, bool right, Code& code) {
  if constexpr (message::exchanges_rows<Scope>) {
    const bool to_each = call == Call::all_to_all;
    if (!right | !goes_in_fifos(scope, m) | (bytes >= least_by_addresses(*m.port.me)) | !message::fits_row(in, bytes) |
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
DCGN_HOST_DEVICE Code go_on_broadcasting(const gpu::BlockScope scope, const Member m, unsigned char* data,
                                         std::int64_t bytes, int root, std::uint32_t number, Lacks lacks,
                                         std::uint32_t missing);

template <class Scope>
DCGN_HOST_DEVICE bool broadcast_in_fifos(const Scope& scope, const Member& m, void* buffer, std::int64_t bytes,
                                         int root, Code& code) {
  if constexpr (message::exchanges_rows<Scope>) {
    if (!goes_in_fifos(scope, m) | !m.group.has(root) | (bytes >= broadcast_by_addresses)) return false;
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
