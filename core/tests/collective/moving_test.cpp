// Collectives that move: every rank knows by itself what it must get.
#include "collective_kernels.hpp"

#include <dcgn/arch/clock.hpp>

#include <algorithm>
#include <cstdint>

namespace dcgn::test {
namespace {

using Byte = unsigned char;

// Each of them one after the other, with parts of so many bytes, from all roots; nothing else orders them.
struct MoveAll {
  std::int64_t n;
  bool with_messages = false;  // of the user's, with tags as the library's own messages have them

  // What rank `from` has for rank `to`, in call `number`.
  struct Part {
    int number, from, to;
    DCGN_HOST_DEVICE Byte operator()(std::int64_t i) const { return pattern(1000 * number + 31 * from + to, i); }
  };
  // Counts for the calls that take some, and where those parts lie: from the end on, with gaps.
  DCGN_HOST_DEVICE std::int64_t count(int from, int to) const { return (n + 5 * from + 3 * to) % (n + 2); }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    const int p = m.roles, r = m.role;
    const std::int64_t each = n + 2, area = p * each;
    Byte* const a = m.bytes;
    Byte* const z = m.bytes + area;
    const std::int64_t largest = n + 1;
    const auto junk = [](std::int64_t i) { return static_cast<Byte>(i + 77); };
    const int next = (r + 1) % p, before = (r + p - 1) % p;
    int number = 0;
    for (int root = 0; root < p; ++root) {
      const int tag = root << 11 | root;
      if (with_messages) m.add(me, 0, me.bsend(&m.statuses[0], 8, next, tag) != Code::ok);
      b.fill(a, n, Part{++number, r == root ? root : -1, 0});
      b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(a, n), root); });
      b.check(a, n, Part{number, root, 0});

      for (const bool in_place : {false, true}) {
        const bool here = r == root;
        ++number;
        b.fill(z, p * n, junk);
        Byte* const in = in_place && here ? z + r * n : a;
        b.fill(in, n, Part{number, r, root});
        b.call([&](auto& rank, const auto&... scope) {
          return rank.gather(scope..., const_span_of(in, n), here ? span_of(z, p * n) : Span<Byte>(), root);
        });
        for (int q = 0; q < p && here; ++q) b.check(z + q * n, n, Part{number, q, root});
        if (!here) b.check(z, p * n, junk);

        ++number;
        for (int q = 0; q < p && here; ++q) b.fill(z + q * n, n, Part{number, root, q});
        Byte* const out = in_place && here ? z + r * n : a;
        b.call([&](auto& rank, const auto&... scope) {
          return rank.scatter(scope..., here ? const_span_of(z, p * n) : Span<const Byte>(), span_of(out, n), root);
        });
        b.check(out, n, Part{number, root, r});

        ++number;
        const auto lengths = b.list(0, here ? p : 0, [&](int q) { return count(q, root); });
        const auto places = b.list(1, here ? p : 0, [&](int q) { return (p - 1 - q) * each; });
        Byte* const in_v = in_place && here ? z + (p - 1 - r) * each : a;
        b.fill(z, area, junk);
        b.fill(in_v, count(r, root), Part{number, r, root});
        b.call([&](auto& rank, const auto&... scope) {
          return rank.gatherv(scope..., const_span_of(in_v, count(r, root)), here ? span_of(z, area) : Span<Byte>(),
                              lengths, places, root);
        });
        for (int q = 0; q < p && here; ++q) {
          const std::int64_t place = (p - 1 - q) * each, length = count(q, root);
          b.check(z + place, length, Part{number, q, root});
          b.check(z + place + length, each - length, [&](std::int64_t i) { return junk(i + place + length); });
        }

        ++number;
        for (int q = 0; q < p && here; ++q) b.fill(z + (p - 1 - q) * each, count(q, root), Part{number, root, q});
        b.fill(a, largest, junk);
        b.call([&](auto& rank, const auto&... scope) {
          return rank.scatterv(scope..., here ? const_span_of(z, area) : Span<const Byte>(), lengths, places,
                               span_of(in_v, count(r, root)), root);
        });
        b.check(in_v, count(r, root), Part{number, root, r});
      }
      if (with_messages) {
        m.add(me, 0, me.recv(&m.statuses[1], 8, before, tag).bytes != 8);
        b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
      }
    }
    for (const bool in_place : {false, true}) {
      ++number;
      b.fill(z, area, junk);
      Byte* const in = in_place ? z + r * n : a;
      b.fill(in, n, Part{number, r, 0});
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_gather(scope..., const_span_of(in, n), span_of(z, p * n));
      });
      for (int q = 0; q < p; ++q) b.check(z + q * n, n, Part{number, q, 0});

      ++number;
      const auto lengths = b.list(0, p, [&](int q) { return count(q, 1); });
      const auto places = b.list(1, p, [&](int q) { return (p - 1 - q) * each; });
      b.fill(z, area, junk);
      Byte* const in_v = in_place ? z + (p - 1 - r) * each : a;
      b.fill(in_v, count(r, 1), Part{number, r, 0});
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_gatherv(scope..., const_span_of(in_v, count(r, 1)), span_of(z, area), lengths, places);
      });
      for (int q = 0; q < p; ++q) {
        const std::int64_t place = (p - 1 - q) * each, length = count(q, 1);
        b.check(z + place, length, Part{number, q, 0});
        b.check(z + place + length, each - length, [&](std::int64_t i) { return junk(i + place + length); });
      }

      ++number;
      b.fill(z, area, junk);
      Byte* const from = in_place ? z : a;
      for (int q = 0; q < p; ++q) b.fill(from + q * n, n, Part{number, r, q});
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_to_all(scope..., const_span_of(from, p * n), span_of(z, p * n));
      });
      for (int q = 0; q < p; ++q) b.check(z + q * n, n, Part{number, q, r});
    }
    ++number;
    const auto sends = b.list(0, p, [&](int q) { return count(r, q); });
    const auto from = b.list(1, p, [&](int q) { return q * each; });
    const auto receives = b.list(2, p, [&](int q) { return count(q, r); });
    const auto to = b.list(3, p, [&](int q) { return (p - 1 - q) * each; });
    b.fill(z, area, junk);
    for (int q = 0; q < p; ++q) b.fill(a + q * each, count(r, q), Part{number, r, q});
    b.call([&](auto& rank, const auto&... scope) {
      return rank.all_to_allv(scope..., const_span_of(a, area), sends, from, span_of(z, area), receives, to);
    });
    for (int q = 0; q < p; ++q) {
      const std::int64_t place = (p - 1 - q) * each, length = count(q, r);
      b.check(z + place, length, Part{number, q, r});
      b.check(z + place + length, each - length, [&](std::int64_t i) { return junk(i + place + length); });
    }
  }
};

