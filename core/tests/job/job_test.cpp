// Jobs: what they report, what they refuse, and what comes out of run() when something fails.
#include "support.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/device.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/operation.hpp>

#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <thread>
#include <vector>

namespace dcgn::test {
namespace {

struct EchoFromAll {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, unsigned char* buffers) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const gpu::BlockScope block = gpu::this_block(context);
    unsigned char* const mine = buffers + 100000 * static_cast<std::size_t>(me.rank());
    for (int i = 0; i < 3; ++i) {
      const Status s = me.recv_bytes(block, mine, 100000, 0);
      me.send_bytes(block, mine, s.bytes / 2, 0);
    }
  }
};

TEST_F(EmulatedJob, CountsMessagesAndBytesExactly) {
  for (const bool direct : {true, false}) {
    Config config = config_of({{.cpus = 2, .gpus = 1, .slots = 2}}, 20);
    config.direct = direct;
    std::vector<unsigned char> buffers(400000);
    Job job(config);
    job.cpu([](Comm& comm) {
      std::vector<char> data(100000);
      if (comm.rank() == 1) {
        for (int i = 0; i < 3; ++i) {
          const Status s = comm.recv(data, 0);
          comm.send_bytes(data.data(), s.bytes / 2, 0);
        }
        return;
      }
      for (const std::int64_t bytes : {0, 8, 80000})
        for (int r = 1; r < 4; ++r) {
          comm.send_bytes(data.data(), bytes, r);
          comm.recv(data, r);
        }
      const Request self = comm.isend_bytes(data.data(), 5, 0, 9);
      comm.recv(data, 0, 9);
      comm.wait(self);
    });
    job.gpu({.grid = one_block_per_slot, .block = 64}, EchoFromAll{}, buffers.data());
    const Report report = job.run();
    ASSERT_EQ(report.ranks.size(), 4u);
    EXPECT_GT(report.elapsed_s, 0);
    EXPECT_EQ(report.ranks[0].sent_messages, 10u);
    EXPECT_EQ(report.ranks[0].sent_bytes, 3 * 80008u + 5);
    EXPECT_EQ(report.ranks[0].received_messages, 10u);
    EXPECT_EQ(report.ranks[0].received_bytes, 3 * 40004u + 5);
    for (std::size_t r = 1; r < 4; ++r) {
      EXPECT_EQ(report.ranks[r].rank, static_cast<int>(r));
      EXPECT_EQ(report.ranks[r].sent_messages, 3u);
      EXPECT_EQ(report.ranks[r].sent_bytes, 40004u);
      EXPECT_EQ(report.ranks[r].received_messages, 3u);
      EXPECT_EQ(report.ranks[r].received_bytes, 80008u);
      EXPECT_EQ(report.ranks[r].failure, "");
    }
    EXPECT_EQ(report.ranks[3].place.slot, 1);
    const std::string table = to_string(report);
    EXPECT_TRUE(contains(table, "slot 1 of GPU 0, node 0"));
    EXPECT_TRUE(contains(table, "240029"));
  }
}

TEST(Unreceived, MessagesAreNamedAtTheEnd) {
  for (const bool seen : {true, false}) {
    Job job(config_of({{.cpus = 3}}, 20));
    std::atomic<bool> sent{false};
    job.cpu([&](Comm& comm) {
      if (comm.rank() == 2) {
        comm.send(1.0, 1, 33);
        comm.send(1.0, 1, 33);
        sent = true;
      } else if (comm.rank() == 1) {
        while (!sent) std::this_thread::yield();
        if (seen) {
          EXPECT_TRUE(comm.iprobe(2, 33));  // taken out of the FIFO
        }
      }
    });
    const Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::unreceived) << s.what;
    EXPECT_TRUE(contains(s.what, "2 messages were sent and never received"));
    EXPECT_TRUE(contains(s.what, "from rank 2"));
    EXPECT_TRUE(contains(s.what, "at rank 1"));
    if (seen) {
      EXPECT_TRUE(contains(s.what, "message of 8 bytes from rank 2 with tag 33 at rank 1"));
    }
  }
}

