// One process alone, which has all already; several: tests/process/demo.sh.
#include "apps/meeting/meeting.hpp"

#include <gtest/gtest.h>

#include <vector>

using namespace dcgn;

namespace {

TEST(Meeting, OfOneProcessHasWhatThatHas) {
  Job job({.nodes = {{.cpus = 1, .count = 2}}});  // nodes are not processes
  job.cpu([](Comm&) {});
  Report report = job.run();
  report.ranks[1].failure = "kept";
  apps::Meeting meeting(std::move(job));
  EXPECT_EQ(meeting.gather(std::vector{3, 1}), (std::vector{3, 1}));
  EXPECT_EQ(meeting.all_gather(std::vector{0.5}), (std::vector{0.5}));
  std::vector<int> values{7};
  meeting.broadcast(values);
  EXPECT_EQ(values, (std::vector{7}));
  const std::vector<RankReport> reports = meeting.all_reports(report.ranks);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[1].failure, "kept");
}

}  // namespace
