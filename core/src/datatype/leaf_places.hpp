// A leaf as kernels have it.
#pragma once

#include <dcgn/datatype/places.hpp>
#include <dcgn/device.hpp>

#include "datatype/kernel_table.hpp"
#include "datatype/layout.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::datatype {

// The tables that kernels read.
using Keep = std::vector<std::shared_ptr<const KernelTable::OnDevice>>;

// The largest word, as a power of two up to 16, that all its rows are made of and whose places are multiples of it,
// apart from where all of it begins.
inline std::int64_t unit_of(const Leaf& leaf) {
  std::int64_t bits = 16;
  for (int i = 0; i < leaf.num_loops; ++i) bits |= leaf.loops[static_cast<std::size_t>(i)].stride;
  if (leaf.table)
    bits |= leaf.kernel_table->unit();
  else if (leaf.triangle)
    bits |= leaf.triangle->length | leaf.triangle->growth | leaf.triangle->stride;
  else if (leaf.num_loops > 0)
    bits |= leaf.bytes_inside;
  return bits & -bits;
}

inline Pattern pattern_of(const Leaf& leaf) {
  if (leaf.table) return leaf.kernel_table->row_bytes() ? Pattern::rows : Pattern::table;
  if (leaf.triangle) return Pattern::triangle;
  return leaf.num_loops == 0 ? Pattern::flat : leaf.num_loops == 1 ? Pattern::loop : Pattern::loops;
}

// In words of so many bytes, which divide its unit. `step`: see Places::find(). Its table is copied to the device where
// there is one.
template <class Index>
Places<Index> places_of(const Device& device, const Leaf& leaf, std::int64_t word_bytes, std::int64_t step,
                        Keep& keep) {
  Places<Index> places;
  places.pattern = pattern_of(leaf);
  places.num_loops = leaf.num_loops;
  places.words_inside = Divider<Index>(leaf.bytes_inside / word_bytes);
  for (int i = 0; i < leaf.num_loops; ++i) {
    const Loop& loop = leaf.loops[static_cast<std::size_t>(leaf.num_loops - 1 - i)];
    places.counts[i] = Divider<Index>(loop.count);
    places.strides[i] = loop.stride;
  }
  if (places.pattern == Pattern::loop) {
    const std::int64_t row = leaf.bytes_inside / word_bytes, stride = leaf.loops[0].stride;
    places.step_words = static_cast<Index>(step % row);
    places.step_place = step / row * stride + step % row * word_bytes;
    places.next_place = places.step_place + stride - row * word_bytes;
  }
  if (leaf.table) {
    keep.push_back(leaf.kernel_table->on(device));
    places.table = KernelTable::view(*keep.back());
    if (const std::int64_t row = leaf.kernel_table->row_bytes()) places.row_words = Divider<Index>(row / word_bytes);
  } else if (leaf.triangle) {
    places.triangle = *leaf.triangle;
  }
  return places;
}

}  // namespace dcgn::datatype
