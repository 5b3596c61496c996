// Jobs that can never end stop within their deadline and say why. Each is run with threads and in deterministic mode.
#include "support.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using dcgn::Code;
using dcgn::Comm;
using dcgn::Config;
using dcgn::Error;
using dcgn::Job;
using dcgn::test::contains;
using dcgn::test::Nothing;

constexpr double deadline_s = 20;  // far beyond what finding a deadlock takes, on a busy machine too

Config config_of(dcgn::NodeShape shape, std::optional<std::uint64_t> seed) {
  Config config;
  config.nodes = {shape};
  config.deadline_s = deadline_s;
  config.seed = seed;
  return config;
}

// Only an emulated GPU can be scheduled from a seed.
std::optional<std::uint64_t> seed_of(bool seeded) {
  if (seeded && dcgn::Device(0).kind() == dcgn::DeviceKind::emulated) return 5;
  return std::nullopt;
}

class Deadlock : public testing::TestWithParam<bool> {
 protected:
  std::optional<std::uint64_t> seed() const { return seed_of(GetParam()); }
};

// The error that the job ends with, within its deadline and the time that a report may take.
Error ending(Job& job) {
  const std::uint64_t start = dcgn::now_ns();
  try {
    job.run();
  } catch (const Error& e) {
    EXPECT_LT(static_cast<double>(dcgn::now_ns() - start) * 1e-9, deadline_s + 15);
    return e;
  }
  ADD_FAILURE() << "the job ended well";
  return Error(Code::ok, "", "");
}

struct ReceiveFromNext {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    int* x = ctx.shared<int>();
    me.recv(dcgn::gpu::this_block(ctx), *x, (me.rank() + 1) % me.size());
  }
};

struct ReceiveTag {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int from, int tag) const {
    int x = 0;
    comm.slot(ctx.block_rank()).recv(dcgn::gpu::this_warp(ctx), x, from, tag);
  }
};

constexpr dcgn::Launch sharing_warp{.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = 16};

TEST_P(Deadlock, ARingOfReceivesIsNamed) {
  Job job(config_of({.cpus = 3}, seed()));
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, (comm.rank() + 1) % comm.size(), 4);
  });
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::deadlock);
  EXPECT_TRUE(contains(e.what(), "rank 1 (CPU 1, node 0): recv from rank 2, tag 4, up to 4 bytes"));
  EXPECT_TRUE(contains(e.what(), "cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0"));
}

TEST_P(Deadlock, ARingThroughCpuRanksAndSlotsIsNamed) {
  Job job(config_of({.cpus = 1, .gpus = 1, .slots = 2}, seed()));
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, 1);
  });
  job.gpu(sharing_warp, ReceiveFromNext{});
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::deadlock);
  EXPECT_TRUE(contains(e.what(), "slot 1 of GPU 0, node 0"));
  EXPECT_TRUE(contains(e.what(), "cycle: rank 0 waits for rank 1, which waits for rank 2, which waits for rank 0"));
}

TEST_P(Deadlock, AMismatchedTagIsNamed) {
  Job job(config_of({.cpus = 2}, seed()));
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) {
      comm.send(x, 1, 7);
      comm.recv(x, 1, 9);
    } else {
      comm.recv(x, 0, 8);
      comm.send(x, 0, 9);
    }
  });
  const Error e = ending(job);
  EXPECT_TRUE(contains(e.what(), "mismatch: rank 1 waits for tag 8 from rank 0, but rank 0 sent tag 7 (4 bytes)"));
  EXPECT_TRUE(contains(e.what(), "arrived, not received: message of 4 bytes from rank 0 with tag 7"));
}

TEST_P(Deadlock, AMismatchedTagAtASlotIsNamed) {
  Job job(config_of({.cpus = 1, .gpus = 1, .slots = 1}, seed()));
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.send(x, 1, 7);
    comm.recv(x, 1);
  });
  job.gpu(sharing_warp, ReceiveTag{}, 0, 8);
  EXPECT_TRUE(
      contains(ending(job).what(), "mismatch: rank 1 waits for tag 8 from rank 0, but rank 0 sent tag 7 (4 bytes)"));
}

