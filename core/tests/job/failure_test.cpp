// What goes wrong in a kernel, on either side, ends the job with a line that names it.
#include "support.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using dcgn::Code;
using dcgn::Comm;
using dcgn::Config;
using dcgn::Error;
using dcgn::Job;
using dcgn::test::contains;
using dcgn::test::error_of;
using dcgn::test::Nothing;

constexpr dcgn::Launch one_warp{.grid = dcgn::one_block_per_slot, .block = 32};

void expect_error(const Error& e, Code code, const std::string& text) {
  EXPECT_EQ(e.code(), code) << e.what();
  EXPECT_TRUE(contains(e.what(), text));
  EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "more than one line: " << e.what();
}

struct SendBytes {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, const void* data, long bytes, int to,
                                   int tag) const {
    comm.slot(ctx.block_rank()).send_bytes(dcgn::gpu::this_warp(ctx), data, bytes, to, tag);
  }
};

struct ReceiveOne {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    int x = 0;
    comm.slot(ctx.block_rank()).recv(dcgn::gpu::this_warp(ctx), x, 0);
  }
};

// The others would wait for ever; the program would end as if all were well.
TEST(Failure, ExitInAKernelIsNoSuccess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](int status) {
    Job job({.nodes = {{.cpus = 2}}});
    job.cpu([status](Comm& comm) {
      if (comm.rank() == 1) std::exit(status);
      int x = 0;
      comm.recv(x, 1);
    });
    job.run();
  };
  EXPECT_EXIT(run(0), ::testing::ExitedWithCode(EXIT_FAILURE),
              "exit\\(0\\) was called by rank 1 .* while its job was running");
  EXPECT_EXIT(run(3), ::testing::ExitedWithCode(3), "exit\\(3\\) was called by rank 1");
}

struct Exit {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm, [[maybe_unused]] int status) const {
#if !defined(__CUDA_ARCH__)
    if (ctx.block_rank() == 1) std::exit(status);
#endif
  }
};

TEST(Failure, ExitInAKernelOfAnEmulatedGpuIsNoSuccess) {
  if (dcgn::Device(0).kind() != dcgn::DeviceKind::emulated) GTEST_SKIP() << "kernels of this GPU cannot call exit()";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [](int status, bool seeded) {
    Config config{.nodes = {{.cpus = 1, .gpus = 1, .slots = 2}}};
    if (seeded) config.seed = 3;
    Job job(config);
    job.cpu([](Comm& comm) {
      int x = 0;
      comm.recv(x, 2);
    });
    job.gpu({.grid = dcgn::one_block_per_slot, .block = 1}, Exit{}, status);
    job.run();
  };
  const std::string by =
      "was called by kernel .*Exit.* of GPU 0 of node 0, block \\(1,0,0\\), thread \\(0,0,0\\), while its";
  for (const bool seeded : {false, true}) {
    EXPECT_EXIT(run(0, seeded), ::testing::ExitedWithCode(EXIT_FAILURE), "exit\\(0\\) " + by);
    EXPECT_EXIT(run(3, seeded), ::testing::ExitedWithCode(3), "exit\\(3\\) " + by);
  }
}

// Fibers of one thread: the line knows which of them it was.
TEST(Failure, ExitOfACpuRankInDeterministicModeIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    Config config{.nodes = {{.cpus = 3}}};
    config.seed = 4;
    Job job(config);
    job.cpu([](Comm& comm) {
      if (comm.rank() == 1) std::exit(0);
      comm.barrier();
    });
    job.run();
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(EXIT_FAILURE), "exit\\(0\\) was called by rank 1 \\(CPU 1, node 0\\)");
}

