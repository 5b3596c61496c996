// What a job's report counts.
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using dcgn::Comm;
using dcgn::Job;

// Receives `count` messages from rank 0, each of the next size, and sends every second one back.
struct Return {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, unsigned char* buffer,
                                   int count) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    unsigned char* own = buffer + ctx.block_rank() * 100'000;
    for (int i = 0; i < count; ++i) {
      const dcgn::Status s = me.recv_bytes(block, own, 100'000, 0, i);
      if (i % 2) me.send_bytes(block, own, s.bytes, 0, i);
    }
  }
};

TEST(Report, CountsMessagesAndBytesOfEveryRank) {
  constexpr int count = 6;
  constexpr int slots = 2;
  const auto size = [](int i) { return static_cast<std::size_t>(i) * i * i * 400; };  // 0 to 50000 bytes
  Job job({.nodes = {{.cpus = 1, .gpus = 1, .slots = slots}}});
  const dcgn::DeviceBuffer<unsigned char> buffer(job.world().device(0), slots * 100'000);
  job.cpu([&size](Comm& comm) {
    for (int r = 1; r <= slots; ++r)
      for (int i = 0; i < count; ++i) {
        std::vector<unsigned char> data(size(i), static_cast<unsigned char>(r + i));
        comm.send(data, r, i);
        if (i % 2 == 0) continue;
        std::vector<unsigned char> back(data.size());
        const dcgn::Status s = comm.recv(back, r, i);
        EXPECT_EQ(s.count<unsigned char>(), static_cast<std::int64_t>(data.size()));
        EXPECT_EQ(back, data);
      }
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 96}, Return{}, buffer.data(), count);
  const dcgn::Report report = job.run();

  std::uint64_t out = 0, back = 0;
  for (int i = 0; i < count; ++i) {
    out += size(i);
    if (i % 2) back += size(i);
  }
  ASSERT_EQ(report.ranks.size(), 3u);
  EXPECT_EQ(report.ranks[0].sent_messages, static_cast<unsigned>(slots * count));
  EXPECT_EQ(report.ranks[0].sent_bytes, slots * out);
  EXPECT_EQ(report.ranks[0].received_messages, static_cast<unsigned>(slots * count / 2));
  EXPECT_EQ(report.ranks[0].received_bytes, slots * back);
  for (std::size_t r = 1; r <= slots; ++r) {
    EXPECT_EQ(report.ranks[r].received_messages, static_cast<unsigned>(count));
    EXPECT_EQ(report.ranks[r].received_bytes, out);
    EXPECT_EQ(report.ranks[r].sent_messages, static_cast<unsigned>(count / 2));
    EXPECT_EQ(report.ranks[r].sent_bytes, back);
    EXPECT_EQ(to_string(report.ranks[r].place), "slot " + std::to_string(r - 1) + " of GPU 0, node 0");
  }
  EXPECT_GT(report.elapsed_s, 0);
}

TEST(Report, CountsTimeSpentWaiting) {
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(60));
      comm.send(x, 1);
    } else {
      comm.recv(x, 0);
    }
  });
  const dcgn::Report report = job.run();
  EXPECT_GT(report.ranks[1].wait_s, 0.03);
  EXPECT_LT(report.ranks[0].wait_s, 0.03);
}

// Receives a broadcast of rank 1.
struct Take {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int* seen) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    int x = -1;
    me.broadcast(dcgn::gpu::this_thread(), x, 1);
    seen[me.slot()] = x * 100 + me.rank() * 10 + me.node();
  }
};

TEST(Report, NodesMayDiffer) {
  Job job({.nodes = {{.cpus = 2}, {.cpus = 1, .gpus = 1, .slots = 2}}});
  job.cpu([](Comm& comm) {
    int x = comm.rank();
    comm.broadcast(x, 1);
    EXPECT_EQ(x, 1);
    EXPECT_EQ(comm.size(), 5);
    EXPECT_EQ(comm.place().node, comm.rank() < 2 ? 0 : 1);
  });
  const dcgn::DeviceBuffer<int> seen(job.world().device(0), 2);
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 1}, Take{}, seen.data());
  job.run();
  int got[2];
  seen.download(got);
  EXPECT_EQ(got[0], 100 + 30 + 1);
  EXPECT_EQ(got[1], 100 + 40 + 1);
}

TEST(Report, AThreadOfTheProgramsOwnMayBeARank) {
  Job job({.nodes = {{.cpus = 2}}});
  job.reserve(1).cpu([](Comm& comm) {
    int x = 20;
    comm.send(x, 1);
    comm.recv(x, 1);
    EXPECT_EQ(x, 21);
  });
  std::thread own([&job] {
    Comm comm = job.attach(1);
    int x = 0;
    comm.recv(x, 0);
    ++x;
    comm.send(x, 0);
  });
  const dcgn::Report report = job.run();
  own.join();
  EXPECT_EQ(report.ranks[1].sent_messages, 1u);
}

}  // namespace
