// Ranks outlive kernels; worlds without a job; threads that attach, and those that did not.
#include "script_kernels.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/world.hpp>

#include <chrono>
#include <thread>

namespace dcgn::test {
namespace {

constexpr int begun_sizes = 6;
DCGN_HOST_DEVICE std::int64_t begun_bytes(int i) {
  constexpr std::int64_t all[begun_sizes] = {8, 12, 100, 512, 5000, 60000};
  return all[i];
}
constexpr std::int64_t begun_stride = 64 << 10;

// First kernel: begins sends and receives of all sizes, both ways, and ends without waiting for them.
struct BeginAll {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    for (int i = 0; i < begun_sizes; ++i) {
      m.fill(me, 2 * i * begun_stride, begun_bytes(i), 10 * m.role + i);
      m.keep(me, 2 * i, me.isend(m.bytes + 2 * i * begun_stride, begun_bytes(i), other, 5));
      m.keep(me, 2 * i + 1, me.irecv(m.bytes + (2 * i + 1) * begun_stride, begun_bytes(i), other, i < 3 ? any_tag : 5));
    }
    m.note(me, 0, 1);
  }
};

// Second kernel: sends one more, which must not overtake the first kernel's; waits for all.
struct GoOn {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    m.note(me, 1, me.wait_all(m.requests, 2 * begun_sizes, m.statuses));
    if (me.leader())
      for (int i = 0; i < begun_sizes; ++i) {
        const Status& s = m.statuses[2 * i + 1];
        m.values[2] += s.source != other || s.tag != 5 || s.bytes != begun_bytes(i);
      }
    for (int i = 0; i < begun_sizes; ++i)
      m.count_wrong(me, 3, (2 * i + 1) * begun_stride, begun_bytes(i), 10 * (1 - m.role) + i);
    m.note(me, 4, me.send(m.bytes, 8, other, 6));
  }
};

// Third: finds what the second one sent.
struct Finish {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    m.note(me, 5, me.recv(m.bytes, 8, any_source, any_tag));
  }
};

class Lifetime : public OnLink {};
DCGN_TEST_ON_ALL_LINKS(Lifetime);

TEST_P(Lifetime, RanksGoOnWhereAnEarlierKernelEnded) {
  in_all_ways([](const Conditions& conditions) {
    Conditions c = conditions;
    c.bytes = 2 * begun_sizes * begun_stride;
    const Outcome o = run_script(c, BeginAll{}, GoOn{}, Finish{});
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(value_at(o, role, 0), 1);
      EXPECT_EQ(code_at(o, role, 1), Code::ok);
      EXPECT_EQ(value_at(o, role, 2), 0) << "wrong envelopes";
      EXPECT_EQ(value_at(o, role, 3), 0) << "wrong bytes";
      EXPECT_EQ(code_at(o, role, 4), Code::ok);
      expect_status(o, role, 5, 1 - role, 6, 8);
    }
  });
}

// ---- a world without a job

struct AddRank {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, int rounds, std::uint32_t* errors) const {
    const gpu::Slot me = comm.slot(context.block_rank());
    const gpu::BlockScope block = gpu::this_block(context);
    int* const x = context.shared<int>();
    for (int i = 0; i < rounds; ++i) {
      if (me.recv(block, *x, 0, 1).code != Code::ok && block.leader()) fetch_add(*errors, 1u);
      if (block.leader()) *x += me.rank();
      if (me.send(block, *x, 0, 2) != Code::ok && block.leader()) fetch_add(*errors, 1u);
    }
  }
};

TEST(World, TakesTheProgramsOwnThreadsStreamsAndLaunches) {
  constexpr int rounds = 30;
  Config config;
  config.nodes = {{.cpus = 2, .gpus = 1, .slots = 3}};
  World world(config);
  ASSERT_EQ(world.size(), 5);
  ASSERT_EQ(world.gpus(), 1);
  const Device device = world.device(0);
  DeviceBuffer<std::uint32_t> errors(device, 1);
  const std::uint32_t none = 0;
  errors.upload(&none);
  Stream stream(device);
  const Launch launch{.grid = 3, .block = 64, .shared_bytes = 16};
  // Two kernels in the stream's order: the slots go on.
  for (int k = 0; k < 2; ++k) device.launch(stream, launch, AddRank{}, world.handle(0), rounds, errors.data());

  {
    Comm me = world.attach(0);
    EXPECT_EQ(me.rank(), 0);
    EXPECT_EQ(me.place().cpu, 0);
    std::thread other([&] {
      Comm comm = world.attach();  // the lowest that is free
      EXPECT_EQ(comm.rank(), 1);
      int x = 0;
      comm.recv(x, 0);
      EXPECT_EQ(x, 99);
    });
    me.send(99, 1);
    for (int i = 0; i < 2 * rounds; ++i)
      for (int slot = 2; slot < 5; ++slot) {
        int x = 100 * i;
        me.send(x, slot, 1);
        me.recv(x, slot, 2);
        EXPECT_EQ(x, 100 * i + slot);
      }
    stream.synchronize();
    other.join();
  }
  std::uint32_t counted = 1;
  errors.download(&counted);
  EXPECT_EQ(counted, 0u);
  EXPECT_FALSE(world.aborted());
  EXPECT_EQ(world.report(), "");
}

