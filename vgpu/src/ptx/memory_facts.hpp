// What is known of a register, as far as memory is concerned.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstdint>
#include <set>
#include <tuple>

namespace dcgn::virtual_gpu::ptx {

// What an address may follow from. The first three are those of PointerUse::dimensions.
enum Origin : unsigned { index_x = 1, index_y = 2, index_z = 4, grid_size = 8, memory = 16, stride = 32 };
inline constexpr unsigned any_index = index_x | index_y | index_z;

inline unsigned origin_of(const Operand& name) {
  if (name.name == "%nctaid") return grid_size;
  if (name.name != "%ctaid") return 0;
  if (name.selector == ".x" || name.selector == ".r") return index_x;
  if (name.selector == ".y" || name.selector == ".g") return index_y;
  if (name.selector == ".z" || name.selector == ".b") return index_z;
  return any_index;
}

// What a register may hold: a pointer that one of these words of the parameters leads to, one into a variable or the
// stack, one of unknown origin.
struct Facts {
  std::set<std::uint64_t> words;
  // Words that it may be a pointer of all the same, by other ways than `words` allows; those of which it may be a half.
  std::set<std::uint64_t> traces, halves;
  bool variable = false, unknown = false;
  unsigned origins = 0;

  // Whether that was news.
  bool join(const Facts& other) {
    const auto state = [&] {
      return std::tuple(words.size(), traces.size(), halves.size(), variable, unknown, origins);
    };
    const auto before = state();
    words.insert(other.words.begin(), other.words.end());
    traces.insert(other.traces.begin(), other.traces.end());
    halves.insert(other.halves.begin(), other.halves.end());
    variable = variable || other.variable;
    unknown = unknown || other.unknown;
    origins |= other.origins;
    return before != state();
  }
};

}  // namespace dcgn::virtual_gpu::ptx