void expect_moves(const Conditions& c, std::int64_t n, bool with_messages = false) {
  SCOPED_TRACE("parts of " + std::to_string(n) + " bytes");
  expect_right(c, 2 * 9 * (n + 2), MoveAll{n, with_messages}, 9);
}

// So many threads that a GPU soon fills and checks large buffers; those of an emulated one take turns.
Conditions with_many_threads(Conditions c) {
  if (!emulated()) c.block = 232;
  return c;
}

// No bytes, one, a prime number, more than what goes through a tree, more than the scratch and every threshold.
constexpr std::int64_t part_sizes[] = {0, 1, 13, 5003, 70001};

TEST(Moving, OneToNineCpuRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (const std::int64_t n : part_sizes) {
      if ((fewer > 1 || processes() > 1) && n > 10000 && ranks != 5) continue;
      expect_moves(cpu_ranks(ranks), n);
    }
}

TEST(Moving, SlotsInEveryScope) {
  for (const ScopeKind scope : all_scopes)
    for (const std::int64_t n : {13, 5003}) {
      expect_moves(slots(1, 3, scope), scope == ScopeKind::thread ? std::min(n, std::int64_t{1201}) : n);
      if (fewer == 1) expect_moves(slots(2, 2, scope), n);
    }
  expect_moves(with_many_threads(slots(2, 4, ScopeKind::block)), 70001 / fewer);
  expect_moves(slots(2, 2, ScopeKind::warp), 70001 / fewer);
}

TEST(Moving, CpuRanksAndSlotsOfTwoGpus) {
  for (const ScopeKind scope : all_scopes)
    for (const bool direct : {true, false}) {
      if (sanitized && direct != (scope == ScopeKind::thread || scope == ScopeKind::block)) continue;
      Conditions c = mixed(2, 2, scope);
      c.config.direct = direct;
      expect_moves(c, 13);
      expect_moves(c, fewer > 1 ? 500 : scope == ScopeKind::thread ? 1201 : 5003, true);
    }
  expect_moves(with_many_threads(mixed(1, 3, ScopeKind::block)), 70001 / fewer);
}

TEST(Moving, WithTheLeastScratch) {
  for (const std::int64_t n : {700, 5003}) {
    Conditions c = mixed(3, 1, ScopeKind::block);
    c.config.collective_bytes = 4096;
    expect_moves(c, n);
  }
}

// From the sizes on at which ranks read and write each other's buffers.
TEST(MovingInRounds, OfLargeParts) {
  for (const int ranks : {2, 4})
    if (!sanitized || ranks == 2) expect_moves(cpu_ranks(ranks), 300007);
  for (const ScopeKind scope : {ScopeKind::block, ScopeKind::blocks})
    for (const std::int64_t n : {262144, 300007})
      if (!sanitized || n == 262144) expect_moves(with_many_threads(slots(2, 1, scope)), n);
  expect_moves(with_many_threads(mixed(1, 1, ScopeKind::block)), 262144 / fewer);
}

