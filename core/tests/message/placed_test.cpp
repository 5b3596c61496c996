// Long messages that their sender stores in the receiver's buffer (Config::place_threads): between slots of two GPUs.
#include "script_kernels.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/gpu/launch.hpp>

#include <cstdint>

namespace dcgn::test::placed {
namespace {

class Placed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Device::count() < 2) GTEST_SKIP() << "this machine has one GPU";
  }

  static Conditions conditions(ScopeKind scope) {
    Conditions c;
    c.scope = scope;
    c.block = scope == ScopeKind::warp ? 32 : 40;
    if (scope == ScopeKind::blocks) c.blocks = 9;  // so many that the first one only leads
    c.config.nodes = {{.gpus = 2, .slots = 1}};
    c.config.deadline_s = 20 * fewer;
    c.config.eager_bytes = 16;
    c.config.copy_engine_bytes = Config::never_copied;
    c.config.place_threads = 1;
    c.config.errors_fatal = false;
    return c;
  }

  // Each scope, in deterministic mode with so many seeds where the GPUs are emulated, and with threads.
  template <class Test>
  static void in_all_ways(int seeds, const Test& test) {
    for (const ScopeKind scope : {ScopeKind::thread, ScopeKind::warp, ScopeKind::block, ScopeKind::blocks})
      for (int seed = 0; seed <= (emulated() ? seeds / fewer : 0); ++seed) {
        Conditions c = conditions(scope);
        if (seed) c.config.seed = static_cast<std::uint64_t>(seed);
        c.name = std::string(to_string(scope)) + " scope, seed " + std::to_string(seed);
        SCOPED_TRACE(c.name);
        test(c);
      }
  }
};

// ---- many at once

constexpr int messages = 12;

// Of messages from a scope of so many threads: below and above what is placed.
struct Lengths {
  std::int64_t unit;

  DCGN_HOST_DEVICE std::int64_t length(int i) const {
    constexpr int quarters[6] = {3, 4, 5, 8, 1, 13};
    return unit * quarters[i % 6] / 4 + i % 3;
  }
  DCGN_HOST_DEVICE std::int64_t capacity(int i) const { return i % 5 == 4 ? length(i) / 2 : length(i); }
  DCGN_HOST_DEVICE std::int64_t stride() const { return 4 * unit; }
  DCGN_HOST_DEVICE std::int64_t out(int i) const { return i * stride() + i % 7; }
  DCGN_HOST_DEVICE std::int64_t in(int i) const { return (messages + i) * stride() + i % 4; }
};

// Both roles send the other all of them and receive as many, half of them asked for before anything is sent.
struct ExchangePlaced {
  Lengths all;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    for (int i = 0; i < messages; i += 2) receive(me, m, i, other);
    for (int i = 0; i < messages; ++i)
      m.keep(me, messages + i, me.isend(m.bytes + all.out(i), all.length(i), other, i));
    for (int i = 1; i < messages; i += 2) receive(me, m, i, other);
    m.note(me, 0, me.wait_all(m.requests, 2 * messages, m.statuses));
    if (me.leader())
      for (int i = 0; i < messages; ++i) {
        const Status& s = m.statuses[i];
        m.values[1] += s.source != other || s.tag != i || s.bytes != all.length(i) ||
                       s.code != (all.capacity(i) < all.length(i) ? Code::truncated : Code::ok);
        m.values[1] += m.statuses[messages + i].code != Code::ok;
      }
    m.note(me, 2, 1);
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void receive(const Port& me, const Memory& m, int i, int other) const {
    m.keep(me, i, me.irecv(m.bytes + all.in(i), all.capacity(i), i % 4 == 1 ? any_source : other, i));
  }
};

TEST_F(Placed, WindowsBothWays) {
  in_all_ways(8, [](const Conditions& conditions) {
    Conditions c = conditions;
    const unsigned threads = c.scope == ScopeKind::thread ? 1 : c.block * c.blocks;
    const Lengths all{message::place_each * threads};
    c.bytes = 2 * messages * all.stride();
    c.config.lane_bytes =
        c.config.seed.value_or(0) % 2 ? 256 : 0;  // few packets: what is told may have to wait for room
    const Outcome o = run_script(c, ExchangePlaced{all});
    ASSERT_EQ(o.error, "");
    for (int role = 0; role < 2; ++role) {
      EXPECT_EQ(to_string(code_at(o, role, 0)), to_string(Code::truncated));
      EXPECT_EQ(value_at(o, role, 1), 0) << "wrong statuses";
      EXPECT_EQ(value_at(o, role, 2), 1);
      std::int64_t wrong = 0;
      const unsigned char* const bytes = o.roles[static_cast<std::size_t>(role)].bytes.data();
      for (int i = 0; i < messages; ++i) {
        const std::int64_t in = all.in(i), out = all.out(i), came = all.capacity(i), end = all.stride() - i % 4;
        for (std::int64_t b = 0; b < end; ++b)
          wrong += bytes[in + b] != (b < came ? pattern(-1 - (1 - role), out + b) : pattern(-1 - role, in + b));
      }
      EXPECT_EQ(wrong, 0);
    }
  });
}

// ---- one after the other

struct TakeTurns {
  std::int64_t bytes;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    for (int round = 0; round < 8; ++round) {
      if (round % 2 == m.role) {
        m.fill(me, 0, bytes, round);
        m.add(me, 0, me.send(m.bytes, bytes, other, round) != Code::ok);
      } else {
        const Status s = me.recv(m.bytes + bytes, bytes, round % 3 ? other : any_source, round);
        m.add(me, 0, s.code != Code::ok || s.bytes != bytes);
        m.count_wrong(me, 0, bytes, bytes, round);
      }
    }
    const Status s = me.sendrecv(m.bytes, bytes, other, 9, m.bytes + bytes, bytes, other, 9);
    m.add(me, 0, s.code != Code::ok);
    m.count_wrong(me, 0, bytes, bytes, 7 - m.role);
  }
};

