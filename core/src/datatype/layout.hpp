// The normal form of a type: where the bytes of a packed range are, in order, in few words.
//
// A layout is a list of leaves, in the order of the packed bytes. A leaf is rows of bytes inside up to six loops: one
// row; or rows of any lengths, with their places in a table; or rows that grow or shrink by as much each time, as a
// triangle has them. So any packed offset is found by divisions, and a search where there is a table: packing may begin
// and end anywhere, and keeps no state. Constructors that describe the same rows in other words come to the same
// layout: an indexed type with even steps is loops, loops without gaps are one row.
//
// Source: what HPDC 2016 (see dcgn/datatype.hpp), section 3.2, expands into units of work is kept as rules here.
#pragma once

#include <dcgn/datatype.hpp>
#include <dcgn/datatype/places.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace dcgn::datatype {

struct Loop {
  std::int64_t count;
  std::int64_t stride;  // bytes

  friend bool operator==(const Loop&, const Loop&) = default;
};

// Row i: bytes begin[i] to begin[i + 1] of what all have, from displacements[i] on.
struct Table {
  std::vector<std::int64_t> displacements;
  std::vector<std::int64_t> begin = {0};  // one more

  std::int64_t rows() const { return static_cast<std::int64_t>(displacements.size()); }
  std::int64_t bytes() const { return begin.back(); }
};

class KernelTable;  // kernel_table.hpp: a table that kernels read

struct Leaf {
  static constexpr int most_loops = datatype::most_loops;

  std::int64_t begin = 0;         // of its bytes among the packed ones
  std::int64_t displacement = 0;  // what those of table and triangle add to
  int num_loops = 0;
  std::array<Loop, most_loops> loops{};  // the outermost first
  std::int64_t bytes_inside = 0;         // of what is inside all loops: one row where there is neither of the following
  std::shared_ptr<const Table> table;
  std::shared_ptr<KernelTable> kernel_table;  // of the same
  std::optional<Triangle> triangle;

  bool one_row_inside() const { return !table && !triangle; }
  std::int64_t times() const {  // that the loops go round
    std::int64_t result = 1;
    for (int i = 0; i < num_loops; ++i) result *= loops[static_cast<std::size_t>(i)].count;
    return result;
  }
  std::int64_t rows_inside() const { return table ? table->rows() : triangle ? triangle->rows : 1; }
  std::int64_t bytes() const { return times() * bytes_inside; }
  std::int64_t end() const { return begin + bytes(); }
};

struct Layout {
  std::vector<Leaf> leaves;
  const std::uint64_t number = next_number();  // from 1 on; no other has it

  std::int64_t bytes() const { return leaves.empty() ? 0 : leaves.back().end(); }
  std::int64_t rows() const {
    std::int64_t result = 0;
    for (const Leaf& leaf : leaves) result += leaf.times() * leaf.rows_inside();
    return result;
  }
  // Which leaf has the packed byte `at`.
  const Leaf& leaf_of(std::int64_t at) const;
  // Whether some byte is there twice; found out when first asked. Where more than most_rows would have to be compared,
  // false.
  bool overlaps() const;

 private:
  static std::uint64_t next_number();

  mutable std::once_flag overlap_known_;
  mutable bool overlaps_ = false;
};

// Of `count` of the type. Computed once for one, and kept for the number asked for last. Throws
// Error(out_of_resources) where more rows than `most_rows` would have to be listed.
std::shared_ptr<const Layout> layout_of(const Datatype& type, std::int64_t count);
inline constexpr std::int64_t most_rows = std::int64_t{1} << 27;

// Throws Error(invalid_type) of `call` where `count` of the type have some byte twice, and so cannot be filled.
void check_receivable(const char* call, const Datatype& type, std::int64_t count);

// Calls row(displacement, bytes) for each row of the packed range, in order; the first and the last may be pieces of
// rows.
template <class Row>
void for_each_row(const Layout& layout, std::int64_t begin, std::int64_t end, Row&& row);

}  // namespace dcgn::datatype

#include "datatype/layout_rows.hpp"
