// A slot that never answers: the report comes within the deadline, on one GPU and between two, and the GPUs stay
// usable.
#include "handle_kernels.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/gpu/launch.hpp>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

// A kernel that is left running holds memory. Its thread is in a fiber then, and its own stack is not searched.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:dcgn::device::Grid::run_blocks"; }

namespace dcgn::test {
namespace {

constexpr Launch one_warp{.grid = one_block_per_slot, .block = 32};
constexpr double deadline_s = 1;

// Two slots, ranks 0 and 1.
Config two_slots(int gpus, double deadline) { return config_of({{.gpus = gpus, .slots = 2 / gpus}}, deadline); }
std::string last_slot(int gpus) {
  return gpus == 1 ? "rank 1 (slot 1 of GPU 0, node 0)" : "rank 1 (slot 0 of GPU 1, node 0)";
}

const std::string not_in_a_call =
    ": not in a call that waits (its kernel computes, or has no room on the GPU yet, or no block serves it any more)";

struct PingPong {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, int rounds, int* answer) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    if (context.thread_rank() != 0) return;
    int x = 0;
    for (int i = 0; i < rounds; ++i) {
      if (me.rank() == 0) me.send(gpu::this_thread(), x, 1);
      me.recv(gpu::this_thread(), x, 1 - me.rank());
      ++x;
      if (me.rank() == 1) me.send(gpu::this_thread(), x, 0);
    }
    if (me.rank() == 0) *answer = x;
  }
};

void expect_usable(int gpus) {
  constexpr int rounds = 200;
  Job job(two_slots(gpus, 20));
  const DeviceBuffer<int> answer(job.world().device(0), 1);
  job.gpu(one_warp, PingPong{}, rounds, answer.data());
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::ok) << s.what;
  int x = 0;
  answer.download(&x);
  EXPECT_EQ(x, 2 * rounds);
}

class Unanswered : public OnGpus {};
INSTANTIATE_TEST_SUITE_P(Gpus, Unanswered, ::testing::Values(1, 2), name_of_gpus);

struct ReceiveFromTheOther {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    int x = 0;
    me.recv(gpu::this_warp(context), x, 1 - me.rank(), 4);
  }
};

TEST_P(Unanswered, SlotsThatWaitForEachOtherAreNamed) {
  constexpr double long_deadline_s = 60;  // proven long before
  Job job(two_slots(GetParam(), long_deadline_s));
  job.gpu(one_warp, ReceiveFromTheOther{});
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadlock) << s.what;
  EXPECT_LT(s.seconds, long_deadline_s * slower);
  EXPECT_TRUE(contains(s.what, "rank 0 (slot 0 of GPU 0, node 0): recv from rank 1, tag 4, up to 4 bytes"));
  EXPECT_TRUE(contains(s.what, last_slot(GetParam()) + ": recv from rank 0, tag 4, up to 4 bytes"));
  EXPECT_TRUE(contains(s.what, "cycle: rank 0 waits for rank 1, which waits for rank 0"));
  expect_usable(GetParam());
}

// Rank 0 waits for rank 1, which computes for longer than the deadline.
struct ReceiveOrCompute {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, std::uint64_t ns) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    int x = 0;
    if (me.rank() == 0) {
      me.recv(gpu::this_warp(context), x, 1);
    } else {
      const std::uint64_t start = now_ns();
      while (now_ns() - start < ns) relax();
    }
  }
};

TEST_P(Unanswered, ASlotThatIsBusyForTooLongIsNamed) {
  constexpr double busy_s = deadline_s * slower + 2;  // the survey at the deadline takes one of them
  Job job(two_slots(GetParam(), deadline_s));
  job.gpu(one_warp, ReceiveOrCompute{}, static_cast<std::uint64_t>(busy_s * 1e9));
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadline) << s.what;
  EXPECT_LT(s.seconds, busy_s + 5 * slower);
  EXPECT_TRUE(contains(s.what, "has passed for rank 0 (slot 0 of GPU 0, node 0)"));
  EXPECT_TRUE(contains(s.what, last_slot(GetParam()) + not_in_a_call));
  expect_usable(GetParam());
}

