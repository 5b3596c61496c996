// Every public call leaves its event, whoever makes it: two ranks make one of each, and what each log must have is
// written down here.
#include "core/tests/job/support.hpp"
#include "core/tests/trace/every_call.hpp"
#include "core/tests/trace/slices.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

// An event as it must be. `request`: 0, or one that only events with the same number here have.
struct Expected {
  std::string name;
  std::int64_t peer, tag, bytes;
  int communicator = 0, request = 0;
  std::int64_t from = -1, from_tag = -1, from_bytes = 0;
};

std::vector<Expected> expected_of(int rank) {
  const int peer = 1 - rank;
  std::vector<Expected> events;
  const auto add = [&](std::initializer_list<Expected> more) { events.insert(events.end(), more); };
  if (rank == 0)
    add({{"send", 1, 1, 16},
         {"ssend", 1, 2, 8},
         {"bsend", 1, 3, 12},
         {"isend", 1, 4, 20, 0, 1},
         {"wait", 1, 4, 20, 0, 1},
         {"isend", 1, 5, 24, 0, 2},
         {"wait_all", -1, -1, 0, 0, 2},
         {"send", 1, 6, 4}});
  else
    add({{"recv", 0, 1, 16},
         {"recv", 0, 2, 8},
         {"probe", 0, 3, 12},
         {"recv", 0, 3, 12},
         {"irecv", -1, 4, 32, 0, 1},
         {"wait", 0, 4, 20, 0, 1},
         {"irecv", 0, 5, 32, 0, 2},
         {"wait_any", 0, 5, 24, 0, 2},
         {"iprobe", 0, 6, 4},
         {"irecv", 0, 6, 32, 0, 3},
         {"test", 0, 6, 4, 0, 3}});
  add({{"sendrecv", peer, 7, rank ? 12 : 8, 0, 0, peer, 7, rank ? 8 : 12},
       {"sendrecv_replace", peer, 8, 16, 0, 0, peer, 8, 16},
       {"barrier", -1, -1, 0},
       {"broadcast", 1, -1, 16},
       {"reduce", 0, -1, 16},
       {"all_reduce", -1, -1, 16},
       {"reduce_scatter", -1, -1, 32},
       {"reduce_scatterv", -1, -1, 32},
       {"scan", -1, -1, 16},
       {"exclusive_scan", -1, -1, 16},
       {"gather", 1, -1, 16},
       {"gatherv", 0, -1, 16},
       {"scatter", 0, -1, 16},
       {"scatterv", 1, -1, 16},
       {"all_gather", -1, -1, 16},
       {"all_gatherv", -1, -1, 16},
       {"all_to_all", -1, -1, 32},
       {"all_to_allv", -1, -1, 32},
       {"dup", -1, -1, 0},
       {"barrier", -1, -1, 0, 1},
       {"split", -1, -1, 0}});
  // There the ranks are the other way round, but an event has those of the world.
  if (rank == 0)
    add({{"recv", 1, 9, 4, 1}});
  else
    add({{"send", 0, 9, 4, 1}});
  add({{"cart", -1, -1, 0}, {"finish", -1, -1, 0}});
  return events;
}

void expect_calls(const Slices& slices) {
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<Slice> calls = slices.of(rank);
    const std::vector<Expected> expected = expected_of(rank);
    std::map<int, std::int64_t> requests;
    std::int64_t last = 0;
    ASSERT_EQ(slices.ranks.at(rank).at("dropped"), 0);
    for (std::size_t i = 0; i < calls.size() && i < expected.size(); ++i) {
      const Slice& c = calls[i];
      const Expected& e = expected[i];
      SCOPED_TRACE("event " + std::to_string(i) + " of rank " + std::to_string(rank) + ", " + e.name);
      EXPECT_EQ(c.name, e.name);
      EXPECT_EQ(c.category, "call");
      EXPECT_EQ(c["peer"], e.peer);
      EXPECT_EQ(c["tag"], e.tag);
      EXPECT_EQ(c["bytes"], e.bytes);
      EXPECT_EQ(c["communicator"], e.communicator);
      EXPECT_EQ(c["from"], e.from);
      EXPECT_EQ(c["from_tag"], e.from_tag);
      EXPECT_EQ(c["from_bytes"], e.from_bytes);
      if (e.request) {
        EXPECT_EQ(c["request"], requests.try_emplace(e.request, c["request"]).first->second);
      }
      EXPECT_EQ(c["request"] != 0, e.request != 0);
      EXPECT_GE(c.begin, last) << "overlaps the one before";
      EXPECT_GE(c.end, c.begin);
      last = c.end;
    }
    EXPECT_EQ(calls.size(), expected.size());
  }
}