#if !defined(__CUDACC__)  // no kernel throws on a GPU
struct Throw {
  void operator()(gpu::Context& context, gpu::Comm comm) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    if (context.block_rank() == 1 && context.thread_rank() == 3) throw std::runtime_error("division by zero");
    unsigned char byte = 0;
    me.recv(gpu::this_block(context), byte, 0);
  }
};

TEST_F(EmulatedJob, IsStoppedByAKernelThatThrows) {
  for (const bool scheduled : {false, true}) {
    Config config = config_of({{.cpus = 1, .gpus = 2, .slots = 2}}, 20);
    if (scheduled) config.seed = 2;
    Job job(config);
    job.cpu([](Comm& comm) {
      int x = 0;
      comm.recv(x, 1);
    });
    job.gpu({.grid = one_block_per_slot, .block = 64}, Throw{});
    const Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::kernel_failed) << s.what;
    EXPECT_TRUE(contains(s.what, "division by zero"));
    EXPECT_TRUE(contains(s.what, "Throw"));
    EXPECT_LT(s.seconds, 5 * slower);
  }
}

#endif

// Each bad argument, in a kernel: a line that names rank and value.
struct MakeMistake {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, int which, Code* code) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    if (me.slot() != 1) return;
    const gpu::WarpScope warp = gpu::this_warp(context);
    int x = 0;
    Code got = Code::ok;
    switch (which) {
      case 0: got = me.send(warp, x, 17); break;
      case 1: got = me.recv(warp, x, -2).code; break;
      case 2: got = me.send(warp, x, 0, -5); break;
      case 3: got = me.send_bytes(warp, &x, -8, 0); break;
      case 4: got = me.recv_bytes(warp, nullptr, 24, 0).code; break;
      case 5: got = me.broadcast(warp, x, 9); break;
      case 6: got = me.send(warp, x, any_source); break;
      default: got = me.wait(warp, Request(me.rank(), 1u << 30, 1)).code; break;
    }
    if (warp.leader()) *code = got;
  }
};

struct Mistake {
  Code code;
  const char* call;
  const char* detail;
};
const Mistake mistakes[] = {
    {Code::invalid_rank, "send", "rank 17 is out of range, expected 0..2"},
    {Code::invalid_rank, "recv", "rank -2 is out of range, expected 0..2"},
    {Code::invalid_tag, "send", "tag -5 is out of range, expected 0..2147483647"},
    {Code::invalid_size, "send", "a size of -8 bytes, expected 0 or more"},
    {Code::null_buffer, "recv", "a null buffer with 24 bytes, expected a buffer or 0 bytes"},
    {Code::invalid_rank, "broadcast", "root 9 is out of range, expected 0..2"},
    {Code::invalid_rank, "send", "rank -1 is out of range, expected 0..2"},
    {Code::invalid_request, "wait", "a request that this rank has never made"},
};

TEST_F(EmulatedJob, BadInputInAKernelStopsTheJobByDefaultAndIsReportedOtherwise) {
  for (int which = 0; which < 8; ++which)
    for (const bool fatal : {true, false}) {
      SCOPED_TRACE(std::to_string(which) + (fatal ? ", fatal" : ", returned"));
      const Mistake& mistake = mistakes[which];
      Config config = config_of({{.cpus = 1, .gpus = 1, .slots = 2}}, 20);
      config.errors_fatal = fatal;
      Job job(config);
      Code code = Code::ok;
      job.cpu([](Comm&) {});
      job.gpu({.grid = one_block_per_slot, .block = 32}, MakeMistake{}, which, &code);
      Stopped s;
      Report report;
      try {
        report = job.run();
      } catch (const Error& error) {
        s = {error.code(), error.what()};
      }
      EXPECT_EQ(to_string(code), to_string(mistake.code));
      EXPECT_EQ(to_string(s.code), to_string(fatal ? mistake.code : Code::ok)) << s.what;
      const std::string text = fatal ? s.what : report.ranks[2].failure;
      EXPECT_TRUE(contains(text, mistake.call));
      EXPECT_TRUE(contains(text, mistake.detail));
      EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      if (fatal) {
        EXPECT_TRUE(contains(text, "rank 2"));
        EXPECT_TRUE(contains(text, "slot 1 of GPU 0, node 0"));
      }
    }
}

