// What a transfer is cut into: pieces, each inside one leaf on either side, and how kernels are launched for them.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/gpu/kernel.hpp>

#include "datatype/leaf_places.hpp"
#include "datatype/move.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dcgn::datatype {

// One side of a piece: inside one leaf, or of a buffer without gaps.
struct PieceSide {
  const Leaf* leaf;
  std::byte* base;     // of the leaf's first row, before loops; of a buffer's first byte
  std::int64_t begin;  // among the leaf's bytes
  std::int64_t left;   // bytes of the leaf from there on

  // The bytes of words whose places are multiples of them.
  std::int64_t unit() const;
};

// Inside one leaf on either side; `begin` of both, and `words`, are whole words.
struct Piece {
  PieceSide from, to;
  std::int64_t words;
};

PieceSide piece_of(const Side& side, std::int64_t at);
// A buffer without gaps is flat.
Pattern pattern_of(const PieceSide& side);
// Whether words have the same places on both sides, but for where these begin.
bool is_same(const PieceSide& a, const PieceSide& b);
// Rows that lie far apart, of whose surroundings nothing is read: in order is all that helps.
bool is_sparse(const PieceSide& side);
// Whether the ends of rows are better fetched before they are written: pieces.cpp says why.
bool is_better_prefetched(const Device& device, const PieceSide& side, std::int64_t bytes);
// The loop that steps from word to word in memory while the innermost one takes long steps; -1 where none does.
int loop_along(const PieceSide& side, std::int64_t word_bytes);
// The rows of a side that has nothing else, as of a triangle.
std::optional<Triangle> rows_of(const PieceSide& side);

// Pieces as words of so many bytes: those that arithmetic in 32 bits can name, and the others.
struct ByIndex {
  std::vector<Piece> shorter, longer;
};
ByIndex by_index(const std::vector<Piece>& pieces, std::int64_t word_bytes);

// What a transfer took, if that was one launch which can be made again.
struct Recording {
  int launches = 0;
  bool keeps = false;  // what may go meanwhile
  Launch shape;
  detail::KernelImage image;
};

// Where kernels go, and of how many blocks at most they are; 0: as many as suit.
struct Queue {
  const Device& device;
  Stream& stream;
  int most_blocks;
  Recording* recording = nullptr;
};

void launch(const Queue& queue, std::int64_t blocks, unsigned threads, std::size_t shared_bytes,
            detail::KernelImage image, Keep keep);

// Pieces in words of so many bytes; compiled in instances/, a file for each.
template <int WordBytes>
void launch_pieces(const Queue& queue, const std::vector<Piece>& pieces);

}  // namespace dcgn::datatype
