// Collectives measured: by CPU ranks and by slots of the devices that there are, and by peers that are one line of a
// shell.
#include "core/bench/coll.hpp"

#include "bench/json.hpp"
#include "bench/peers/coll_rounds.hpp"
#include "core/bench/coll_part.hpp"
#include "core/bench/coll_peer.hpp"
#include "scopes.hpp"
#include "tests/expect.hpp"
#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace dcgn::bench;
using dcgn::test::block, dcgn::test::contains, dcgn::test::error_of, dcgn::test::thread, dcgn::test::two_blocks,
    dcgn::test::warp;

namespace {

TEST(Collective, NamesAreUnderstood) {
  for (const Collective op : all_collectives) EXPECT_EQ(parse_collective(name_of(op)), op);
  EXPECT_FALSE(parse_collective("all-reduce"));
}

TEST(Collective, SizesCountsAndBusBandwidthsAreThoseOfNcclTests) {
  EXPECT_EQ(count_of(Collective::all_reduce, 8192, 8), 2048);
  EXPECT_EQ(count_of(Collective::all_gather, 8192, 8), 256);
  EXPECT_EQ(count_of(Collective::all_to_all, 8192, 8), 256);
  EXPECT_EQ(count_of(Collective::barrier, 8192, 8), 0);
  EXPECT_EQ(count_of(Collective::reduce_scatter, 8, 8), 1) << "one at least";
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 2 * 7 / 8.0);
  for (const Collective op : {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all,
                              Collective::gather, Collective::scatter})
    EXPECT_DOUBLE_EQ(bus_factor(op, 8), 7 / 8.0) << name_of(op);
  for (const Collective op : {Collective::broadcast, Collective::reduce})
    EXPECT_DOUBLE_EQ(bus_factor(op, 8), 1) << name_of(op);
  EXPECT_EQ(bus_factor(Collective::all_reduce, 1), 0);
}

TEST(Collective, SizesAreWholeElementsAndEachOnce) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(sizes_of(Collective::all_reduce, {1, 4, 10, 64}, 3), (Sizes{4, 8, 64}));
  EXPECT_EQ(sizes_of(Collective::all_gather, {8, 12, 64}, 3), (Sizes{12, 60}));
  EXPECT_EQ(sizes_of(Collective::barrier, {8, 4096}, 3), (Sizes{0}));
}

// What each rank has after the call, by plain loops over what all give.
TEST(Collective, WhatIsExpectedIsWhatTheCallBrings) {
  constexpr int ranks = 3;
  constexpr std::int64_t count = 5;
  for (const Collective op : all_collectives) {
    SCOPED_TRACE(name_of(op));
    for (int r = 0; r < ranks; ++r)
      for (std::int64_t i = 0; gets(op, r) && i < got_count(op, count, ranks); ++i) {
        const std::int64_t from = i / count, mine = r * count;
        float sum = 0, sum_to_me = 0, sum_of_mine = 0;
        for (int q = 0; q < ranks; ++q) {
          sum += given(q, i);
          sum_to_me += q <= r ? given(q, i) : 0;
          sum_of_mine += given(q, mine + i);
        }
        float right = 0;
        switch (op) {
          case Collective::barrier: break;
          case Collective::broadcast: right = given(0, i); break;
          case Collective::reduce:
          case Collective::all_reduce: right = sum; break;
          case Collective::reduce_scatter: right = sum_of_mine; break;
          case Collective::all_gather:
          case Collective::gather: right = given(static_cast<int>(from), i % count); break;
          case Collective::scatter: right = given(0, mine + i); break;
          case Collective::all_to_all: right = given(static_cast<int>(from), mine + i % count); break;
          case Collective::scan: right = sum_to_me; break;
        }
        EXPECT_EQ(expected(op, ranks, r, count, i), right) << "element " << i << " of rank " << r;
        if (op != Collective::broadcast || r != 0) {
          EXPECT_NE(expected(op, ranks, r, count, i), before(op, r, i));
        }
      }
  }
}

