// What a kernel does with memory that its arguments point to.
#pragma once

#include "vgpu/src/ptx/call_graph.hpp"
#include "vgpu/src/ptx/module.hpp"
#include "vgpu/src/ptx/reduction.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// Eight bytes of a kernel's parameters that may be a pointer.
struct PointerUse {
  std::uint64_t offset = 0;  // among all parameters, as .param space lays them out
  // Its memory is only read, by weak loads at addresses that are the pointer and what is added to it; the pointer
  // itself goes nowhere else, so that one to a copy of the memory does as well. A word of which nothing is known is
  // not.
  bool only_read = false;
  // A read's address follows from what was read from memory (a gather), or moves through a loop by the size of the
  // grid.
  bool anywhere = false;
  // Dimensions of the block's index that the addresses of all its reads follow from: 1 for x, 2 for y, 4 for z.
  unsigned dimensions = 0;
  // An access of global memory, a prefetch too, may be at this word plus something.
  bool address = false;
  // Such an access may write, or the word goes where it is not followed: to a function, into memory. To be compared,
  // shifted left or multiplied makes no pointer.
  bool written = false;
  // It is loaded by less than eight bytes, or by other eight: a pointer of a packed struct may begin anywhere in it.
  bool in_pieces = false;
  // All that is done to its memory, by addresses that are the pointer and what is added to it, is this, and nobody sees
  // what a value was meanwhile.
  std::optional<Reduction> reduced{};

  // Whether blocks far from each other in a grid of this shape, numbered with x fastest, may read the same memory.
  bool read_by_all(std::uint32_t y, std::uint32_t z) const {
    const unsigned slowest = z > 1 ? 4 : y > 1 ? 2 : 1;
    return anywhere || (dimensions & slowest) == 0;
  }
};

struct MemoryUse {
  // Writes, or may write, memory that none of its pointers leads to: through a pointer that it read from memory, in
  // functions that it calls, by bulk copies.
  bool writes_elsewhere = false;
  std::vector<PointerUse> pointers;  // all words that are used, by offset
  // Reads, or may read, or writes global memory at an address that was read from memory or is of unknown origin: none
  // of its pointers, no variable, not the stack. In functions that it calls each address is unknown but a name's.
  bool follows_pointers = false;
  // Has atomics, of more than a block's scope, on memory that may be global; and such at an address that was read from
  // memory or is of unknown origin.
  bool atomics = false, follows_atomics = false;

  // Loads memory, other than by atomics, that it may change as well: blocks may read what others have written.
  bool stores_what_it_loads = false;
  // That, and the result of an atomic decides what a block does: the last block may go on with what others have stored.
  bool hands_over = false;

  const PointerUse* at(std::uint64_t offset) const;
  // Whether a pointer whose first byte this is may be accessed, or go where it is not followed.
  bool may_be_pointer(std::uint64_t offset) const;
};

// Follows pointers through registers, whatever the order of instructions: a register may be what any of them makes it.
// Does not follow them through memory or calls, which count as unknown.
MemoryUse memory_use(const Module& module, const CallGraph& calls, std::size_t kernel);

}  // namespace dcgn::virtual_gpu::ptx
