// Launches the kernels that move pieces in words of so many bytes: DCGN_INSTANTIATE_MOVES(8).
#pragma once

#include "datatype/move_rows.hpp"
#include "datatype/movers.hpp"
#include "datatype/pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace dcgn::datatype {

template <class Index>
Places<Index> places_of(const Device& device, const PieceSide& side, std::int64_t word_bytes, Keep& keep) {
  Places<Index> places;
  if (side.leaf) places = datatype::places_of<Index>(device, *side.leaf, word_bytes, mover_threads, keep);
  places.base = side.base;
  places.first = static_cast<Index>(side.begin / word_bytes);
  return places;
}

template <int WordBytes, class Index>
void launch_tiles(const Queue& queue, int along, bool pack, const PieceSide& tiled, const PieceSide& other,
                  std::int64_t words) {
  using Kernel = MoveTiles<WordBytes, Index>;
  const Leaf& leaf = *tiled.leaf;
  Keep keep;
  Kernel kernel;
  kernel.num_outer = 0;
  Index packed = 1;
  std::int64_t tiles = 1;
  for (int i = leaf.num_loops; i-- > 0;) {
    const Loop& loop = leaf.loops[static_cast<std::size_t>(i)];
    const typename Kernel::PackedLoop own{Divider<Index>(loop.count), loop.stride, packed};
    packed *= static_cast<Index>(loop.count);
    const std::int64_t edges = (loop.count - 1) / Kernel::edge + 1;
    if (i == leaf.num_loops - 1) {
      kernel.across = own;
      kernel.tiles_across = Divider<Index>(edges);
      tiles *= edges;
    } else if (i == along) {
      kernel.along = own;
      kernel.tiles_along = Divider<Index>(edges);
      tiles *= edges;
    } else {
      kernel.outer[kernel.num_outer++] = own;
      tiles *= loop.count;
    }
  }
  kernel.base = tiled.base;
  kernel.tiles = static_cast<Index>(tiles);
  kernel.first = static_cast<Index>(tiled.begin / WordBytes);
  kernel.words = static_cast<Index>(words);
  kernel.other = places_of<Index>(queue.device, other, WordBytes, keep);
  kernel.pack = pack;
  launch(queue, tiles, Kernel::max_threads, Kernel::shared_bytes, detail::make_image(kernel), std::move(keep));
}

constexpr int most_pieces = 16;  // of one launch: a kernel's parameters have room for more

// Those of one word and one index, of sides of these patterns.
template <int WordBytes, class Index, Pattern From, Pattern To, int Most, int Ahead = words_ahead(WordBytes, From, To)>
void launch_words(const Queue& queue, const std::vector<Piece>& pieces) {
  using Kernel = MoveWords<WordBytes, Index, From, To, Ahead, Most>;
  for (std::size_t next = 0; next < pieces.size();) {
    Keep keep;
    Kernel kernel;
    std::int64_t tiles = 0;
    for (; next < pieces.size() && kernel.count < Most; ++next) {
      const Piece& piece = pieces[next];
      kernel.pieces[kernel.count++] = {places_of<Index>(queue.device, piece.from, WordBytes, keep),
                                       places_of<Index>(queue.device, piece.to, WordBytes, keep),
                                       static_cast<Index>(piece.words), static_cast<Index>(tiles)};
      tiles += (piece.words - 1) / Kernel::tile_words + 1;
    }
    kernel.tiles = static_cast<Index>(tiles);
    kernel.prefetch = (From == Pattern::flat || To == Pattern::same) &&
                      is_better_prefetched(queue.device, pieces.front().to, pieces.front().words * WordBytes);
    launch(queue, tiles, Kernel::max_threads, Kernel::shared_bytes, detail::make_image(kernel), std::move(keep));
  }
}

template <int WordBytes, class Index, Pattern From, Pattern To>
void launch_one(const Queue& queue, const Piece& piece) {
  if constexpr (From == Pattern::loop && (WordBytes == 4 || WordBytes == 8))
    if (is_sparse(piece.from)) return launch_words<WordBytes, Index, From, To, 1, 1>(queue, {piece});
  launch_words<WordBytes, Index, From, To, 1>(queue, {piece});
}

