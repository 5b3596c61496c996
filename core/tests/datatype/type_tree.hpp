// Random datatypes, and what is in them by the definition of MPI's type map: element by element, with no closed form.
#pragma once

#include <dcgn/datatype.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::test {

enum class Maker {
  basic,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  resized
};
constexpr int makers = 12;

struct TypeTree {
  using Counts = std::vector<std::int64_t>;

  Maker maker = Maker::basic;
  ElementKind kind = ElementKind::float64;
  std::int64_t count = 0, length = 0, stride = 0;  // resized: length is the lower bound, stride the extent
  Counts lengths, displacements;
  Counts sizes, subsizes, starts, blocks, processes;
  std::vector<Datatype::Distribution> distributions;
  Datatype::Order order = Datatype::Order::c;
  int rank = 0;
  std::vector<TypeTree> children;

  const TypeTree& child(std::size_t i = 0) const { return children[i]; }
};

// The elements in order, and the bounds.
struct TypeMap {
  struct Entry {
    std::int64_t displacement;
    ElementKind kind;
  };
  std::vector<Entry> entries;
  std::optional<std::int64_t> lower_marker, upper_marker;
  std::optional<std::int64_t> lowest, highest;  // of the bounds of what is in it
  std::int64_t alignment = 1;
  bool padded = false;  // as a structure is

  std::int64_t size() const {
    std::int64_t bytes = 0;
    for (const Entry& entry : entries) bytes += bytes_of(entry.kind);
    return bytes;
  }
  std::int64_t true_lower() const {
    std::int64_t result = entries.empty() ? 0 : entries[0].displacement;
    for (const Entry& entry : entries) result = std::min(result, entry.displacement);
    return result;
  }
  std::int64_t true_upper() const {
    std::int64_t result = entries.empty() ? 0 : entries[0].displacement + bytes_of(entries[0].kind);
    for (const Entry& entry : entries) result = std::max(result, entry.displacement + bytes_of(entry.kind));
    return result;
  }
  std::int64_t lower() const { return lower_marker ? *lower_marker : lowest.value_or(true_lower()); }
  std::int64_t upper() const {
    if (upper_marker) return *upper_marker;
    std::int64_t result = highest.value_or(true_upper());
    while (padded && (result - lower()) % alignment != 0) ++result;
    return result;
  }
  std::int64_t extent() const { return upper() - lower(); }

  // Some byte is there twice.
  bool overlaps() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const Entry& entry : entries)
      ranges.emplace_back(entry.displacement, entry.displacement + bytes_of(entry.kind));
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
      if (ranges[i].first < ranges[i - 1].second) return true;
    return false;
  }

  void append(const TypeMap& other, std::int64_t displacement) {
    if (other.entries.empty()) return;
    for (const Entry& entry : other.entries) entries.push_back({entry.displacement + displacement, entry.kind});
    const std::int64_t low = other.lower() + displacement, high = other.upper() + displacement;
    lowest = lowest ? std::min(*lowest, low) : low;
    highest = highest ? std::max(*highest, high) : high;
    if (other.lower_marker) {
      const std::int64_t lower_one = *other.lower_marker + displacement, upper_one = *other.upper_marker + displacement;
      lower_marker = lower_marker ? std::min(*lower_marker, lower_one) : lower_one;
      upper_marker = upper_marker ? std::max(*upper_marker, upper_one) : upper_one;
    }
    alignment = std::max(alignment, other.alignment);
  }
};

std::string to_text(const TypeTree& tree);  // as nested calls
TypeMap type_map(const TypeTree& tree);
TypeMap repeated(const TypeMap& one, std::int64_t count);
Datatype datatype_of(const TypeTree& tree);

// At most `depth` constructors deep and `most` elements; every constructor comes, negative strides, lower bounds and
// zero counts, too.
TypeTree random_tree(std::mt19937_64& random, int depth, std::int64_t most);

inline std::int64_t pick(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

}  // namespace dcgn::test
