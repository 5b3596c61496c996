// Atomics, fences and ordered accesses of one GPU's scope become those of the system.
#pragma once

#include "vgpu/src/ptx/edits.hpp"
#include "vgpu/src/ptx/module.hpp"

#include <cstdint>

namespace dcgn::virtual_gpu::ptx {

enum class ScopeChange : std::uint8_t { none, atomic, fence, access };

// Adds to `edits` what `instruction` needs, and says what that was:
//   atom, red     to .sys where the scope is .gpu or is not given, which means .gpu; not those in shared memory
//   membar        .gl to .sys
//   fence, ld, st .gpu to .sys
// Narrower scopes stay: they are about one block.
ScopeChange widen_scope(const Instruction& instruction, Edits& edits);

}  // namespace dcgn::virtual_gpu::ptx