// By the kernel for long rows; false where it is not for these. Both sides have the same layout.
template <int WordBytes>
bool launch_rows(const Queue& queue, const Piece& piece) {
  using Kernel = MoveRows<WordBytes>;
  const auto place = [](const PieceSide& side) { return reinterpret_cast<std::uintptr_t>(side.base); };
  const std::optional<Triangle> rows = rows_of(piece.from);
  if (!rows || rows->bytes_before(rows->rows) < rows->rows * Kernel::least_row ||
      (place(piece.from) - place(piece.to)) % Kernel::wide != 0)
    return false;
  Kernel kernel;
  kernel.from = piece.from.base;
  kernel.to = piece.to.base;
  kernel.rows = *rows;
  kernel.begin = piece.from.begin;
  kernel.end = piece.from.begin + piece.words * WordBytes;
  kernel.tiles = (kernel.end - kernel.begin - 1) / Kernel::tile_bytes + 1;
  launch(queue, kernel.tiles, Kernel::max_threads, 0, detail::make_image(kernel), {});
  return true;
}

// act(P) with a pattern as a constant, where kernels are compiled for it and another side without gaps, or the same.
template <class Act>
bool with_pattern(Pattern pattern, const Act& act) {
  switch (pattern) {
    case Pattern::loop: return act(std::integral_constant<Pattern, Pattern::loop>{}), true;
    case Pattern::loops: return act(std::integral_constant<Pattern, Pattern::loops>{}), true;
    case Pattern::rows: return act(std::integral_constant<Pattern, Pattern::rows>{}), true;
    case Pattern::table: return act(std::integral_constant<Pattern, Pattern::table>{}), true;
    case Pattern::triangle: return act(std::integral_constant<Pattern, Pattern::triangle>{}), true;
    case Pattern::flat:
    case Pattern::same:
    case Pattern::any: break;
  }
  return false;
}

// A kernel for each pattern where the other side has no gaps, or the same: there is nothing to decide as it runs. Of
// what only arithmetic in 64 bits can name there are the general ones alone.
template <int WordBytes, class Index>
void launch_one(const Queue& queue, const Piece& piece) {
  constexpr Pattern flat = Pattern::flat, any = Pattern::any, same = Pattern::same;
  if constexpr (sizeof(Index) == 4) {
    const Pattern from = pattern_of(piece.from), to = pattern_of(piece.to);
    if (is_same(piece.from, piece.to)) {
      if constexpr (WordBytes < 16)
        if (launch_rows<WordBytes>(queue, piece)) return;
      if (with_pattern(from, [&](auto p) { launch_one<WordBytes, Index, p(), same>(queue, piece); })) return;
    }
    if (from == flat && to == flat) return launch_one<WordBytes, Index, flat, flat>(queue, piece);
    if (to == flat && with_pattern(from, [&](auto p) { launch_one<WordBytes, Index, p(), flat>(queue, piece); }))
      return;
    if (from == flat && with_pattern(to, [&](auto p) { launch_one<WordBytes, Index, flat, p()>(queue, piece); }))
      return;
  }
  launch_words<WordBytes, Index, any, any, sizeof(Index) == 4 ? 1 : most_pieces>(queue, {piece});
}

template <int WordBytes, class Index>
void launch_pieces(const Queue& queue, const std::vector<Piece>& pieces) {
  std::vector<Piece> in_words;
  for (const Piece& piece : pieces) {
    const int of_from = loop_along(piece.from, WordBytes), of_to = loop_along(piece.to, WordBytes);
    if (of_from >= 0)
      launch_tiles<WordBytes, Index>(queue, of_from, true, piece.from, piece.to, piece.words);
    else if (of_to >= 0)
      launch_tiles<WordBytes, Index>(queue, of_to, false, piece.to, piece.from, piece.words);
    else
      in_words.push_back(piece);
  }
  if (in_words.empty()) return;
  if (in_words.size() == 1)
    launch_one<WordBytes, Index>(queue, in_words.front());
  else
    launch_words<WordBytes, Index, Pattern::any, Pattern::any, most_pieces>(queue, in_words);
}

template <int WordBytes>
void launch_pieces(const Queue& queue, const std::vector<Piece>& pieces) {
  const ByIndex split = by_index(pieces, WordBytes);
  if (!split.shorter.empty()) launch_pieces<WordBytes, std::uint32_t>(queue, split.shorter);
  if (!split.longer.empty()) launch_pieces<WordBytes, std::uint64_t>(queue, split.longer);
}

}  // namespace dcgn::datatype

#define DCGN_INSTANTIATE_MOVES(word_bytes)                                                       \
  namespace dcgn::datatype {                                                                     \
  template void launch_pieces<word_bytes>(const Queue& queue, const std::vector<Piece>& pieces); \
  }
