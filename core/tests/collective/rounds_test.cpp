// Calls in which ranks send to all others at once: of many ranks, with some that come late, or never, or that fail.
#include "affine.hpp"
#include "collective_kernels.hpp"
#include "tests/expect.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/operation.hpp>

#include <cstdint>
#include <stdexcept>

namespace dcgn::test {
namespace {

// On elements of 16 bytes, n of them; in each call another rank comes late.
struct SomeCalls {
  std::int64_t n;
  bool late = false;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    run(me, m, [&](int r) { return r; });
  }

  // `in_world(r)`: which rank of the world is rank r.
  DCGN_TEST_ON_PORT
  template <class Port, class InWorld>
  DCGN_HOST_DEVICE void run(const Port& me, const Memory& m, const InWorld& in_world) const {
    const Buffers b(me, m);
    const int p = me.size(), r = me.rank();
    Affine* const a = reinterpret_cast<Affine*>(m.bytes);
    Affine* const z = a + p * n;
    int number = 0;
    const auto begin = [&] {
      ++number;
      b.fill(a, p * n, [&](std::int64_t i) { return value(number, in_world(r), i); });
      b.fill(z, p * n, [&](std::int64_t i) { return Affine{77, static_cast<std::uint64_t>(i)}; });
      if (late && number % p == r && me.leader())
        for (const std::uint64_t since = now_ns(); now_ns() - since < 5'000'000;) relax();
      me.sync();
    };
    const auto of = [&](int rank) { return [=](std::int64_t i) { return value(number, in_world(rank), i); }; };
    const auto sum = [&](std::int64_t i) {
      Affine s = value(number, in_world(0), i);
      for (int q = 1; q < p; ++q) s = Then{}(s, value(number, in_world(q), i));
      return s;
    };
    for (int step = 0; step < 4; ++step) {
      const int root = step * (p - 1) / 3;
      begin();
      b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(a, n), root); });
      b.check(a, n, of(root));
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return rank.reduce(scope..., const_span_of(a, n), r == root ? span_of(z, n) : Span<Affine>(), Then{}, root);
      });
      if (r == root) b.check(z, n, sum);
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return rank.gather(scope..., const_span_of(a, n), r == root ? span_of(z, p * n) : Span<Affine>(), root);
      });
      for (int q = 0; q < p && r == root; ++q) b.check(z + q * n, n, of(q));
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return rank.scatter(scope..., r == root ? const_span_of(a, p * n) : Span<const Affine>(), span_of(z, n), root);
      });
      b.check(z, n, [&](std::int64_t i) { return value(number, in_world(root), i + r * n); });
      begin();
      b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return step % 2 ? rank.all_reduce(scope..., span_of(a, n), Then{})
                        : rank.all_reduce(scope..., const_span_of(a, n), span_of(z, n), Then{});
      });
      b.check(step % 2 ? a : z, n, sum);
    }
  }
};

void expect_calls(const Conditions& c, int ranks, const SomeCalls& calls) {
  SCOPED_TRACE(std::to_string(calls.n) + " elements" + (calls.late ? ", some late" : ""));
  expect_right(c, 2 * ranks * calls.n * 16 + 16, calls, 24);
}

TEST(Rounds, OfTeams) {
  for (const ScopeKind scope : all_scopes)
    for (const std::int64_t n : {1, 13, 300}) {
      if (sanitized && n != 13) continue;
      expect_calls(mixed(2, 8, scope), 18, {n});
    }
  expect_calls(cpu_ranks(20), 20, {5});
  expect_calls(slots(1, 17, ScopeKind::thread), 17, {5});
  Conditions without = mixed(1, 9, ScopeKind::warp);
  without.config.without = message::without_teams;
  expect_calls(without, 19, {5});
}

// Of up to 8 bytes, whose messages have room for no root but 0.
struct SmallOnesOfAnyRoot {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    const int p = me.size(), r = me.rank();
    unsigned char* const a = m.bytes;
    unsigned char* const z = a + 16;
    for (int root = 0; root < p; root += p / 3)
      for (const int n : {0, 1, 4, 7, 8, 9}) {
        const auto given = [&](int rank) {
          return [=](std::int64_t i) { return static_cast<unsigned char>(rank * 17 + root + n + i); };
        };
        b.fill(a, n, given(r));
        b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(a, n), root); });
        b.check(a, n, given(root));
        b.fill(a, n, given(r));
        b.call([&](auto& rank, const auto&... scope) {
          return rank.reduce(scope..., const_span_of(a, n), r == root ? span_of(z, n) : Span<unsigned char>(), Sum{},
                             root);
        });
        if (r == root)
          b.check(z, n, [&](std::int64_t i) {
            int sum = 0;
            for (int q = 0; q < p; ++q) sum += given(q)(i);
            return static_cast<unsigned char>(sum);
          });
        b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
      }
  }
};

