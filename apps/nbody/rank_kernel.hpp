// What a rank does, a slot as well as a CPU thread: it advances its part of the bodies, then all get all new positions.
#pragma once

#include "apps/nbody/forces.hpp"
#include "apps/nbody/parts.hpp"
#include "apps/nbody/records.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>

#include <cstddef>

namespace dcgn::nbody {

// lines: begin
// A CPU rank's memory, or that of a GPU's slots.
struct Memory {
  Body* bodies;          // two copies of all bodies, for each slot: one is read, the other written
  Velocity* velocities;  // of all bodies; each rank keeps those of its part
  Parts parts;
  Records records;

  DCGN_HOST_DEVICE Body* copy(int slot, int step) const {
    return bodies + std::ptrdiff_t{2 * slot + step % 2} * parts.bodies;
  }
};

// Each rank's part to all.
DCGN_HOST_DEVICE inline Code exchange(const gpu::Slot& me, const gpu::BlocksScope& blocks, const Parts& parts,
                                      Body* all) {
  const Span<const Body> mine = parts.part(me.rank(), all);
  if (parts.alike) return me.all_gather(blocks, mine, parts.whole(all));
  return me.all_gatherv(blocks, mine, parts.whole(all), parts.counts, parts.displacements);
}
// lines: end
// By one all-gather, or the paper's way: a broadcast from each rank after the other.
DCGN_HOST_DEVICE inline Code exchange(const gpu::Slot& me, const gpu::BlocksScope& blocks, Exchange how,
                                      const Parts& parts, Body* all) {
  if (how == Exchange::all_gather) return exchange(me, blocks, parts, all);
  Code code = Code::ok;
  for (int r = 0; r < me.size() && code == Code::ok; ++r)
    if (parts.range(r).count) code = me.broadcast(blocks, parts.part(r, all), r);
  return code;
}
inline void exchange(Comm& comm, Exchange how, const Parts& parts, Body* all) {
  const Span<const Body> mine = parts.part(comm.rank(), all);
  if (how == Exchange::all_gather && parts.alike) return comm.all_gather(mine, parts.whole(all));
  if (how == Exchange::all_gather) return comm.all_gatherv(mine, parts.whole(all), parts.counts, parts.displacements);
  for (int r = 0; r < comm.size(); ++r)
    if (parts.range(r).count) comm.broadcast(parts.part(r, all), r);
}

// lines: begin
struct SlotBodies {
  static constexpr unsigned max_threads = 512, blocks_per_multiprocessor = 1;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Task task, Memory memory) const {
    const gpu::Slot me = comm.slot(ctx);
    const gpu::BlocksScope blocks = comm.blocks(ctx);
    const Range mine = memory.parts.range(me.rank()).share(blocks.block_rank(), blocks.blocks());
    StepClock clock(memory.records, me.slot(), me.rank(), blocks.leader());
    for (int step = 0;; ++step) {
      const Body* const now = memory.copy(me.slot(), step);
      Body* const next = memory.copy(me.slot(), step + 1);
      clock.begin(step);
      if (task.recorded(step) &&
          record(ctx, me, blocks, task, step, mine, now, memory.velocities, memory.records) != Code::ok)
        return;
      const Leapfrog leapfrog{task.dt, step == 0, step == task.steps};
      clock.compute();
      compute_forces<false>(ctx, now, task.bodies, mine.first, mine.count, task.softening2, [&](int b, const Force& f) {
        Velocity& v = memory.velocities[mine.first + b];
        leapfrog.kick_before(v, f);
        leapfrog.kick_after(v, f);
        if (!leapfrog.last) next[mine.first + b] = leapfrog.moved(now[mine.first + b], v);
      });
      clock.computed();
      if (leapfrog.last || exchange(me, blocks, task.exchange, memory.parts, next) != Code::ok) return;
    }
  }
};
// lines: end

inline void advance_on_cpu(Comm& comm, const Task& task, const Memory& memory) {
  const Range mine = memory.parts.range(comm.rank());
  StepClock clock(memory.records, 0, comm.rank(), true);
  for (int step = 0;; ++step) {
    const Body* const now = memory.copy(0, step);
    Body* const next = memory.copy(0, step + 1);
    clock.begin(step);
    if (task.recorded(step)) record(comm, task, step, mine, now, memory.velocities, memory.records.journal);
    const Leapfrog leapfrog{task.dt, step == 0, step == task.steps};
    clock.compute();
    compute_forces<false>(now, task.bodies, mine.first, mine.count, task.softening2, [&](int b, const Force& f) {
      Velocity& v = memory.velocities[mine.first + b];
      leapfrog.kick_before(v, f);
      leapfrog.kick_after(v, f);
      if (!leapfrog.last) next[mine.first + b] = leapfrog.moved(now[mine.first + b], v);
    });
    clock.computed();
    if (leapfrog.last) return;
    exchange(comm, task.exchange, memory.parts, next);
  }
}

}  // namespace dcgn::nbody
