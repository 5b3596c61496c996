// Service times of a vault, against sequences of commands worked out by hand in periods of the DRAM's clock.
#include "memnet/src/vault.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

using dcgn::memnet::DramTiming, dcgn::memnet::Vault, dcgn::memnet::VaultReply, dcgn::memnet::VaultRequest;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

constexpr std::int64_t tck = 1250;

VaultRequest request(std::uint32_t bank, std::uint64_t row, std::uint64_t tag, bool write = false) {
  return {.bank = bank, .row = row, .columns = 4, .write = write, .tag = tag};
}

// Tags and ends in DRAM clocks of requests that all come at once.
std::vector<std::pair<std::uint64_t, std::int64_t>> served(const std::vector<VaultRequest>& requests) {
  Vault vault;
  for (const VaultRequest& one : requests) vault.push(one, 0);
  std::vector<VaultReply> replies;
  vault.advance(1000000 * tck, replies);
  EXPECT_TRUE(vault.idle());
  std::vector<std::pair<std::uint64_t, std::int64_t>> out;
  for (const VaultReply& reply : replies) {
    EXPECT_EQ(reply.done_ps % tck, 0);
    out.emplace_back(reply.tag, reply.done_ps / tck);
  }
  return out;
}

using Order = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST(Vault, ALoneReadActivatesReadsAndFourColumnsLater) {
  // Activate 0, read 11, data from 22 on for 4 * 4.
  EXPECT_EQ(served({request(3, 7, 1)}), (Order{{1, 38}}));
}

TEST(Vault, AnOpenRowIsReadBackToBack) {
  // The second read goes when the bus will be free tCL later: 27; its data from 38 to 54.
  EXPECT_EQ(served({request(0, 5, 1), request(0, 5, 2)}), (Order{{1, 38}, {2, 54}}));
}

TEST(Vault, AnotherRowIsPrechargedFirst) {
  // Read 11, its last column command by 27: precharge 27 (past tRAS = 22), activate 38, read 49.
  EXPECT_EQ(served({request(0, 0, 1), request(0, 1, 2)}), (Order{{1, 38}, {2, 76}}));
}

TEST(Vault, WritesRecoverBeforeThePrecharge) {
  // Write data end at 38, precharge 38 + tWR = 50, activate 61, read 72.
  EXPECT_EQ(served({request(0, 0, 1, true), request(0, 1, 2)}), (Order{{1, 38}, {2, 99}}));
}

TEST(Vault, TrasHoldsAShortReadsRowOpen) {
  // One column: read 11 frees the bank at 15, but tRAS only at 22: activate 33, read 44, data 55 to 59.
  VaultRequest one = request(0, 0, 1), two = request(0, 1, 2);
  one.columns = two.columns = 1;
  EXPECT_EQ(served({one, two}), (Order{{1, 26}, {2, 59}}));
}

TEST(Vault, BanksOverlapAndShareTheBus) {
  // Activates at 0 and 1; the second's data wait for the bus.
  EXPECT_EQ(served({request(0, 0, 1), request(1, 9, 2)}), (Order{{1, 38}, {2, 54}}));
}

TEST(Vault, FirstReadyGoesBeforeFirstCome) {
  // 3 hits the row that 1 opened and goes before 2. Precharge 27 + 16 = 43, activate 54, read 65.
  EXPECT_EQ(served({request(0, 0, 1), request(0, 1, 2), request(0, 0, 3)}), (Order{{1, 38}, {3, 54}, {2, 92}}));
}

TEST(Vault, CommandsGoOutOnTheDramsClock) {
  Vault vault;
  vault.push(request(0, 0, 1), 800);
  EXPECT_EQ(vault.next_ps(), tck);
  std::vector<VaultReply> replies;
  vault.advance(tck, replies);
  EXPECT_EQ(vault.next_ps(), 12 * tck);
  vault.advance(12 * tck, replies);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].done_ps, 39 * tck);
  EXPECT_EQ(vault.next_ps(), Vault::never);
}

TEST(Vault, HowOftenItIsAskedMakesNoDifference) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<std::pair<std::int64_t, VaultRequest>> arrivals;
  std::int64_t at = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    at += static_cast<std::int64_t>(random() % 60000);
    arrivals.emplace_back(at, request(random() % 16, random() % 3, i, random() % 2 != 0));
  }
  const auto run = [&](std::int64_t step) {
    Vault vault;
    std::vector<VaultReply> replies;
    for (const auto& [when, one] : arrivals) {
      for (std::int64_t now = when - when % step; now < when; now += step) vault.advance(now, replies);
      // Commands before an arrival cannot know of it.
      vault.advance(when - 1, replies);
      for (std::int64_t now = when; vault.full(); now += step) vault.advance(now, replies);
      vault.push(one, when);
    }
    vault.advance(at * 2, replies);
    EXPECT_TRUE(vault.idle());
    return replies;
  };
  const auto coarse = run(1000000000), fine = run(800);
  ASSERT_EQ(coarse.size(), arrivals.size());
  ASSERT_EQ(fine.size(), arrivals.size());
  std::set<std::uint64_t> tags;
  std::int64_t last = 0;
  for (const VaultReply& reply : fine) {
    tags.insert(reply.tag);
    EXPECT_GE(reply.done_ps, last + 16 * tck);  // the bus carries one line at a time
    last = reply.done_ps;
  }
  EXPECT_EQ(tags.size(), arrivals.size());
}

TEST(Vault, NamesWhatCannotBe) {
  EXPECT_TRUE(contains(error_of([] { Vault(DramTiming{.tcl = 0}); }).what(), "tcl is 0, expected more than 0"));
  EXPECT_TRUE(contains(error_of([] { Vault({}, 65); }).what(), "65 banks in a vault, expected 1..64"));
  EXPECT_TRUE(contains(error_of([] { Vault().push(request(16, 0, 0), 0); }).what(), "bank 16, expected 0..15"));
}

}  // namespace