TEST_P(Deadlock, SendsToARankThatEndedFailAtOnce) {
  for (const std::size_t bytes : {std::size_t{4}, std::size_t{1} << 20}) {
    Job job(config_of({.cpus = 3}, seed()));
    job.cpu([bytes](Comm& comm) {
      // Rank 1 ends once it has heard from rank 2, and rank 2 waits until it has.
      int x = 0;
      if (comm.rank() == 1) return;
      if (comm.rank() == 0) {
        comm.recv(x, 2);
        comm.send(std::vector<char>(bytes), 1);
      } else {
        for (;;) try {
            comm.iprobe(1, 0);
            comm.send_bytes(nullptr, 0, 1, 0);  // fails as soon as rank 1 has ended
            // So seldom that the FIFO does not fill before: who waits in a send then is stopped otherwise.
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          } catch (const Error&) {
            break;
          }
        comm.send(x, 0);
      }
    });
    const Error e = ending(job);
    EXPECT_EQ(e.code(), Code::rank_ended);
    EXPECT_EQ(e.rank(), 0);
    EXPECT_TRUE(contains(e.what(), "rank 1 has ended"));
  }
}

TEST_P(Deadlock, ALargeMessageThatNobodyReceivesIsNamed) {
  Job job(config_of({.cpus = 1, .gpus = 1, .slots = 1}, seed()));
  job.cpu([](Comm& comm) { comm.send(std::vector<char>(1 << 20), 1, 3); });
  job.gpu(sharing_warp, Nothing{});
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::rank_ended) << e.what();
  EXPECT_TRUE(contains(e.what(), "rank 1 has ended"));
}

TEST_P(Deadlock, WaitingForARankThatEndedIsNamed) {
  Job job(config_of({.cpus = 2}, seed()));
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) comm.recv(x, 1);
  });
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::rank_ended);
  EXPECT_TRUE(contains(e.what(), "recv from rank 1, tag 0, up to 4 bytes"));
  EXPECT_TRUE(contains(e.what(), "rank 1 has ended"));
}

TEST_P(Deadlock, ABarrierThatOneRankDoesNotEnterIsNamed) {
  Job job(config_of({.cpus = 3}, seed()));
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 2)
      comm.recv(x, 0);
    else
      comm.barrier();
  });
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::deadlock);
  EXPECT_TRUE(contains(e.what(), "rank 2 (CPU 2, node 0): recv from rank 0"));
  EXPECT_TRUE(contains(e.what(), "barrier, number 0, for rank 2"));
}

TEST_P(Deadlock, OpenRequestsAreCounted) {
  Job job(config_of({.cpus = 2}, seed()));
  job.cpu([](Comm& comm) {
    int x[3] = {};
    dcgn::Request r[3];
    for (int i = 0; i < 3; ++i) r[i] = comm.irecv(x[i], 1 - comm.rank(), i);
    comm.send(x[0], 1 - comm.rank(), 0);
    comm.wait_all(dcgn::Span<const dcgn::Request>(r, 3));
  });
  EXPECT_TRUE(contains(ending(job).what(), "wait_all (2 requests open, the first: from rank 1, tag 1, up to 4 bytes)"));
}

// Two slots wait for each other, and after the job was stopped one sends what the other one had waited for: that must
// not reach the buffer of the call that gave up.
struct CallAgain {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, Code* codes,
                                   int* first_buffer) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const auto warp = dcgn::gpu::this_warp(ctx);
    const int other = 1 - me.rank();
    int x = 7;
    Code* mine = codes + 2 * me.rank();
    const Code first = me.recv(warp, me.rank() == 0 ? *first_buffer : x, other).code;
    const Code second = me.rank() == 1 ? me.send(warp, x, other) : me.recv(warp, x, other).code;
    if (warp.leader()) {
      mine[0] = first;
      mine[1] = second;
    }
  }
};

