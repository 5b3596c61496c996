// Traces of several processes: one file, by one clock.
#include "core/tests/process/in_processes.hpp"
#include "core/tests/trace/slices.hpp"
#include "tests/expect.hpp"

#include "trace/process_clock.hpp"
#include "transport/processes.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::test {
namespace {

void around(Comm& comm) {
  int x = comm.rank();
  const int n = comm.size();
  const Request sent = comm.isend(x, (comm.rank() + 1) % n, 5);
  comm.recv(x, (comm.rank() + n - 1) % n, 5);
  comm.wait(sent);
}

TEST_F(Processes, WriteOneTrace) {
  const Folder folder;
  Config config = with({.cpus = 1 + this_process() % 2});
  config.trace = folder / "t.json";
  Job job(config);
  job.cpu(around);
  const Placement placement = job.placement();
  job.run();
  if (this_process()) {
    EXPECT_EQ(folder.files(), 0u);
    return;
  }
  const Slices slices = read_slices(folder / "t.json");
  ASSERT_EQ(slices.ranks.size(), static_cast<std::size_t>(placement.size()));
  ASSERT_GE(slices.clock_error, 0);
  std::vector<std::int64_t> sent, received;
  for (int r = 0; r < placement.size(); ++r) {
    EXPECT_EQ(slices.ranks.at(r).at("process"), placement.place(r).node);
    EXPECT_EQ(slices.ranks.at(r).at("node"), placement.place(r).node);
    const std::vector<Slice> calls = slices.of(r);
    ASSERT_EQ(calls.size(), 4u) << "rank " << r;  // with finish()
    EXPECT_EQ(calls[1].name, "recv");
    EXPECT_EQ(calls[1]["peer"], (r + placement.size() - 1) % placement.size());
    sent.push_back(calls[0].begin);
    received.push_back(calls[1].end);
  }
  for (std::size_t r = 0; r < sent.size(); ++r)
    EXPECT_GE(received[(r + 1) % sent.size()] + slices.clock_error, sent[r]) << "received before it was sent";
}

TEST_F(Processes, AllRecordTracesOrNone) {
  const Folder folder;
  Config config = with({.cpus = 1});
  if (this_process() == 0) config.trace = folder / "t.json";
  const Error error = error_of([&] { World world(config); });
  EXPECT_EQ(error.code(), Code::configuration);
  EXPECT_TRUE(contains(error.what(), "expected Config::trace in all, or in none"));
}

// As if they were of different hosts; whose clock is the same in truth.
TEST_F(Processes, FindOutHowTheirClocksDiffer) {
  const std::shared_ptr<transport::Processes> all = transport::Processes::find(with({.cpus = 1}));
  ASSERT_TRUE(all->take(20));
  const base::Reading reading = trace::read_first_clock(*all);
  all->give_back();
  const auto off = static_cast<std::int64_t>(reading.host - reading.clock);
  EXPECT_LE(static_cast<std::uint64_t>(off < 0 ? -off : off), reading.error);
  EXPECT_LT(reading.error, 1'000'000'000u);
  if (this_process() == 0) {
    EXPECT_EQ(reading.error, 0u);
  }
}

}  // namespace
}  // namespace dcgn::test
