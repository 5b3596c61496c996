// More jobs that cannot go on (see deadlock_test.cpp), and one that can.
#include "support.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/arch/scope.hpp>
#include <dcgn/gpu/launch.hpp>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace dcgn::test {
namespace {

constexpr double deadline = 1.5;
constexpr double long_deadline = 60;  // a deadlock that is proven does not take as long

TEST(Stuck, OfBlockingSendsIsNamed) {
  Job job(config_of({{.cpus = 2}}, long_deadline));
  job.cpu([](Comm& comm) {
    std::vector<char> big(1 << 20);
    comm.send(big, 1 - comm.rank(), 3);
    comm.recv(big, 1 - comm.rank(), 3);
  });
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadlock) << s.what;
  EXPECT_TRUE(contains(s.what, "rank 0 (CPU 0, node 0): send to rank 1, tag 3, 1048576 bytes"));
  EXPECT_TRUE(contains(s.what, "arrived, not received: message of 1048576 bytes from rank 1 with tag 3"));
  EXPECT_TRUE(contains(s.what, "cycle: rank 0 waits for rank 1, which waits for rank 0"));
}

TEST(Stuck, OfALargeSendToOneselfIsNamed) {
  Job job(config_of({{.cpus = 1}}, long_deadline));
  job.cpu([](Comm& comm) {
    std::vector<char> big(1 << 20);
    comm.ssend(big, 0);
  });
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadlock) << s.what;
  EXPECT_TRUE(contains(s.what, "ssend to rank 0"));
  EXPECT_TRUE(contains(s.what, "cycle: rank 0 waits for rank 0"));
}

TEST(Stuck, AMismatchIsNamedThoughTheSenderHasEnded) {
  for (const bool scheduled : {false, true}) {
    Config config = config_of({{.cpus = 2}}, long_deadline);
    if (scheduled) config.seed = 1;
    Job job(config);
    job.cpu([](Comm& comm) {
      int x = 0;
      if (comm.rank() == 0)
        comm.send(x, 1, 7);
      else
        comm.recv(x, 0, 8);
    });
    const Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::rank_ended) << s.what;
    EXPECT_TRUE(contains(s.what, "rank 0 has ended"));
    EXPECT_TRUE(contains(s.what, "mismatch: rank 1 waits for tag 8 from rank 0, but rank 0 sent tag 7"));
  }
}

// Whoever waits for a rank that has ended is told at once.
TEST(Stuck, ASendToARankThatEndedIsStopped) {
  for (const bool synchronous : {true, false}) {
    Job job(config_of({{.cpus = 2}}, long_deadline));
    job.cpu([synchronous](Comm& comm) {
      if (comm.rank() == 1) return;
      std::vector<char> data(synchronous ? 8 : 1 << 20);
      synchronous ? comm.ssend(data, 1, 2) : comm.send(data, 1, 2);
    });
    const Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::rank_ended) << s.what;
    EXPECT_LT(s.seconds, 3 * slower);
    EXPECT_TRUE(contains(s.what, "rank 1 has ended"));
    EXPECT_TRUE(contains(s.what, "rank 0"));
  }
}

TEST_F(EmulatedJob, AReceiveFromASlotThatEndedIsStopped) {
  Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 2}}, long_deadline));
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, 2, 3);
  });
  job.gpu({.grid = one_block_per_slot, .block = 1}, Nothing{});
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::rank_ended) << s.what;
  EXPECT_TRUE(contains(s.what, "recv from rank 2, tag 3"));
  EXPECT_TRUE(contains(s.what, "rank 2 has ended"));
}

// A slot that is busy with something else is no proof of anything: the deadline decides.
struct NeverReceive {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, gpu::Comm, const std::uint32_t* stop) const {
    while (!load_acquire(*stop)) relax();
  }
};

TEST_F(EmulatedJob, ASlotThatNeverReceivesRunsIntoTheDeadline) {
  static std::uint32_t stop = 0;
  Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 1}}, deadline));
  job.cpu([](Comm& comm) {
    std::vector<char> big(100000);
    try {
      comm.send(big, 1, 6);
    } catch (const Error&) {
      store_release(stop, 1u);
      throw;
    }
  });
  job.gpu({.grid = one_block_per_slot, .block = 1}, NeverReceive{}, &stop);
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadline) << s.what;
  EXPECT_GT(s.seconds, deadline * slower * 0.9);
  EXPECT_LT(s.seconds, deadline * slower + 4);
  EXPECT_TRUE(contains(s.what, "send to rank 1, tag 6, 100000 bytes"));
  EXPECT_TRUE(contains(s.what, "rank 1 (slot 0 of GPU 0, node 0): not in a call that waits"));
}

// What is slow is not stuck: a rank computes for longer than a survey's patience, another one waits for it.
struct Relay {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, int* buffer) const {
    const gpu::Slot me = comm.slot(0);
    me.recv(gpu::this_warp(context), *buffer, 2);
    me.send(gpu::this_warp(context), *buffer, 0);
  }
};

TEST_F(EmulatedJob, IsNotTakenForDeadlockedWhereARankIsMerelySlow) {
  Job job(config_of({{.cpus = 3, .gpus = 1, .slots = 1}}, 20));
  std::vector<int> buffers(4);
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
      x = 7;
      comm.send(x, 1);
      comm.recv(x, 3);
      EXPECT_EQ(x, 9);
    } else {
      comm.recv(x, comm.rank() - 1);
      ++x;
      comm.send(x, comm.rank() + 1);
    }
  });
  job.gpu({.grid = one_block_per_slot, .block = 32}, Relay{}, buffers.data());
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::ok) << s.what;
}

// One that does not even end when the job is stopped is left behind, and named.
TEST(Stuck, ARankThatDoesNotStopIsLeftRunning) {
  for (const bool scheduled : {false, true}) {
    static std::atomic<bool> let_go, gone;
    let_go = gone = false;
    Config config = config_of({{.cpus = 2}}, long_deadline);
    config.grace_s = 0.5;
    if (scheduled) config.seed = 1;
    Job job(config);
    job.cpu([](Comm& comm) {
      if (comm.rank() == 1) throw std::runtime_error("enough");
      while (!let_go) relax();
      gone = true;
    });
    const Stopped s = run_to_error(job);
    EXPECT_TRUE(contains(s.what, "enough"));
    EXPECT_TRUE(contains(s.what, "rank 0 (CPU 0, node 0) did not stop within 0.5 s and was left running"));
    let_go = true;
    while (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(Stuck, FullSpaceForUnexpectedMessagesIsNamed) {
  Config config = config_of({{.cpus = 2}}, long_deadline);
  config.unexpected_bytes = 4096;
  config.lane_bytes = 1024;
  Job job(config);
  job.cpu([](Comm& comm) {
    std::vector<char> data(100);
    if (comm.rank() == 0) {
      for (int i = 0; i < 200; ++i) comm.send(data, 1, 1);
      comm.send(data, 1, 2);
    } else {
      comm.recv(data, 0, 2);
    }
  });
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadlock) << s.what;
  EXPECT_TRUE(contains(s.what, "its space for unexpected messages is full, so a message from rank 0 cannot come in"));
  EXPECT_TRUE(contains(s.what, "DCGN_UNEXPECTED_BYTES"));
}

}  // namespace
}  // namespace dcgn::test
