// GPUs that run kernel traces over memory networks.
#include "memnet/src/gpu_cores.hpp"
#include "memnet/src/topologies.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include <cstdint>
#include <string>
#include <vector>

using namespace dcgn::memnet;
using dcgn::Dim3;
using dcgn::base::BlockTrace, dcgn::base::KernelTrace, dcgn::base::LaunchTrace, dcgn::base::WarpEvent,
    dcgn::base::WarpWriter;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

constexpr auto load = WarpEvent::Kind::load, store = WarpEvent::Kind::store, atomic = WarpEvent::Kind::atomic;

// Blocks of `warps` warps, of which `write` writes each.
template <class Write>
LaunchTrace launch_of(unsigned blocks, unsigned warps, const Write& write) {
  LaunchTrace launch{"kernel", Dim3(blocks), Dim3(warps * 32), 0, {}};
  for (unsigned b = 0; b < blocks; ++b) {
    BlockTrace block;
    block.number = b;
    for (unsigned w = 0; w < warps; ++w) {
      WarpWriter writer;
      write(writer, b, w);
      block.bytes.insert(block.bytes.end(), writer.bytes().begin(), writer.bytes().end());
      block.ends.push_back(static_cast<std::uint32_t>(block.bytes.size()));
    }
    launch.blocks.push_back(std::move(block));
  }
  return launch;
}

KernelTrace trace_of(std::vector<LaunchTrace> launches) {
  KernelTrace trace;
  for (LaunchTrace& launch : launches)
    trace.steps.push_back({dcgn::base::KernelStep::Kind::launch, 0, std::move(launch)});
  return trace;
}

struct Machine {
  explicit Machine(int gpus, GpuCores its_cores = {}) : cores(its_cores) {
    MemoryNetwork network;
    network.gpus = gpus;
    topology = memory_network(network);
    AddressMap map;
    map.clusters = static_cast<std::uint32_t>(gpus);
    memory.placements.emplace_back(map, std::vector<double>(static_cast<std::size_t>(gpus), 1.0), 1);
    for (int g = 0; g < gpus; ++g) terminals.push_back(g);
  }
  KernelResult run(const KernelTrace& trace, BlockSchedule schedule = BlockSchedule::chunks) const {
    return run_kernels(topology, Parameters(), memory, terminals, cores, trace, schedule);
  }

  GpuCores cores;
  Topology topology{""};
  MemorySystem memory;
  std::vector<int> terminals;
};

// Each block reads `lines` lines of its own once, in all of its warps.
LaunchTrace reading(unsigned blocks, unsigned warps, unsigned lines, unsigned instructions) {
  return launch_of(blocks, warps, [&](WarpWriter& writer, unsigned b, unsigned w) {
    for (unsigned i = 0; i < lines; ++i) {
      writer.issue(instructions);
      writer.access(load, 0, {{(std::uint64_t{b} * warps + w) * lines + i, 15}});
      writer.use(1);
    }
  });
}

}  // namespace

TEST(GpuCores, ComputingTakesASlotAnInstructionOnEachCore) {
  // 128 blocks of 4 warps on 64 cores: 8 warps a core, enough for one instruction a cycle.
  const auto trace = trace_of({launch_of(128, 4, [](WarpWriter& writer, unsigned, unsigned) { writer.issue(10000); })});
  const KernelResult one = Machine(1).run(trace), two = Machine(2).run(trace);
  EXPECT_EQ(one.instructions, 128 * 4 * 10000);
  EXPECT_NEAR(one.cycles(), 80000 / 1.4 * 1.25, 0.01 * 80000);
  EXPECT_NEAR(two.cycles(), one.cycles() / 2, 0.01 * one.cycles());
  EXPECT_EQ(one.network.requests, 0);
}

TEST(GpuCores, AWarpAloneWaitsBetweenInstructions) {
  const auto trace = trace_of({launch_of(1, 1, [](WarpWriter& writer, unsigned, unsigned) { writer.issue(10000); })});
  GpuCores cores;
  cores.issue_gap = 7;
  EXPECT_NEAR(Machine(1, cores).run(trace).cycles(), 70000 / 1.4 * 1.25, 0.02 * 70000);
}

