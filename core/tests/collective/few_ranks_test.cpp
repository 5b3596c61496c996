// Calls of a packet each, and of what goes in a turn, among few ranks: with operations whose operands must not change
// places, of elements of 2 to 8 bytes.
#include "collective_kernels.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/arch/relax.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace dcgn::test {
namespace {

// x -> factor * x + summand, modulo the words' size.
template <class Word>
struct Small {
  Word factor, summand;
  DCGN_HOST_DEVICE bool operator==(const Small& other) const {
    return factor == other.factor && summand == other.summand;
  }
};
struct ThenSmall {
  template <class Word>
  DCGN_HOST_DEVICE Small<Word> operator()(const Small<Word>& a, const Small<Word>& b) const {
    const auto factor = std::uint64_t{b.factor};
    return {static_cast<Word>(a.factor * factor), static_cast<Word>(a.summand * factor + b.summand)};
  }
};
template <class Word>
DCGN_HOST_DEVICE Small<Word> small(int number, int rank, std::int64_t i) {
  const std::uint64_t seed = static_cast<std::uint64_t>(i * 1000003 + number * 97 + rank * 7 + 1) * 0x9e3779b97f4a7c15u;
  return {static_cast<Word>(seed >> 20 | 1), static_cast<Word>(seed >> 37)};
}

// n elements, in so many turns; in each another rank comes late.
template <class Word>
struct InTurns {
  std::int64_t n;
  int turns;
  bool late = false;

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    using T = Small<Word>;
    const Buffers b(me, m);
    const int p = m.roles, r = m.role;
    T* const a = reinterpret_cast<T*>(m.bytes);
    T* const z = a + n;
    for (int turn = 0; turn < turns; ++turn) {
      const int root = turn % p;
      if (late && turn % p == r && me.leader())
        for (const std::uint64_t since = now_ns(); now_ns() - since < 3'000'000;) relax();
      me.sync();
      const auto sum = [&](std::int64_t i) {
        T s = small<Word>(turn, 0, i);
        for (int q = 1; q < p; ++q) s = ThenSmall{}(s, small<Word>(turn, q, i));
        return s;
      };
      const auto begin = [&] {
        b.fill(a, n, [&](std::int64_t i) { return small<Word>(turn, r, i); });
        b.fill(z, n, [&](std::int64_t) { return T{3, 4}; });
      };
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_reduce(scope..., const_span_of(a, n), span_of(z, n), ThenSmall{});
      });
      b.check(z, n, sum);
      b.call([&](auto& rank, const auto&... scope) { return rank.all_reduce(scope..., span_of(a, n), ThenSmall{}); });
      // At once a message of the user's, in a FIFO that the call has used.
      if (r == 0)
        for (int q = 1; q < p; ++q) m.add(me, 0, me.send(a, sizeof(T), m.rank_of(q), 5) != Code::ok);
      else
        m.add(me, 0, me.recv(z, sizeof(T), m.rank_of(0), 5).code != Code::ok);
      me.sync();
      b.check(z, 1, sum);
      b.check(a, n, sum);
      b.call([&](auto& rank, const auto&... scope) { return rank.barrier(scope...); });
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return rank.reduce(scope..., const_span_of(a, n), r == root ? span_of(z, n) : Span<T>(), ThenSmall{}, root);
      });
      if (r == root) b.check(z, n, sum);
      b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(a, n), root); });
      b.check(a, n, [&](std::int64_t i) { return small<Word>(turn, root, i); });
    }
  }
};

template <class Word>
void expect_turns(const Conditions& c, std::int64_t n, int turns, bool late = false) {
  SCOPED_TRACE(std::to_string(n) + " elements of " + std::to_string(2 * sizeof(Word)) + " bytes");
  if (sanitized) turns = std::min(turns, 3);
  expect_right(c, 2 * n * static_cast<std::int64_t>(sizeof(Small<Word>)), InTurns<Word>{n, turns, late}, 5 * turns);
}

// A part of n words from each rank for all, or for each, and a broadcast of n, in so many turns; in each another rank
// comes late.
struct PartsInTurns {
  std::int64_t n;
  int turns;
  bool late = false;

