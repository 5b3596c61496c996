// Messages that slots send and receive with a datatype, in kernels.
#include "core/tests/job/support.hpp"
#include "memory.hpp"
#include "type_tree.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

// What a slot does with a type for each job; `memory` is where displacements count from.
struct TypedJob {
  gpu::Datatype type;
  std::byte *memory, *other;
};

struct SendAndReceive {
  // Each message goes to rank 0, which sends what it gets into `other`.
  template <class Scope>
  DCGN_HOST_DEVICE static void act(const Scope& scope, const gpu::Slot& me, const TypedJob* jobs, int count,
                                   Code* codes) {
    for (int i = 0; i < count; ++i) {
      const TypedJob& job = jobs[i];
      const Code sent = me.send(scope, job.type, job.memory, 0, i);
      const Status received = me.recv(scope, job.type, job.other, 0, i);
      if (!scope.leader()) continue;
      codes[i] = sent != Code::ok ? sent : received.bytes == job.type.bytes() ? received.code : Code::truncated;
    }
  }
  // 0: a thread, 1: a warp, 2: a block, 3: the grid
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, const TypedJob* jobs, int count, Code* codes,
                                   int scope) const {
    const gpu::Slot me = comm.slot(0);
    if (scope == 0 && ctx.thread_rank() == 0) act(gpu::this_thread(), me, jobs, count, codes);
    if (scope == 1 && ctx.warp() == 0) act(gpu::this_warp(ctx), me, jobs, count, codes);
    if (scope == 2) act(gpu::this_block(ctx), me, jobs, count, codes);
    if (scope == 3) act(gpu::this_grid(ctx, me), me, jobs, count, codes);
  }
};

TEST(SlotTypedMessages, RandomTypesToAndFromACpuRank) {
  if (Device::count() == 0) GTEST_SKIP() << "no GPU";
  const Device device(0);
  for (int scope = 0; scope < 4; ++scope) {
    SCOPED_TRACE("scope " + std::to_string(scope));
    std::mt19937_64 random(static_cast<std::uint64_t>(scope) + 7);
    const int count = sanitized ? 20 : 100;
    struct Case {
      TypeMap map;
      Memory memory, other;
      Bytes packed, reply, expected;
      DeviceDatatype type;
      DeviceBuffer<std::byte> memory_there, other_there;
    };
    std::vector<Case> cases;
    std::vector<TypedJob> jobs;
    while (static_cast<int>(cases.size()) < count) {
      const TypeTree tree = random_tree(random, static_cast<int>(pick(random, 1, 4)), 200);
      TypeMap map = repeated(type_map(tree), pick(random, 1, 40));
      if (map.overlaps() || map.size() > 60000) continue;
      Memory memory(random, map), other(random, map);
      Bytes packed = packed_by_hand(map, memory), reply = random_bytes(random, map.size());
      Bytes expected = unpacked_by_hand(map, reply, other, 0, map.size());
      Case one{map,
               memory,
               other,
               packed,
               reply,
               expected,
               DeviceDatatype(device, datatype_of(tree), map.size() / std::max<std::int64_t>(1, type_map(tree).size())),
               DeviceBuffer<std::byte>(device, memory.bytes.size()),
               DeviceBuffer<std::byte>(device, other.bytes.size())};
      if (one.type.bytes() != map.size()) continue;  // of no bytes, however many there are
      one.memory_there.upload(memory.bytes.data());
      one.other_there.upload(other.bytes.data());
      jobs.push_back(
          {one.type.handle(), one.memory_there.data() + memory.origin, one.other_there.data() + other.origin});
      cases.push_back(std::move(one));
    }
    const DeviceBuffer<TypedJob> jobs_there(device, jobs.size());
    const DeviceBuffer<Code> codes_there(device, jobs.size());
    jobs_there.upload(jobs.data());
    Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 1}}, 60));
    job.cpu([&](Comm& me) {
      for (int i = 0; i < count; ++i) {
        const Case& one = cases[static_cast<std::size_t>(i)];
        Bytes got(one.packed.size() + 1);
        ASSERT_EQ(me.recv(got, 1, i).bytes, static_cast<std::int64_t>(one.packed.size())) << i;
        got.pop_back();
        EXPECT_TRUE(got == one.packed) << i;
        me.send(one.reply, 1, i);
      }
    });
    job.gpu({.grid = scope == 3 ? 2u : 1u, .block = 64}, SendAndReceive{}, jobs_there.data(), count, codes_there.data(),
            scope);
    job.run();
    std::vector<Code> codes(jobs.size());
    codes_there.download(codes.data());
    for (int i = 0; i < count; ++i) {
      const Case& one = cases[static_cast<std::size_t>(i)];
      EXPECT_EQ(codes[static_cast<std::size_t>(i)], Code::ok) << i;
      Bytes memory(one.memory.bytes.size()), other(one.other.bytes.size());
      one.memory_there.download(memory.data());
      one.other_there.download(other.data());
      EXPECT_TRUE(memory == one.memory.bytes) << i;
      EXPECT_TRUE(other == one.expected) << i;
    }
  }
}

// Columns of a matrix around a ring of slots, each in its own layout: to the right as columns, back as rows.
struct Ring {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, gpu::Datatype column, gpu::Datatype row,
                                   double* matrices, int n, int times) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    double* const matrix = matrices + me.rank() * n * n;
    const int right = (me.rank() + 1) % me.size(), left = (me.rank() + me.size() - 1) % me.size();
    for (int i = 0; i < times; ++i) {
      me.sendrecv(block, column, matrix + n - 1, right, 0, column, matrix, left, 0);  // the last column to the first
      me.sendrecv(block, row, matrix, left, 1, column, matrix + 1, right, 1);         // the first row to the second
    }
  }
};