TEST(GpuCores, EveryLineIsReadOnceAndMergedWhereOthersWaitForIt) {
  const KernelResult own = Machine(4).run(trace_of({reading(256, 4, 8, 3)}));
  EXPECT_EQ(own.reads, 256 * 4 * 8);
  EXPECT_EQ(own.network.replies, own.reads);
  EXPECT_EQ(own.l1_hits, 0);
  // All warps of a GPU read the same eight lines: each GPU asks for them once.
  const auto shared = trace_of({launch_of(256, 4, [](WarpWriter& writer, unsigned, unsigned w) {
    writer.issue(1 + w * 500);
    for (unsigned i = 0; i < 8; ++i) {
      writer.access(load, 0, {{i, 15}});
      writer.use(1);
    }
  })});
  const KernelResult all = Machine(4).run(shared);
  EXPECT_EQ(all.reads, 4 * 8);
  EXPECT_EQ(all.l1_reads, 256 * 4 * 8);
  EXPECT_GT(all.l1_hits, all.l1_reads / 2);
}

TEST(GpuCores, LoadsOverlapUntilTheirUse) {
  const auto late = trace_of({launch_of(1, 1, [](WarpWriter& writer, unsigned, unsigned) {
    for (std::uint64_t i = 0; i < 16; ++i) writer.access(load, 0, {{i * 40, 15}});
    for (std::uint32_t i = 0; i < 16; ++i) writer.use(16 - i);
  })});
  const auto early = trace_of({launch_of(1, 1, [](WarpWriter& writer, unsigned, unsigned) {
    for (std::uint64_t i = 0; i < 16; ++i) {
      writer.access(load, 0, {{i * 40, 15}});
      writer.use(1);
    }
  })});
  EXPECT_LT(3 * Machine(1).run(late).cycles(), Machine(1).run(early).cycles());
}

TEST(GpuCores, StoresGoThroughAndTakeNoLine) {
  const auto trace = trace_of({launch_of(64, 2, [](WarpWriter& writer, unsigned b, unsigned w) {
    const std::uint64_t line = std::uint64_t{b} * 2 + w;
    writer.access(store, 0, {{line, 3}});
    writer.access(store, 0, {{line, 15}});
    writer.issue(500);
    writer.access(load, 0, {{line, 15}});
    writer.use(1);
  })});
  const KernelResult result = Machine(2).run(trace);
  EXPECT_EQ(result.writes, 2 * 64 * 2);
  EXPECT_EQ(result.reads, 64 * 2);
}

TEST(GpuCores, AtomicsAreDoneInMemoryAndEmptyTheLine) {
  const auto trace = trace_of({launch_of(1, 1, [](WarpWriter& writer, unsigned, unsigned) {
    writer.access(load, 0, {{5, 15}});
    writer.use(1);
    writer.access(atomic, 32, {{5, 5}});
    writer.use(1);
    writer.access(load, 0, {{5, 15}});
    writer.use(1);
  })});
  const KernelResult result = Machine(1).run(trace);
  EXPECT_EQ(result.atomics, 2);  // a request for each 32 bytes
  EXPECT_EQ(result.reads, 2);
}

TEST(GpuCores, BarriersHoldABlocksWarpsTogether) {
  // One warp computes before the barrier, the other after it: they do not overlap.
  const auto with = [](bool barrier) {
    return trace_of({launch_of(1, 2, [barrier](WarpWriter& writer, unsigned, unsigned w) {
      if (w == 0) writer.issue(20000);
      if (barrier) writer.barrier();
      if (w == 1) writer.issue(20000);
      if (barrier) writer.barrier();
    })});
  };
  const double apart = Machine(1).run(with(true)).cycles(), together = Machine(1).run(with(false)).cycles();
  EXPECT_NEAR(apart, 2 * together, 0.05 * apart);
}

