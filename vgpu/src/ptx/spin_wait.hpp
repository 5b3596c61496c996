// Loops in which a block waits for another one.
#pragma once

#include "vgpu/src/ptx/call_graph.hpp"
#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <optional>

namespace dcgn::virtual_gpu::ptx {

// A kernel whose blocks wait for each other relies on which of them are resident at once, and a split changes that. A
// loop is taken for such a wait where
//
//   1. it has a polling read: of global memory, or of an address whose space is not told, by
//      - ld.volatile, .relaxed or .acquire, or past a cache: .cg, .cv;
//      - a plain ld in a loop with a fence of the device; or, where the loop does not write at that address, with
//        another reason to read again: a barrier, a fence of the block, nanosleep, or that the loop writes no memory,
//        so that a compiler would have read once;
//      - a call of a function that has a read of the first kind;
//      - an atomic that changes nothing new each round: add, sub or xor of 0; and, or, min, max, exch; cas whose
//        comparand does not follow what the loop read; or any, where the loop does nothing but count;
//   2. the address is the same each round. It moves where it follows from a register that each round sets anew from its
//      value before; but not where a value that was polled decides, by a branch or a predicate, whether or how it does:
//      so a look-back that goes on when its predecessor is ready is a wait, and a walk along a chain is none;
//   3. a branch that leaves the loop depends on the value.
//
// It is none, for all that, where it ends by itself: a branch out of it, which each round passes, depends on a register
// that moves and not on a value polled (a search, a bounded number of tries). What a plain ld read without a fence of
// the device may be its bound. Or where each round passes a cas whose comparand follows what was read, on whose result
// a branch out depends: such a round fails only because another block's succeeded. An atomic add of what is not 0, as
// of a work queue whose items the loop handles, is no polling read.
//
// Where in doubt, it is a wait: a lock is one, and a kernel that is refused runs on one GPU. Values that pass through
// memory are followed only through shared and local memory at one address, and parameters.
//
// Returns the polling read of the first such loop of `function`, as an index of its instructions.
std::optional<std::size_t> find_spin_wait(const Module& module, const CallGraph& calls, std::size_t function);

}  // namespace dcgn::virtual_gpu::ptx