TEST(Collective, SumsOverTheMostRanksAreExact) {
  EXPECT_LT(static_cast<double>(summed(most_collective_ranks, 0)) + 128.0 * most_collective_ranks, 16'777'216.0);
}

// An end whose calls bring nothing, or something else.
class FalseEnd {
 public:
  FalseEnd(int ranks, bool wrong_value) : ranks_(ranks), wrong_value_(wrong_value) {}
  unsigned rank() const { return 0; }
  unsigned size() const { return 1; }
  bool leader() const { return true; }
  void sync() const {}
  int me() const { return 0; }
  int ranks() const { return ranks_; }
  bool barrier() const { return true; }
  bool broadcast(dcgn::Span<std::uint64_t>) const { return true; }
  bool call(Collective, const float*, std::int64_t, float* out, std::int64_t) const {
    if (wrong_value_) out[2] += 1;
    return true;
  }

 private:
  int ranks_;
  bool wrong_value_;
};

TEST(Collective, WhatDidNotComeIsCounted) {
  constexpr std::int64_t count = 100;
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::scan}) {
    std::vector<float> in(4 * count), out(4 * count);
    CollSamples samples{};
    const CollPlan plan{.op = op, .count = count, .bytes = 4 * count, .target_ns = 1000, .warm_up = 1};
    ASSERT_TRUE(take_part(FalseEnd(4, false), plan, {in.data(), out.data(), &samples}));
    EXPECT_EQ(samples.wrong, static_cast<std::uint64_t>(got_count(op, count, 4))) << name_of(op);
    EXPECT_GE(samples.repetitions * samples.calls, 20u);
  }
  // The root of a broadcast has it all from the start.
  std::vector<float> in(count), out(count);
  CollSamples samples{};
  const CollPlan plan{.op = Collective::broadcast, .count = count, .bytes = 4 * count, .target_ns = 1000, .warm_up = 1};
  ASSERT_TRUE(take_part(FalseEnd(4, true), plan, {in.data(), out.data(), &samples}));
  EXPECT_EQ(samples.wrong, 1u);
}

void expect_sound(const CollWork& work) {
  const Row row = measure_collective(work);
  SCOPED_TRACE(row.measure + " " + row.path + " " + row.scope);
  EXPECT_EQ(row.measure, name_of(work.op));
  EXPECT_EQ(row.path, name_of(work.ranks));
  EXPECT_EQ(row.bytes, work.bytes);
  EXPECT_EQ(row.ranks, work.ranks.count());
  EXPECT_EQ(row.wrong, 0u);
  EXPECT_GE(row.rounds, 20u);
  EXPECT_GT(row.p50_us, 0);
  EXPECT_LE(row.p50_us, row.p99_us);
  EXPECT_EQ(row.scope, work.ranks.gpus ? name_of(work.scope) : "-");
  EXPECT_EQ(row.slots, work.ranks.gpus ? work.ranks.slots : 0);
}

CollWork work_of(Collective op, const CollRanks& ranks, const Scope& scope, std::int64_t bytes) {
  return {
      .op = op, .ranks = ranks, .scope = scope, .bytes = sizes_of(op, {bytes}, ranks.count()).front(), .seconds = 1e-4};
}

TEST(Coll, EveryCollectiveIsRightOnAnyRanks) {
  const int gpus = std::min(dcgn::Device::count(), 2);
  const std::vector<std::pair<CollRanks, Scope>> all = {{{.cpus = 3}, {}},
                                                        {{.gpus = gpus}, block},
                                                        {{.gpus = gpus, .slots = 2}, warp},
                                                        {{.cpus = 1, .gpus = gpus, .slots = 1}, thread},
                                                        {{.cpus = 1}, {}}};
  int turn = 0;
  for (const Collective op : all_collectives)
    for (const auto& [ranks, scope] : all) {
      if (!ranks.count()) continue;
      // Small and large in turn: five to a collective, so that each has both, and so have all kinds of ranks.
      const bool small = turn++ % 2;
      if (!dcgn::test::sanitized || !small) expect_sound(work_of(op, ranks, scope, small ? 8 : 3000));
    }
}

