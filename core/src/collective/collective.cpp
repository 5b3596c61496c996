// What the collectives have that is no template, compiled once for the host and once for the device library.
#include "collective/communicators.hpp"
#include "message/engine/compiled.hpp"

#include <dcgn/collective/addresses.hpp>
#include <dcgn/collective/blocks_turn.hpp>
#include <dcgn/message/copy_bytes.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::collective {

template <class Few>
DCGN_HOST_DEVICE Told tell_in_turn(Few scope, const Member m, Call call, const void* in, const void* out,
                                   const Alike alike, std::int64_t copied, std::uint32_t threads,
                                   const gpu::BlocksScope* blocks) {
  Told told{.code = Code::ok};
  const Channel c(scope, m, call, std::uint32_t{0});  // sends no messages
  bool able = copied == 0 || copies_faster(c, copied, threads);
  able &= message::reachable(in);
  able &= message::reachable(out);
  const std::uint64_t mine[] = {reinterpret_cast<std::uintptr_t>(in),
                                able ? reinterpret_cast<std::uintptr_t>(out) : Place::out_of_reach, alike.bytes};
  auto* const places = reinterpret_cast<Place*>(c.scratch());
  Turn<Few, const gpu::BlocksScope*> turn(scope, m, blocks);
  const auto each_word = [](const auto& act) {
    for (std::uint32_t i = 1; i < 3; ++i) act(i);
  };
  // In place, a rank would overwrite operands that others still read.
  const bool scans = call == Call::scan || call == Call::exclusive_scan;
  bool reached = able, came = true;
  const auto keep = [&](int r, const std::uint64_t(&words)[3]) {
    places[r] = {words[0], words[1], alike};
    reached = reached && words[1] != Place::out_of_reach && !(scans && words[0] == words[1]);
  };
  const int root = call == Call::broadcast || call == Call::reduce ? alike.root : no_root;
  if (!turn.await_blocks()) return {};
  turn.each_seen_to(turn.bit(turn.self()), [&](int r, const message::InboxState&) { keep(r, mine); });
  told.code = turn.run(
      {call, Signature(call, m.group.pair, root, alike.element, Signature::places),
       static_cast<std::int64_t>(alike.bytes), root, turn.others(), turn.others(), true, true, false},
      [&](int) { return mine[0]; },
      [&] {
        turn.each_seen_to(turn.others(), [&](int, const message::InboxState& inbox) {
          const message::Flight its = turn.flight_of(inbox);
          each_word([&](std::uint32_t i) {
            message::write_packet(its.to[i], static_cast<std::uint32_t>(mine[i]),
                                  static_cast<std::uint32_t>(mine[i] >> 32), 0, its.turn + 1);
          });
        });
      },
      [&](int r, std::uint64_t first, const message::Flight& its) {
        std::uint64_t words[3] = {first};
        each_word([&](std::uint32_t i) {
          std::uint32_t d[3]{};
          came = came && message::await_packet(its.came(i), 0, d, turn.watch());
          words[i] = message::long_word(d);
        });
        keep(r, words);
        return !came || words[2] == alike.bytes;
      },
      [&](bool) { return came; });
  told.reached = scope.agree(reached);
  told.late = turn.late();
  return told;
}

template <class Few>
DCGN_HOST_DEVICE Outcome say_done_in_turn(Few scope, const Member m, Call call, const gpu::BlocksScope* blocks) {
  Turn<Few, const gpu::BlocksScope*> turn(scope, m, blocks);
  if (!turn.await_blocks()) return {};
  const Code code = turn.run(
      {call, Signature(call, m.group.pair, no_root, 0, Signature::done), 0, no_root, turn.others(), turn.others(), true,
       false},
      [](int) { return std::uint64_t{0}; }, [] {}, [](int, std::uint64_t, const message::Flight&) { return true; },
      [](bool) { return true; });
  return {code, true};
}

template <class Few>
DCGN_HOST_DEVICE Heard run_signatures(Few scope, const Member m, const TurnPlan plan, const gpu::BlocksScope& blocks,
                                      const Found found) {
  return Turn<Few, const gpu::BlocksScope*>(scope, m, &blocks, found).run_signatures(plan, *m.port.turns, found);
}

template <class Few>
DCGN_HOST_DEVICE Outcome await_segments(Few scope, const Member m, const TurnPlan plan, const gpu::BlocksScope& blocks,
                                        const Found found) {
  if (!scope.agree(!scope.leader() || blocks.await_looks())) return {Code::aborted, true};
  return {Turn<Few, const gpu::BlocksScope*>(scope, m, &blocks, found).await_segments(plan), true};
}

template Outcome await_segments(gpu::WarpScope, const Member, const TurnPlan, const gpu::BlocksScope&, const Found);
template Outcome await_segments(gpu::ThreadScope, const Member, const TurnPlan, const gpu::BlocksScope&, const Found);
template Heard run_signatures(gpu::WarpScope, const Member, const TurnPlan, const gpu::BlocksScope&, const Found);
template Heard run_signatures(gpu::ThreadScope, const Member, const TurnPlan, const gpu::BlocksScope&, const Found);
template Told tell_in_turn(gpu::WarpScope, const Member, Call, const void*, const void*, const Alike, std::int64_t,
                           std::uint32_t, const gpu::BlocksScope*);
template Told tell_in_turn(gpu::ThreadScope, const Member, Call, const void*, const void*, const Alike, std::int64_t,
                           std::uint32_t, const gpu::BlocksScope*);
template Outcome say_done_in_turn(gpu::WarpScope, const Member, Call, const gpu::BlocksScope*);
template Outcome say_done_in_turn(gpu::ThreadScope, const Member, Call, const gpu::BlocksScope*);

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
    bool among_slots = space.inboxes != nullptr;
    for (int i = 0; i < g.size && among_slots; ++i)
      among_slots = i == g.rank ||
                    (message::is_near(*m.port.me, table[i]) && message::inbox_of(*m.port.me, table[i]).to != nullptr);
    g.inbox_packets = among_slots ? space.inbox_packets : 0;
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
