// The sizes at which collectives change their algorithm. All ranks of a call must have the same ones. Those for turns
// and addresses were measured; the others are first guesses.
#pragma once

#include <dcgn/message/endpoint.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::collective {

// Up to so many ranks of one process send to all others at once. More ranks form teams, one for each device.
inline constexpr int at_once_ranks = message::most_in_turn;
// Up to so many send to the root at once, or receive from it at once.
inline constexpr int to_root_at_once_ranks = 256;
// A broadcast or an all_reduce goes in one step while a rank sends at most so many bytes in all; above, in two steps.
inline constexpr std::int64_t whole_at_once = 64 << 10;
// Two steps are taken up to so many bytes of result at each rank.
inline constexpr std::int64_t parts_at_once = 1 << 20;
// Teams are used up to so many bytes of input or result at each rank.
inline constexpr std::int64_t in_teams_bytes = 4 << 10;

// If a call of several blocks is compiled out of line, the first block makes it alone below so many bytes of a rank's
// longest buffer. Ranks may differ in this: the packets are the same.
inline constexpr std::int64_t by_first_block = 65 << 10;

// From so many bytes on ranks read and write each other's buffers directly, if all can reach them. all_reduce and
// broadcast: bytes of result at each rank. Others: bytes of a rank's part, among slots alone and otherwise.
inline constexpr std::int64_t all_reduce_by_addresses = 65 << 10;
inline constexpr std::int64_t broadcast_by_addresses = 65 << 10;
inline constexpr std::int64_t slots_parts_by_addresses = 65 << 10;
inline constexpr std::int64_t parts_by_addresses = 16 << 10;
// Slots with inboxes of each other use a turn up to so many bytes, if they fit, whatever the sizes above say: bytes of
// result of an all_reduce, and of a rank's part in calls that move data. In one step while a rank sends at most so many
// bytes in all; two ranks more, because in two steps they send as many.
inline constexpr std::int64_t most_to_reduce_in_turn = 4 << 20;
inline constexpr std::int64_t most_to_move_in_turn = 2 << 20;
inline constexpr std::int64_t turn_in_one_step = 64 << 10, turn_of_two_in_one_step = 512 << 10;

// For everything else, messages one after the other.
// broadcast, bytes of result: below, down a tree; from here on, in pieces around a ring.
inline constexpr std::int64_t broadcast_in_pieces = 64 << 10;
// all_reduce, bytes of input: below, log2(size) exchanges of everything; from here on, each rank reduces a part.
inline constexpr std::int64_t all_reduce_in_parts = 16 << 10;
// reduce_scatter, bytes of input: the same.
inline constexpr std::int64_t reduce_scatter_in_parts = 8 << 10;
// gather and scatter, bytes of a rank's part: below, through a tree; from here on, to and from the root.
inline constexpr std::int64_t gather_directly = 4 << 10;
// all_gather, bytes of result: below, log2(size) steps; from here on, around a ring.
inline constexpr std::int64_t all_gather_around = 32 << 10;

}  // namespace dcgn::collective
