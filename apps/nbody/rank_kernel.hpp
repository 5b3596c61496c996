// What a rank does: a slot's kernel, and a CPU rank's.
#pragma once

#include "apps/nbody/exchange_kernel.hpp"
#include "apps/nbody/forces.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/operation.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::nbody {

// What all ranks are to do.
struct Task {
  int bodies, steps;
  int every;  // energies and positions are recorded before each so-manyth step, and after the last; 0: only then
  float dt, softening2;
  Exchange exchange;
  Places places;

  DCGN_HOST_DEVICE bool recorded(int step) const { return step == steps || (every && step % every == 0); }
  DCGN_HOST_DEVICE int records() const { return every ? (steps + every - 1) / every + 1 : 1; }
};

// What rank 0 writes down, in memory of its own; the others have none of it.
struct Journal {
  Body* film = nullptr;               // of each record all bodies
  Energy* energies = nullptr;         // of each record
  std::uint64_t* begun_ns = nullptr;  // of each step, and the end of the last
};

// lines: begin
// Memory of a GPU, or of a CPU rank. Two copies of all bodies: one that is read and one that comes to be.
struct Memory {
  Body* bodies[2];
  Velocity* velocities;  // of all bodies; each rank keeps those of its own part
  Parts parts;
  Energy* energies;           // of each block, and of each slot one more
  std::uint64_t* compute_ns;  // of each slot
  Journal journal;
};

// lines: end

// A thread's kinetic and potential energies, added up over the block; the sums are the first thread's. `shared` has
// room for one of each of its warps.
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

// Adds up what the threads of a slot's blocks have seen, then what all ranks have, and notes it, with all bodies.
template <class Scope, class Together>
DCGN_HOST_DEVICE Code note(const gpu::Context& ctx, const gpu::Slot& me, const Scope& scope, int block, int blocks,
                           const Together& together, Energy seen, Energy* energies, const Journal& journal, int record,
                           const Body* all, int bodies) {
  seen = sum_of_block(ctx, seen, ctx.shared<Energy>());
  if (ctx.thread_rank() == 0) energies[block] = seen;
  scope.sync();
  if (scope.leader())
    for (int k = 1; k < blocks; ++k) {
      energies[0].kinetic += energies[k].kinetic;
      energies[0].potential += energies[k].potential;
    }
  if (journal.film) {
    Body* const frame = journal.film + static_cast<std::ptrdiff_t>(record) * bodies;
    for (auto i = static_cast<int>(together.rank()); i < bodies; i += static_cast<int>(together.size()))
      frame[i] = all[i];
  }
  const bool root = me.rank() == 0;
  double* const sum = root ? &journal.energies[record].kinetic : nullptr;
  return me.reduce(scope, Span<const double>(&energies[0].kinetic, 2), Span<double>(sum, root ? 2 : 0), Sum{}, 0);
}

// lines: begin
// One block of a slot that has `blocks` of them, this one the `block`th. Those of `together` read the same copy of all
// bodies; `exchange(bodies)` returns when they all may read the new ones.
template <class Scope, class Together, class ExchangeAll>
DCGN_HOST_DEVICE Code advance(const gpu::Context& ctx, const gpu::Slot& me, const Scope& scope, int block, int blocks,
                              const Together& together, const Task& task, const Memory& memory, Energy* energies,
                              const ExchangeAll& exchange) {
  const int rank = me.rank();
  const auto part = memory.parts.counts[rank];
  const int begin = static_cast<int>(part * block / blocks);
  const int count = static_cast<int>(part * (block + 1) / blocks) - begin;
  const int first = static_cast<int>(memory.parts.displacements[rank]) + begin;
  std::uint64_t compute_ns = 0;
  for (int step = 0, record = 0;; ++step) {
    const Body* const now = memory.bodies[step & 1];
    Body* const next = memory.bodies[~step & 1];
    const Leapfrog leapfrog{task.dt, step == 0, step == task.steps};
    const std::uint64_t start = now_ns();
    if (rank == 0 && scope.leader() && memory.journal.begun_ns) memory.journal.begun_ns[step] = start;
    Energy seen;
    const auto move = [&](int b, const Force& f, bool observed) {
      const Body body = now[first + b];
      Velocity& v = memory.velocities[first + b];
      leapfrog.kick_before(v, f);
      if (observed) observe(body, v, f, task.softening2, seen.kinetic, seen.potential);
      leapfrog.kick_after(v, f);
      if (!leapfrog.last) next[first + b] = leapfrog.moved(body, v);
    };
    const bool observed = task.recorded(step);
    if (observed)
      compute_forces<true>(ctx, now, task.bodies, first, count, task.softening2,
                           [&](int b, const Force& f) { move(b, f, true); });
    else
      compute_forces<false>(ctx, now, task.bodies, first, count, task.softening2,
                            [&](int b, const Force& f) { move(b, f, false); });
    compute_ns += now_ns() - start;
    Code code = Code::ok;
    if (observed)
      code = note(ctx, me, scope, block, blocks, together, seen, energies, memory.journal, record++, now, task.bodies);
    if (leapfrog.last) break;
    if (code == Code::ok) code = exchange(next);
    if (code != Code::ok) return code;
  }
  if (scope.leader()) memory.compute_ns[me.slot()] = compute_ns;
  return Code::ok;
}

