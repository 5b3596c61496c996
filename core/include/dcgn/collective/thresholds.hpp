// From which sizes on a collective takes its algorithm for long messages. First guesses, to be measured; all ranks of a
// call must have the same ones.
#pragma once

#include <dcgn/message/endpoint.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::collective {

// Up to so many ranks of one process each sends to all others at once: in messages that do not wait for each other.
// More are teams, one for each device, where they are in order.
inline constexpr int at_once_ranks = message::most_in_turn;
// As many send to the root at once, or get something from it.
inline constexpr int to_root_at_once_ranks = 256;
// Bytes that a rank sends in all, at once, of what it could as well send a part of to each: a broadcast, a reduction.
// Of more it sends parts, which are put together in a second step.
inline constexpr std::int64_t whole_at_once = 64 << 10;
// Bytes that every rank has at the end, up to which these two steps are taken.
inline constexpr std::int64_t parts_at_once = 1 << 20;
// Bytes that every rank gives or has at the end, up to which teams are made use of.
inline constexpr std::int64_t in_teams_bytes = 4 << 10;

// Below so many bytes, of a rank's larger buffer, the first of several blocks makes the call by itself. A rank's own
// affair: what passes between ranks is the same.
inline constexpr std::size_t by_first_block = 65 << 10;

// From so many bytes on such ranks read and write each other's buffers where all can reach them: those that every rank
// has at the end, and those of a rank's part, among slots alone, whose FIFOs carry more, and else.
inline constexpr std::int64_t all_reduce_by_addresses = 65 << 10;
inline constexpr std::int64_t broadcast_by_addresses = 65 << 10;
inline constexpr std::int64_t slots_parts_by_addresses = 65 << 10;
inline constexpr std::int64_t parts_by_addresses = 16 << 10;
// Up to so many bytes slots that have inboxes of each other send in a turn, as far as it fits, whatever is said above:
// of what all reduce, and of a rank's part of what is moved.
inline constexpr std::int64_t most_to_reduce_in_turn = 768 << 10;
inline constexpr std::int64_t most_to_move_in_turn = 64 << 10;

// The others follow each other, and so do those of long messages.
// Bytes that every rank has at the end: down a tree below, in pieces around the ring from here on.
inline constexpr std::int64_t broadcast_in_pieces = 64 << 10;
// Bytes that every rank gives: log2(size) exchanges of all below, from here on each rank reduces a part of them.
inline constexpr std::int64_t all_reduce_in_parts = 16 << 10;
// Bytes that each rank gives for all: as all_reduce below.
inline constexpr std::int64_t reduce_scatter_in_parts = 8 << 10;
// Bytes of a rank's part: through a tree below, to and from the root from here on.
inline constexpr std::int64_t gather_directly = 4 << 10;
// Bytes of all parts: in log2(size) steps below, around the ring from here on.
inline constexpr std::int64_t all_gather_around = 32 << 10;

}  // namespace dcgn::collective