TEST(Coll, SeveralBlocksMakeOneCall) {
  if (!dcgn::Device::count()) GTEST_SKIP() << "no GPU";
  for (const Collective op : {Collective::barrier, Collective::all_reduce, Collective::all_to_all})
    expect_sound(work_of(op, {.gpus = 1, .slots = 2}, two_blocks, dcgn::test::sanitized ? 256 : 20'000));
  if (dcgn::test::sanitized) return;
  const Scope larger_blocks{.kind = ScopeKind::blocks, .blocks = 2, .threads = 544};
  expect_sound(work_of(Collective::all_reduce, {.gpus = 1}, larger_blocks, 64));
}

TEST(Coll, RanksAreNamed) {
  EXPECT_EQ(name_of(CollRanks{.cpus = 4}), "4 CPUs");
  EXPECT_EQ(name_of(CollRanks{.gpus = 1}), "1 GPU");
  EXPECT_EQ(name_of(CollRanks{.cpus = 1, .gpus = 2, .slots = 3}), "1 CPU + 2 GPUs x 3 slots");
  EXPECT_EQ((CollRanks{.cpus = 1, .gpus = 2, .slots = 3}).count(), 7);
}

TEST(Coll, LargeSizesAreForSeveralBlocks) {
  EXPECT_EQ(name_of(usual_scope(0)), "warp");
  EXPECT_EQ(name_of(usual_scope(8192)), "block");
  EXPECT_EQ(name_of(usual_scope(64 << 20)), "grid");
}

TEST(Coll, ARowHasItsBusBandwidth) {
  const Row row{.measure = "all_reduce", .path = "4 CPUs", .gb_per_s = 2, .ranks = 4};
  const nlohmann::ordered_json j = to_json(row);
  EXPECT_EQ(j.at("ranks"), 4);
  EXPECT_DOUBLE_EQ(j.at("busGBps"), 3);
  EXPECT_EQ(to_json(row_from(j)), j);
  EXPECT_FALSE(to_json(Row{}).contains("busGBps"));
}

// ---- peers

peer::CollArguments parse_coll(std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  std::vector<char*> argv;
  argv.reserve(words.size());
  for (std::string& word : words) argv.push_back(word.data());
  return peer::parse_coll(static_cast<int>(argv.size()), argv.data());
}

TEST(CollPeer, IsToldItsRounds) {
  const peer::CollArguments a = parse_coll({"--ranks", "4", "--seconds", "0.5", "all_gather:64", "barrier:0"});
  EXPECT_EQ(a.ranks, 4);
  EXPECT_EQ(a.seconds, 0.5);
  ASSERT_EQ(a.rounds.size(), 2u);
  EXPECT_EQ(a.rounds[0], (peer::CollRound{Collective::all_gather, 64, 4}));
  EXPECT_EQ(a.rounds[0].count(), 4);
  EXPECT_EQ(a.room(), 16u);
}

TEST(CollPeer, MistakesNameTheValue) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--ranks", "0", "--seconds", "1", "barrier:0"}, "--ranks 0"},
      {{"--ranks", "5000", "--seconds", "1", "barrier:0"}, "--ranks 5000"},
      {{"--ranks", "2", "--seconds", "soon", "barrier:0"}, "--seconds soon"},
      {{"--ranks", "2", "--seconds", "1", "all_reduce"}, "all_reduce: expected a collective and its size"},
      {{"--ranks", "2", "--seconds", "1", "allreduce:8"}, "allreduce:8: expected"},
      {{"--ranks", "2", "--seconds", "1", "all_reduce:x"}, "all_reduce:x: expected"},
      {{"--ranks", "2", "--seconds", "1"}, "expected --ranks"},
      {{"--ranks"}, "--ranks: expected a value"},
  };
  for (const auto& [words, said] : mistakes) try {
      parse_coll(words);
      ADD_FAILURE() << said;
    } catch (const std::runtime_error& e) {
      EXPECT_NE(std::string(e.what()).find(said), std::string::npos) << e.what();
    }
}