TEST(BadInput, OnTheCpuThrowsOneLineThatNamesTheValue) {
  Job job(config_of({{.cpus = 2}}, 20));
  const auto message_of = [](const auto& action, Code code) -> std::string {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(to_string(error.code()), to_string(code));
      EXPECT_EQ(error.rank(), 1);
      EXPECT_EQ(error.place(), "CPU 1, node 0");
      return error.what();
    }
    return "nothing was thrown";
  };
  const std::string where = " [rank 1: CPU 1, node 0]";
  job.cpu_rank(0, [](Comm&) {});
  job.cpu_rank(1, [&](Comm& comm) {
    int x = 0;
    EXPECT_EQ(message_of([&] { comm.send(x, 2); }, Code::invalid_rank),
              "dcgn: send: rank 2 is out of range, expected 0..1" + where);
    EXPECT_EQ(message_of([&] { comm.ssend(x, -1); }, Code::invalid_rank),
              "dcgn: ssend: rank -1 is out of range, expected 0..1" + where);
    EXPECT_EQ(message_of([&] { comm.recv(x, -3); }, Code::invalid_rank),
              "dcgn: recv: rank -3 is out of range, expected 0..1 or any_source" + where);
    EXPECT_EQ(message_of([&] { comm.isend(x, 0, -7); }, Code::invalid_tag),
              "dcgn: isend: tag -7 is out of range, expected 0..2147483647" + where);
    EXPECT_EQ(message_of([&] { comm.recv_bytes(&x, -4, 0); }, Code::invalid_size),
              "dcgn: recv: a size of -4 bytes, expected 0 or more" + where);
    EXPECT_EQ(message_of([&] { comm.bsend_bytes(nullptr, 16, 0); }, Code::null_buffer),
              "dcgn: bsend: a null buffer with 16 bytes, expected a buffer or 0 bytes" + where);
    EXPECT_EQ(message_of([&] { comm.broadcast(x, 5); }, Code::invalid_rank),
              "dcgn: broadcast: root 5 is out of range, expected 0..1" + where);
    EXPECT_EQ(message_of([&] { comm.probe(0, -2); }, Code::invalid_tag),
              "dcgn: probe: tag -2 is out of range, expected 0..2147483647 or any_tag" + where);
    EXPECT_EQ(message_of([&] { comm.sendrecv(x, 1, 0, x, 8, 0); }, Code::invalid_rank),
              "dcgn: sendrecv: rank 8 is out of range, expected 0..1" + where);
    x = 77;
    const Request self = comm.irecv(x, 1, 0);
    comm.send(std::vector<int>{1, 2}, 1, 0);
    EXPECT_EQ(message_of([&] { comm.wait(self); }, Code::truncated),
              "dcgn: wait: message of 8 bytes from rank 1 with tag 0 does not fit the buffer of 4 bytes; it holds the "
              "beginning" +
                  where);
    EXPECT_EQ(x, 1);
  });
  job.run();
}