TEST(SlotTypedMessages, BetweenSlotsInAnyInterleaving) {
  if (Device::count() == 0) GTEST_SKIP() << "no GPU";
  constexpr int n = 40, slots = 4, times = 3;
  const Device device(0);
  const DeviceDatatype column(device, Datatype::vector(n, 1, n, Datatype::of<double>()));
  const DeviceDatatype row(device, Datatype::of<double>(), n);
  ASSERT_TRUE(row.handle().is_contiguous());
  ASSERT_FALSE(column.handle().is_contiguous());
  std::vector<double> first(std::size_t{slots} * n * n);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = static_cast<double>(i);
  const auto place = [](int rank, int i, int j) { return (static_cast<std::size_t>(rank) * n + i) * n + j; };
  std::vector<double> expected = first, before;
  for (int t = 0; t < times; ++t) {
    before = expected;
    for (int r = 0; r < slots; ++r)
      for (int i = 0; i < n; ++i) expected[place(r, i, 0)] = before[place((r + slots - 1) % slots, i, n - 1)];
    before = expected;
    for (int r = 0; r < slots; ++r)
      for (int i = 0; i < n; ++i) expected[place(r, i, 1)] = before[place((r + 1) % slots, 0, i)];
  }
  const bool emulated = device.kind() == DeviceKind::emulated;
  const std::uint64_t seeds = !emulated ? 1 : sanitized ? 5 : 60;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const DeviceBuffer<double> matrices(device, first.size());
    matrices.upload(first.data());
    Config config = config_of({{.gpus = 1, .slots = slots}}, 60);
    if (emulated) config.seed = seed;
    Job job(config);
    job.gpu({.grid = one_block_per_slot, .block = 32}, Ring{}, column.handle(), row.handle(), matrices.data(), n,
            times);
    job.run();
    std::vector<double> found(first.size());
    matrices.download(found.data());
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

struct Exchange {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, gpu::Datatype type, gpu::Datatype shorter,
                                   double* memory, Status* found, int times) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::BlockScope block = gpu::this_block(ctx);
    Status status[4];
    for (int i = 0; i < times; ++i) status[0].code = me.send(block, type, memory, 0, 3);  // the space is given back
    status[1] = me.recv(block, shorter, memory, 0, 4);
    status[2].code = me.send(block, type, nullptr, 0, 5);
    status[3] = me.recv(block, type, memory, 7, 6);
    if (ctx.thread_rank() == 0)
      for (int i = 0; i < 4; ++i) found[i] = status[i];
  }
};

TEST(SlotTypedMessages, SpaceIsGivenBackAndErrorsSayWhatIsWrong) {
  if (Device::count() == 0) GTEST_SKIP() << "no GPU";
  constexpr std::int64_t rows = 2000;
  const Device device(0);
  const Datatype every_second = Datatype::vector(rows, 1, 2, Datatype::of<double>());
  const DeviceDatatype type(device, every_second);
  const DeviceDatatype shorter(device, Datatype::vector(rows / 2, 1, 2, Datatype::of<double>()));
  const DeviceBuffer<double> memory(device, 2 * rows);
  const DeviceBuffer<Status> found(device, 4);
  std::vector<double> values(2 * rows, 1);
  memory.upload(values.data());
  Config config = config_of({{.cpus = 1, .gpus = 1, .slots = 1}}, 60);
  config.buffered_bytes = 20000;  // one message of 16000, not two
  config.errors_fatal = false;
  const int times = 5;
  Job job(config);
  job.cpu([&](Comm& me) {
    std::vector<double> out(2 * rows, 2), in(rows);
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(me.recv(in, 1, 3).bytes, rows * 8);
      EXPECT_EQ(in, std::vector<double>(rows, 1));
    }
    me.send(ConstTypedBuffer(out, every_second), 1, 4);
  });
  job.gpu({.grid = one_block_per_slot, .block = 32}, Exchange{}, type.handle(), shorter.handle(), memory.data(),
          found.data(), times);
  job.run();
  std::vector<Status> status(4);
  found.download(status.data());
  memory.download(values.data());
  EXPECT_EQ(status[0].code, Code::ok);
  EXPECT_EQ(status[1].code, Code::truncated);
  EXPECT_EQ(status[2].code, Code::null_buffer);
  EXPECT_EQ(status[3].code, Code::invalid_rank);
  for (std::int64_t i = 0; i < 2 * rows; ++i)
    ASSERT_EQ(values[static_cast<std::size_t>(i)], i % 2 == 0 && i < rows ? 2 : 1) << i;
}

struct SendOnce {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, gpu::Datatype type, double* memory) const {
    comm.slot(ctx.block_rank()).send(gpu::this_block(ctx), type, memory, 0);
  }
};

TEST(SlotTypedMessages, WhatDoesNotFitIsNamed) {
  if (Device::count() == 0) GTEST_SKIP() << "no GPU";
  const Device device(0);
  const DeviceDatatype type(device, Datatype::vector(2000, 1, 2, Datatype::of<double>()));
  const DeviceBuffer<double> memory(device, 4000);
  Config config = config_of({{.cpus = 1, .gpus = 1, .slots = 1}}, 60);
  config.buffered_bytes = 15000;
  Job job(config);
  job.cpu([](Comm&) {});
  job.gpu({.grid = one_block_per_slot, .block = 32}, SendOnce{}, type.handle(), memory.data());
  const Stopped stopped = run_to_error(job);
  EXPECT_EQ(stopped.code, Code::out_of_resources);
  EXPECT_TRUE(contains(stopped.what, "no room for a copy of 16000 bytes; raise Config::buffered_bytes"));
}

}  // namespace
}  // namespace dcgn::test
