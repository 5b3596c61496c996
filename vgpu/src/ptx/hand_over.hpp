// Blocks that hand what they have stored to the block that comes last, which an atomic finds out.
//
// Of one GPU's blocks the hardware keeps the order even where a program has no fence: who sees the last count sees what
// was stored before. Between GPUs it does not.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// Its instructions, by number, that are atomics of no order on memory that may be global, and whose result decides a
// branch or whether something is done, or goes into shared memory or to a function, where it may.
std::vector<std::size_t> deciding_atomics(const Function& function);

// Whether it has a fence of more than a block's scope, or an access with an order of its own.
bool has_fence(const Function& function);

// Puts fences of the system's scope around an instruction.
class Edits;
void fence_around(const Module& module, const Instruction& instruction, Edits& edits);

}  // namespace dcgn::virtual_gpu::ptx