// They are there for what is in their memory. Those of other nodes run kernels as always.
TEST(Job, GpusMayHaveNoSlots) {
  const int gpus = Device::count();
  if (gpus == 0) GTEST_SKIP() << "no GPU";
  {
    Job job(config_of({{.cpus = 2, .gpus = gpus, .slots = 0}}, 20));
    EXPECT_EQ(job.world().gpus(), gpus);
    EXPECT_EQ(job.world().handle(0).slots(), 0);
    EXPECT_EQ(job.world().device(gpus - 1).index(), gpus - 1);
    const Error error = error_of([&] { job.gpu_on(0, {.grid = 1, .block = 32}, Nothing{}); });
    EXPECT_EQ(error.code(), Code::device);
    EXPECT_TRUE(contains(error.what(), "GPU 0 has no slots"));
    job.gpu({.grid = 1, .block = 32}, Nothing{});
    job.cpu([](Comm& me) {
      int ranks = 1;
      me.all_reduce(ranks, Sum{});
      EXPECT_EQ(ranks, 2);
    });
    EXPECT_EQ(run_to_error(job).what, "");
  }
  if (gpus < 2) return;
  const DeviceBuffer<unsigned char> room(Device(1), 100000 * 4);
  Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 0}, {.cpus = 1, .gpus = 1, .slots = 2}}, 20));
  job.gpu({.grid = one_block_per_slot, .block = 32}, EchoFromAll{}, room.data());
  job.cpu([](Comm& me) {
    if (me.rank() != 0) return;
    std::vector<int> sent(20000), back(10000);
    std::iota(sent.begin(), sent.end(), 0);
    for (const int slot : {2, 3})
      for (int i = 0; i < 3; ++i) {
        me.send(sent, slot);
        me.recv(back, slot);
        EXPECT_TRUE(std::equal(back.begin(), back.end(), sent.begin()));
      }
  });
  EXPECT_EQ(run_to_error(job).what, "");
}

TEST(BadInput, OfAJobIsRefusedNamingTheValue) {
  const auto refused = [](const auto& action) -> Stopped {
    try {
      action();
    } catch (const Error& error) {
      return {error.code(), error.what()};
    }
    return {};
  };
  {
    Job job(config_of({{.cpus = 2, .gpus = 1, .slots = 1}}, 20));
    job.cpu_rank(0, [](Comm&) {});
    Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::configuration);
    EXPECT_TRUE(contains(s.what, "rank 1 (CPU 1, node 0) has no kernel"));
    EXPECT_EQ(refused([&] { job.cpu_rank(2, [](Comm&) {}); }).code, Code::invalid_rank);
    EXPECT_EQ(refused([&] { job.cpu_rank(9, [](Comm&) {}); }).code, Code::invalid_rank);
    EXPECT_EQ(refused([&] { job.reserve(2); }).code, Code::invalid_rank);
  }
  {
    Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 1}}, 20));
    job.cpu([](Comm&) {});
    const Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::configuration);
    EXPECT_TRUE(contains(s.what, "GPU 0 of node 0 has no kernel"));
    job.gpu({.grid = one_block_per_slot, .block = 32}, Nothing{});
    EXPECT_EQ(run_to_error(job).code, Code::ok) << "a job that was refused has not run";
  }
  {
    Job job(config_of({{.cpus = 2}}, 20));
    job.reserve(1);
    EXPECT_TRUE(contains(error_of([&] { job.attach(0); }).what(), "attach: rank 0 is not reserved"));
  }
  {
    Job job(config_of({{.cpus = 1}}, 20));
    bool ran = false;
    job.reserve(0).cpu_rank(0, [&](Comm&) { ran = true; });
    EXPECT_EQ(run_to_error(job).code, Code::ok);
    EXPECT_TRUE(ran) << "what is said last counts";
  }
  {
    Job job(config_of({{.cpus = 1}}, 20));
    job.cpu([](Comm&) {});
    job.run();
    EXPECT_TRUE(contains(run_to_error(job).what, "a job runs once"));
  }
  const int there = Device::count();
  const Stopped gpus = refused([&] { Job job(config_of({{.gpus = 1}, {.gpus = there}}, 20)); });
  EXPECT_EQ(gpus.code, Code::configuration);
  EXPECT_TRUE(
      contains(gpus.what, "ask for " + std::to_string(there + 1) + " GPUs, this machine has " + std::to_string(there)));
  const Stopped time = refused([] { Job job(config_of({{.cpus = 1}}, -2)); });
  EXPECT_EQ(time.code, Code::configuration);
  EXPECT_TRUE(contains(time.what, "Config::deadline_s=-"));
  EXPECT_EQ(refused([] { Job job(config_of({{.cpus = 1}}, std::numeric_limits<double>::quiet_NaN())); }).code,
            Code::configuration);
  EXPECT_EQ(refused([] { Job job(config_of({}, 1)); }).code, Code::configuration);
}

