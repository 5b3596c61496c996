// Making communicators and giving them back.
//
// A communicator is a group of ranks and a pair of contexts. Each rank has a bit for each pair that it uses; those who
// split agree on the lowest pair that none of them uses. Groups of one split have no rank in common, so they share it.
#pragma once

#include "collective/calls.hpp"

#include <dcgn/collective/communicators.hpp>
#include <dcgn/operation.hpp>

#include <cstdint>

namespace dcgn::collective {

// What each rank gives for a split.
struct Choice {
  std::int32_t color, key;
};

// The ranks of one color in order of key and rank, into table[0] on; how many there are.
DCGN_HOST_DEVICE inline int sort_members(const Choice* choices, int ranks, int color, std::int32_t* table) {
  int count = 0;
  for (int r = 0; r < ranks; ++r) {
    if (choices[r].color != color) continue;
    int at = count++;
    for (; at > 0 && choices[table[at - 1]].key > choices[r].key; --at) table[at] = table[at - 1];
    table[at] = r;
  }
  return count;
}

// The group of this rank's color, by one thread. The table is given back where arithmetic does.
DCGN_HOST_DEVICE Group make_group(const Member& m, int pair, int color, const Choice* choices, std::int32_t* table);

// Ranks of one color become a communicator, in order of key and, where that is the same, of rank; with a negative color
// a rank is of none. A cart's `places` are at least 1 and at most its ranks. In a kernel the group's code says what
// went wrong. One copy serves the three calls that make communicators.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Group make(const Scope& scope, const Member& m, Call call, int color, int key,
                                              int places) {
  using Words = std::uint32_t;
  constexpr int words = message::most_communicators / 32;
  Group none;
  none.pair = -1;
  const Channel c(scope, m, call, [&](Checks& checks) {
    if (call != Call::cart) return;
    checks.require(places >= 1 && places <= m.group.size, Code::invalid_size, Flaw::grid, places, m.group.size);
  });
  none.code = c.code();
  if (none.code != Code::ok) return none;

  struct Space {
    std::int32_t* table = nullptr;
    Choice* choices = nullptr;
  };
  message::Arena& tables = c.me().collectives.tables;
  auto* const agreed = reinterpret_cast<Words*>(c.scratch());  // pairs that are free, and whether all have space
  const Space space = scope.lead([&] {
    const auto ranks = static_cast<std::uint64_t>(c.size());
    Space s;
    s.table = static_cast<std::int32_t*>(tables.allocate(ranks * sizeof(std::int32_t)));
    s.choices = static_cast<Choice*>(tables.allocate(ranks * sizeof(Choice)));
    for (int i = 0; i < words; ++i) agreed[i] = ~c.me().collectives.used[i];
    agreed[words] = s.table && s.choices;
    if (s.choices) s.choices[c.rank()] = {color, key};
    return s;
  });
  none.code =
      reduce_doubling(c, c.scratch(), c.scratch() + 64 * ((words + 16) / 16), words + 1, Reducer<Words, BitAnd>{});
  if (none.code != Code::ok) return none;
  int pair = 0;
  while (pair < message::most_communicators && !(agreed[pair / 32] >> pair % 32 & 1)) ++pair;
  if (agreed[words] && pair < message::most_communicators) {
    none.code = all_gather_doubling(c, reinterpret_cast<unsigned char*>(space.choices),
                                    [](int r) { return r * static_cast<std::int64_t>(sizeof(Choice)); });
    if (none.code != Code::ok) return none;
    const Group made = scope.lead([&] {
      const Group g = make_group(m, pair, color, space.choices, space.table);
      tables.free(space.choices);
      return g;
    });
    if (!scope.broken()) return made;
    none.code = Code::aborted;
    return none;
  }
  none.code = Code::out_of_resources;
  scope.lead([&] {
    if (space.table) tables.free(space.table);
    if (space.choices) tables.free(space.choices);
    const bool tight = !agreed[words];
    return message::fail(c.me(), {none.code,
                                  call,
                                  tight ? c.size() : message::most_communicators - 1,
                                  0,
                                  {},
                                  tight ? Flaw::members : Flaw::communicators});
  });
  return none;
}

template <class Scope>
DCGN_HOST_DEVICE Group split(const Scope& scope, const Member& m, int color, int key) {
  return make(scope, m, Call::split, color, key, 0);
}
// The same ranks with contexts of their own.
template <class Scope>
DCGN_HOST_DEVICE Group dup(const Scope& scope, const Member& m) {
  return make(scope, m, Call::dup, 0, m.group.rank, 0);
}
// The first `places` ranks, in order.
template <class Scope>
DCGN_HOST_DEVICE Group cart(const Scope& scope, const Member& m, int places) {
  return make(scope, m, Call::cart, m.group.rank < places ? 0 : -1, m.group.rank, places);
}

// Gives back what this rank has for a communicator, which none of its ranks uses any more. The world's stays.
template <class Scope>
DCGN_HOST_DEVICE void release(const Scope& scope, const Member& m) {
  if (m.group.pair <= 0) return;
  scope.lead([&] {
    message::CollectiveSpace& space = m.port.me->collectives;
    const std::uint32_t bit = 1u << m.group.pair % 32;
    if (space.used[m.group.pair / 32] & bit && m.group.table)
      space.tables.free(const_cast<std::int32_t*>(m.group.table));
    space.used[m.group.pair / 32] &= ~bit;
    return 0;
  });
}

}  // namespace dcgn::collective
