// The kernels that the device tests share: small, named, each showing one behaviour.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/arch/scope.hpp>

#include <cstdint>
#include <stdexcept>

namespace dcgn::test {

struct Nothing {
  DCGN_HOST_DEVICE void operator()(gpu::Context&) const {}
};

// Every thread writes where it is to the place that its flattened coordinates name.
struct WriteCoordinates {
  struct Seen {
    Dim3 thread, block, block_dim, grid_dim;
    unsigned lane, warp, warp_lanes, num_threads, num_blocks;
  };
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, Seen* out) const {
    out[ctx.block_rank() * ctx.num_threads() + ctx.thread_rank()] = {
        ctx.thread_index(), ctx.block_index(), ctx.block_dim(),   ctx.grid_dim(),  ctx.lane(),
        ctx.warp(),         ctx.warp_lanes(),  ctx.num_threads(), ctx.num_blocks()};
  }
};

// Sums in[] per block, by a tree in shared memory.
struct ReduceInSharedMemory {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, const std::uint32_t* in, std::uint32_t* out) const {
    auto* partial = ctx.shared<std::uint32_t>();
    const unsigned i = ctx.thread_rank();
    partial[i] = in[ctx.block_rank() * ctx.num_threads() + i];
    for (unsigned half = ctx.num_threads() / 2; half > 0; half /= 2) {
      ctx.sync_block();
      if (i < half) partial[i] += partial[i + half];
    }
    if (i == 0) out[ctx.block_rank()] = partial[0];
  }
};

// Each thread reads what its left neighbour wrote; without `Barrier` this is a data race.
template <bool Barrier>
struct ReadNeighbour {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned* out) const {
    auto* values = ctx.shared<unsigned>();
    const unsigned i = ctx.thread_rank();
    const unsigned n = ctx.num_threads();
    values[i] = i * i;
    if (Barrier) ctx.sync_block();
    out[ctx.block_rank() * n + i] = values[(i + n - 1) % n];
  }
};

// The same within a warp, over global memory.
template <bool Barrier>
struct ReadLane {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned* values, unsigned* out) const {
    const unsigned i = ctx.thread_rank();
    const unsigned first = i - ctx.lane();
    values[i] = i * i;
    if (Barrier) ctx.sync_warp();
    out[i] = values[first + (ctx.lane() + 1) % ctx.warp_lanes()];
  }
};

// A token goes around the blocks `rounds` times; every hop adds one to data that only the holder may touch.
struct PassToken {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, std::uint32_t* turn, std::uint64_t* data, unsigned rounds) const {
    for (unsigned round = 0; round < rounds; ++round) {
      if (ctx.thread_rank() == 0) {
        while (load_acquire(*turn) != round * ctx.num_blocks() + ctx.block_rank()) relax();
        ++*data;
        store_release(*turn, round * ctx.num_blocks() + ctx.block_rank() + 1);
      }
      ctx.sync_block();
    }
  }
};

// Every warp exchange there is; a lane writes what it got.
struct ExchangeInWarp {
  struct Got {
    std::uint64_t from_next, up, down, crossed;
    std::uint32_t odd, none;
    std::uint8_t small;
    bool any, all;
  };
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, Got* out) const {
    const unsigned i = ctx.thread_rank();
    const std::uint64_t mine = 1000000000000u + i;
    Got got;
    got.from_next = ctx.shuffle(mine, (ctx.lane() + 1) % ctx.warp_lanes());
    got.up = ctx.shuffle_up(mine, 3);
    got.down = ctx.shuffle_down(mine, 3);
    got.crossed = ctx.shuffle_xor(mine, 5);
    got.small = ctx.shuffle(static_cast<std::uint8_t>(i), 0);
    got.odd = ctx.ballot(i % 2 == 1);
    got.none = ctx.ballot(false);
    got.any = ctx.any(ctx.lane() == 2);
    got.all = ctx.all(ctx.warp() == 0);
    out[i] = got;
  }
};

// Threads beyond `stay` return; the rest go on to meet at barriers.
struct LeaveEarly {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned stay, std::uint32_t* order) const {
    if (ctx.thread_rank() >= stay) return;
    for (std::uint32_t round = 0; round < 4; ++round) {
      const std::uint32_t before = load_acquire(*order);
      ctx.sync_block();
      if (before == round * stay || ctx.thread_rank() != 0) fetch_add(*order, 1);
      ctx.sync_block();
    }
  }
};

struct Broadcast {
  struct Wide {
    std::uint64_t words[gpu::block_scratch_bytes / 8];
  };
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, std::uint64_t* out) const {
    Wide mine;
    for (std::uint64_t& word : mine.words) word = 7 * ctx.thread_rank() + 1;
    std::uint64_t sum = 0;
    for (int round = 0; round < 3; ++round) {
      for (const std::uint64_t word : ctx.broadcast(mine).words) sum += word;
      mine.words[0] += 100;
    }
    out[ctx.thread_rank()] = sum;
  }
};

// How many blocks were inside at once, at most.
struct CountAtOnce {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, std::uint32_t* inside, std::uint32_t* most,
                                   std::uint32_t* runs) const {
    const std::uint32_t now = fetch_add(*inside, 1u) + 1;
    for (std::uint32_t seen = load_acquire(*most); seen < now;) seen = compare_exchange(*most, seen, now);
    for (int i = 0; i < 20; ++i) relax();
    fetch_add(runs[ctx.block_rank()], 1u);
    fetch_add(*inside, ~0u);
  }
};

// What shared memory holds before anybody has written it.
struct ReadFreshSharedMemory {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned char* out) const {
    out[ctx.thread_rank()] = ctx.shared<unsigned char>()[ctx.thread_rank()];
  }
};

struct WrongLaneCalls {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx) const {
    if (ctx.lane() == 7)
      ctx.ballot(true);
    else
      ctx.sync_warp();
  }
};

struct Count {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, std::uint64_t* counter) const { fetch_add(*counter, 1); }
};

// Waits until the word holds `value`.
struct WaitFor {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, std::uint32_t* word, std::uint32_t value) const {
    while (load_acquire(*word) != value) relax();
  }
};

struct Set {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, std::uint32_t* word, std::uint32_t value) const {
    store_release(*word, value);
  }
};

// One thread of one block throws; all others wait for a word that nobody writes.
struct ThrowInOne {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, std::uint32_t* word, unsigned block, unsigned thread) const {
#if !defined(__CUDA_ARCH__)
    if (ctx.block_rank() == block && ctx.thread_rank() == thread) throw std::runtime_error("the seventh seal");
#endif
    ctx.sync_warp();
    while (load_acquire(*word) != 1) relax();
  }
};

// Some threads wait at one barrier and the rest at another, so that neither can ever open.
struct SplitBarrier {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned split) const {
    if (ctx.thread_rank() < split)
      ctx.sync_block();
    else
      ctx.sync_warp();
  }
};

// Calls that take all threads of a block, or of a warp, are made by those below `split`; the others are in other calls,
// or have returned, at once or after a while.
enum class Others { call, return_, return_later };
struct PartOfABlock {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, unsigned split, bool warp, Others others) const {
    const auto call = [&] {
      if (warp)
        gpu::this_warp(ctx).sync();
      else
        gpu::this_block(ctx).sync();
    };
    call();
    if (ctx.thread_rank() < split) {
      call();
    } else if (others == Others::call) {
      if (warp)
        ctx.sync_warp();
      else
        ctx.sync_block();
    } else if (others == Others::return_later) {
      for (int i = 0; i < 100; ++i) relax();
    }
  }
};

}  // namespace dcgn::test