TEST(MovingInRounds, WithoutPartsOfTheProtocol) {
  using namespace message;
  for (const std::uint32_t without :
       {without_quick, without_relaxed, without_batches, without_rounds, without_addresses})
    for (const std::int64_t n : {8, 700, 70001}) {
      if (fewer > 1 && n > 10000) continue;
      Conditions c = mixed(2, 1, n == 8 ? ScopeKind::warp : ScopeKind::block);
      if (n > 10000) c = with_many_threads(c);
      c.config.without = without;
      expect_moves(c, n, true);
    }
}

TEST(MovingInRounds, ThroughFifosThatHoldLittle) {
  for (const std::uint64_t bytes : {256, 1024})
    for (const ScopeKind scope : all_scopes)
      for (const std::int64_t n : {8, 40, 900}) {
        if (sanitized && n != 40) continue;
        Conditions c = mixed(2, 2, scope);
        c.config.lane_bytes = bytes;
        expect_moves(c, n, true);
      }
}

TEST(Moving, InManyInterleavings) {
  if (!emulated()) GTEST_SKIP() << "this machine's devices are not emulated";
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 12 : 4); ++seed) {
    Conditions c = mixed(1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 2), all_scopes[seed % 4]);
    c.config.seed = seed;
    c.block = 33;
    expect_moves(c, seed % 3 ? 13 : 700, true);
  }
}

constexpr int barriers = sanitized ? 3 : 20;

// No rank leaves a barrier before all have entered it: everybody writes which one it comes to, in a word of its own,
// since a GPU and the host need not have atomic additions in common.
struct CountAndMeet {
  std::uint32_t* entered;  // [role], reached by all

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    for (int i = 1; i <= barriers; ++i) {
      if (me.leader()) store_release(entered[m.role], static_cast<std::uint32_t>(i));
      m.add(me, 0, me.barrier() != Code::ok);
      for (int role = 0; role < m.roles; ++role) {
        const auto seen = static_cast<int>(load_acquire(entered[role]));
        m.add(me, 1, seen < i || seen > i + 1);
      }
      m.add(me, 2, 1);
    }
  }
};

TEST(Barrier, LetsNobodyLeaveBeforeAllHaveEntered) {
  for (const ScopeKind scope : all_scopes)
    for (const int slots_each : {2, 9})  // or in teams
      for (std::uint64_t seed = 0; seed < (emulated() ? 8 : 1); ++seed) {
        Conditions c = mixed(slots_each == 2 ? 2 : static_cast<int>(seed % 3), slots_each, scope);
        if (seed) c.config.seed = seed;
        if (seed > (sanitized ? 1u : slots_each == 2 ? 2u : 7u)) continue;
        const Device device(0);
        auto* entered = static_cast<std::uint32_t*>(device.allocate_host(64 * sizeof(std::uint32_t)));
        expect_right(c, 64, CountAndMeet{entered}, barriers);
        for (int role = 0; role < 4; ++role) EXPECT_EQ(entered[role], static_cast<std::uint32_t>(barriers));
        device.free_host(entered);
      }
}

// Whoever waits for a rank that has ended is told so, whatever its scope.
struct AllButOneThatEnds {
  int one;
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    if (m.role != one) m.note(me, 0, me.barrier());
  }
};

TEST(Barrier, WithoutARankThatHasEndedIsReported) {
  for (const ScopeKind scope : all_scopes) {
    const auto expect_said = [&](const Conditions& c, int one) {
      SCOPED_TRACE(std::to_string(one) + " of " + c.name);
      const Outcome o = run_script(c, AllButOneThatEnds{one});
      EXPECT_EQ(to_string(o.code), "rank_ended") << o.error;
      EXPECT_NE(o.error.find("barrier"), std::string::npos) << o.error;
      EXPECT_NE(o.error.find("rank " + std::to_string(one)), std::string::npos) << o.error;
      EXPECT_NE(o.error.find(" has ended"), std::string::npos) << o.error;
      for (int role = 0; role < static_cast<int>(o.roles.size()); ++role)
        if (role != one) {
          EXPECT_NE(code_at(o, role, 0), Code::ok) << "rank " << role;
        }
    };
    expect_said(mixed(1, 2, scope), 0);
    expect_said(mixed(1, 9, scope), 0);  // in teams
  }
}

// The root may be through, and have ended, before others begin.
TEST(Broadcast, FromARootThatHasEndedMeanwhile) {
  Config config;
  config.nodes = {{.cpus = 3}};
  config.deadline_s = 20 * fewer;
  Job job(config);
  std::vector<int> got(3);
  job.cpu([&](Comm& comm) {
    int x = comm.rank() == 1 ? 42 : 0;
    for (const std::uint64_t since = now_ns(); comm.rank() != 1 && now_ns() - since < 100'000'000;) relax();
    comm.broadcast(x, 1);
    got[static_cast<std::size_t>(comm.rank())] = x;
  });
  job.run();
  EXPECT_EQ(got, (std::vector<int>{42, 42, 42}));
}

}  // namespace
}  // namespace dcgn::test
