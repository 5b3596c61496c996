// The kernels that move words between two sides, each of which says where its words are.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/datatype/places.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace dcgn::datatype {

constexpr unsigned mover_threads = 256;

// How many words each thread has on their way at a time. Few where one side has no gaps, because blocks then begin and
// end more evenly, and memory is touched more in order: on an H200 a copy in words of 16 bytes reaches 90 % of
// cudaMemcpy with four words and blocks that take several tiles, 95 % with four, 100 % with one. Short words need more
// to have as many bytes on their way, strided writes fewer; and to find the rows of a tile pays for long tiles only,
// while ever more words take the registers of other blocks (rows of 8 to 4096 bytes from a table: 1756 GB/s with four
// words, 1925 with six, 1932 with eight; into it 1603, 1725, 1361).
constexpr int words_ahead(int word_bytes, Pattern from, Pattern to) {
  const auto is_one_of = [&](Pattern a, Pattern b) { return from == a || from == b || to == a || to == b; };
  if (is_one_of(Pattern::table, Pattern::triangle)) return word_bytes == 16 ? 3 : word_bytes >= 4 ? 6 : 8;
  if (is_one_of(Pattern::rows, Pattern::any)) return word_bytes == 16 ? 2 : word_bytes >= 4 ? 4 : 8;
  const int reads = word_bytes == 16 ? 1 : word_bytes == 8 ? 2 : word_bytes == 4 ? 4 : 8;
  return from == Pattern::flat && to != Pattern::flat ? (reads + 1) / 2 : reads;
}

// Blocks that a multiprocessor has at once, and so the registers of each: as many as there can be; but where the
// pattern is found out as it goes, or there is much arithmetic, registers count for more (a triangle with six words:
// 1824 GB/s with eight blocks, 2028 with five; into it 1356 and 1904).
constexpr unsigned blocks_at_once(Pattern from, Pattern to) {
  if (from == Pattern::any) return 4;
  return from == Pattern::triangle || to == Pattern::triangle ? 5 : 8;
}

// The rows of a table or a triangle that a tile of words lies in, in shared memory: each thread looks for its words
// there, with neither a detour to the table for each step of the search nor a root to take.
template <int WordBytes, class Index, Pattern Of>
class TileRows {
 public:
  static constexpr std::uint32_t most = 512;
  static constexpr std::size_t shared_bytes =
      most * (sizeof(std::int64_t) + sizeof(std::int32_t)) + 2 * sizeof(std::int64_t);

  // Of `count` words from `word` on, by all threads of a block. False where there are more rows than there is room for.
  DCGN_HOST_DEVICE bool load(gpu::Context& ctx, const Places<Index>& places, Index word, Index count) {
    deltas_ = ctx.shared<std::int64_t>();
    std::int64_t* const range = deltas_ + most;
    begins_ = reinterpret_cast<std::int32_t*>(range + 2);
    base_ = places.base;
    const std::int64_t begin = static_cast<std::int64_t>(places.first + word) * WordBytes;
    const std::int64_t end = begin + static_cast<std::int64_t>(count) * WordBytes;
    std::int64_t first, last;  // the last row may be one of those behind
    if constexpr (Of == Pattern::table) {
      first = places.table.first_rows[begin >> TableView::granule_bits];
      last = places.table.first_rows[((end - 1) >> TableView::granule_bits) + 1];
    } else {
      if (ctx.thread_rank() == 0) range[0] = places.triangle.row_of(begin);
      if (ctx.thread_rank() == gpu::warp_size) range[1] = places.triangle.row_of(end - 1);
      ctx.sync_block();
      first = range[0];
      last = range[1];
    }
    if (last - first >= most) return false;
    rows_ = static_cast<std::uint32_t>(last - first) + 1;
    for (std::uint32_t i = ctx.thread_rank(); i < rows_; i += ctx.num_threads()) {
      std::int64_t row_begin, displacement;
      if constexpr (Of == Pattern::table) {
        row_begin = places.table.begin[first + i];
        displacement = places.table.displacements[first + i];
      } else {
        row_begin = places.triangle.bytes_before(first + i);
        displacement = (first + i) * places.triangle.stride;
      }
      deltas_[i] = displacement - row_begin + begin;
      begins_[i] = static_cast<std::int32_t>(row_begin < begin ? 0 : row_begin < end ? row_begin - begin : end - begin);
    }
    ctx.sync_block();
    return true;
  }
  // Of word `i` of these, and whether it is near a begin or an end, as Places::find() has it.
  DCGN_HOST_DEVICE std::byte* operator()(Index i, bool& edge) const {
    const auto at = static_cast<std::int32_t>(i) * WordBytes;
    std::uint32_t low = 0, high = rows_ - 1;
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (begins_[middle] <= at)
        low = middle;
      else
        high = middle - 1;
    }
    edge = at - begins_[low] < sector_bytes || (low + 1 < rows_ && begins_[low + 1] - at <= sector_bytes);
    return base_ + (deltas_[low] + at);
  }

 private:
  std::int64_t* deltas_ = nullptr;  // what brings a byte of the tile to its place
  std::int32_t* begins_ = nullptr;  // among the tile's bytes
  std::byte* base_ = nullptr;
  std::uint32_t rows_ = 0;
};

