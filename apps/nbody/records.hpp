// What ranks write down beside the bodies: times, energies, and rank 0 all bodies now and then.
#pragma once

#include "apps/nbody/forces.hpp"
#include "apps/nbody/parts.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/operation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dcgn::nbody {

// How positions reach all ranks: one broadcast from each rank after the other, as in the paper, or one all-gather.
enum class Exchange { broadcast, all_gather };

// What all ranks are to do.
struct Task {
  int bodies, steps;
  int every;  // energies and positions are recorded before each so-manyth step, and after the last; 0: only then
  float dt, softening2;
  Exchange exchange;

  DCGN_HOST_DEVICE bool recorded(int step) const { return step == steps || (every && step % every == 0); }
  DCGN_HOST_DEVICE int record(int step) const { return every ? (step + every - 1) / every : 0; }
  DCGN_HOST_DEVICE int records() const { return record(steps) + 1; }
};

// Rank 0's, in memory of its own; null for the others.
struct Journal {
  Body* film = nullptr;               // all bodies, of each record
  Energy* energies = nullptr;         // of each record
  std::uint64_t* begun_ns = nullptr;  // of each step, and of the end of the last
};

struct Records {
  Energy* energies;           // of each block of a GPU
  std::uint64_t* compute_ns;  // how long each slot of a GPU, or the CPU rank, computed
  Journal journal;
};

// The times of a rank's steps, by the leader of its threads.
class StepClock {
 public:
  DCGN_HOST_DEVICE StepClock(const Records& records, int slot, int rank, bool leads)
      : begun_ns_(rank == 0 ? records.journal.begun_ns : nullptr),
        compute_ns_(leads ? records.compute_ns + slot : nullptr) {}
  DCGN_HOST_DEVICE void begin(int step) {
    begin_ns_ = now_ns();
    if (compute_ns_ && begun_ns_) begun_ns_[step] = begin_ns_;
  }
  DCGN_HOST_DEVICE void compute() { begin_ns_ = now_ns(); }
  DCGN_HOST_DEVICE void computed() {
    if (compute_ns_) *compute_ns_ += now_ns() - begin_ns_;
  }

 private:
  std::uint64_t *begun_ns_, *compute_ns_;
  std::uint64_t begin_ns_ = 0;
};

// Adds up the energies of the bodies of `mine`, of each on the thread that computes its force. Velocities are half a
// step behind, except before the first step.
struct Observer {
  const Task& task;
  int step;
  Range mine;
  const Body* all;
  const Velocity* velocities;
  Energy& seen;

  DCGN_HOST_DEVICE void operator()(int b, const Force& f) const {
    Velocity v = velocities[mine.first + b];
    Leapfrog{task.dt, step == 0, false}.kick_before(v, f);
    observe(all[mine.first + b], v, f, task.softening2, seen.kinetic, seen.potential);
  }
};

// A thread's energies, added up over the block; the sums are the first thread's. `shared` has room for one of each of
// its warps.
DCGN_HOST_DEVICE inline Energy sum_of_block(const gpu::Context& ctx, Energy e, Energy* shared) {
  for (unsigned step = 1; step < gpu::warp_size; step *= 2) {
    e.kinetic += ctx.shuffle_xor(e.kinetic, step);
    e.potential += ctx.shuffle_xor(e.potential, step);
  }
  if (ctx.lane() == 0) shared[ctx.warp()] = e;
  ctx.sync_block();
  if (ctx.thread_rank() == 0)
    for (unsigned w = 1; w < ctx.num_threads() / gpu::warp_size; ++w) {
      e.kinetic += shared[w].kinetic;
      e.potential += shared[w].potential;
    }
  ctx.sync_block();
  return e;
}

// Before a step of which that is asked: rank 0 gets the energies of all ranks, and keeps all bodies. By a slot's
// blocks.
DCGN_HOST_DEVICE inline Code record(const gpu::Context& ctx, const gpu::Slot& me, const gpu::BlocksScope& blocks,
                                    const Task& task, int step, Range mine, const Body* all, const Velocity* velocities,
                                    const Records& records) {
  Energy* const energies = records.energies + me.slot() * static_cast<int>(blocks.blocks());
  Energy seen;
  compute_forces<true>(ctx, all, task.bodies, mine.first, mine.count, task.softening2,
                       Observer{task, step, mine, all, velocities, seen});
  const Energy sum = sum_of_block(ctx, seen, ctx.shared<Energy>());
  if (ctx.thread_rank() == 0) energies[blocks.block_rank()] = sum;
  blocks.sync();
  if (blocks.leader())
    for (unsigned k = 1; k < blocks.blocks(); ++k) {
      energies[0].kinetic += energies[k].kinetic;
      energies[0].potential += energies[k].potential;
    }
  const bool root = me.rank() == 0;
  const std::ptrdiff_t record = task.record(step), bodies = task.bodies;
  for (std::ptrdiff_t i = blocks.rank(); root && i < bodies; i += blocks.size())
    records.journal.film[record * bodies + i] = all[i];
  double* const total = root ? &records.journal.energies[record].kinetic : nullptr;
  return me.reduce(blocks, Span<const double>(&energies[0].kinetic, 2), Span<double>(total, root ? 2 : 0), Sum{}, 0);
}
// And by a CPU rank.
inline void record(Comm& comm, const Task& task, int step, Range mine, const Body* all, const Velocity* velocities,
                   const Journal& journal) {
  Energy e;
  compute_forces<true>(all, task.bodies, mine.first, mine.count, task.softening2,
                       Observer{task, step, mine, all, velocities, e});
  const double seen[2] = {e.kinetic, e.potential};
  double sum[2] = {};
  comm.reduce(seen, sum, Sum{}, 0);
  if (comm.rank() != 0) return;
  journal.energies[task.record(step)] = {sum[0], sum[1]};
  std::copy_n(all, task.bodies, journal.film + static_cast<std::ptrdiff_t>(task.record(step)) * task.bodies);
}

}  // namespace dcgn::nbody
