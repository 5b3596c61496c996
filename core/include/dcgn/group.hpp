// Who takes part: the ranks of a communicator among those of the world.
#pragma once

#include <dcgn/host_device.hpp>
#include <dcgn/peers.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::collective {

// Trivially copyable. In that of the world nothing but `pair` has a meaning: a slot that has it is compiled to what it
// would be without.
struct Group {
  // Which pair of contexts: 0 is the world's and that of its parts, by which hosts make a call; -1 that of a
  // communicator without this rank.
  std::int32_t pair = 0;
  std::int32_t size = 0;
  std::int32_t rank = -1;               // mine
  std::int32_t first = 0, stride = 1;   // as Peers have them: rank r is the world's rank first + r * stride,
  const std::int32_t* table = nullptr;  // or with a table, memory of this rank's, the first of those from table[r] on
  // Of a segment of their inboxes, if all ranks are slots that have inboxes of each other.
  std::uint32_t inbox_packets = 0;
  Code code = Code::ok;  // why there is no communicator

  DCGN_HOST_DEVICE bool is_world() const { return pair == 0; }
  DCGN_HOST_DEVICE bool has(int r) const { return r >= 0 && r < size; }
  DCGN_HOST_DEVICE int in_world(int r) const { return message::Peers{first, stride, table}[r]; }
  // The rank that the world's rank w is here; any_source where it is none. Takes a look at each with a table.
  DCGN_HOST_DEVICE int from_world(int w) const {
    if (!table) {
      const int r = (w - first) / stride;
      return w >= 0 && has(r) && in_world(r) == w ? r : any_source;
    }
    for (int r = 0; r < size; ++r)
      if (in_world(r) == w) return r;
    return any_source;
  }
  DCGN_HOST_DEVICE std::uint32_t user_context() const { return 2 * static_cast<std::uint32_t>(pair); }
  DCGN_HOST_DEVICE std::uint32_t collective_context() const { return user_context() + 1; }
};

// Its ranks, by their numbers.
DCGN_HOST_DEVICE inline message::Peers peers_of(const Group& g) { return {g.first, g.stride, g.table, g.rank}; }

}  // namespace dcgn::collective