// Into the cache that all multiprocessors share.
DCGN_HOST_DEVICE inline void prefetch_into_cache([[maybe_unused]] const std::byte* memory) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(__cvta_generic_to_global(memory)));
#endif
}

// Up to so many pieces in one launch: each block takes a tile of them. Neighbouring threads move neighbouring words.
// Ahead: see words_ahead(). `prefetch`: what is written is fetched before, see pieces.cpp.
template <int WordBytes, class Index, Pattern From, Pattern To, int Ahead, int Most>
struct MoveWords {
  static constexpr unsigned max_threads = mover_threads;
  static constexpr int ahead = Ahead;
  static constexpr unsigned tile_words = mover_threads * ahead;
  // Where one side has rows to be looked for, and the other no gaps, or the same.
  static constexpr bool is_sought(Pattern p) { return p == Pattern::table || p == Pattern::triangle; }
  static constexpr bool to_same = To == Pattern::same;
  static constexpr bool from_rows = is_sought(From) && (To == Pattern::flat || to_same);
  static constexpr bool to_rows = From == Pattern::flat && is_sought(To);
  static constexpr unsigned blocks_per_multiprocessor = blocks_at_once(From, To);
  using Rows = TileRows<WordBytes, Index, to_same ? From : std::max(From, To)>;  // of the one that is not flat
  static constexpr std::size_t shared_bytes = from_rows || to_rows ? Rows::shared_bytes : 0;