Code code_of(const auto& action, std::string* what = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (what) *what = error.what();
    return error.code();
  }
  return Code::ok;
}

TEST(World, LetsOnlyFreeCpuRanksBeAttached) {
  Config config;
  config.nodes = {{.cpus = 2, .gpus = 1, .slots = 1}};
  World world(config);
  std::string what;
  {
    Comm first = world.attach(1);
    EXPECT_EQ(code_of([&] { world.attach(1); }, &what), Code::invalid_rank);
    EXPECT_EQ(what, "dcgn: attach: rank 1 is attached already");
    EXPECT_EQ(code_of([&] { world.attach(2); }, &what), Code::invalid_rank);
    EXPECT_NE(what.find("rank 2 is slot 0 of GPU 0, node 0"), std::string::npos) << what;
    EXPECT_EQ(code_of([&] { world.attach(3); }, &what), Code::invalid_rank);
    EXPECT_NE(what.find("rank 3 is out of range, expected 0..2"), std::string::npos) << what;
    EXPECT_EQ(code_of([&] { world.attach(-2); }, &what), Code::invalid_rank);
    EXPECT_NE(what.find("rank -2"), std::string::npos) << what;
    const Comm second = world.attach();
    EXPECT_EQ(second.rank(), 0);
    EXPECT_EQ(code_of([&] { world.attach(); }, &what), Code::invalid_rank);
    EXPECT_NE(what.find("no CPU rank is free"), std::string::npos) << what;
  }
  EXPECT_EQ(code_of([&] { world.attach(1); }, &what), Code::invalid_rank);
  EXPECT_NE(what.find("rank 1 has ended"), std::string::npos) << what;
}

TEST(World, RefusesCallsOfAThreadThatIsNotTheRank) {
  Config config;
  config.nodes = {{.cpus = 2}};
  World world(config);
  Comm me = world.attach(0);
  std::string what;
  Code code = Code::ok;
  std::thread stranger([&] { code = code_of([&] { me.send(1, 1); }, &what); });
  stranger.join();
  EXPECT_EQ(code, Code::not_attached);
  EXPECT_NE(what.find("send: the calling thread is not rank 0"), std::string::npos) << what;
  EXPECT_NE(what.find("World::attach"), std::string::npos) << what;
  EXPECT_EQ(what.find('\n'), std::string::npos);
  // The rank itself is not affected.
  me.send(1, 0);
  int x = 0;
  me.recv(x, 0);
  EXPECT_EQ(x, 1);
}

