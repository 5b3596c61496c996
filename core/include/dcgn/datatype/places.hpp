// Where the words of packed data are in memory: a leaf as kernels evaluate it, a word at a time and without state.
#pragma once

#include <dcgn/host_device.hpp>

#include <dcgn/datatype/divider.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace dcgn::datatype {

constexpr int most_loops = 6;     // of a leaf
constexpr int sector_bytes = 32;  // that a GPU's memory is written by

// A table of rows (core/src/datatype/layout.hpp) as kernels read it: row i has the bytes begin[i] to begin[i + 1] of
// what all have, from displacements[i] on. Packed byte `at` is in a row from first_rows[at / granule] to first_rows[at
// / granule + 1].
struct TableView {
  static constexpr int granule_bits = 12;

  const std::int64_t* displacements;
  const std::int64_t* begin;
  const std::uint32_t* first_rows;
};

// Row i: length + i * growth bytes, i * stride bytes from the first.
struct Triangle {
  std::int64_t rows, length, growth, stride;

  DCGN_HOST_DEVICE std::int64_t bytes_before(std::int64_t row) const {
    return row * length + row * (row - 1) / 2 * growth;
  }
  // In which row, of all, byte `at` is: about that of the quadratic formula, whose root in single precision takes a GPU
  // a tenth of the time; then exactly.
  DCGN_HOST_DEVICE std::int64_t row_of(std::int64_t at) const {
    const double a = static_cast<double>(growth) / 2, b = static_cast<double>(length) - a;
    const double square = b * b + 4 * a * static_cast<double>(at);
    const float root = std::sqrt(square > 0 ? static_cast<float>(square) : 0.0f);
    auto row = static_cast<std::int64_t>((root - static_cast<float>(b)) / static_cast<float>(2 * a));
    row = row < 0 ? 0 : row < rows ? row : rows - 1;
    while (bytes_before(row) > at) --row;
    while (bytes_before(row + 1) <= at) ++row;
    return row;
  }

  friend bool operator==(const Triangle&, const Triangle&) = default;
};

// A word of 1 to 16 bytes that may be part of whatever is there.
template <std::size_t Bytes>
struct WordOf;
template <>
struct WordOf<1> {
  using Type [[gnu::may_alias]] = std::uint8_t;
};
template <>
struct WordOf<2> {
  using Type [[gnu::may_alias]] = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type [[gnu::may_alias]] = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type [[gnu::may_alias]] = std::uint64_t;
};
template <>
struct WordOf<16> {
  struct [[gnu::may_alias]] alignas(16) Type {
    std::uint64_t low, high;
  };
};

// What a leaf, or memory without gaps, is to a kernel; `any`: found out as it runs; `same`: as the other side's.
enum class Pattern : std::uint32_t { flat, loop, loops, rows, table, triangle, any, same };

// The loops of a leaf, counted in words, the innermost first.
template <class Index>
struct Places {
  std::byte* base = nullptr;        // that the displacements of the leaf's rows are counted from
  Index first = 0;                  // word 0 is that one of the leaf
  Pattern pattern = Pattern::flat;  // flat, loop, loops: rows of one length inside no, one, several loops
  int num_loops = 0;
  Divider<Index> words_inside;  // of what is inside all loops; of no meaning without loops
  Divider<Index> counts[most_loops];
  std::int64_t strides[most_loops] = {};
  // Inside one loop: a word that is `step` further on, as find() has it, is `step_words` further in its row and
  // `step_place` bytes in memory; or, where that is behind the row's end, as many less and `next_place` bytes.
  Index step_words = 0;
  std::int64_t step_place = 0, next_place = 0;
  Divider<Index> row_words;  // of each row, where a table's have as many
  TableView table{};
  Triangle triangle{};