Config traced(const Folder& folder, const NodeShape& node) {
  Config config;
  config.nodes = {node};
  config.deadline_s = 20 * slower;
  config.trace = folder / "t.json";
  return config;
}

void cpu_rank(Comm& comm) {
  Memory m{.x = {}, .y = {}, .counts = {4, 4}, .displacements = {0, 4}};
  make_calls(ByCpu{comm}, m);
}

enum class By { thread, warp, block };

template <By Whom>
struct SlotKernel {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm) const {
    Memory& m = *context.shared<Memory>();
    if (context.thread_rank() == 0) m = {.x = {}, .y = {}, .counts = {4, 4}, .displacements = {0, 4}};
    context.sync_block();
    gpu::Slot slot = comm.slot(context.block_rank());
    if constexpr (Whom == By::thread) {
      if (context.thread_rank() == 0) run(gpu::this_thread(), slot, m);
    } else if constexpr (Whom == By::warp) {
      if (context.warp() == 0) run(gpu::this_warp(context), slot, m);
    } else {
      run(gpu::this_block(context), slot, m);
    }
  }
  template <class Scope>
  DCGN_HOST_DEVICE static void run(const Scope& scope, gpu::Slot& slot, Memory& m) {
    make_calls(BySlot<Scope>{scope, slot}, m);
  }
};

template <By Whom>
void expect_calls_of_slots(std::optional<std::uint64_t> seed = {}) {
  const Folder folder;
  Config config = traced(folder, {.gpus = 1, .slots = 2});
  config.seed = seed;
  Job job(config);
  job.gpu({.grid = one_block_per_slot, .block = 64, .shared_bytes = sizeof(Memory)}, SlotKernel<Whom>{});
  job.run();
  const Slices slices = read_slices(folder / "t.json");
  expect_calls(slices);
  // The kernel, around its calls but for the last one, which the job makes after it.
  const std::vector<Slice> device = slices.of(2);
  ASSERT_EQ(device.size(), 1u);
  EXPECT_EQ(device[0].category, "kernel");
  EXPECT_TRUE(contains(device[0].name, "SlotKernel"));
  ASSERT_GE(slices.clock_error, 0);
  for (int rank = 0; rank < 2; ++rank) {
    std::vector<Slice> calls = slices.of(rank);
    ASSERT_GT(calls.size(), 1u);
    calls.pop_back();
    EXPECT_GE(calls.front().begin + slices.clock_error, device[0].begin);
    EXPECT_LE(calls.back().end, device[0].end + slices.clock_error);
  }
}

TEST(TracedCalls, OfCpuRanks) {
  const Folder folder;
  Job job(traced(folder, {.cpus = 2}));
  job.cpu(cpu_rank);
  job.run();
  expect_calls(read_slices(folder / "t.json"));
}

TEST(TracedCalls, OfSlotsByAThread) { expect_calls_of_slots<By::thread>(); }
TEST(TracedCalls, OfSlotsByAWarp) { expect_calls_of_slots<By::warp>(); }
TEST(TracedCalls, OfSlotsByABlock) { expect_calls_of_slots<By::block>(); }

TEST(TracedCalls, InDeterministicMode) {
  if (Device::count() && Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "devices are not emulated";
  expect_calls_of_slots<By::block>(7);
}

}  // namespace
}  // namespace dcgn::test