// The block of rank 1 returns at once, but its kernel goes on as long as rank 0 waits.
TEST(UnansweredOnOneGpu, ASlotWhoseBlockHasReturnedIsNamed) {
  Job job(two_slots(1, deadline_s));
  job.gpu(one_warp, ReceiveOrCompute{}, std::uint64_t{0});
  const Stopped s = run_to_error(job);
  EXPECT_EQ(s.code, Code::deadline) << s.what;
  EXPECT_TRUE(contains(s.what, last_slot(1) + not_in_a_call));
  expect_usable(1);
}

struct ReceiveCode {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, Code* code) const {
    int x = 0;
    const Status s = comm.slot(0).recv(gpu::this_warp(context), x, 1);
    if (context.lane() == 0) *code = s.code;
  }
};

TEST_P(Unanswered, ASlotThatNoKernelServesIsNamed) {
  World world(two_slots(GetParam(), deadline_s));
  const Device device = world.device(0);
  const DeviceBuffer<Code> code(device, 1);
  Stream stream(device);
  const auto start = std::chrono::steady_clock::now();
  device.launch(stream, {.grid = 1, .block = 32}, ReceiveCode{}, world.handle(0), code.data());
  stream.synchronize();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_GT(took.count(), 0.9 * deadline_s * slower);
  EXPECT_LT(took.count(), deadline_s * slower + 5);
  Code got = Code::ok;
  code.download(&got);
  EXPECT_NE(got, Code::ok);
  EXPECT_TRUE(world.aborted());
  EXPECT_TRUE(contains(world.report(), "has passed for rank 0 (slot 0 of GPU 0, node 0)"));
  EXPECT_TRUE(contains(world.report(), last_slot(GetParam()) + not_in_a_call));
  expect_usable(GetParam());
}

// Rank 0 counts, in no call, until the host sets words[0]; words[1] says then how far. Rank 1 waits for rank 0.
struct CountUntilTold {
  DCGN_HOST_DEVICE void operator()(const gpu::Context& context, const gpu::Comm& comm, std::uint64_t* words,
                                   std::uint64_t* counter) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    if (context.thread_rank() != 0) return;
    int x = 0;
    if (me.rank() == 1) {
      me.recv(gpu::this_thread(), x, 0);
      return;
    }
    for (; load_acquire(words[0]) == 0; relax()) ++*counter;
    store_release(words[1], *counter);
  }
};

// What a kernel that does not end may still use stays its own, however the job's caller goes on.
TEST_P(Unanswered, AKernelThatIsLeftRunningKeepsItsMemory) {
  const Device device(0);
  static auto& kept = *new std::vector<void*>;  // what the device gave is not given back any more
  auto* const words = static_cast<std::uint64_t*>(device.allocate_host(2 * sizeof(std::uint64_t)));
  kept.push_back(words);
  {
    Config config = two_slots(GetParam(), deadline_s);
    config.grace_s = 0.5;
    Job job(config);
    const DeviceBuffer<std::uint64_t> counter(device, 1 << 20);
    device.fill(counter.data(), 0, counter.size_bytes());
    job.gpu(one_warp, CountUntilTold{}, words, counter.data());
    const Stopped s = run_to_error(job);
    EXPECT_EQ(s.code, Code::deadline) << s.what;
    EXPECT_TRUE(contains(s.what, "GPU 0 of node 0 did not stop within 0.5 s and was left running")) << s.what;
  }
  store_release(words[0], std::uint64_t{1});
  const auto start = std::chrono::steady_clock::now();
  while (load_acquire(words[1]) == 0 && std::chrono::steady_clock::now() - start < std::chrono::seconds(20))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_NE(load_acquire(words[1]), 0U);
}

}  // namespace
}  // namespace dcgn::test