TEST_P(Deadlock, ASlotThatWasStoppedStaysStopped) {
  Job job(config_of({.gpus = 1, .slots = 2}, seed()));
  const dcgn::Device gpu = job.world().device(0);
  const dcgn::DeviceBuffer<Code> codes(gpu, 4);
  const dcgn::DeviceBuffer<int> buffer(gpu, 1);
  const int untouched = -1;
  buffer.upload(&untouched);
  job.gpu(sharing_warp, CallAgain{}, codes.data(), buffer.data());
  EXPECT_EQ(ending(job).code(), Code::deadlock);
  std::vector<Code> got(4);
  codes.download(got.data());
  EXPECT_EQ(got, std::vector<Code>(4, Code::aborted));
  int held = 0;
  buffer.download(&held);
  EXPECT_EQ(held, untouched);
}

INSTANTIATE_TEST_SUITE_P(Modes, Deadlock, testing::Bool(),
                         [](const auto& mode) { return mode.param ? "Seeded" : "Threads"; });

// The watchdog cannot know what a thread outside of any call will do: the deadline is for that.
TEST(Deadline, StopsARankThatWaitsForOneThatDoesSomethingElse) {
  Config config = config_of({.cpus = 2}, std::nullopt);
  config.deadline_s = 0.3;
  Job job(config);
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) {
      comm.recv(x, 1);
    } else {
      const std::uint64_t start = dcgn::now_ns();
      while (dcgn::now_ns() - start < 2'500'000'000) dcgn::relax();
    }
  });
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::deadline);
  EXPECT_TRUE(contains(e.what(), "the deadline of 0.3 s has passed for rank 0 (CPU 0, node 0)"));
  EXPECT_TRUE(contains(e.what(), "rank 1 (CPU 1, node 0): not in a call that waits"));
}

TEST(Deadline, NamesWhatARankPollsFor) {
  Config config = config_of({.cpus = 2}, std::nullopt);
  config.deadline_s = 0.3;
  Job job(config);
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) comm.recv(x, 1);
    while (!comm.iprobe(0, 3)) dcgn::relax();
  });
  EXPECT_TRUE(contains(ending(job).what(), "rank 1 (CPU 1, node 0): iprobe from rank 0, tag 3; waiting"));
}

// A real GPU's slot looks at the abort word nowhere else than where a call that does not wait ends.
struct PollForNothing {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    if (ctx.thread_rank()) return;
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    bool found = false;
    while (!found && me.iprobe(dcgn::gpu::this_thread(), 0, 3, found).code == Code::ok) dcgn::relax();
  }
};

TEST(Deadline, StopsASlotThatPolls) {
  Config config = config_of({.cpus = 1, .gpus = 1, .slots = 1}, std::nullopt);
  config.deadline_s = 0.3;
  Job job(config);
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, 1);
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, PollForNothing{});
  EXPECT_TRUE(contains(ending(job).what(), "iprobe from rank 0, tag 3; waiting"));
}

TEST(Deadline, StopsAJobWhoseReservedRankNobodyAttaches) {
  Config config = config_of({.cpus = 2}, std::nullopt);
  config.deadline_s = 0.3;
  Job job(config);
  job.reserve(1).cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, 1);
  });
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::deadline);
  EXPECT_TRUE(contains(e.what(), "rank 1 (CPU 1, node 0): no thread has attached as it"));
}

TEST(Deadline, StopsAJobThatWaitsOnlyForAThreadToAttach) {
  Config config = config_of({.cpus = 1}, std::nullopt);
  config.deadline_s = 0.2;
  Job job(config);
  job.reserve(0);
  const Error e = ending(job);
  EXPECT_EQ(e.code(), Code::deadline);
  EXPECT_TRUE(contains(e.what(), "rank 0 (CPU 0, node 0) was reserved, and no thread has attached as it"));
}

}  // namespace
