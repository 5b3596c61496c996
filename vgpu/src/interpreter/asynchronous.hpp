// Copies that a GPU makes beside its threads, which are made at once here, and the barriers in memory that count them.
#pragma once

#include "vgpu/src/interpreter/operations.hpp"

namespace dcgn::virtual_gpu::interpreter {

// mbarrier: a is its address, by op's addressing; b, c as the instruction has them.
Op::Run find_memory_barrier(const Qualified& q, Op& op);
// cp.async: to where a leads by op's addressing, from the address in b, `c` bytes, of which e (where it is one) are
// read and the rest 0.
void copy_small(Warp& warp, const Op& op, Mask mask);
// cp.async.bulk: from the address in b to that in a, c bytes; then the barrier in shared memory at e, where op.count
// says that there is one.
void copy_bulk(Warp& warp, const Op& op, Mask mask);

}  // namespace dcgn::virtual_gpu::interpreter
