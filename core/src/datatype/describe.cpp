// A layout in words.
#include "datatype/layout.hpp"
#include "datatype/node.hpp"

#include <string>

namespace dcgn {
namespace {

std::string bytes_in_words(std::int64_t bytes) { return std::to_string(bytes) + " B"; }

std::string describe(const datatype::Leaf& leaf) {
  std::string text = "at " + std::to_string(leaf.displacement) + ": ";
  for (int i = 0; i < leaf.num_loops; ++i) {
    const datatype::Loop& loop = leaf.loops[static_cast<std::size_t>(i)];
    text += std::to_string(loop.count) + " times every " + bytes_in_words(loop.stride) + ": ";
  }
  if (leaf.table)
    return text + std::to_string(leaf.table->rows()) + " rows of " + bytes_in_words(leaf.bytes_inside) + " in all";
  if (leaf.triangle) {
    const datatype::Triangle& t = *leaf.triangle;
    return text + std::to_string(t.rows) + " rows every " + bytes_in_words(t.stride) + ", the first of " +
           bytes_in_words(t.length) + ", each longer by " + bytes_in_words(t.growth);
  }
  return text + bytes_in_words(leaf.bytes_inside);
}

}  // namespace

std::string describe(const Datatype& type, std::int64_t count) {
  const auto layout = datatype::layout_of(type, count);
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < layout->leaves.size(); ++i) {
    if (i) text += "; ";
    if (i == most) return text + "and " + std::to_string(layout->leaves.size() - most) + " more parts";
    text += describe(layout->leaves[i]);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace dcgn
