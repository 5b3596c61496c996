// The layouts that `dcgn bench ddt` packs, by name: the same for ours and for peers, who make types of their own of
// them.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::bench {

// contiguous       without gaps
// rows:L/S         rows of L bytes every S bytes: a sub-matrix
// triangle         the columns of a lower triangle of doubles
// stair:N          the same in steps of N rows
// transpose:E      all columns of a square matrix of elements of E bytes
// random:A-B       blocks of A to B bytes, each length as likely as any other, with gaps of as many
// scatter:E        elements of E bytes in random order
struct DdtShape {
  enum class Kind { contiguous, rows, triangle, stair, transpose, random, scatter };

  std::string name;
  Kind kind = Kind::contiguous;
  std::int64_t first = 0, second = 0;

  // The rows or columns of the matrix that has about so many bytes.
  std::int64_t order(std::int64_t bytes) const {
    const double elements = static_cast<double>(bytes) / (kind == Kind::transpose ? static_cast<double>(first) : 4);
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(elements)));
  }
};

inline constexpr const char* ddt_shape_words =
    "contiguous, rows:LENGTH/STRIDE, triangle, stair:ROWS, transpose:BYTES, random:LEAST-MOST, scatter:BYTES, in bytes "
    "from 1 to 1M, with LENGTH <= STRIDE and LEAST <= MOST";

inline std::optional<DdtShape> parse_ddt_shape(std::string_view text) {
  using Kind = DdtShape::Kind;
  struct Word {
    std::string_view word;
    Kind kind;
    char between;  // two numbers; 1: one, 0: none
  };
  constexpr std::array<Word, 7> words = {{{"contiguous", Kind::contiguous, 0},
                                          {"rows", Kind::rows, '/'},
                                          {"triangle", Kind::triangle, 0},
                                          {"stair", Kind::stair, 1},
                                          {"transpose", Kind::transpose, 1},
                                          {"random", Kind::random, '-'},
                                          {"scatter", Kind::scatter, 1}}};
  DdtShape shape{.name = std::string(text)};
  const std::string_view word = text.substr(0, text.find(':'));
  const auto found = std::find_if(words.begin(), words.end(), [&](const Word& w) { return w.word == word; });
  if (found == words.end()) return std::nullopt;
  shape.kind = found->kind;
  text.remove_prefix(word.size());
  const auto number = [&](std::int64_t& value, char before) {
    if (text.empty() || text[0] != before) return false;
    text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 1 || value > 1 << 20) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  if (found->between && !number(shape.first, ':')) return std::nullopt;
  if (found->between > 1 && !number(shape.second, found->between)) return std::nullopt;
  if (!text.empty()) return std::nullopt;
  if (found->between > 1 && shape.second < shape.first) return std::nullopt;
  return shape;
}

// Blocks in bytes, in packed order.
struct DdtBlocks {
  std::vector<std::int64_t> lengths, displacements;
};

// Of a shape that is a list of blocks, of about so many bytes in all: triangle, stair, random, scatter. The same every
// time.
inline DdtBlocks ddt_blocks(const DdtShape& shape, std::int64_t bytes) {
  DdtBlocks blocks;
  const auto add = [&](std::int64_t length, std::int64_t displacement) {
    blocks.lengths.push_back(length);
    blocks.displacements.push_back(displacement);
  };
  std::mt19937_64 random(1);
  switch (shape.kind) {
    case DdtShape::Kind::contiguous:
    case DdtShape::Kind::rows:
    case DdtShape::Kind::transpose: break;
    case DdtShape::Kind::triangle:
    case DdtShape::Kind::stair: {
      const std::int64_t n = shape.order(bytes), step = shape.kind == DdtShape::Kind::stair ? shape.first : 1;
      for (std::int64_t column = 0; column < n; ++column) {
        const std::int64_t begin = column / step * step;
        add(8 * (n - begin), 8 * (column * n + begin));
      }
      break;
    }
    case DdtShape::Kind::random: {
      // Multiples of the largest power of two that divides both bounds, up to a double.
      std::int64_t unit = 8;
      while (shape.first % unit != 0 || shape.second % unit != 0) unit /= 2;
      const auto any = [&] {
        const std::int64_t choices = (shape.second - shape.first) / unit + 1;
        return shape.first + unit * static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(choices));
      };
      std::int64_t at = 0;
      for (std::int64_t sum = 0; sum < bytes;) {
        const std::int64_t length = std::min(any(), bytes - sum);
        add(length, at);
        sum += length;
        at += length + any();
      }
      break;
    }
    case DdtShape::Kind::scatter: {
      std::vector<std::int64_t> places(static_cast<std::size_t>(std::max<std::int64_t>(1, bytes / shape.first)));
      for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(i) * shape.first;
      std::shuffle(places.begin(), places.end(), random);
      blocks.lengths.assign(places.size(), shape.first);
      blocks.displacements = std::move(places);
      break;
    }
  }
  return blocks;
}

}  // namespace dcgn::bench
