// What ranks give and get, in GPU memory, for the peers whose collectives are between GPUs.
#pragma once

#include "bench/peers/coll_rounds.hpp"

#include <cstdint>

namespace dcgn::bench::peer {

// Before the call. A broadcast has a buffer of its own at the root only where it is not in place.
static __global__ void fill_collective(CollRound r, int rank, float* in, float* out) {
  const std::int64_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  const std::int64_t count = count_of(r.op, r.bytes, r.ranks);
  const std::int64_t gives = r.op == Collective::broadcast ? count : given_count(r.op, count, r.ranks);
  for (std::int64_t i = first; i < gives; i += step) in[i] = given(rank, i);
  for (std::int64_t i = first; i < got_count(r.op, count, r.ranks); i += step) out[i] = before(r.op, rank, i);
}

// Adds to `wrong` the elements that are not what this rank is to get.
static __global__ void count_wrong_collective(CollRound r, int rank, const float* out, unsigned long long* wrong) {
  const std::int64_t first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  const std::int64_t count = count_of(r.op, r.bytes, r.ranks);
  unsigned long long mine = 0;
  for (std::int64_t i = first; gets(r.op, rank) && i < got_count(r.op, count, r.ranks); i += step)
    mine += out[i] != expected(r.op, r.ranks, rank, count, i);
  if (mine) atomicAdd(wrong, mine);
}

}  // namespace dcgn::bench::peer
