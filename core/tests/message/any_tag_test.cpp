// Messages that came before they were asked for are found by any tag, whichever list they were kept in.
#include <dcgn/comm.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace dcgn::test {
namespace {

// More tags than there are lists, so that each list has some.
constexpr int tags = 300;

void receive_all(int from, bool probes) {
  std::vector<int> found, expected(tags);
  std::iota(expected.begin(), expected.end(), 0);
  Job job({.nodes = {{.cpus = 2}}, .deadline_s = 20});
  job.cpu([&](Comm& comm) {
    int x = 0;
    if (comm.rank() == 1) {
      for (x = 0; x < tags; ++x) comm.send(x, 0, x);
      return comm.send(x, 0, tags);
    }
    comm.recv(x, 1, tags);  // the others are kept meanwhile
    for (int i = 0; i < tags; ++i) {
      const Status asked = probes ? comm.probe(from, any_tag) : Status{};
      const Status s = comm.recv(x, from, any_tag);
      found.push_back(x);
      EXPECT_EQ(s.tag, x);
      if (probes) {
        EXPECT_EQ(asked.tag, x);
      }
    }
  });
  job.run();
  EXPECT_EQ(found, expected);
}

TEST(AnyTag, FindsAllThatWasKeptInOrder) {
  receive_all(1, false);
  receive_all(any_source, false);
  receive_all(any_source, true);
}

}  // namespace
}  // namespace dcgn::test
