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
  return run_mpi_peer(sizes, 0.5);
}

std::string echo(const std::vector<Row>& rows) {
  nlohmann::ordered_json document = nlohmann::ordered_json::array();
  for (const Row& row : rows) document.push_back(to_json(row));
  return "echo '" + document.dump() + "'";
}

TEST(Peer, GivesARowForEachSize) {
  const Row row{.whose = "a peer", .path = "cpu-cpu", .scope = "-", .bytes = 8, .rounds = 5, .p50_us = 0.25};
  const std::vector<Row> rows = run_with(echo({row, row}), {8, 16});
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].whose, "a peer");
  EXPECT_EQ(rows[1].p50_us, 0.25);
}

TEST(Peer, OtherNumbersOfRowsAreRefused) {
  for (const std::size_t count : {0, 1, 3}) {
    const dcgn::Error error = error_of([&] { run_with(echo(std::vector<Row>(count)), {8, 16}); });
    EXPECT_EQ(error.code(), dcgn::Code::io);
    EXPECT_TRUE(contains(error.what(), "--peers mpi: " + std::to_string(count) + " rows, expected 2"));
  }
}

TEST(Peer, FailureIsAnErrorThatNamesTheCommandAndItsLimit) {
  const dcgn::Error error = error_of([] { run_with("false", {8, 16, 32}); });
  EXPECT_EQ(error.code(), dcgn::Code::io);
  EXPECT_TRUE(contains(
      error.what(), "exit code 1 from: exec setpriv --pdeathsig TERM timeout --foreground --kill-after=10 603 false"));
  EXPECT_EQ(error_of([] { run_with("echo nonsense", {8}); }).code(), dcgn::Code::io);
}

}  // namespace