TEST(GpuCores, AWarpThatEndedIsNotWaitedFor) {
  const auto trace = trace_of({launch_of(3, 4, [](WarpWriter& writer, unsigned, unsigned w) {
    for (unsigned i = 0; i <= w; ++i) {
      writer.issue(10 * w);
      writer.barrier();
    }
  })});
  EXPECT_EQ(Machine(2).run(trace).launches.front().simulated_blocks, 3U);
}

TEST(GpuCores, LaunchesFollowEachOtherWithEmptyCaches) {
  const LaunchTrace again = reading(64, 1, 4, 10);
  const KernelResult result = Machine(2).run(trace_of({again, again, again}));
  ASSERT_EQ(result.launches.size(), 3U);
  EXPECT_EQ(result.reads, 3 * 64 * 4);
  for (const LaunchResult& launch : result.launches) {
    EXPECT_EQ(launch.blocks, 64U);
    EXPECT_GT(launch.simulated_cycles, 0);
    EXPECT_DOUBLE_EQ(launch.requests, 64 * 4);
  }
}

TEST(GpuCores, LaunchesThatWereNotRecordedTakeTheMeanOfTheirKind) {
  const LaunchTrace few = reading(256, 4, 4, 10), many = reading(256, 4, 12, 10), other = reading(32, 4, 4, 10);
  LaunchTrace none = few;
  none.blocks.clear();
  const KernelResult whole = Machine(2).run(trace_of({few, few, many, other, many})),
                     result = Machine(2).run(trace_of({none, few, many, other, none}));
  ASSERT_EQ(result.launches.size(), 5U);
  for (const std::size_t i : {0U, 4U}) {
    EXPECT_EQ(result.launches[i].blocks, 256U);
    EXPECT_EQ(result.launches[i].simulated_blocks, 0U);
    EXPECT_EQ(result.launches[i].simulated_cycles, 0);
    EXPECT_DOUBLE_EQ(result.launches[i].cycles, (result.launches[1].cycles + result.launches[2].cycles) / 2);
    EXPECT_DOUBLE_EQ(result.launches[i].requests, 256 * 4 * 8);
  }
  EXPECT_DOUBLE_EQ(result.all_requests(), whole.all_requests());
  EXPECT_NEAR(result.energy.active_pj, whole.energy.active_pj, 0.02 * whole.energy.active_pj);
  EXPECT_TRUE(contains(error_of([&] {
                         Machine(2).run(trace_of({none, other}));
                       }).what(),
                       "kernel kernel: no block was recorded, of any launch of 256 blocks"));
}

KernelResult cut_off(const Machine& machine, const KernelTrace& trace, std::int64_t most_requests,
                     BlockSchedule schedule = BlockSchedule::chunks) {
  return run_kernels(machine.topology, Parameters(), machine.memory, machine.terminals, machine.cores, trace, schedule,
                     {}, 100'000'000, most_requests);
}

// Blocks that all begin at once, so that no sample of them would do. How a launch ends is not seen: a few percent.
TEST(GpuCores, ALaunchThatIsCutOffGoesOnAtItsPace) {
  constexpr unsigned blocks = 64, warps = 8;
  const LaunchTrace launch = launch_of(blocks, warps, [](WarpWriter& writer, unsigned b, unsigned w) {
    for (std::uint64_t i = 0; i < 120; ++i) {
      writer.issue(2);
      writer.access(load, 0, {{(i * blocks + b) * warps + w, 15}});
      writer.use(1);
    }
  });
  const auto trace = trace_of({launch, launch});
  const Machine machine(2);
  const KernelResult whole = machine.run(trace), cut = cut_off(machine, trace, 8192);
  ASSERT_EQ(cut.launches.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    const LaunchResult &all = whole.launches[i], &its = cut.launches[i];
    EXPECT_LT(its.simulated_cycles, all.simulated_cycles / 3) << i;
    EXPECT_NEAR(its.cycles, all.cycles, 0.06 * all.cycles) << i;
    EXPECT_NEAR(its.requests, all.requests, 0.02 * all.requests) << i;
    EXPECT_EQ(its.simulated_blocks, blocks) << i;
  }
  EXPECT_NEAR(cut.energy.active_pj, whole.energy.active_pj, 0.02 * whole.energy.active_pj);
  EXPECT_EQ(cut_off(machine, trace, 10'000'000).cycles(), whole.cycles());
}