  DCGN_HOST_DEVICE static std::uint32_t word(int turn, int rank, std::int64_t i) {
    return static_cast<std::uint32_t>((i * 31 + rank * 7 + turn + 1) * 2654435761u);
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    const int p = m.roles, r = m.role;
    auto* const a = reinterpret_cast<std::uint32_t*>(m.bytes);
    std::uint32_t* const z = a + p * n;
    for (int turn = 0; turn < turns; ++turn) {
      const int root = turn % p;
      if (late && turn % p == r && me.leader())
        for (const std::uint64_t since = now_ns(); now_ns() - since < 3'000'000;) relax();
      me.sync();
      const auto begin = [&] {
        b.fill(a, p * n, [&](std::int64_t i) { return word(turn, r, i); });
        b.fill(z, p * n, [&](std::int64_t i) { return static_cast<std::uint32_t>(i); });
      };
      const auto gathered = [&](std::int64_t i) { return word(turn, static_cast<int>(i / n), i % n); };
      const auto swapped = [&](std::int64_t i) { return word(turn, static_cast<int>(i / n), r * n + i % n); };
      begin();
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_gather(scope..., const_span_of(a, n), span_of(z, p * n));
      });
      b.check(z, p * n, gathered);
      b.fill(z + r * n, n, [&](std::int64_t i) { return word(turn + 1, r, i); });
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_gather(scope..., const_span_of(z + r * n, n), span_of(z, p * n));
      });
      b.check(z, p * n, [&](std::int64_t i) { return word(turn + 1, static_cast<int>(i / n), i % n); });
      b.call([&](auto& rank, const auto&... scope) {
        return rank.all_to_all(scope..., const_span_of(a, p * n), span_of(z, p * n));
      });
      b.check(z, p * n, swapped);
      b.check(a, p * n, [&](std::int64_t i) { return word(turn, r, i); });
      if (n * p * 4 <= 65536) {  // more of it in place is another rank's affair, too
        b.call([&](auto& rank, const auto&... scope) {
          return rank.all_to_all(scope..., const_span_of(a, p * n), span_of(a, p * n));
        });
        b.check(a, p * n, swapped);
      }
      begin();
      b.call([&](auto& rank, const auto&... scope) { return rank.broadcast(scope..., span_of(a, n), root); });
      b.check(a, n, [&](std::int64_t i) { return word(turn, root, i); });
      b.check(z, p * n, [&](std::int64_t i) { return static_cast<std::uint32_t>(i); });
    }
  }
};

void expect_parts(const Conditions& c, int ranks, std::int64_t n, int turns, bool late = false) {
  SCOPED_TRACE("parts of " + std::to_string(n) + " words");
  if (sanitized) turns = std::min(turns, 3);
  expect_right(c, 2 * ranks * n * 4, PartsInTurns{n, turns, late}, 4 * turns);
}

// So many slots of two GPUs, and a block of so many threads; few FIFOs' packets, so that they are gone round often.
Conditions few(int cpus, int each, ScopeKind scope, unsigned threads) {
  Conditions c = mixed(cpus, each, scope);
  if (scope == ScopeKind::block) c.block = threads;
  c.config.lane_bytes = threads > 100 ? 0 : 4096;
  return c;
}

TEST(FewRanks, WordsInAPacket) {
  for (const ScopeKind scope : {ScopeKind::warp, ScopeKind::block, ScopeKind::blocks}) {
    expect_turns<std::uint32_t>(few(0, 1, scope, 40), 1, 60);
    expect_turns<std::uint16_t>(few(1, 2, scope, 40), 2, 60);
    expect_turns<std::uint16_t>(few(0, 3, scope, 32), 1, 60);
    expect_turns<std::uint8_t>(few(2, 3, scope, 64), 4, 30);
    expect_turns<std::uint8_t>(few(0, 2, scope, 40), 1, 10);  // of 2 bytes: no packet's
  }
}

TEST(FewRanks, WordsInFifos) {
  for (const std::int64_t n : {3, 24, 61, 250}) {
    if (sanitized && n != 61) continue;
    expect_turns<std::uint16_t>(few(0, 1, ScopeKind::block, 40), n, 12);
    expect_turns<std::uint16_t>(few(1, 2, ScopeKind::block, 64), n, 12);
    expect_turns<std::uint8_t>(few(0, 4, ScopeKind::block, 40), 2 * n, 6);
    expect_turns<std::uint16_t>(few(2, 4, ScopeKind::block, 40), n, 6);  // more ranks than these are for
    expect_turns<std::uint32_t>(few(0, 2, ScopeKind::block, 40), n, 6);  // of 8 bytes: by others
  }
}

// Payloads in wide groups, with more packets than threads and with fewer.
TEST(FewRanks, LongPayloads) {
  for (const std::int64_t n : {1100, 1153, 2048, 2730}) {
    if (sanitized && n > 1100) continue;
    for (const unsigned threads : {96u, 256u}) {
      Conditions c = few(0, 1, ScopeKind::block, threads);
      c.config.lane_bytes = 1 << 17;
      c.config.eager_bytes = 16384;
      expect_turns<std::uint16_t>(c, n, 3);
    }
  }
}