TEST(Failure, BadArgumentsOfACpuRankAreNamed) {
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([](Comm& comm) {
    if (comm.rank() != 1) return;
    char c = 0;
    const auto bad = [&](Code code, const std::string& text, auto&& call) {
      const Error e = error_of(call);
      expect_error(e, code, text);
      EXPECT_EQ(e.rank(), 1);
      EXPECT_EQ(e.place(), "CPU 1, node 0");
    };
    bad(Code::invalid_rank, "send: rank 2 is out of range, expected 0..1", [&] { comm.send(c, 2); });
    bad(Code::invalid_rank, "send: rank -1 is out of range", [&] { comm.send(c, dcgn::any_source); });
    bad(Code::invalid_rank, "recv: rank -7 is out of range", [&] { comm.recv(c, -7); });
    bad(Code::invalid_rank, "broadcast: root 5 is out of range", [&] { comm.broadcast(c, 5); });
    bad(Code::invalid_tag, "isend: tag -1 is out of range, expected 0..2147483647", [&] { comm.isend(c, 1, -1); });
    bad(Code::invalid_tag, "irecv: tag -2 is out of range, expected 0..2147483647 or any_tag",
        [&] { comm.irecv(c, 0, -2); });
    bad(Code::invalid_rank, "iprobe: rank -2 is out of range, expected 0..1 or any_source",
        [&] { comm.iprobe(-2, 0); });
    bad(Code::invalid_size, "ssend: a size of -5 bytes, expected 0 or more", [&] { comm.ssend_bytes(&c, -5, 0); });
    bad(Code::invalid_size, "recv: a size of -1 bytes", [&] { comm.recv_bytes(&c, -1, 0); });
    bad(Code::null_buffer, "bsend: a null buffer with 3 bytes", [&] { comm.bsend_bytes(nullptr, 3, 0); });
    bad(Code::null_buffer, "recv: a null buffer with 8 bytes", [&] { comm.recv_bytes(nullptr, 8, 0); });
    bad(Code::null_buffer, "wait_all: a null pointer to 3 requests, expected one to them or 0 requests",
        [&] { comm.wait_all(dcgn::Span<const dcgn::Request>(nullptr, 3)); });
    bad(Code::invalid_request, "wait: a request of rank 0, expected one of rank 1",
        [&] { comm.wait(dcgn::Request(0, 0, 1)); });
    const dcgn::Request open = comm.irecv(c, 1, 9);
    const std::string never = "a request that this rank has never made";
    bad(Code::invalid_request, "wait: " + never, [&] { comm.wait(dcgn::Request(1, 4'000'000'000u, 1)); });
    bad(Code::invalid_request, "test: " + never,
        [&] { comm.test(dcgn::Request(1, open.index(), open.generation() + 1)); });
    bad(Code::invalid_request, "wait_any: " + never, [&] {
      const dcgn::Request requests[] = {open, dcgn::Request(1, open.index() + 1, 1)};
      comm.wait_any(requests);
    });
    comm.send(c, 1, 9);
    comm.wait(open);
    comm.wait(open);  // inactive now
  });
  job.run();
}

TEST(Failure, BadArgumentsOfASlotEndTheJob) {
  const auto run = [](const void* data, long bytes, int to, int tag) {
    return error_of([&] {
      Job job({.nodes = {{.gpus = 1, .slots = 2}}});
      job.gpu(one_warp, SendBytes{}, data, bytes, to, tag);
      job.run();
    });
  };
  expect_error(run(nullptr, 0, 12, 0), Code::invalid_rank, "send: rank 12 is out of range, expected 0..1");
  expect_error(run(nullptr, 0, 0, -3), Code::invalid_tag, "send: tag -3 is out of range");
  expect_error(run(nullptr, -8, 0, 0), Code::invalid_size, "send: a size of -8 bytes");
  expect_error(run(nullptr, 8, 0, 0), Code::null_buffer, "send: a null buffer with 8 bytes");
}

#if !defined(__CUDACC__)  // no kernel throws on a GPU
struct AskForSlot {
  void operator()(dcgn::gpu::Context&, dcgn::gpu::Comm comm, unsigned index) const { comm.slot(index); }
};

TEST(Failure, ASlotThatTheGpuDoesNotHaveEndsTheLaunch) {
  if (dcgn::Device(0).kind() != dcgn::DeviceKind::emulated) GTEST_SKIP() << "a trap on CUDA";
  Job job({.nodes = {{.gpus = 1, .slots = 2}}});
  job.gpu(one_warp, AskForSlot{}, 99u);
  expect_error(error_of([&] { job.run(); }), Code::kernel_failed, "slot 99 is out of range, expected 0..1");
}
#endif

TEST(Failure, OfASlotIsOnlyReportedWhereTheProgramWantsIt) {
  Config config{.nodes = {{.gpus = 1, .slots = 1}}};
  config.errors_fatal = false;
  Job job(config);
  job.gpu(one_warp, SendBytes{}, static_cast<const void*>(nullptr), 0L, 12, 0);
  const dcgn::Report report = job.run();
  EXPECT_EQ(report.ranks.at(0).failure, "send: rank 12 is out of range, expected 0..0");
  EXPECT_NE(to_string(report).find("rank 12 is out of range"), std::string::npos);
}

TEST(Failure, AFatalOneOfASlotIsWhatThoseWhoWaitForItHear) {
  for (int i = 0; i < 10; ++i) {
    Job job({.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}}});
    job.cpu([](Comm& comm) {
      int x = 0;
      comm.recv(x, 1);
    });
    job.gpu(one_warp, SendBytes{}, static_cast<const void*>(nullptr), 0L, 12, 0);
    const Error e = error_of([&] { job.run(); });
    expect_error(e, Code::invalid_rank,
                 "rank 1 (slot 0 of GPU 0, node 0): send: rank 12 is out of range, expected 0..1");
  }
}

TEST(Failure, AnExceptionOfACpuKernelComesOutAsItWasAndStopsTheOthers) {
  Job job({.nodes = {{.cpus = 2, .gpus = 1, .slots = 1}}});
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) throw std::out_of_range("my own");
    comm.recv(x, 0);
  });
  job.gpu(one_warp, ReceiveOne{});
  try {
    job.run();
    FAIL() << "no exception";
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "my own");
  }
}