// The first GPU has nine times the work of the second one, which ends early; or gives away what it cannot begin.
TEST(GpuCores, ALaunchThatIsCutOffEndsWithTheGpuThatHasMostLeft) {
  const auto trace = trace_of({launch_of(4096, 1, [](WarpWriter& writer, unsigned b, unsigned) {
    for (int i = 0; i < (b < 2048 ? 18 : 2); ++i) writer.issue(100);
  })});
  const Machine machine(2);
  for (const BlockSchedule schedule : {BlockSchedule::chunks, BlockSchedule::stealing}) {
    const double whole = machine.run(trace, schedule).cycles();
    EXPECT_NEAR(cut_off(machine, trace, 256, schedule).cycles(), whole, 0.1 * whole) << to_string(schedule);
  }
}

// A cut at which all work has begun has no pace of its own.
TEST(GpuCores, ALaunchIsNotCutOffWhereNothingIsLeftToBegin) {
  const auto trace = trace_of({reading(256, 1, 1, 1)});
  const Machine machine(1);
  for (std::int64_t most = 16; most <= 4096; most *= 2) {
    const KernelResult cut = cut_off(machine, trace, most);
    ASSERT_TRUE(std::isfinite(cut.cycles()) && std::isfinite(cut.launches.at(0).requests)) << most;
  }
}

TEST(GpuCores, ARunThatIsTooLongIsRefused) {
  const Machine machine(1);
  const auto trace = trace_of({reading(1, 1, 1, 1), reading(64, 4, 100, 1)});
  const auto run = [&](std::int64_t max_cycles) {
    return run_kernels(machine.topology, Parameters(), machine.memory, machine.terminals, machine.cores, trace,
                       BlockSchedule::chunks, {}, max_cycles);
  };
  const std::string said = error_of([&] { run(2000); }).what();
  EXPECT_TRUE(contains(said, "launch 1, kernel, has not ended by cycle 2000, expected a trace that takes fewer"))
      << said;
  EXPECT_EQ(run(1'000'000).launches.size(), 2U);
}

TEST(GpuCores, ARunThatIsTooLongIsToldByTheLaunchsPlaceInTheTrace) {
  const Machine machine(1);
  LaunchTrace none = reading(64, 4, 100, 1);
  none.blocks.clear();
  const auto trace = trace_of({none, none, reading(64, 4, 100, 1)});
  const std::string said = error_of([&] {
                             run_kernels(machine.topology, Parameters(), machine.memory, machine.terminals,
                                         machine.cores, trace, BlockSchedule::chunks, {}, 100);
                           }).what();
  EXPECT_TRUE(contains(said, "launch 2, kernel, has not ended by cycle 100")) << said;
}

TEST(GpuCores, StealingEvensOutWhatChunksDoNot) {
  // The blocks of the first half compute, the others do not.
  const auto trace = trace_of(
      {launch_of(4096, 1, [](WarpWriter& writer, unsigned b, unsigned) { writer.issue(b < 2048 ? 4000 : 1); })});
  const double chunks = Machine(2).run(trace).cycles(),
               stealing = Machine(2).run(trace, BlockSchedule::stealing).cycles();
  EXPECT_LT(stealing, 0.6 * chunks);
}

