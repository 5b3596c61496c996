// Atomics whose results nobody uses: of them the order does not matter, nor where the sums are kept meanwhile.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

struct Reduction {
  std::string operation;  // "add", "min", "max", "and", "or", "xor"
  std::string type;       // "u32", "f64", "b32"

  bool operator==(const Reduction&) const = default;
  bool operator<(const Reduction& other) const {
    return operation != other.operation ? operation < other.operation : type < other.type;
  }
  std::size_t bytes() const { return type.substr(1) == "64" ? 8 : 4; }
  // The bits of the value that changes no other; of floats -0, since adding 0 would change that.
  std::uint64_t identity() const;
};

// What `instruction` does with memory, where it is a red, or an atom whose result is not used. Numbers of four or eight
// bytes alone; an increment that never wraps is an addition.
std::optional<Reduction> reduction_of(const Instruction& instruction, bool result_used);

// A module of two kernels for a reduction. dcgn_clear(to, count) writes the identity to `count` values;
// dcgn_join(to, from, count) reduces those at `from` into those at `to` and writes the identity behind itself.
// Pointers and counts have 8 bytes. Atomics are of the system's scope. Any grid and block of one dimension.
std::string joining_module(const Reduction& reduction);
// In this order.
const std::vector<std::string>& joining_kernels();

}  // namespace dcgn::virtual_gpu::ptx