TEST(CollPeer, StandsBesideItsRanksAlone) {
  const std::vector<Collective> all(std::begin(all_collectives), std::end(all_collectives));
  const CollRanks gpus{.gpus = 8}, slots{.gpus = 8, .slots = 132}, cpus{.cpus = 8}, both{.cpus = 1, .gpus = 8};
  for (const std::string& name : coll_peers()) {
    EXPECT_TRUE(coll_peer_has(name, gpus, all)) << name;
    EXPECT_FALSE(coll_peer_has(name, slots, all)) << name;
    EXPECT_FALSE(coll_peer_has(name, both, all)) << name;
    EXPECT_EQ(coll_peer_has(name, cpus, all), name == "mpi");
  }
  EXPECT_FALSE(coll_peer_has("nccl", gpus, {Collective::scan}));
  EXPECT_TRUE(coll_peer_has("nccl", gpus, {Collective::barrier})) << "by its device API";
  EXPECT_FALSE(coll_peer_has("custom", gpus, {Collective::all_gather}));
  EXPECT_TRUE(coll_peer_has("nvshmem", gpus, {Collective::barrier}));
  EXPECT_TRUE(contains(error_of([&] { coll_peer_has("ucx", gpus, all); }).what(),
                       "--peers ucx: expected nccl, custom, torch, nvshmem, mpi"));
}

std::vector<Row> run_coll(const std::string& launcher, const std::vector<std::int64_t>& sizes) {
  ::setenv("DCGN_MPIRUN", (launcher + " #").c_str(), 1);  // the launcher's own arguments become a comment
  return run_coll_peer("mpi", {.ops = {Collective::all_gather}, .sizes = sizes, .ranks = 3, .seconds = 0.5});
}

TEST(CollPeer, RowsThatWereNotAskedForAndNoneAreRefused) {
  Row row{.whose = "a peer", .measure = "all_gather", .path = "3 CPUs", .bytes = 12, .p50_us = 0.5, .ranks = 3};
  const auto echo = [](const Row& r) { return "echo '" + nlohmann::ordered_json::array({to_json(r)}).dump() + "'"; };
  const std::vector<Row> rows = run_coll(echo(row), {8});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].p50_us, 0.5);
  EXPECT_EQ(rows[0].ranks, 3);
  EXPECT_TRUE(contains(error_of([&] { run_coll(echo(row), {64}); }).what(),
                       "a row of all_gather of 12 bytes by 3 ranks that was not asked for"));
  row.ranks = 2;
  EXPECT_TRUE(contains(error_of([&] { run_coll(echo(row), {8}); }).what(), "12 bytes by 2 ranks"));
  EXPECT_TRUE(contains(error_of([&] { run_coll("echo '[]'", {8}); }).what(), "printed no rows"));
}

TEST(CollPeer, TheProgramIsToldWhatToMeasure) {
  ::setenv("DCGN_MPIRUN", "echo", 1);
  const dcgn::Error error = error_of([] {
    run_coll_peer("nvshmem", {.ops = {Collective::barrier, Collective::all_to_all, Collective::scan},
                              .sizes = {64, 64 << 20},
                              .ranks = 4,
                              .seconds = 0.25});
  });
  EXPECT_TRUE(contains(error.what(),
                       "dcgn_peer_nvshmem_coll' --ranks 4 --seconds 0.25 barrier:0 all_to_all:64 printed no rows"))
      << "nothing that it has not, or that takes it long";
  EXPECT_TRUE(contains(error.what(), "NVSHMEM_DISABLE_NVLS=1")) << "multicast stays off";
}

TEST(CollPeer, OneThatIsNotThereIsSaid) {
  for (const std::string& name : coll_peers()) {
    const dcgn::Error error = error_of([&] { find_peer(name, collectives_of_peers); });
    EXPECT_EQ(has_peer(name, collectives_of_peers), error.code() == dcgn::Code::ok);
    if (error.code() == dcgn::Code::ok) continue;
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), "dcgn_peer_" + (name == "custom" ? "cuda" : name) + "_coll"));
    EXPECT_TRUE(contains(error.what(), "; it is built where "));
  }
}

}  // namespace
