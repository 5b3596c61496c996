// Code that counts which pages of a buffer a kernel touches.
#pragma once

#include "vgpu/src/ptx/edits.hpp"
#include "vgpu/src/ptx/module.hpp"

#include <cstdint>
#include <string>

namespace dcgn::virtual_gpu::ptx {

// What the variable dcgn_sample of a module that counts holds: addresses from `begin` on, `bytes` of them, in pages of
// 2^`page_shift` bytes, of each of which `counts` has a number.
struct TouchCounter {
  std::uint64_t begin, bytes, page_shift, counts;
};
inline constexpr const char* touch_counter_name = "dcgn_sample";

std::string touch_counter_declaration();

// Has `instruction` count, where it is a load, a store or an atomic that may be in global memory, at an address that a
// register holds; each thread counts for itself. Copies in bulk and device variables are not counted.
void count_touches(const Instruction& instruction, Edits& edits);

}  // namespace dcgn::virtual_gpu::ptx