TEST(World, AbortStopsEveryCallWithTheReason) {
  Config config;
  config.nodes = {{.cpus = 2}};
  World world(config);
  std::string what;
  Code code = Code::ok;
  std::thread waiting([&] {
    Comm comm = world.attach(0);
    int x = 0;
    code = code_of([&] { comm.recv(x, 1); }, &what);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  world.abort("the user closed the window");
  waiting.join();
  EXPECT_EQ(code, Code::aborted);
  EXPECT_NE(what.find("the user closed the window"), std::string::npos) << what;
  EXPECT_TRUE(world.aborted());
  EXPECT_EQ(world.report(), "the user closed the window");
}

TEST(JobLifetime, AThreadOfTheProgramsOwnMayBeARank) {
  Config config;
  config.nodes = {{.cpus = 3}};
  config.deadline_s = 20 * fewer;
  Job job(config);
  job.reserve(1);
  job.cpu([](Comm& comm) {
    int x = comm.rank();
    comm.send(x, 1);
    comm.recv(x, 1);
    EXPECT_EQ(x, 10 + comm.rank());
  });
  std::thread own([&] {
    Comm comm = job.attach(1);
    for (int i = 0; i < 2; ++i) {
      int x = 0;
      const Status s = comm.recv(x, any_source);
      x += 10;
      comm.send(x, s.source);
    }
  });
  const Report report = job.run();
  own.join();
  EXPECT_EQ(report.ranks[1].received_messages, 2u);
  EXPECT_EQ(report.ranks[1].sent_messages, 2u);
}

// ---- a rank that ends while others send to it

// Every thread notes what each of its sends returned.
struct SendsOn {
  static constexpr unsigned sends = 12;

  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, Code* codes) const {
    const gpu::Slot me = comm.slot(0);
    std::int64_t value = 5;
    for (unsigned i = 0; i < sends; ++i)
      codes[i * context.num_threads() + context.thread_rank()] = me.send(gpu::this_block(context), value, 0);
  }
};

// A thread that saw the end while others of its block did not would go another way and leave them at a barrier.
TEST(Slot, AllThreadsOfACallAgreeWhetherARankHasEnded) {
  if (!emulated() || dcgn::detail::decides_in_block) GTEST_SKIP() << "a GPU looks when it has to wait";
  constexpr unsigned threads = 8;
  bool both = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Config config;
    config.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}};
    config.errors_fatal = false;
    config.deadline_s = 20 * fewer;
    config.seed = seed;
    Job job(config);
    std::vector<Code> codes(SendsOn::sends * threads, Code::io);
    job.cpu([](Comm& comm) {
      std::int64_t value = 0;
      comm.recv(value, 1);
    });
    job.gpu({.grid = 1, .block = threads}, SendsOn{}, codes.data());
    try {
      job.run();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::unreceived) << e.what();
    }
    bool ended = false;
    for (unsigned i = 0; i < SendsOn::sends; ++i)
      for (unsigned t = 0; t < threads; ++t) {
        const Code code = codes[i * threads + t];
        EXPECT_EQ(code, codes[i * threads]) << "send " << i << ", thread " << t;
        EXPECT_TRUE(code == Code::ok || code == Code::rank_ended) << to_string(code);
        ended = ended || code == Code::rank_ended;
      }
    both = both || (ended && codes[threads] == Code::ok);
  }
  EXPECT_TRUE(both) << "the rank never ended in the midst of the sends";
}

// ---- two callers for one slot

// Block 0 waits in a call for the slot; block 1 calls for the same slot until it is told so.
struct TwoCallers {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, std::uint32_t* told,
                                   std::int32_t* got) const {
    if (context.thread_rank() != 0) return;
    const gpu::Slot me = comm.slot(0);
    if (context.block_rank() == 0) {
      for (;;) {
        const Status s = me.recv(gpu::this_thread(), *got, 0);
        if (s.code != Code::concurrent_use) break;
        relax();
      }
      return;
    }
    for (bool found = false; me.iprobe(gpu::this_thread(), 0, 77, found).code != Code::concurrent_use;) relax();
    store_release(*told, 1u);
  }
};

TEST(Slot, SaysThatTwoCallersUseItAtOnce) {
#if defined(DCGN_EMULATE_IN_BLOCK)
  GTEST_SKIP() << "a GPU notices as a rule: its look is a data race";
#endif
  for (const bool scheduled : {false, true}) {
    if (scheduled && !emulated()) continue;
    Config config;
    config.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}};
    config.errors_fatal = false;
    config.deadline_s = 20 * fewer;
    if (scheduled) config.seed = 5;
    Job job(config);
    const Device device = job.world().device(0);
    auto* told = static_cast<std::uint32_t*>(device.allocate_host(sizeof(std::uint32_t)));
    DeviceBuffer<std::int32_t> got(device, 1);
    job.cpu([&](Comm& comm) {
      while (!load_acquire(*told)) relax();
      comm.send(1234, 1);
    });
    job.gpu({.grid = 2, .block = 32}, TwoCallers{}, told, got.data());
    const Report report = job.run();
    EXPECT_NE(report.ranks[1].failure.find("another thread is in a call for the same rank"), std::string::npos)
        << report.ranks[1].failure;
    EXPECT_EQ(report.ranks[1].received_messages, 1u);
    std::int32_t value = 0;
    got.download(&value);
    EXPECT_EQ(value, 1234);
    device.free_host(told);
  }
}

}  // namespace
}  // namespace dcgn::test