TEST(Rounds, OfTeamsWithSmallPayloads) {
  for (const ScopeKind scope : all_scopes) expect_right(mixed(2, 8, scope), 64, SmallOnesOfAnyRoot{}, 36);
  Conditions without = mixed(2, 8, ScopeKind::warp);
  without.config.without = message::without_rounds;
  expect_right(without, 64, SmallOnesOfAnyRoot{}, 36);
  expect_right(cpu_ranks(20), 64, SmallOnesOfAnyRoot{}, 36);
}

// Where each process is a host (DCGN_SHARE=off), of which more ranks than send to each other at once make their part of
// a call of the world.
TEST(Rounds, OfTeamsOfSeveralHosts) {
  if (processes() == 1) GTEST_SKIP() << "needs several processes";
  expect_right(cpu_ranks(17 * processes()), 64, SmallOnesOfAnyRoot{}, 54);
  expect_right(slots(processes(), 17, ScopeKind::thread), 64, SmallOnesOfAnyRoot{}, 54);
}

TEST(Rounds, OfTeamsInManyInterleavings) {
  if (!emulated()) GTEST_SKIP() << "this machine's devices are not emulated";
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 8 : 2); ++seed) {
    Conditions c = mixed(1 + static_cast<int>(seed % 3), 8, all_scopes[seed % 2]);
    c.config.seed = seed;
    expect_calls(c, 19, {seed % 2 ? 2 : 40});
  }
}

// So many that each has a packet of its own of payloads that lie in wide groups.
TEST(Rounds, OfCrewsOfManyThreads) {
  if (sanitized) GTEST_SKIP() << "too many threads";
  Conditions c = slots(2, 1, ScopeKind::blocks);
  c.blocks = 4;
  c.block = 256;
  c.config.eager_bytes = 16384;
  c.config.lane_bytes = 1 << 17;
  for (const std::int64_t n : {288, 300, 340}) expect_calls(c, 2, {n});
}

TEST(Rounds, WaitForRanksThatComeLate) {
  for (const ScopeKind scope : all_scopes)
    for (const std::int64_t n : {1, 100, 20000}) {
      if (n > 100 && (sanitized || scope == ScopeKind::thread || scope == ScopeKind::warp)) continue;
      expect_calls(mixed(2, 1, scope), 4, {n, true});
    }
  expect_calls(mixed(1, 8, ScopeKind::warp), 17, {3, true});
}

// The odd ranks and the even ones, which are teams too, and all of them backwards, which are not.
struct OfParts {
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& world, const Memory& m) const {
    m.add(world, 0, world.in_split(m.role % 2, m.role, [&](const auto& me) {
      SomeCalls{3}.run(me, m, [&](int r) { return 2 * r + m.role % 2; });
    }) != Code::ok);
    m.add(world, 0, world.in_split(0, -m.role, [&](const auto& me) {
      SomeCalls{3}.run(me, m, [&](int r) { return m.roles - 1 - r; });
    }) != Code::ok);
  }
};

TEST(Rounds, OfTeamsInCommunicators) {
  expect_right(mixed(2, 17, ScopeKind::thread), 2 * 36 * 3 * 16, OfParts{}, 24);
  expect_right(mixed(3, 2, ScopeKind::warp), 2 * 7 * 3 * 16, OfParts{}, 24);
}

// Nobody leaves a barrier before all have entered it; between barriers there are calls in which some wait for nobody.
struct Barriers {
  std::uint32_t* entered;  // by rank
  int times;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    auto* const word = reinterpret_cast<std::uint32_t*>(m.bytes);
    for (int i = 1; i <= times; ++i) {
      if (me.leader()) store_release(entered[m.role], static_cast<std::uint32_t>(i));
      b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
      if (me.leader())
        for (int r = 0; r < m.roles; ++r) m.add(me, 1, load_acquire(entered[r]) < static_cast<std::uint32_t>(i));
      if (i % 3 == 0)
        b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(word, 1), 0); });
    }
  }
};

TEST(Rounds, NobodyLeavesABarrierOfTheWorldEarly) {
  const Device device(0);
  for (const auto& [gpus, of_each] : {std::pair{1, 20}, std::pair{2, 9}, std::pair{2, 40}})
    for (const ScopeKind scope : all_scopes) {
      if (gpus > Device::count() || (of_each == 40 && (sanitized || emulated()) && scope != ScopeKind::thread))
        continue;
      auto* const entered = static_cast<std::uint32_t*>(device.allocate_host(sizeof(std::uint32_t) * 80));
      expect_right(slots(gpus, of_each, scope), 64, Barriers{entered, 30}, 40);
      device.free_host(entered);
    }
}

