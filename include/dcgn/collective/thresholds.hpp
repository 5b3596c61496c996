// From which sizes on a collective takes its algorithm for long messages. First guesses, to be measured; all ranks of a
// call must have the same ones.
#pragma once

#include <cstdint>

namespace dcgn::collective {

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
