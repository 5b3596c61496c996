// Whether a layout has some byte twice, and whether it has no gaps.
#include <dcgn/error.hpp>

#include "datatype/layout.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string>
#include <utility>

namespace dcgn::datatype {
namespace {

struct Range {
  std::int64_t begin, end;
};

bool disjoint(std::vector<Range>& ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i - 1].end > ranges[i].begin) return false;
  return true;
}

// From the first to the last byte of what is inside the loops, and whether its rows are disjoint.
std::pair<Range, bool> inside_of(const Leaf& leaf) {
  std::vector<Range> rows;
  if (leaf.one_row_inside()) return {{0, leaf.bytes_inside}, true};
  if (leaf.triangle) {
    const Triangle& t = *leaf.triangle;
    const std::int64_t last = (t.rows - 1) * t.stride, last_length = t.length + (t.rows - 1) * t.growth;
    const Range range{std::min<std::int64_t>(0, last), std::max(t.length, last + last_length)};
    // None meet where each row that has one above it is no longer than the step to that.
    const std::int64_t longest =
        t.stride > 0 ? std::max(t.length, last_length - t.growth) : std::max(t.length + t.growth, last_length);
    return {range, std::abs(t.stride) >= longest};
  }
  rows.reserve(static_cast<std::size_t>(leaf.table->rows()));
  for (std::size_t i = 0; i < leaf.table->displacements.size(); ++i) {
    const std::int64_t begin = leaf.table->displacements[i];
    rows.push_back({begin, begin + leaf.table->begin[i + 1] - leaf.table->begin[i]});
  }
  std::int64_t end = rows[0].end;
  for (const Range& row : rows) end = std::max(end, row.end);
  const bool apart = disjoint(rows);
  return {{rows[0].begin, end}, apart};
}

// The same of the whole leaf: sure that it is disjoint where each loop, from the shortest stride on, steps over all
// that the ones before go round.
std::pair<Range, bool> whole_of(const Leaf& leaf) {
  auto [range, apart] = inside_of(leaf);
  std::vector<Loop> loops(leaf.loops.begin(), leaf.loops.begin() + leaf.num_loops);
  std::sort(loops.begin(), loops.end(),
            [](const Loop& a, const Loop& b) { return std::abs(a.stride) < std::abs(b.stride); });
  for (const Loop& loop : loops) {
    apart &= std::abs(loop.stride) >= range.end - range.begin;
    const std::int64_t last = (loop.count - 1) * loop.stride;
    range.begin += std::min<std::int64_t>(0, last);
    range.end += std::max<std::int64_t>(0, last);
  }
  return {{range.begin + leaf.displacement, range.end + leaf.displacement}, apart};
}

bool find_overlap(const Layout& layout) {
  std::vector<Range> leaves;
  bool apart = true;
  for (const Leaf& leaf : layout.leaves) {
    const auto [range, sure] = whole_of(leaf);
    leaves.push_back(range);
    apart &= sure;
  }
  if (apart && disjoint(leaves)) return false;
  if (layout.rows() > most_rows) return false;  // not found out
  std::vector<Range> rows;
  rows.reserve(static_cast<std::size_t>(layout.rows()));
  for_each_row(layout, 0, layout.bytes(), [&](std::int64_t displacement, std::int64_t bytes) {
    rows.push_back({displacement, displacement + bytes});
  });
  return !disjoint(rows);
}

}  // namespace

bool Layout::overlaps() const {
  std::call_once(overlap_known_, [&] { overlaps_ = find_overlap(*this); });
  return overlaps_;
}

void check_receivable(const char* call, const Datatype& type, std::int64_t count) {
  if (type.overlaps(count))
    throw Error(Code::invalid_type, call, "the type to be filled has some byte twice: " + describe(type, count));
}

}  // namespace dcgn::datatype

namespace dcgn {

bool Datatype::overlaps(std::int64_t count) const { return datatype::layout_of(*this, count)->overlaps(); }

bool Datatype::is_contiguous(std::int64_t count) const {
  const auto layout = datatype::layout_of(*this, count);
  return layout->leaves.empty() ||
         (layout->leaves.size() == 1 && layout->leaves[0].num_loops == 0 && layout->leaves[0].one_row_inside());
}

}  // namespace dcgn
