// What the rows of a peer must be, by peers that are one line of a shell.
#include "bench/peer.hpp"

#include "bench/json.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

using namespace dcgn::bench;
using dcgn::test::contains, dcgn::test::error_of;

namespace {

// The launcher's own arguments become a comment.
std::vector<Row> run_with(const std::string& launcher, const std::vector<std::int64_t>& sizes) {
  ::setenv("DCGN_MPIRUN", (launcher + " #").c_str(), 1);
  return run_peer("mpi", {.measures = {"latency"}, .sizes = sizes, .seconds = 0.5});
}

std::string echo(const std::vector<Row>& rows) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const Row& row : rows) document.push_back(to_json(row));
  return "echo '" + document.dump() + "'";
}

Row latency_of(std::int64_t bytes) {
  Row row;
  row.whose = "a peer";
  row.measure = "latency";
  row.bytes = bytes;
  row.p50_us = 0.25;
  return row;
}

TEST(Peer, GivesItsRows) {
  const std::vector<Row> rows = run_with(echo({latency_of(8), latency_of(8), latency_of(16)}), {8, 16});
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].whose, "a peer");
  EXPECT_EQ(rows[2].bytes, 16);
  EXPECT_EQ(rows[2].p50_us, 0.25);
}

TEST(Peer, WhatItsLibrariesPrintIsNoRow) {
  const std::string rows = echo({latency_of(8)}).substr(std::string("echo ").size());
  EXPECT_EQ(run_with("printf '[vm:1] a notice\\n%s\\n[vm:1] another\\n' " + rows, {8}).size(), 1u);
}

TEST(Peer, RowsThatAreMissingOrWereNotAskedForAreRefused) {
  Row other = latency_of(8);
  other.measure = "bandwidth";
  const struct {
    std::vector<Row> rows;
    const char* said;
  } cases[] = {
      {{}, "printed no rows"},
      {{latency_of(16)}, "--peers mpi: no row of latency at 8 bytes"},
      {{latency_of(8)}, "--peers mpi: no row of latency at 16 bytes"},
      {{latency_of(8), latency_of(16), latency_of(32)}, "--peers mpi: a row of latency at 32 bytes"},
      {{latency_of(8), latency_of(16), other}, "--peers mpi: a row of bandwidth at 8 bytes"},
  };
  for (const auto& c : cases) {
    const dcgn::Error error = error_of([&] { run_with(echo(c.rows), {8, 16}); });
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), c.said));
  }
}

TEST(Peer, FailureIsAnErrorThatNamesTheCommandAndItsLimit) {
  const dcgn::Error error = error_of([] { run_with("false", {8, 16, 32}); });
  EXPECT_EQ(error.code(), dcgn::Code::io);
  EXPECT_TRUE(contains(
      error.what(), "exit code 1 from: exec setpriv --pdeathsig TERM timeout --foreground --kill-after=10 603 false"));
  EXPECT_EQ(error_of([] { run_with("echo nonsense", {8}); }).code(), dcgn::Code::io);
}

TEST(Peer, TheProgramIsToldWhatToMeasure) {
  // The launcher prints its arguments, which are no rows.
  ::setenv("DCGN_MPIRUN", "echo", 1);
  const dcgn::Error error = error_of([] {
    run_peer("nvshmem", {.measures = {"latency", "bandwidth"}, .sizes = {8, 4096}, .window = 5, .seconds = 0.25});
  });
  EXPECT_TRUE(
      contains(error.what(), "dcgn_peer_nvshmem_p2p' --measures latency,bandwidth --seconds 0.25 --window 5 8 4096"));
  EXPECT_TRUE(contains(error.what(), "NVSHMEM_DISABLE_NVLS=1")) << "multicast stays off";
}

TEST(Peer, OneThatIsNotThereIsSaid) {
  const dcgn::Error unknown = error_of([] { find_peer("ucx"); });
  EXPECT_EQ(unknown.code(), dcgn::Code::configuration);
  EXPECT_TRUE(contains(unknown.what(), "--peers ucx: expected custom, mpi, nccl, nvshmem or torch"));
  for (const std::string name : {"mpi", "nccl", "nvshmem"}) {
    const dcgn::Error error = error_of([&] { find_peer(name); });
    EXPECT_EQ(has_peer(name), error.code() == dcgn::Code::ok);
    if (has_peer(name)) continue;
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), "--peers " + name + ": there is no "));
    EXPECT_TRUE(contains(error.what(), "dcgn_peer_" + name + "_p2p; it is built where "));
  }
}

}  // namespace
