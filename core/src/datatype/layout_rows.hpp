// Going through the rows of a layout; included by layout.hpp.
#pragma once

#include "datatype/layout.hpp"

#include <algorithm>
#include <cstdint>

namespace dcgn::datatype {

// Where in the loops of a leaf one is: counts like an odometer.
class Position {
 public:
  // At the turn-th time that what is inside the loops comes.
  Position(const Leaf& leaf, std::int64_t turn) : leaf_(leaf), displacement_(leaf.displacement) {
    for (int i = leaf.num_loops; i-- > 0;) {
      const Loop& loop = leaf.loops[static_cast<std::size_t>(i)];
      at_[static_cast<std::size_t>(i)] = turn % loop.count;
      displacement_ += turn % loop.count * loop.stride;
      turn /= loop.count;
    }
  }
  std::int64_t displacement() const { return displacement_; }
  // How many times one can go on in the innermost loop, this one included.
  std::int64_t left() const {
    if (leaf_.num_loops == 0) return 1;
    const auto inner = static_cast<std::size_t>(leaf_.num_loops) - 1;
    return leaf_.loops[inner].count - at_[inner];
  }
  // By at most left().
  void advance(std::int64_t times) {
    for (int i = leaf_.num_loops; i-- > 0;) {
      const auto k = static_cast<std::size_t>(i);
      const Loop& loop = leaf_.loops[k];
      at_[k] += times;
      displacement_ += times * loop.stride;
      if (at_[k] < loop.count) return;
      displacement_ -= loop.count * loop.stride;
      at_[k] = 0;
      times = 1;
    }
  }

 private:
  const Leaf& leaf_;
  std::array<std::int64_t, Leaf::most_loops> at_{};
  std::int64_t displacement_;
};

// Calls row(displacement, bytes) for the bytes from begin to end of what is inside the loops.
template <class Row>
void for_each_row_inside(const Leaf& leaf, std::int64_t displacement, std::int64_t begin, std::int64_t end, Row&& row) {
  if (begin == end) return;
  if (leaf.table) {
    const Table& table = *leaf.table;
    auto i = static_cast<std::size_t>(std::upper_bound(table.begin.begin(), table.begin.end(), begin) -
                                      table.begin.begin()) -
             1;
    for (; begin < end; ++i) {
      const std::int64_t bytes = std::min(end, table.begin[i + 1]) - begin;
      row(displacement + table.displacements[i] + (begin - table.begin[i]), bytes);
      begin += bytes;
    }
  } else if (leaf.triangle) {
    const Triangle& triangle = *leaf.triangle;
    for (std::int64_t i = triangle.row_of(begin); begin < end; ++i) {
      const std::int64_t bytes = std::min(end, triangle.bytes_before(i + 1)) - begin;
      row(displacement + i * triangle.stride + (begin - triangle.bytes_before(i)), bytes);
      begin += bytes;
    }
  } else {
    row(displacement + begin, end - begin);
  }
}

template <class Row>
void for_each_row(const Layout& layout, std::int64_t begin, std::int64_t end, Row&& row) {
  if (begin >= end) return;
  for (const Leaf* leaf = &layout.leaf_of(begin); begin < end; ++leaf) {
    const std::int64_t stop = std::min(end, leaf->end()), each = leaf->bytes_inside;
    Position position(*leaf, (begin - leaf->begin) / each);
    while (begin < stop) {
      const std::int64_t inside = (begin - leaf->begin) % each, bytes = std::min(each - inside, stop - begin);
      for_each_row_inside(*leaf, position.displacement(), inside, inside + bytes, row);
      begin += bytes;
      position.advance(1);
    }
  }
}

}  // namespace dcgn::datatype