  template <int WordBytes, Pattern F = Pattern::any>
  DCGN_HOST_DEVICE std::byte* operator()(Index word) const {
    return base + offset<WordBytes, F>(word);
  }
  template <int WordBytes, Pattern F = Pattern::any>
  DCGN_HOST_DEVICE std::int64_t offset(Index word) const {
    const Inside inside = go_inside<F>(word);
    const auto at = static_cast<std::int64_t>(inside.word) * WordBytes;
    switch (F == Pattern::any ? pattern : F) {
      case Pattern::any:
      case Pattern::same:
      case Pattern::flat:
      case Pattern::loop:
      case Pattern::loops: return inside.place + at;
      case Pattern::rows: return inside.place + in_rows<WordBytes>(inside.word);
      case Pattern::table: return inside.place + in_row(row_of(at), at);
      case Pattern::triangle: return inside.place + in_triangle(triangle.row_of(at), at);
    }
    return 0;
  }

  // Of words that are `step` apart, from `word` on: all of them before any is read, so that a thread waits once. It is
  // the same step at every call. Returns a bit for each of those that lie within `sector_bytes` of a row's begin or
  // end.
  template <int WordBytes, Pattern F, int Count>
  DCGN_HOST_DEVICE std::uint32_t find(std::byte* (&found)[Count], Index word, Index step) const {
    std::uint32_t edges = ~0u;
    if constexpr (F == Pattern::loop) {
      word += first;
      edges = 0;
      const Index turn = words_inside(word), row = words_inside.divisor();
      Index in_row = word - turn * row;
      std::byte* place =
          base + (static_cast<std::int64_t>(turn) * strides[0] + static_cast<std::int64_t>(in_row) * WordBytes);
      for (int i = 0; i < Count; ++i) {
        found[i] = place;
        edges |=
            static_cast<std::uint32_t>(in_row < sector_bytes / WordBytes || row - in_row <= sector_bytes / WordBytes)
            << i;
        in_row += step_words;
        const bool next = in_row >= row;
        if (next) in_row -= row;
        place += next ? next_place : step_place;
      }
    } else {
      for (int i = 0; i < Count; ++i) found[i] = operator()<WordBytes, F>(word + static_cast<Index>(i) * step);
    }
    return edges;
  }

  DCGN_HOST_DEVICE std::int64_t in_row(std::int64_t row, std::int64_t at) const {
    return table.displacements[row] + (at - table.begin[row]);
  }
  // Which row of the table has byte `at` of it.
  DCGN_HOST_DEVICE std::int64_t row_of(std::int64_t at) const {
    const std::int64_t granule = at >> TableView::granule_bits;
    std::uint32_t low = table.first_rows[granule], high = table.first_rows[granule + 1];
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (table.begin[middle] <= at)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

 private:
  // A word of what is inside the loops, and what these add.
  struct Inside {
    Index word;
    std::int64_t place;
  };
  template <Pattern F>
  DCGN_HOST_DEVICE Inside go_inside(Index word) const {
    word += first;
    if constexpr (F == Pattern::flat) return {word, 0};
    if (F != Pattern::loop && F != Pattern::loops && num_loops == 0) return {word, 0};
    Index turn = words_inside(word);
    word -= turn * words_inside.divisor();
    if constexpr (F == Pattern::loop) return {word, static_cast<std::int64_t>(turn) * strides[0]};
    std::int64_t place = 0;
    for (int i = 0; i + 1 < num_loops; ++i) {
      const Index next = counts[i](turn);
      place += static_cast<std::int64_t>(turn - next * counts[i].divisor()) * strides[i];
      turn = next;
    }
    return {word, place + static_cast<std::int64_t>(turn) * strides[num_loops - 1]};
  }
  template <int WordBytes>
  DCGN_HOST_DEVICE std::int64_t in_rows(Index word) const {
    const Index row = row_words(word);
    return table.displacements[row] + static_cast<std::int64_t>(word - row * row_words.divisor()) * WordBytes;
  }
  DCGN_HOST_DEVICE std::int64_t in_triangle(std::int64_t row, std::int64_t at) const {
    return row * triangle.stride + (at - triangle.bytes_before(row));
  }
};

}  // namespace dcgn::datatype
