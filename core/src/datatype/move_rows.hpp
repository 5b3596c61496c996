// The kernel that moves long rows between two sides that have them at the same places, but for where these begin.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/datatype/places.hpp>

#include "datatype/movers.hpp"

#include <cstddef>
#include <cstdint>

namespace dcgn::datatype {

// Warps go along the rows, in words of 16 bytes where the rows themselves are of shorter ones. A tile has a range of
// the packed bytes; but where that cuts a row, the cut is moved on to where a line of the target's memory begins, so
// that lines are written whole: between GPUs, each part of a line is a packet.
template <int WordBytes>
struct MoveRows {
  static constexpr unsigned max_threads = mover_threads, warps = mover_threads / gpu::warp_size;
  static constexpr unsigned blocks_per_multiprocessor = 5;  // for registers of as many words
  static constexpr std::int64_t line = 128, wide = 16;
  static constexpr int ahead = 4;                                       // words that a thread has on their way
  static constexpr std::int64_t chunk = ahead * wide * gpu::warp_size;  // of a row, that a warp moves at a time
  static constexpr std::int64_t tile_bytes = 2 * chunk * warps;
  static constexpr std::int64_t least_row = chunk;  // on average, for which it pays

  const std::byte* from;
  std::byte* to;  // as far from a multiple of `wide` as `from`
  Triangle rows;  // growth 0: all as long
  std::int64_t begin, end;
  std::int64_t tiles;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx) const {
    for (std::int64_t tile = ctx.block_rank(); tile < tiles; tile += ctx.num_blocks()) {
      const std::int64_t first = begin + tile * tile_bytes, last = least(first + tile_bytes, end);
      auto turn = static_cast<std::int64_t>(ctx.warp());
      for (std::int64_t row = rows.growth ? rows.row_of(first) : first / rows.length; rows.bytes_before(row) < last;
           ++row) {
        const std::int64_t place = row * rows.stride, row_begin = rows.bytes_before(row);
        const std::int64_t length = rows.length + row * rows.growth;
        const std::int64_t most = least(length, end - row_begin);
        const std::int64_t b = place + cut(place, first - row_begin, most, first == begin);
        const std::int64_t e = place + cut(place, last - row_begin, most, last == end);
        if (b >= e) continue;
        // Chunks begin where lines do.
        const std::int64_t origin = b - offset_in(to + b, line), chunks = (e - origin - 1) / chunk + 1;
        for (; turn < chunks; turn += warps) {
          const std::int64_t at = origin + turn * chunk;
          move(ctx.lane(), at < b ? b : at, least(at + chunk, e));
        }
        turn -= chunks;
      }
    }
  }

 private:
  using Word = typename WordOf<WordBytes>::Type;
  using Wide = typename WordOf<wide>::Type;

  DCGN_HOST_DEVICE static std::int64_t least(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  DCGN_HOST_DEVICE static std::int64_t offset_in(const std::byte* memory, std::int64_t size) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory)) & (size - 1);
  }
  // Where a tile that begins or ends `at` bytes into a row does so, of which `most` are moved; `exact`: so does all
  // that is moved.
  DCGN_HOST_DEVICE std::int64_t cut(std::int64_t place, std::int64_t at, std::int64_t most, bool exact) const {
    if (at <= 0) return 0;
    if (!exact) at += -offset_in(to + place + at, line) & (line - 1);
    return least(at, most);
  }
  // The bytes from b to e, no more than a chunk, by a warp.
  DCGN_HOST_DEVICE void move(unsigned lane, std::int64_t b, std::int64_t e) const {
    const std::int64_t head = least(e, b + (-offset_in(to + b, wide) & (wide - 1)));
    const std::int64_t words = (e - head) / wide;
    const std::int64_t mine = std::int64_t{lane} * WordBytes, tail = head + words * wide;
    // All are on their way before the first is waited for: `from` may be another GPU's.
    const bool has_head = b + mine < head, has_tail = tail + mine < e;
    Wide values[ahead];
    Word head_word{}, tail_word{};
    for (int k = 0; k < ahead; ++k)
      if (const std::int64_t i = lane + std::int64_t{gpu::warp_size} * k; i < words)
        values[k] = reinterpret_cast<const Wide*>(from + head)[i];
    if (has_head) head_word = *reinterpret_cast<const Word*>(from + b + mine);
    if (has_tail) tail_word = *reinterpret_cast<const Word*>(from + tail + mine);
    for (int k = 0; k < ahead; ++k)
      if (const std::int64_t i = lane + std::int64_t{gpu::warp_size} * k; i < words)
        reinterpret_cast<Wide*>(to + head)[i] = values[k];
    if (has_head) *reinterpret_cast<Word*>(to + b + mine) = head_word;
    if (has_tail) *reinterpret_cast<Word*>(to + tail + mine) = tail_word;
  }
};

}  // namespace dcgn::datatype
