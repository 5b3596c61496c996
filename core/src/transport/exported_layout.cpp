#include "exported_layout.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>

namespace dcgn::transport {

using message::ExportedMemory;

namespace {

static_assert(ExportedMemory::most_loops == datatype::Leaf::most_loops);

// Beyond which numbers make no sense; sums and differences of a few are none that overflow.
constexpr std::int64_t most = std::int64_t{1} << 48;
bool is_sensible(std::int64_t n) { return n > -most && n < most; }
// a b, where that is sensible too.
std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result) || !is_sensible(result)) return std::nullopt;
  return result;
}

// The bytes that a leaf has, from `begin` to `end`, in the memory from which displacements count.
struct Extent {
  std::int64_t begin, end;

  // By so many steps on or back.
  bool add(std::int64_t steps, std::int64_t stride) {
    const auto all = product(steps, stride);
    if (all) (*all < 0 ? begin : end) += *all;
    return all && is_sensible(begin) && is_sensible(end);
  }
};

// Of its rows, from where the first one begins; nothing unless all have bytes and have `bytes` of them.
std::optional<Extent> extent_of(const datatype::Triangle& t, std::int64_t bytes) {
  if (t.rows < 1 || t.rows > std::int64_t{1} << 31 || !is_sensible(t.length) || !is_sensible(t.growth))
    return std::nullopt;
  if (t.growth == 0) return std::nullopt;  // a loop, in which Triangle::row_of() would divide by it
  const auto growth = product(t.rows - 1, t.growth), evenly = product(t.rows, t.length),
             pairs = product(t.rows, t.rows - 1), to_last = product(t.rows - 1, t.stride);
  if (!growth || !evenly || !pairs || !to_last) return std::nullopt;
  const auto more = product(*pairs / 2, t.growth);
  const std::int64_t last = t.length + *growth;
  if (!more || std::min(t.length, last) < 1 || *evenly + *more != bytes) return std::nullopt;
  // What grows by as much each time is at its ends where it reaches farthest.
  return Extent{std::min<std::int64_t>(0, *to_last), std::max(t.length, *to_last + last)};
}

// Nothing where numbers make no sense, as those of another process might.
std::optional<Extent> extent_of(const datatype::Leaf& leaf) {
  if (!is_sensible(leaf.displacement) || !is_sensible(leaf.bytes_inside) || leaf.bytes_inside < 1) return std::nullopt;
  Extent extent{leaf.displacement, leaf.displacement};
  std::optional<std::int64_t> bytes = leaf.bytes_inside;
  for (int i = 0; i < leaf.num_loops; ++i) {
    const datatype::Loop& loop = leaf.loops[static_cast<std::size_t>(i)];
    if (loop.count < 1 || !extent.add(loop.count - 1, loop.stride)) return std::nullopt;
    bytes = product(*bytes, loop.count);
    if (!bytes) return std::nullopt;
  }
  const auto inside =
      leaf.triangle ? extent_of(*leaf.triangle, leaf.bytes_inside) : std::optional(Extent{0, leaf.bytes_inside});
  if (!inside) return std::nullopt;
  return Extent{extent.begin + inside->begin, extent.end + inside->end};
}

void write_leaf(const datatype::Leaf& leaf, ExportedMemory::Leaf& told) {
  told.begin = leaf.begin;
  told.displacement = leaf.displacement;
  told.num_loops = leaf.num_loops;
  for (std::size_t i = 0; i < leaf.loops.size(); ++i) {
    told.counts[i] = leaf.loops[i].count;
    told.strides[i] = leaf.loops[i].stride;
  }
  told.bytes_inside = leaf.bytes_inside;
  if (!leaf.triangle) return;
  const datatype::Triangle& t = *leaf.triangle;
  const std::int64_t numbers[] = {t.rows, t.length, t.growth, t.stride};
  std::copy(std::begin(numbers), std::end(numbers), told.triangle);
}

datatype::Leaf read_leaf(const ExportedMemory::Leaf& told) {
  datatype::Leaf leaf;
  leaf.begin = told.begin;
  leaf.displacement = told.displacement;
  leaf.num_loops = static_cast<int>(told.num_loops);
  for (std::size_t i = 0; i < leaf.loops.size(); ++i) leaf.loops[i] = {told.counts[i], told.strides[i]};
  leaf.bytes_inside = told.bytes_inside;
  if (told.triangle[0]) leaf.triangle = {told.triangle[0], told.triangle[1], told.triangle[2], told.triangle[3]};
  return leaf;
}

}  // namespace

bool write_layout(const datatype::Layout& layout, ExportedMemory& told) {
  if (layout.leaves.size() > ExportedMemory::most_leaves ||
      std::any_of(layout.leaves.begin(), layout.leaves.end(), [](const datatype::Leaf& l) { return l.table; }))
    return false;
  told.leaves = layout.leaves.size();
  for (std::size_t i = 0; i < told.leaves; ++i) write_leaf(layout.leaves[i], told.leaf[i]);
  return true;
}

std::shared_ptr<const datatype::Layout> read_layout(const ExportedMemory& told) {
  if (told.leaves > ExportedMemory::most_leaves) return nullptr;
  auto layout = std::make_shared<datatype::Layout>();
  std::int64_t at = 0;
  for (std::uint64_t i = 0; i < told.leaves; ++i) {
    if (told.leaf[i].begin != at || told.leaf[i].num_loops < 0 || told.leaf[i].num_loops > ExportedMemory::most_loops)
      return nullptr;
    layout->leaves.push_back(read_leaf(told.leaf[i]));
    if (!extent_of(layout->leaves.back())) return nullptr;
    at = layout->leaves.back().end();
  }
  return layout;
}

bool is_within(const datatype::Layout& layout, std::int64_t origin, std::uint64_t message, std::uint64_t allocation) {
  if (!is_sensible(origin) || message >= static_cast<std::uint64_t>(most) ||
      allocation >= static_cast<std::uint64_t>(most))
    return false;
  const auto end = static_cast<std::int64_t>(allocation), bytes = static_cast<std::int64_t>(message);
  if (layout.leaves.empty()) return origin >= 0 && origin + bytes <= end;
  return bytes <= layout.bytes() &&
         std::all_of(layout.leaves.begin(), layout.leaves.end(), [&](const datatype::Leaf& leaf) {
           const auto extent = extent_of(leaf);
           return extent && origin + extent->begin >= 0 && origin + extent->end <= end;
         });
}

}  // namespace dcgn::transport
