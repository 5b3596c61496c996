// Which operands of an instruction may be addresses in global memory.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// Whether a qualifier begins with this.
bool has_shape(const Instruction& instruction, std::string_view with);

// From global memory to shared, thread by thread: cp.async.ca.shared.global [to], [from], 16.
bool is_plain_copy(const Instruction& instruction);

// By operand: whether it is an address that may be in global memory.
std::vector<bool> global_addresses(const Instruction& instruction);

// Whether it is an atomic on memory that may be global, of whatever scope but that of one block, whose atomics no other
// GPU meets.
bool is_global_atomic(const Instruction& instruction);

}  // namespace dcgn::virtual_gpu::ptx
