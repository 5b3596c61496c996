// Sweeps that exchange halos themselves: blocks store what neighbours need right into their memory, and tell them by a
// word; who needs a halo waits for that word. One launch does one stage, or a whole run of them.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/stencil/gpu_sweep.hpp>
#include <dcgn/stencil/stage.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::stencil {

// Waits until ready(). False, and all waits of the part end, where that takes longer than it may.
template <class Ready>
DCGN_HOST_DEVICE inline bool wait_until(Exchanger& x, const Ready& ready) {
  constexpr unsigned polls_a_look = 64;  // at the clock, which takes longer than a poll
  std::uint64_t since = 0;
  for (unsigned polls = 1; !ready(); ++polls) {
    relax_briefly();
    if (polls % polls_a_look) continue;
    if (load_relaxed(x.failed)) return false;
    const std::uint64_t now = now_ns();
    if (since == 0) since = now;
    if (now - since > x.deadline_ns) {
      store_relaxed(x.failed, 1u);
      return false;
    }
  }
  return true;
}
// Whether a word has counted up to `count`.
DCGN_HOST_DEVICE inline bool has_come(std::uint32_t word, std::uint32_t count) {
  return static_cast<std::int32_t>(word - count) >= 0;
}
// Until a neighbour's border of so many stages is here, by the word that it tells that by. Acquires it.
DCGN_HOST_DEVICE inline bool wait_for_neighbour(Exchanger& x, int flag, std::uint32_t epoch) {
  return wait_until(x, [&] { return has_come(load_acquire(x.flag[flag]), epoch); });
}

// Tells a neighbour that `epoch` stages' borders are in its memory. By a thread that has seen all of that written.
// Releases it.
DCGN_HOST_DEVICE inline void tell_epoch(const Peer& peer, std::uint32_t epoch) { store_release(*peer.flag, epoch); }

// Of a block's shared memory: the neighbours, as what a stage acquires throws all else out of the cache; and a word.
inline std::size_t exchange_shared_bytes(std::size_t peers) { return peers * sizeof(Peer) + sizeof(std::uint32_t); }

// All blocks of a launch: `stages` stages, which for more than one must all be resident. The first tiles are those of
// the border: the block that comes last to the end of it tells the neighbours, while others are at the bulk.
template <class T, int Fields, class Update>
struct ExchangeSweepKernel {
  using Sweep = GpuSweep<T, Fields, Update>;
  static constexpr unsigned max_threads = sweep_threads;
  static constexpr unsigned blocks_per_multiprocessor = Sweep::blocks_per_multiprocessor;
  Update update;

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, const ExchangeWork& work, Exchanger* exchanger, Tiling tiling,
                                   int stages) const {
    Exchanger& x = *exchanger;
    const unsigned block = context.block_rank(), blocks = context.num_blocks();
    const unsigned thread = context.thread_rank(), threads = context.num_threads();
    const auto border_tiles = static_cast<unsigned>(tiles_in(Sweep::dims, Sweep::width, work.boxes[0], tiling));
    const unsigned border_blocks = border_tiles < blocks ? border_tiles : blocks;
    const auto peers = static_cast<unsigned>(x.peers), flags = static_cast<unsigned>(x.flags);
    Peer* const peer = context.shared<Peer>();
    auto* const is_last = reinterpret_cast<std::uint32_t*>(peer + peers);  // of the border's blocks
    const int first_flag = thread < flags ? x.flag_of[thread] : 0;
    if (block < border_blocks)
      for (unsigned p = thread; p < peers; p += threads) peer[p] = x.peer[p];
    // Nobody changes it before all blocks have come to the end of the last stage.
    std::uint32_t epoch = load_acquire(x.epoch);
    for (int left = stages; left > 0; --left) {
      const Stage& stage = work.stage[epoch % static_cast<std::uint32_t>(work.stages)];
      // One call for both, as what is compiled into it is much.
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (int bulk = block < border_blocks ? 0 : 1; bulk < 2; ++bulk) {
        if (!bulk) {
          for (unsigned f = thread; f < flags; f += threads)
            wait_for_neighbour(x, f == thread ? first_flag : x.flag_of[f], epoch);
          context.sync_block();
        }
        const Sweep sweep(context, update, work.part, stage, tiling,
                          bulk ? Peers{} : Peers{peer, static_cast<int>(peers)});
        sweep(work.boxes[bulk], bulk ? (block + blocks - border_tiles % blocks) % blocks : block, blocks);
        context.sync_block();
        if (bulk) continue;
        if (thread == 0) *is_last = on_device::fetch_add(x.border_arrivals, 1u) + 1 == (epoch + 1) * border_blocks;
        context.sync_block();
        // Each by a thread of its own, as one would wait until the first is told before it tells the next.
        for (unsigned p = thread; *is_last && p < peers; p += threads) tell_epoch(peer[p], epoch + 1);
      }
      ++epoch;
      if (thread == 0) arrive(x, epoch, blocks, left > 1);
      context.sync_block();
    }
  }

 private:
  // At the end of a stage; waits for all blocks where there is another one.
  DCGN_HOST_DEVICE static void arrive(Exchanger& x, std::uint32_t epoch, unsigned blocks, bool goes_on) {
    const std::uint32_t all = epoch * blocks;
    const bool is_last = on_device::fetch_add_release(x.arrivals, 1u) + 1 == all;
    if (goes_on)
      wait_until(x, [&] { return has_come(on_device::load_acquire(x.arrivals), all); });
    else if (is_last)
      store_release(x.epoch, epoch);
  }
};

}  // namespace dcgn::stencil