TEST(Rounds, NobodyLeavesABarrierOfTheWorldEarlyInManyInterleavings) {
  if (!emulated()) GTEST_SKIP() << "this machine's devices are not emulated";
  const Device device(0);
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 40 : 5); ++seed) {
    auto* const entered = static_cast<std::uint32_t*>(device.allocate_host(sizeof(std::uint32_t) * 80));
    Conditions c = slots(1 + static_cast<int>(seed % 2), seed % 2 ? 9 : 17, all_scopes[seed % 2]);
    c.config.seed = seed;
    expect_right(c, 64, Barriers{entered, 5}, 6);
    device.free_host(entered);
  }
}

// One rank makes no call, and goes on without ending.
struct AllButOne {
  std::uint32_t* over;
  int one = 1;
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    if (m.role != one) {
      m.note(me, 0, me.barrier());
      if (me.leader()) fetch_add(*over, 1);
      return;
    }
    if (me.leader())
      while (load_acquire(*over) + 1 < static_cast<std::uint32_t>(m.roles)) relax();
    me.sync();
  }
};

TEST(Rounds, EndWithTheDeadlineWhereARankNeverComes) {
  if (processes() > 1) GTEST_SKIP() << "its ranks meet in memory";
  for (const ScopeKind scope : all_scopes) {
    Conditions c = mixed(2, 1, scope);
    c.config.deadline_s = 0.5;
    const Device device(0);
    auto* over = static_cast<std::uint32_t*>(device.allocate_host(64));
    *over = 0;
    if (emulated()) {  // real GPUs and the host need not have atomic additions in common
      const Outcome o = run_script(c, AllButOne{over});
      EXPECT_EQ(to_string(o.code), "deadline") << o.error;
      EXPECT_TRUE(contains(o.error, "barrier, number 0, for rank 1"));
      Conditions teams = mixed(1, 9, scope);
      teams.config.deadline_s = sanitized ? 3 : 1;  // by when all others are in their calls
      for (const int one : {1, 5}) {
        if (scope != ScopeKind::warp && !(scope == ScopeKind::thread && one == 5)) continue;  // each takes two seconds
        *over = 0;
        const Outcome t = run_script(teams, AllButOne{over, one});
        EXPECT_EQ(to_string(t.code), "deadline") << t.error;
        EXPECT_TRUE(contains(t.error, "barrier, number 0, for rank " + std::to_string(one)));
      }
      Conditions world = slots(2, 9, scope);
      world.config.deadline_s = teams.config.deadline_s;
      for (const int one : {0, 14}) {
        if (scope != ScopeKind::warp) continue;
        *over = 0;
        const Outcome w = run_script(world, AllButOne{over, one});
        EXPECT_EQ(to_string(w.code), "deadline") << w.error;
        EXPECT_TRUE(contains(w.error, "barrier, number 0, for rank " + std::to_string(one))) << w.error;
      }
    }
    device.free_host(over);
  }
}

// A slot is in another call than the others of its GPU.
struct OneInAnotherCall {
  int one;
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
    auto* const word = reinterpret_cast<std::uint32_t*>(m.bytes);
    if (m.role == one)
      b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(word, 1), one); });
    else
      b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
    b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
  }
};

TEST(Rounds, OfTeamsOneOfWhomIsInAnotherCallAreToldApart) {
  if (processes() > 1) GTEST_SKIP() << "several reports";
  for (const int one : {1, 6})
    for (const bool world : {false, true}) {
      Conditions c = world ? slots(2, 9, ScopeKind::warp) : mixed(1, 9, ScopeKind::warp);
      c.bytes = 64;
      const Outcome o = run_script(c, OneInAnotherCall{one});
      EXPECT_EQ(to_string(o.code), "deadlock") << o.error;
      EXPECT_TRUE(contains(o.error, "mismatch: rank ")) << o.error;
      EXPECT_TRUE(contains(o.error, "barrier, number 1")) << o.error;
    }
}

// An operation that fails while others read what its rank has, and write to it.
TEST(Rounds, OfWhichOneFailsLeaveBuffersToThoseWhoUseThem) {
  if (processes() > 1) GTEST_SKIP() << "each process has its own error";
  for (int times = 0; times < 10; ++times) {
    Config config;
    config.nodes = {{.cpus = 4}};
    config.deadline_s = 20 * fewer;
    Job job(config);
    job.cpu([&](Comm& comm) {
      std::vector<float> x(100000, 1.0f);
      const int rank = comm.rank();
      comm.all_reduce(x, [rank](float a, float b) {
        if (rank == 2) throw std::runtime_error("no more");
        return a + b;
      });
    });
    std::string what;
    try {
      job.run();
    } catch (const std::exception& e) {
      what = e.what();
    }
    EXPECT_TRUE(contains(what, "no more"));
  }
}

}  // namespace
}  // namespace dcgn::test