TEST(Failure, AnErrorThatTheKernelCatchesDoesNotEndTheJob) {
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([](Comm& comm) {
    int x = comm.rank();
    EXPECT_THROW(comm.send(x, 17), Error);
    comm.sendrecv_replace(x, 1 - comm.rank(), 0, 1 - comm.rank(), 0);
    EXPECT_EQ(x, 1 - comm.rank());
  });
  EXPECT_EQ(job.run().ranks.size(), 2u);
}

TEST(Failure, MessagesThatNobodyReceivedAreNamed) {
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([](Comm& comm) {
    const char c[3] = {};
    if (comm.rank() == 0) {
      comm.send(c, 1, 5);
      comm.send(c, 1, 6);
    }
    char into[3];
    if (comm.rank() == 1) comm.recv(into, 0, 6);
    comm.barrier();
  });
  const Error e = error_of([&] { job.run(); });
  EXPECT_EQ(e.code(), Code::unreceived);
  EXPECT_NE(std::string(e.what()).find("message of 3 bytes from rank 0 with tag 5 at rank 1"), std::string::npos)
      << e.what();
}

TEST(Failure, MessagesThatAreStillOnTheirWayAreNamedByTheFirst) {
  static std::uint32_t sent;
  sent = 0;
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([](Comm& comm) {
    if (comm.rank() == 0) {
      comm.send(std::vector<char>(300), 1, 70'000);
      comm.send('x', 1, 6);
      dcgn::store_release(sent, 1u);
    } else {
      while (!dcgn::load_acquire(sent)) dcgn::relax();  // in no call: the messages stay where they are
    }
  });
  const Error e = error_of([&] { job.run(); });
  EXPECT_EQ(e.code(), Code::unreceived);
  EXPECT_TRUE(contains(e.what(), "message of 300 bytes from rank 0 with tag 70000 at rank 1, and 1 message more"));
}

TEST(Failure, ARankWithoutAKernelIsNamed) {
  Job no_cpu({.nodes = {{.cpus = 2}}});
  no_cpu.cpu_rank(0, [](Comm&) {});
  expect_error(error_of([&] { no_cpu.run(); }), Code::configuration, "rank 1 (CPU 1, node 0) has no kernel");
  Job no_gpu({.nodes = {{.gpus = 1}}});
  expect_error(error_of([&] { no_gpu.run(); }), Code::configuration, "GPU 0 of node 0 has no kernel");
  Job twice({.nodes = {{.cpus = 1}}});
  twice.cpu([](Comm&) {});
  twice.run();
  expect_error(error_of([&] { twice.run(); }), Code::configuration, "a job runs once");
  Job again({.nodes = {{.cpus = 2}}});
  again.cpu([](Comm&) {}).cpu_rank(1, [](Comm&) {});
  expect_error(error_of([&] { again.cpu([](Comm&) {}); }), Code::configuration, "the CPU ranks have a kernel already");
  expect_error(error_of([&] { again.cpu_rank(1, [](Comm&) {}); }), Code::configuration, "rank 1 has a kernel already");
  expect_error(error_of([&] { again.reserve(1); }), Code::configuration, "rank 1 has a kernel already");
}

TEST(Failure, AJobWithoutGpusLeavesTheirKernelsOut) {
  Job job({.nodes = {{.cpus = 1}}});
  job.cpu([](Comm&) {}).gpu(one_warp, ReceiveOne{});
  expect_error(error_of([&] { job.gpu_on(0, one_warp, ReceiveOne{}); }), Code::device, "the world has none");
  EXPECT_EQ(job.run().ranks.size(), 1u);
}

TEST(Failure, MoreGpusOrBlocksThanThereAreAreNamed) {
  expect_error(error_of([] { const dcgn::World world({.nodes = {{.gpus = 65}}}); }), Code::configuration,
               "ask for 65 GPUs, this machine has " + std::to_string(dcgn::Device::count()));
  Job job({.nodes = {{.gpus = 1}}});
  job.gpu({.grid = 1'000'000, .block = 64}, Nothing{});
  const Error e = error_of([&] { job.run(); });
  expect_error(e, Code::too_many_blocks, "1000000 blocks of 64 threads");
  const int most = dcgn::Device(0).max_resident_blocks({.grid = 1, .block = 64}, Nothing{}, dcgn::gpu::Comm());
  EXPECT_NE(std::string(e.what()).find("at most " + std::to_string(most)), std::string::npos) << e.what();
}

TEST(Failure, AThreadThatIsNoRankIsTold) {
  Job job({.nodes = {{.cpus = 1}}});
  job.cpu([](Comm& comm) {
    std::thread stranger([&comm] {
      int x = 0;
      const Error e = error_of([&] { comm.send(x, 0); });
      expect_error(e, Code::not_attached, "send: the calling thread is not rank 0");
    });
    stranger.join();
  });
  job.run();
}

TEST(Failure, ACommThatWasMovedFromIsNoRankAnyMore) {
  dcgn::World world({.nodes = {{.cpus = 1}}});
  Comm from = world.attach();
  Comm to = std::move(from);
  int x = 7;
  // NOLINTNEXTLINE(bugprone-use-after-move): what it says then is what is tested.
  expect_error(error_of([&] { from.send(x, 0); }), Code::not_attached, "send: this Comm has been moved from");
  to.send(x, 0);
  int got = 0;
  to.recv(got, 0);
  EXPECT_EQ(got, 7);
  EXPECT_EQ(from.rank(), -1);
}

TEST(Failure, AGridThatIsTooLargeOrEmptyIsNotTakenForOneBlockPerSlot) {
  for (const dcgn::Dim3 grid : {dcgn::Dim3(65536, 65536), dcgn::Dim3(0, 5), dcgn::Dim3(1u << 22, 1u << 21, 1u << 21)}) {
    Job job({.nodes = {{.gpus = 1, .slots = 2}}});
    job.gpu({.grid = grid, .block = 32}, Nothing{});
    const Error e = error_of([&] { job.run(); });
    expect_error(e, Code::configuration, "a grid of " + std::to_string(grid.x) + " x " + std::to_string(grid.y));
  }
}

TEST(Failure, WhatRunsOutIsNamed) {
  for (const int cpus : {1'000'000, 2'000'000'000})
    expect_error(error_of([&] { const dcgn::World world({.nodes = {{.cpus = cpus}}}); }), Code::out_of_resources,
                 std::to_string(cpus) + " ranks in one process need");
  Job job({.nodes = {{.cpus = 1}}, .buffered_bytes = 64, .requests = 4});
  job.cpu([](Comm& comm) {
    int x[5] = {};
    for (int i = 0; i < 4; ++i) comm.irecv(x[i], 0, i);
    expect_error(error_of([&] { comm.irecv(x[4], 0, 4); }), Code::out_of_resources, "(DCGN_REQUESTS)");
    expect_error(error_of([&] { comm.bsend(std::vector<char>(65), 0); }), Code::out_of_resources,
                 "no room for a copy of 65 bytes; raise Config::buffered_bytes (DCGN_BUFFERED_BYTES)");
  });
  job.run();
}

TEST(Failure, ALaneOfTooFewBytesIsRefused) {
  expect_error(error_of([] { const dcgn::World world({.nodes = {{.cpus = 1}}, .lane_bytes = 255}); }),
               Code::configuration, "Config::lane_bytes=255: expected 256 to 1073741824, or 0");
}

TEST(Failure, ACommThatGoesWithSendsThatNobodyReceivesSaysSo) {
  dcgn::World world({.nodes = {{.cpus = 2}}, .deadline_s = 0.2});
  const std::vector<char> data(100'000);
  testing::internal::CaptureStderr();
  { world.attach(0).isend(data, 1, 5); }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(said,
            "dcgn: rank 0 (CPU 0, node 0) went with sends that are not complete: the deadline of 0.2 s has passed for "
            "rank 0 (CPU 0, node 0)\n");
}

// A rank that begins and ends while some other exception passes by has not left with it.
struct RanksInItsDestructor {
  bool& aborted;
  ~RanksInItsDestructor() {
    dcgn::World world({.nodes = {{.cpus = 1}}});
    { const Comm comm = world.attach(0); }
    aborted = world.aborted();
  }
};

TEST(Failure, ACommOutlivesAnExceptionThatIsNotItsOwn) {
  bool aborted = true;
  try {
    const RanksInItsDestructor passed{aborted};
    throw std::runtime_error("on its way");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(aborted);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// In a process of its own, which lets itself have no more memory than a few threads' stacks.
void run_without_memory_for_threads() {
  Job job({.nodes = {{.cpus = 16}}, .unexpected_bytes = 1 << 20, .buffered_bytes = 1 << 20, .requests = 1024});
  job.cpu([](Comm& comm) { comm.barrier(); });
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (40u << 20);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  const Error e = error_of([&] { job.run(); });
  std::fprintf(stderr, "%s\n", e.what());
  std::_Exit(e.code() == Code::out_of_resources ? 0 : 1);
}

TEST(FailureDeathTest, AThreadThatTheSystemRefusesIsNamed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_without_memory_for_threads(), testing::ExitedWithCode(0), "the system gives no thread for rank");
}
#endif

TEST(Failure, ARankIsAttachedOnce) {
  dcgn::World world({.nodes = {{.cpus = 2, .gpus = 1, .slots = 1}}});
  const Comm first = world.attach();
  EXPECT_EQ(first.rank(), 0);
  expect_error(error_of([&] { world.attach(0); }), Code::invalid_rank, "rank 0 is attached already");
  expect_error(error_of([&] { world.attach(2); }), Code::invalid_rank, "rank 2 is slot 0 of GPU 0, node 0");
  expect_error(error_of([&] { world.attach(3); }), Code::invalid_rank, "rank 3 is out of range, expected 0..2");
  { const Comm second = world.attach(); }
  expect_error(error_of([&] { world.attach(1); }), Code::invalid_rank, "rank 1 has ended");
  expect_error(error_of([&] { world.attach(); }), Code::invalid_rank, "no CPU rank is free");
}

}  // namespace