TEST(BadInput, MoreBlocksThanFitNamesBothNumbers) {
  Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 2}}, 20));
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, 1);
  });
  const Launch launch{.grid = 100000, .block = 64};
  const int most = job.world().device(0).max_resident_blocks(launch, Nothing{}, job.world().handle(0));
  job.gpu(launch, Nothing{});
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::too_many_blocks) << s.what;
  EXPECT_TRUE(contains(s.what, "100000 blocks"));
  EXPECT_TRUE(contains(s.what, "at most " + std::to_string(most)));
}

// A rank knows who and where it is.
struct WriteWhere {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, int* out) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    if (context.thread_rank() != 0) return;
    int* mine = out + 8 * me.rank();
    mine[0] = me.rank();
    mine[1] = me.size();
    mine[2] = me.slot();
    mine[3] = me.device();
    mine[4] = me.node();
    mine[5] = comm.slots();
    mine[6] = comm.size();
  }
};

TEST_F(EmulatedJob, RanksKnowWhoAndWhereTheyAre) {
  Job job(config_of({{.cpus = 1, .gpus = 1, .slots = 4}, {.cpus = 2, .gpus = 1, .slots = 3}}, 20));
  std::vector<int> seen(8 * 10, -1);
  job.cpu([&](Comm& comm) {
    int* mine = &seen[8 * static_cast<std::size_t>(comm.rank())];
    mine[0] = comm.rank();
    mine[1] = comm.size();
    mine[2] = comm.place().cpu;
    mine[4] = comm.place().node;
  });
  job.gpu({.grid = one_block_per_slot, .block = 2}, WriteWhere{}, seen.data());
  job.run();
  const std::vector<std::vector<int>> expected = {
      {0, 10, 0, -1, 0, -1, -1}, {1, 10, 0, 0, 0, 4, 10},   {2, 10, 1, 0, 0, 4, 10},   {3, 10, 2, 0, 0, 4, 10},
      {4, 10, 3, 0, 0, 4, 10},   {5, 10, 0, -1, 1, -1, -1}, {6, 10, 1, -1, 1, -1, -1}, {7, 10, 0, 0, 1, 3, 10},
      {8, 10, 1, 0, 1, 3, 10},   {9, 10, 2, 0, 1, 3, 10}};
  for (std::size_t r = 0; r < 10; ++r)
    EXPECT_EQ(std::vector<int>(&seen[8 * r], &seen[8 * r] + 7), expected[r]) << "rank " << r;
}

struct CountBlocks {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, int* blocks) const {
    if (context.thread_rank() == 0) blocks[context.block_rank()] = static_cast<int>(comm.blocks(context).blocks());
  }
};

TEST(Job, GivesSlotsAsManyBlocksAsTheGpuHolds) {
  constexpr int slots = 3;
  constexpr std::size_t most = 1 << 16;
  Job job(config_of({{.cpus = 0, .gpus = 1, .slots = slots}}, 20));
  const Device device = job.world().device(0);
  const DeviceBuffer<int> counts(device, most);
  device.fill(counts.data(), 0, counts.size_bytes());
  const Launch launch{.grid = most_blocks_per_slot, .block = 64};
  job.gpu(launch, CountBlocks{}, counts.data());
  const int resident =
      device.max_resident_blocks({.grid = slots, .block = 64}, CountBlocks{}, job.world().handle(0), counts.data());
  job.run();
  std::vector<int> found(most);
  counts.download(found.data());
  const int expected = device.kind() == DeviceKind::emulated ? 1 : resident / slots;
  for (int b = 0; b < slots * expected; ++b) EXPECT_EQ(found[static_cast<std::size_t>(b)], expected) << "block " << b;
  EXPECT_EQ(found[static_cast<std::size_t>(slots * expected)], 0);
}

}  // namespace
}  // namespace dcgn::test
