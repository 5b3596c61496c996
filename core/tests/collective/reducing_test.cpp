// Collectives that compute, with an operation whose operands must not change places, on elements of 16 bytes.
#include "affine.hpp"
#include "collective_kernels.hpp"

#include <dcgn/operation.hpp>

#include <cstdint>

namespace dcgn::test {
namespace {

// Each of them one after the other on so many elements; nothing else orders them.
struct ReduceAll {
  std::int64_t n;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    const int p = m.roles, r = m.role;
    Affine* const a = reinterpret_cast<Affine*>(m.bytes);
    Affine* const z = a + p * (n + 1);
    const auto junk = [](std::int64_t i) { return Affine{77, static_cast<std::uint64_t>(i)}; };
    const auto mine = [&](int number) { return [=](std::int64_t i) { return value(number, r, i); }; };
    int number = 0;
    for (const bool in_place : {false, true}) {
      Affine* const in = in_place ? z : a;
      for (int root = 0; root < p; ++root) {
        const bool here = r == root;
        ++number;
        b.fill(z, n, junk);
        b.fill(here ? in : a, n, mine(number));
        b.call([&](auto& rank, const auto&... scope) {
          return rank.reduce(scope..., const_span_of(here ? in : a, n), here ? span_of(z, n) : Span<Affine>(), Then{},
                             root);
        });
        if (here)
          b.check(z, n, InOrder{number, 0, p});
        else
          b.check(z, n, junk);
      }

      ++number;
      b.fill(z, n + 1, junk);
      b.fill(in, n, mine(number));
      b.call([&](auto& rank, const auto&... scope) {
        return in_place ? rank.all_reduce(scope..., span_of(z, n), Then{})
                        : rank.all_reduce(scope..., const_span_of(in, n), span_of(z, n), Then{});
      });
      b.check(z, n, InOrder{number, 0, p});
      b.check(z + n, 1, [&](std::int64_t) { return junk(n); });

      ++number;
      b.fill(z, n + 1, junk);
      b.fill(in, n, mine(number));
      b.call([&](auto& rank, const auto&... scope) {
        return rank.scan(scope..., const_span_of(in, n), span_of(z, n), Then{});
      });
      b.check(z, n, InOrder{number, 0, r + 1});

      ++number;
      b.fill(z, n + 1, junk);
      b.fill(in, n, mine(number));
      b.call([&](auto& rank, const auto&... scope) {
        return rank.exclusive_scan(scope..., const_span_of(in, n), span_of(z, n), Then{});
      });
      if (r)
        b.check(z, n, InOrder{number, 0, r});
      else if (!in_place)
        b.check(z, n, junk);

      // A part for each rank: n / p elements, then one more for every second one.
      const std::int64_t each = n / p;
      ++number;
      b.fill(a, p * each, mine(number));
      b.fill(z, each, junk);
      Affine* const out = in_place ? a + r * each : z;
      b.call([&](auto& rank, const auto&... scope) {
        return rank.reduce_scatter(scope..., const_span_of(a, p * each), span_of(out, each), Then{});
      });
      b.check(out, each, InOrder{number, 0, p, r * each});

      ++number;
      const auto counts = b.list(0, p, [&](int q) { return each + q % 2; });
      const std::int64_t total = p * each + p / 2, begin = r * each + r / 2;
      b.fill(a, total, mine(number));
      Affine* const out_v = in_place ? a + begin : z;
      b.call([&](auto& rank, const auto&... scope) {
        return rank.reduce_scatterv(scope..., const_span_of(a, total), counts, span_of(out_v, each + r % 2), Then{});
      });
      b.check(out_v, each + r % 2, InOrder{number, 0, p, begin});
    }
  }
};

void expect_reductions(const Conditions& c, std::int64_t n) {
  SCOPED_TRACE(std::to_string(n) + " elements");
  expect_right(c, 2 * 9 * (n + 2) * 16, ReduceAll{n}, 12);
}

// None, one, fewer than there are ranks, a prime number, more than go in whole, more than the scratch holds.
constexpr std::int64_t sizes[] = {0, 1, 5, 67, 1031, 9001};

TEST(Reducing, OneToNineCpuRanks) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (const std::int64_t n : sizes) {
      if (fewer > 1 && n > 1000 && ranks != 5) continue;
      expect_reductions(cpu_ranks(ranks), n);
    }
}

TEST(Reducing, SlotsInEveryScope) {
  for (const ScopeKind scope : all_scopes)
    for (const std::int64_t n : {67, 1031}) {
      expect_reductions(slots(1, 3, scope), n);
      if (fewer == 1) expect_reductions(slots(2, 2, scope), n);
    }
  expect_reductions(slots(2, 4, ScopeKind::warp), 9001 / fewer);
}

TEST(Reducing, CpuRanksAndSlotsOfTwoGpus) {
  for (const ScopeKind scope : all_scopes)
    for (const bool direct : {true, false}) {
      if (sanitized && direct != (scope == ScopeKind::thread || scope == ScopeKind::block)) continue;
      Conditions c = mixed(2, 2, scope);
      c.config.direct = direct;
      expect_reductions(c, 5);
      if (fewer == 1 || direct) expect_reductions(c, 1031);
    }
}

TEST(Reducing, WithTheLeastScratch) {
  for (const std::int64_t n : {67, 1031, 3001}) {
    Conditions c = mixed(3, 1, ScopeKind::block);
    c.config.collective_bytes = 4096;
    expect_reductions(c, n);
  }
}

// From the sizes on at which ranks send pieces, and at which they read each other's buffers.
TEST(ReducingInRounds, OfManyElements) {
  for (const std::int64_t n : {2100, 17000, 70000}) {
    if (fewer > 1 && n > 20000) continue;
    for (const int ranks : {2, 5}) expect_reductions(cpu_ranks(ranks), n);
    expect_reductions(mixed(1, 1, ScopeKind::block), n);
    if (!sanitized) expect_reductions(slots(2, 2, ScopeKind::blocks), n);
  }
}

TEST(ReducingInRounds, WithoutPartsOfTheProtocol) {
  using namespace message;
  for (const std::uint32_t without :
       {without_quick, without_relaxed, without_batches, without_rounds, without_addresses})
    for (const std::int64_t n : {5, 1031, 20000}) {
      if (fewer > 1 && n > 10000) continue;
      Conditions c = mixed(2, 1, n == 5 ? ScopeKind::warp : ScopeKind::block);
      c.config.without = without;
      expect_reductions(c, n);
    }
}

TEST(ReducingInRounds, ThroughFifosThatHoldLittle) {
  for (const std::uint64_t bytes : {256, 1024})
    for (const ScopeKind scope : all_scopes) {
      Conditions c = mixed(2, 2, scope);
      c.config.lane_bytes = bytes;
      expect_reductions(c, 23);
      if (!sanitized) expect_reductions(c, 301);
    }
}

TEST(Reducing, InManyInterleavings) {
  if (!emulated()) GTEST_SKIP() << "this machine's devices are not emulated";
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 12 : 4); ++seed) {
    Conditions c = mixed(1 + static_cast<int>(seed % 3), 1 + static_cast<int>(seed % 2), all_scopes[seed % 4]);
    c.config.seed = seed;
    c.block = 33;
    c.config.collective_bytes = seed % 2 ? 4096 : 65536;
    expect_reductions(c, seed % 3 ? 13 : 300);
  }
}

}  // namespace
}  // namespace dcgn::test