  struct Piece {
    Places<Index> from, to;
    Index words;
    Index first_tile;
  };
  Piece pieces[Most];
  int count = 0;
  Index tiles = 0;
  bool prefetch = false;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx) const {
    using Word = typename WordOf<WordBytes>::Type;
    int p = 0;
    for (Index tile = ctx.block_rank(); tile < tiles; tile += ctx.num_blocks()) {
      if constexpr (Most > 1)
        while (p + 1 < count && pieces[p + 1].first_tile <= tile) ++p;
      const Piece& piece = pieces[p];
      const Index begin = (tile - piece.first_tile) * tile_words, left = piece.words - begin;
      const Index mine = begin + ctx.thread_rank();
      Rows rows;
      bool in_rows = false;
      if constexpr (from_rows || to_rows) {
        const Places<Index>& sought = from_rows ? piece.from : piece.to;
        if (tile != ctx.block_rank()) ctx.sync_block();  // rows of the tile before are still looked at
        in_rows = sought.num_loops == 0 && rows.load(ctx, sought, begin, left < tile_words ? left : tile_words);
      }
      if (left < tile_words) {
        for (Index word = mine; word < piece.words; word += mover_threads) {
          const std::int64_t at = piece.from.template offset<WordBytes, From>(word);
          std::byte* const target = to_same ? piece.to.base + at : piece.to.template operator()<WordBytes, To>(word);
          *reinterpret_cast<Word*>(target) = *reinterpret_cast<const Word*>(piece.from.base + at);
        }
        continue;
      }
      std::byte *from[ahead], *to[ahead];
      Word values[ahead];
      const auto find_in_rows = [&](std::byte*(&found)[ahead]) {
        std::uint32_t edges = 0;
        for (int k = 0; k < ahead; ++k) {
          bool edge = false;
          found[k] = rows(mine - begin + k * mover_threads, edge);
          edges |= static_cast<std::uint32_t>(edge) << k;
        }
        return edges;
      };
      const auto find_targets = [&] {
        return to_rows && in_rows ? find_in_rows(to) : piece.to.template find<WordBytes, To>(to, mine, mover_threads);
      };
      const auto find_sources = [&] {
        return from_rows && in_rows ? find_in_rows(from)
                                    : piece.from.template find<WordBytes, From>(from, mine, mover_threads);
      };
      const auto prefetch_targets = [&](std::uint32_t edges) {
        for (int k = 0; k < ahead; ++k)
          if (prefetch && edges >> k & 1) prefetch_into_cache(to[k]);
      };
      const auto fetch = [&] {
        for (int k = 0; k < ahead; ++k) values[k] = *reinterpret_cast<const Word*>(from[k]);
      };
      if constexpr (to_same) {
        const std::uint32_t edges = find_sources();
        for (int k = 0; k < ahead; ++k) to[k] = piece.to.base + (from[k] - piece.from.base);
        prefetch_targets(edges);
        fetch();
      } else if constexpr (From == Pattern::flat && To != Pattern::flat) {
        prefetch_targets(find_targets());
        find_sources();
        fetch();
      } else {
        find_sources();
        fetch();
        find_targets();
      }
      for (int k = 0; k < ahead; ++k) *reinterpret_cast<Word*>(to[k]) = values[k];
    }
  }
};

// A side whose neighbours in the packed order are far apart in memory, while neighbours in memory are some loop's turns
// apart in the packed order: a transpose. Square tiles of both loops go through shared memory, so that either side has
// its neighbours together.
template <int WordBytes, class Index>
struct MoveTiles {
  static constexpr unsigned edge = WordBytes == 16 ? 32 : 64, pitch = edge + 1;  // words; rows begin in other banks
  static constexpr unsigned max_threads = WordBytes == 16 ? 256 : 512, steps = edge * edge / max_threads;
  static constexpr std::size_t shared_bytes = std::size_t{edge} * pitch * WordBytes;

  // A loop, and what one turn of it is among the packed words.
  struct PackedLoop {
    Divider<Index> count;
    std::int64_t stride;
    Index words;
  };