// lines: end

// lines: begin direct
// Exchange::direct: each slot is a block, and all blocks of a GPU share a copy.
struct BlockSlots {
  static constexpr unsigned max_threads = 512, blocks_per_multiprocessor = 1;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Memory memory) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    const gpu::BlocksScope grid = gpu::this_grid(ctx, comm.slot(0));
    advance(ctx, me, block, 0, 1, grid, task, memory, memory.energies + ctx.block_rank(), [&](Body* bodies) {
      const Code code = send_to_places(me, block, memory.parts, task.places, bodies);
      grid.sync();
      return grid.broken() ? Code::aborted : code;
    });
  }
};

// lines: end

// lines: begin all-gather
// The collective exchanges: each slot has some blocks and a copy of its own, one behind the other in memory.
struct GroupSlots {
  static constexpr unsigned max_threads = 512, blocks_per_multiprocessor = 1;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Memory memory) const {
    const unsigned blocks = ctx.num_blocks() / static_cast<unsigned>(comm.slots());
    const unsigned slot = ctx.block_rank() / blocks;
    const gpu::Slot me = comm.slot(slot);
    const gpu::BlocksScope group = gpu::these_blocks(ctx, me, slot * blocks, blocks);
    for (Body*& copy : memory.bodies) copy += static_cast<std::ptrdiff_t>(slot) * task.bodies;
    if (me.rank() != 0) memory.journal = {};
    advance(ctx, me, group, static_cast<int>(ctx.block_rank() % blocks), static_cast<int>(blocks), group, task, memory,
            memory.energies + slot * blocks, [&](Body* bodies) {
              return task.exchange == Exchange::broadcast ? broadcast_all(me, group, memory.parts, bodies)
                                                          : gather_all(me, group, memory.parts, bodies, task.bodies);
            });
  }
};

// lines: end

inline void advance_on_cpu(Comm& comm, const Task& task, const Memory& memory) {
  const int me = comm.rank();
  const int first = static_cast<int>(memory.parts.displacements[me]);
  const int count = static_cast<int>(memory.parts.counts[me]);
  for (int step = 0, record = 0;; ++step) {
    const Body* const now = memory.bodies[step & 1];
    Body* const next = memory.bodies[~step & 1];
    const Leapfrog leapfrog{task.dt, step == 0, step == task.steps};
    const std::uint64_t start = now_ns();
    if (memory.journal.begun_ns) memory.journal.begun_ns[step] = start;
    Energy e;
    compute_forces<true>(now, task.bodies, first, count, task.softening2, [&](int b, const Force& f) {
      const Body& body = now[first + b];
      Velocity& v = memory.velocities[first + b];
      leapfrog.kick_before(v, f);
      observe(body, v, f, task.softening2, e.kinetic, e.potential);
      leapfrog.kick_after(v, f);
      if (!leapfrog.last) next[first + b] = leapfrog.moved(body, v);
    });
    *memory.compute_ns += now_ns() - start;
    if (task.recorded(step)) {
      const double mine[2] = {e.kinetic, e.potential};
      double sum[2] = {};
      comm.reduce(mine, sum, Sum{}, 0);
      if (memory.journal.energies) memory.journal.energies[record] = {sum[0], sum[1]};
      if (memory.journal.film)
        std::copy_n(now, task.bodies, memory.journal.film + static_cast<std::ptrdiff_t>(record) * task.bodies);
      ++record;
    }
    if (leapfrog.last) return;
    exchange_all(comm, task.exchange, memory.parts, task.places, next, task.bodies);
  }
}

}  // namespace dcgn::nbody
