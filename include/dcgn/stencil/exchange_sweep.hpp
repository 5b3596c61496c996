// Sweeps that exchange halos themselves: blocks store what neighbours need right into their memory, and tell them by a
// word; who needs a halo waits for that word. One launch does one stage, or a whole run of them.
#pragma once

#include <dcgn/gpu/atomic.hpp>
#include <dcgn/gpu/clock.hpp>
#include <dcgn/gpu/context.hpp>
#include <dcgn/gpu/relax.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/stencil/gpu_sweep.hpp>
#include <dcgn/stencil/stage.hpp>

#include <cstdint>

namespace dcgn::stencil {

// Waits until a word has counted up to `epoch`. False, and all waits of the part end, where that takes longer than it
// may. Acquires what was written before the word was.
DCGN_HOST_DEVICE inline bool wait_for_epoch(Exchanger& x, const std::uint32_t& word, std::uint32_t epoch) {
  const auto is_there = [&] { return static_cast<std::int32_t>(load_acquire(word) - epoch) >= 0; };
  if (is_there()) return true;
  const std::uint64_t since = now_ns();
  while (!is_there()) {
    if (load_relaxed(x.failed)) return false;
    if (now_ns() - since > x.deadline_ns) {
      store_relaxed(x.failed, 1u);
      return false;
    }
    relax();
  }
  return true;
}

// Tells the neighbours that `epoch` stages' borders are in their memory. By one thread that has seen all of that
// written. Releases it.
DCGN_HOST_DEVICE inline void tell_epoch(Exchanger& x, std::uint32_t epoch) {
  for (int p = 0; p < x.peers; ++p) store_release(*x.peer[p].flag, epoch);
}

DCGN_HOST_DEVICE inline const Stage& stage_of(const Exchanger& x, std::uint32_t epoch) {
  return x.stage[epoch % static_cast<std::uint32_t>(x.stages)];
}

// All blocks of a launch: `stages` stages, which for more than one must all be resident. Blocks take the border first;
// those that come last to the end of it tell the neighbours, while the others are at the bulk.
template <class T, int Fields, class Update>
struct ExchangeSweepKernel {
  static constexpr unsigned max_threads = sweep_threads;
  Update update;

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, Exchanger* exchanger, Tiling tiling, int stages) const {
    Exchanger& x = *exchanger;
    const unsigned block = context.block_rank(), blocks = context.num_blocks();
    // Nobody changes it before all blocks have come to the end of the stage.
    std::uint32_t epoch = load_acquire(x.epoch);
    for (int s = 0; s < stages; ++s) {
      const Stage& stage = stage_of(x, epoch);
      using Sweep = GpuSweep<T, Fields, Update>;
      if (block < tiles_in(Sweep::dims, Sweep::width, x.border, tiling)) {
        for (unsigned f = context.thread_rank(); f < static_cast<unsigned>(x.flags); f += context.num_threads())
          wait_for_epoch(x, x.flag[x.flag_of[f]], epoch);
        context.sync_block();
        const Sweep border(context, update, x.part, stage, tiling, &x);
        border(x.border, block, blocks);
      }
      context.sync_block();
      if (context.thread_rank() == 0 && is_last(x.border_arrivals, blocks)) tell_epoch(x, epoch + 1);
      const Sweep bulk(context, update, x.part, stage, tiling, nullptr);
      bulk(x.bulk, block, blocks);
      context.sync_block();
      ++epoch;
      if (context.thread_rank() == 0) {
        if (is_last(x.arrivals, blocks))
          store_release(x.epoch, epoch);
        else if (s + 1 < stages)
          wait_for_epoch(x, x.epoch, epoch);
      }
      context.sync_block();
    }
  }

 private:
  // Counts those who come; acquires what they have done.
  DCGN_HOST_DEVICE static bool is_last(std::uint32_t& arrivals, unsigned all) {
    if (fetch_add(arrivals, 1u) + 1 != all) return false;
    store_relaxed(arrivals, 0u);
    return true;
  }
};

}  // namespace dcgn::stencil
