// Addresses of what each GPU has of its own, which mean nothing on another GPU.
#pragma once

#include "vgpu/src/ptx/call_graph.hpp"
#include "vgpu/src/ptx/module.hpp"
#include "vgpu/src/ptx/shared_variables.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// An instruction that stores such an address where another GPU may read it.
struct StoredAddress {
  std::size_t instruction;    // of its function
  std::string_view variable;  // whose address it stores
};

// By function: its stores to global memory, or to a space that is not told, of the address of a constant, a compiler's
// string or an opaque variable, whole or in pieces; and its calls that hand one to another module. What the driver has
// for every module (vprintf, __assertfail) keeps none.
//
// Addresses are followed through registers, whatever the order of instructions; through calls and their results; and
// through shared memory and a function's stack, each taken for one place: what is stored there may be loaded there.
// A function counts with all addresses that any caller hands to it.
std::vector<std::vector<StoredAddress>> find_stored_addresses(const Module& module, const CallGraph& calls,
                                                              const SharedVariables& variables);

}  // namespace dcgn::virtual_gpu::ptx