TEST_F(Placed, BlockingCallsInTurn) {
  in_all_ways(8, [](const Conditions& conditions) {
    Conditions c = conditions;
    const std::int64_t bytes = 2 * message::place_each * (c.scope == ScopeKind::thread ? 1 : c.block * c.blocks);
    c.bytes = 2 * bytes;
    const Outcome o = run_script(c, TakeTurns{bytes});
    ASSERT_EQ(o.error, "");
    EXPECT_EQ(value_at(o, 0, 0), 0);
    EXPECT_EQ(value_at(o, 1, 0), 0);
  });
}

// ---- who stores it

constexpr unsigned blocks = 2, threads = 32;
constexpr std::int64_t bytes = 2 * message::place_each * blocks * threads;

DCGN_HOST_DEVICE inline void await(std::uint32_t& word, std::uint32_t value) {
  while (load_acquire(word) < value) relax();
}

// Slot 0 announces, slot 1 asks for it and makes no call until slot 0 has: then the message is there all the same. With
// `waiting` threads slot 0 waits: where they are fewer than those of the send, slot 1 has to read the message itself.
struct StoreOrLeave {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, bool all_wait, unsigned char* buffer,
                                   std::uint32_t* turn, std::uint32_t* found) const {
    const gpu::Slot me = comm.slot(0);
    const auto grid = gpu::this_grid(ctx, me);
    const bool speaks = ctx.block_rank() == 0 && ctx.thread_rank() == 0;
    if (me.rank() == 0) {
      const Request request = me.isend_bytes(grid, buffer, bytes, 1);
      if (speaks) store_release(*turn, 1);
      await(*turn, 2);
      Code code = Code::ok;
      if (all_wait)
        code = me.wait(grid, request).code;
      else if (speaks)
        code = me.wait(gpu::this_thread(), request).code;
      if (!speaks) return;
      found[0] = static_cast<std::uint32_t>(code);
      store_release(*turn, 3);
    } else {
      await(*turn, 1);
      const Request request = me.irecv_bytes(grid, buffer, bytes, 0);
      static_cast<void>(me.test(grid, request));  // meets the announcement, and asks
      if (speaks) {
        store_release(*turn, 2);
        if (all_wait) {
          await(*turn, 3);
          for (std::int64_t i = 0; i < bytes; ++i) found[1] += buffer[i] != pattern(5, i);
        }
      }
      if (all_wait) await(*turn, 3);
      const Code code = me.wait(grid, request).code;
      if (speaks) {
        found[2] = static_cast<std::uint32_t>(code);
        for (std::int64_t i = 0; i < bytes; ++i) found[3] += buffer[i] != pattern(5, i);
      }
    }
  }
};

void expect_stored(bool by_the_sender) {
  if (!emulated()) GTEST_SKIP() << "the words that order the two kernels are in one memory";
  Config config;
  config.nodes = {{.gpus = 2, .slots = 1}};
  config.deadline_s = 20 * fewer;
  config.copy_engine_bytes = Config::never_copied;
  config.place_threads = blocks * threads;
  Job job(config);
  std::vector<unsigned char> sent(bytes), received(bytes);
  for (std::int64_t i = 0; i < bytes; ++i) sent[static_cast<std::size_t>(i)] = pattern(5, i);
  std::uint32_t turn = 0, found[4] = {9, 0, 9, 0}, *const results = found;
  job.gpu_on(0, {.grid = blocks, .block = threads}, StoreOrLeave{}, by_the_sender, sent.data(), &turn, results);
  job.gpu_on(1, {.grid = blocks, .block = threads}, StoreOrLeave{}, by_the_sender, received.data(), &turn, results);
  job.run();
  EXPECT_EQ(found[0], static_cast<std::uint32_t>(Code::ok));
  EXPECT_EQ(found[1], 0u) << "bytes that were not there before the receiver's next call";
  EXPECT_EQ(found[2], static_cast<std::uint32_t>(Code::ok));
  EXPECT_EQ(found[3], 0u);
}

TEST_F(Placed, TheSenderStoresWhatItsManyThreadsWaitFor) { expect_stored(true); }
TEST_F(Placed, TheReceiverReadsWhatOneThreadOfTheSenderWaitsFor) { expect_stored(false); }

// ---- a sender that makes no other call

struct AnnounceAndLeave {
  std::int64_t bytes;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const int other = m.rank_of(1 - m.role);
    if (m.role == 0) {
      m.keep(me, 0, me.isend(m.bytes, bytes, other, 3));
    } else {
      m.note(me, 0, me.recv(m.bytes, bytes, other, 3));
      m.count_wrong(me, 4, 0, bytes, -1);
    }
  }
};

// What a kernel has announced when it ends is for the receiver to read.
TEST_F(Placed, AKernelThatEndsLeavesItToTheReceiver) {
  in_all_ways(6, [](const Conditions& conditions) {
    Conditions c = conditions;
    c.bytes = 2 * message::place_each * (c.scope == ScopeKind::thread ? 1 : c.block * c.blocks);
    const Outcome o = run_script(c, AnnounceAndLeave{c.bytes});
    ASSERT_EQ(o.error, "");
    expect_status(o, 1, 0, 0, 3, c.bytes);
    EXPECT_EQ(value_at(o, 1, 4), 0);
  });
}

}  // namespace
}  // namespace dcgn::test::placed
