// What the collectives have that is no template, compiled once for the host and once for the device library.
#include "collective/communicators.hpp"
#include "collective/fifos.hpp"
#include "message/engine/compiled.hpp"

#include <dcgn/collective/addresses.hpp>
#include <dcgn/message/copy_bytes.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::collective {

DCGN_HOST_DEVICE Code go_on_with_parts(const gpu::BlockScope scope, const Member m, Call call, std::uint32_t number,
                                       std::uint32_t missing, const unsigned char* in, std::int64_t from_each,
                                       unsigned char* out, std::int64_t bytes) {
  const Channel c(scope, m, call, number);
  message::note_missing(scope, c.me(), c.all(), missing);
  return c.make_up(c.among_all(message::in_row(in, bytes, from_each), message::in_row(out, bytes, bytes)));
}

DCGN_HOST_DEVICE void copy_own(const gpu::BlockScope scope, unsigned char* to, const unsigned char* from,
                               std::uint32_t bytes) {
  if (to != from) message::copy_bytes(scope, to, from, bytes);
}

DCGN_HOST_DEVICE Code go_on_broadcasting(const gpu::BlockScope scope, const Member m, unsigned char* data,
                                         std::int64_t bytes, int root, std::uint32_t number, Lacks lacks,
                                         std::uint32_t missing) {
  const Channel c(scope, m, Call::broadcast, number);
  const RootRounds rounds(c, data, bytes, root);
  const message::Round round = lacks == Lacks::operands ? rounds.first() : rounds.second();
  if (lacks == Lacks::second_round) return c.round(round);
  message::note_missing(scope, c.me(), round.from, missing);
  const Code code = c.make_up(round);
  return code == Code::ok && lacks == Lacks::operands && rounds.in_pieces() ? c.round(rounds.second()) : code;
}

DCGN_HOST_DEVICE Outcome say_done_by_warp(const gpu::WarpScope scope, const Member m, Call call, std::uint32_t number) {
  return say_done(Channel(scope, m, call, number));
}

DCGN_HOST_DEVICE Told tell_by_warp(const gpu::WarpScope scope, const Member m, Call call, const void* in,
                                   const void* out, const Alike alike, std::int64_t copied, std::uint32_t threads) {
  Told told{.code = Code::ok, .number = m.port.turns->begun[m.group.pair]};
  const Channel c(scope, m, call, told.number);
  bool able = copied == 0 || copies_faster(c, copied, threads);
  able &= message::reachable(in);
  able &= message::reachable(out);
  const std::uint64_t target = able ? reinterpret_cast<std::uintptr_t>(out) : Place::out_of_reach;
  told.code = tell_place(c, in, target, alike);
  if (scope.leader())
    begin_turn(m, call, told.number, static_cast<std::int64_t>(alike.bytes),
               call == Call::broadcast ? alike.root : no_root);
  if (told.code != Code::ok) return told;
  auto* const places = reinterpret_cast<Place*>(c.scratch());
  bool same = true, reached = true, together = alike.blocks != 0;
  if (static_cast<int>(scope.rank()) < c.size()) {
    const Place& its = places[scope.rank()];
    same = (its.alike.bytes == alike.bytes) & (its.alike.root == alike.root) & (its.alike.element == alike.element);
    reached = its.out != Place::out_of_reach;
    together = together & (its.alike.blocks == alike.blocks);
  }
  told.in_vain = began_in_blocks(c, places);
  if (told.in_vain && scope.agree(same & together)) {
    told.together = true;
    told.in_vain = false;
    return told;
  }
  told.reached = scope.agree(same & reached);
  if (!told.reached && !scope.agree(same)) told.code = all_alike(c, places);
  // Other blocks may be at it until they know; then their leader sees to it.
  if (told.in_vain && told.code == Code::ok && !alike.blocks) told.code = pass_over(c, places);
  return told;
}

DCGN_HOST_DEVICE Outcome pass_over_by_warp(const gpu::WarpScope scope, const Member m, Call call,
                                           std::uint32_t number) {
  const Channel c(scope, m, call, number);
  return {pass_over(c, reinterpret_cast<Place*>(c.scratch()))};
}

DCGN_HOST_DEVICE Group make_group(const Member& m, int pair, int color, const Choice* choices, std::int32_t* table) {
  message::CollectiveSpace& space = m.port.me->collectives;
  Group g;
  g.pair = -1;
  if (color >= 0) {
    g.pair = pair;
    g.size = sort_members(choices, m.group.size, color, table);
    for (int i = 0; i < g.size; ++i) {
      if (table[i] == m.group.rank) g.rank = i;
      table[i] = m.group.in_world(table[i]);
    }
    space.used[pair / 32] |= 1u << pair % 32;
    message::Turns& turns = *space.turns;
    turns.begun[pair] = 0;
    turns.communicators[pair] =
        communicator_word(turns.communicators[m.group.pair], turns.begun[m.group.pair], table[0]);
    for (std::uint64_t& word : turns.latest)
      if (Begun(word).context == g.collective_context()) word = 0;  // of one before
    const int first = table[0], stride = g.size > 1 ? table[1] - first : 1;
    bool regular = true;
    for (int i = 0; i < g.size; ++i) regular = regular && table[i] == first + i * stride;
    if (regular) {
      g.first = first;
      g.stride = stride;
    } else {
      g.table = table;
    }
  }
  if (!g.table) space.tables.free(table);
  return g;
}

}  // namespace dcgn::collective

#endif