  std::byte* base;           // of the side of tiles
  PackedLoop across, along;  // the innermost loop, and the one that steps from word to word in memory
  Divider<Index> tiles_across, tiles_along;
  int num_outer;
  PackedLoop outer[most_loops];  // the innermost first
  Index tiles;
  Index first, words;   // of the leaf's
  Places<Index> other;  // whose word 0 is the first
  bool pack;            // from the side of tiles to the other

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx) const {
    for (Index tile = ctx.block_rank(); tile < tiles; tile += ctx.num_blocks()) {
      const Origin origin = find(tile);
      if (other.pattern == Pattern::flat && is_whole(origin))
        move<Pattern::flat, true>(ctx, origin);
      else
        move<Pattern::any, false>(ctx, origin);
    }
  }

 private:
  using Word = typename WordOf<WordBytes>::Type;

  static constexpr unsigned step = max_threads / edge;

  // Where a tile begins: the loops' turns, and the place and the packed word of turn 0 of both.
  struct Origin {
    Index across, along;
    std::byte* place;
    Index word;
  };
  DCGN_HOST_DEVICE Origin find(Index tile) const {
    Index turn = tiles_across(tile);
    Origin origin{(tile - turn * tiles_across.divisor()) * edge, 0, base, 0};
    Index next = tiles_along(turn);
    origin.along = (turn - next * tiles_along.divisor()) * edge;
    turn = next;
    for (int i = 0; i < num_outer; ++i) {
      next = outer[i].count(turn);
      const Index at = turn - next * outer[i].count.divisor();
      origin.place += static_cast<std::int64_t>(at) * outer[i].stride;
      origin.word += at * outer[i].words;
      turn = next;
    }
    return origin;
  }
  DCGN_HOST_DEVICE bool is_whole(const Origin& origin) const {
    const Index least = origin.word + origin.along * along.words + origin.across;
    return origin.across + edge <= across.count.divisor() && origin.along + edge <= along.count.divisor() &&
           least >= first && least + (edge - 1) * along.words + edge <= first + words;
  }

  template <Pattern Other, bool Whole>
  DCGN_HOST_DEVICE void move(gpu::Context& ctx, const Origin& origin) const {
    Word* const shared = ctx.shared<Word>();
    const unsigned x = ctx.thread_rank() % edge, y = ctx.thread_rank() / edge;
    const auto packed = [&](Index a, Index b) { return origin.word + b * along.words + a; };
    const auto in_range = [&](Index a, Index b) {
      const Index at = packed(a, b);
      return Whole || (a < across.count.divisor() && b < along.count.divisor() && at >= first && at < first + words);
    };
    // Neighbours in memory, and neighbours in the packed order.
    const auto in_memory = [&](unsigned k, auto&& act) {
      const unsigned row = y + k * step;
      const Index a = origin.across + row, b = origin.along + x;
      if (!in_range(a, b)) return;
      std::byte* const at =
          origin.place + static_cast<std::int64_t>(a) * across.stride + static_cast<std::int64_t>(b) * along.stride;
      act(*reinterpret_cast<Word*>(at), shared[row * pitch + x]);
    };
    const auto in_order = [&](unsigned k, auto&& act) {
      const unsigned row = y + k * step;
      const Index a = origin.across + x, b = origin.along + row;
      if (!in_range(a, b)) return;
      act(*reinterpret_cast<Word*>(other.template operator()<WordBytes, Other>(packed(a, b) - first)),
          shared[x * pitch + row]);
    };
    const auto take = [](const Word& far, Word& near) { near = far; };
    const auto give = [](Word& far, const Word& near) { far = near; };
    if (pack)
      each_step<true>([&](unsigned k) { in_memory(k, take); });
    else
      each_step<Whole>([&](unsigned k) { in_order(k, take); });
    ctx.sync_block();
    if (pack)
      each_step<Whole>([&](unsigned k) { in_order(k, give); });
    else
      each_step<true>([&](unsigned k) { in_memory(k, give); });
    ctx.sync_block();
  }
  // Unrolled, all that a thread reads is on its way before it waits for the first word. Where each word's place is much
  // arithmetic, the loop stays one: unrolled, it was a third of all that these kernels took to compile.
  template <bool Unrolled, class Act>
  DCGN_HOST_DEVICE static void each_step(Act&& act) {
    if constexpr (Unrolled) {
      each_of(act, std::make_integer_sequence<unsigned, steps>{});
    } else {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (unsigned k = 0; k < steps; ++k) act(k);
    }
  }
  template <class Act, unsigned... K>
  DCGN_HOST_DEVICE static void each_of(Act& act, std::integer_sequence<unsigned, K...>) {
    (act(K), ...);
  }
};

}  // namespace dcgn::datatype