// One block's warp waits for memory again and again; the others compute meanwhile, whatever the L2 takes.
TEST(GpuCores, OthersComputeWhileOneWaits) {
  const auto trace = trace_of({launch_of(64, 2, [](WarpWriter& writer, unsigned b, unsigned w) {
    if (b == 0 && w == 0) {
      for (std::uint64_t i = 0; i < 20; ++i) {
        writer.access(load, 0, {{i * 64, 15}});
        writer.use(1);
      }
    } else {
      writer.issue(10000);
    }
  })});
  GpuCores slow;
  slow.l2_latency = 100;
  const double fast = Machine(1).run(trace).cycles();
  EXPECT_NEAR(Machine(1, slow).run(trace).cycles(), fast, 0.02 * fast);
}

TEST(GpuCores, WhatIsFasterTakesNoLonger) {
  const auto trace = trace_of({launch_of(256, 4, [](WarpWriter& writer, unsigned b, unsigned w) {
    for (std::uint64_t i = 0; i < 16; ++i) writer.access(store, 0, {{i * 1024 + std::uint64_t{b} * 4 + w, 15}});
  })});
  GpuCores model;
  const double base = Machine(1, model).run(trace).cycles();
  model.l2_clock_ghz = 10;
  EXPECT_LT(Machine(1, model).run(trace).cycles(), 1.05 * base);
  model.l1_misses = 128;
  EXPECT_LT(Machine(1, model).run(trace).cycles(), 1.05 * base);
}

TEST(GpuCores, ManyBarriersInARow) {
  const auto trace = trace_of({launch_of(2, 1, [](WarpWriter& writer, unsigned, unsigned) {
    for (int i = 0; i < 300000; ++i) writer.barrier();
    writer.issue(1);
  })});
  EXPECT_EQ(Machine(1).run(trace).instructions, 2);
}

TEST(GpuCores, ASampleStandsForAll) {
  const LaunchTrace all = reading(16384, 2, 4, 20);
  LaunchTrace sample = all;
  std::erase_if(sample.blocks, [](const BlockTrace& b) { return !dcgn::base::is_sampled(b.number, 16384, 4096); });
  ASSERT_EQ(sample.blocks.size(), 4096U);
  GpuCores cores;
  cores.cores = 16;
  for (const int gpus : {1, 2, 4}) {
    const KernelResult whole = Machine(gpus, cores).run(trace_of({all})),
                       part = Machine(gpus, cores).run(trace_of({sample}));
    EXPECT_NEAR(part.cycles(), whole.cycles(), 0.05 * whole.cycles()) << gpus;
    EXPECT_DOUBLE_EQ(part.launches[0].requests, whole.launches[0].requests);
  }
}

TEST(GpuCores, TheSameTraceGivesTheSameResult) {
  const auto trace = trace_of({reading(512, 4, 8, 5)});
  const KernelResult a = Machine(4).run(trace), b = Machine(4).run(trace);
  EXPECT_EQ(a.cycles(), b.cycles());
  EXPECT_EQ(a.network.latency.mean, b.network.latency.mean);
}

TEST(GpuCores, WhatCannotBeIsRefused) {
  const auto trace = trace_of({launch_of(1, 1, [](WarpWriter& writer, unsigned, unsigned) { writer.issue(1); })});
  auto large = trace;
  large.steps[0].launch.shared_bytes = 50000;
  EXPECT_TRUE(contains(error_of([&] { Machine(1).run(large); }).what(),
                       "kernel kernel: a block has 32 threads and 50000 bytes of shared memory, expected at most "));
  EXPECT_TRUE(contains(error_of([&] { Machine(1).run(KernelTrace{}); }).what(), "without launches"));
  LaunchTrace sample = reading(8192, 4, 1, 1);
  std::erase_if(sample.blocks, [](const BlockTrace& b) { return !dcgn::base::is_sampled(b.number, 8192, 1024); });
  EXPECT_TRUE(contains(error_of([&] { Machine(1).run(trace_of({sample})); }).what(),
                       "1024 of 8192 blocks were recorded, expected all of them or at least 1536"));
  GpuCores cores;
  cores.l2_banks = 0;
  EXPECT_TRUE(contains(error_of([&] { Machine(1, cores).run(trace); }).what(), "l2_banks is 0, expected 1 to 4096"));
}