// So much that each rank reduces a piece; the last one's is shorter, or there is none for it.
TEST(FewRanks, InPieces) {
  for (const std::int64_t n : {2401, 3001, 4096}) {
    if (sanitized && n > 2401) continue;
    for (const unsigned threads : {64u, 104u}) {
      Conditions c = few(0, 4, ScopeKind::block, threads);
      c.config.lane_bytes = 1 << 17;
      c.config.eager_bytes = 16384;
      expect_turns<std::uint16_t>(c, n, 2);
      expect_turns<std::uint8_t>(c, 2 * n, 2);
    }
  }
  Conditions two = few(0, 1, ScopeKind::block, 104);  // more of them than fit their scratch
  two.config.eager_bytes = 1 << 16;
  if (!sanitized) expect_turns<std::uint16_t>(two, 9001, 2);
  // Rings that hold little more than a piece: now and then it does not lie in a row.
  Conditions c = few(1, 3, ScopeKind::block, 40);
  c.config.lane_bytes = 1 << 15;
  c.config.eager_bytes = 16384;
  expect_turns<std::uint16_t>(c, 3000, 5);
  c = few(0, 4, ScopeKind::block, 40);
  for (const int bits : {12, 13}) {  // or there is no room for the second one
    c.config.lane_bytes = 1u << bits;
    c.config.eager_bytes = 16384;
    expect_turns<std::uint16_t>(c, 2401, 5);
  }
}

TEST(FewRanks, PartsInFifos) {
  for (const std::int64_t n : {1, 3, 40, 333}) {
    if (sanitized && n != 40) continue;
    expect_parts(few(0, 1, ScopeKind::block, 40), 2, n, 8);
    expect_parts(few(1, 2, ScopeKind::block, 64), 5, n, 5);
    expect_parts(few(0, 4, ScopeKind::block, 104), 8, n, 3);
    expect_parts(few(2, 4, ScopeKind::block, 40), 10, n, 2);  // more ranks than these are for
  }
}

// More than threads take at once; rings that parts go round in; broadcasts in pieces.
TEST(FewRanks, LongPartsInFifos) {
  for (const std::int64_t n : {1200, 2731, 4096}) {
    if (sanitized && n > 1200) continue;
    for (const int each : {1, 2, 4}) {
      Conditions c = few(0, each, ScopeKind::block, each == 2 ? 40 : 104);
      c.config.lane_bytes = each == 1 ? 1 << 16 : 1 << 17;
      c.config.eager_bytes = 1 << 16;
      expect_parts(c, 2 * each, n, 3);
    }
  }
  Conditions c = few(0, 4, ScopeKind::block, 64);  // 12,000 bytes to each of seven: in pieces
  c.config.lane_bytes = 1 << 17;
  c.config.eager_bytes = 1 << 16;
  for (const std::int64_t n : {3000, 3001, 3003}) expect_parts(c, 8, n, 4, true);
}

// By addresses, of blocks and of several blocks; more than the scratch holds, not all of it in lines of 16 bytes.
TEST(FewRanks, LargeOnesOfSlotsAlone) {
  if (sanitized) GTEST_SKIP() << "too much";
  for (const ScopeKind scope : {ScopeKind::warp, ScopeKind::block, ScopeKind::blocks})
    for (const int each : {1, 2}) {
      expect_parts(slots(2, each, scope), 2 * each, 17003, 3, each == 2);
      expect_turns<std::uint16_t>(slots(2, each, scope), 17003, 3);
    }
  for (const ScopeKind scope : {ScopeKind::block, ScopeKind::blocks}) {  // or copy engines are faster
    Conditions c = slots(2, 2, scope);
    c.config.copy_engine_bytes = 60000;
    expect_parts(c, 4, 17003, 2);
  }
}

TEST(FewRanks, ThatComeLate) {
  for (const int each : {1, 2}) {
    expect_parts(few(1, each, ScopeKind::block, 40), 1 + 2 * each, 40, 6, true);
    expect_parts(few(0, each, ScopeKind::block, 40), 2 * each, 700, 6, true);
  }
  for (const ScopeKind scope : {ScopeKind::warp, ScopeKind::block}) {
    expect_turns<std::uint16_t>(few(1, 1, scope, 40), 2, 9, true);
    expect_turns<std::uint16_t>(few(0, 2, scope, 40), 40, 8, true);
  }
}

TEST(FewRanks, InManyInterleavings) {
  if (!emulated()) GTEST_SKIP() << "this machine's devices are not emulated";
  for (std::uint64_t seed = 0; seed < (fewer == 1 ? 12 : 3); ++seed) {
    Conditions c = few(static_cast<int>(seed % 2), 1 + static_cast<int>(seed % 3),
                       seed % 4 == 3 ? ScopeKind::warp : ScopeKind::block, 32 + 8 * static_cast<unsigned>(seed % 3));
    c.config.seed = seed;
    expect_turns<std::uint16_t>(c, 2, 8);
    expect_turns<std::uint16_t>(c, 45, 4);
    expect_turns<std::uint32_t>(c, 1, 8);
    expect_parts(c, static_cast<int>(seed % 2) + 2 * (1 + static_cast<int>(seed % 3)), 30, 2);
  }
}

}  // namespace
}  // namespace dcgn::test
