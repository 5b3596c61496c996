// Where a receive from any source looks: whoever has sent is found, and nobody else.
#include "message/engine/calls.hpp"
#include "message/memory.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/placement.hpp>

#include <gtest/gtest.h>

namespace dcgn::test {
namespace {

using message::Endpoint;

class Places : public ::testing::TestWithParam<int> {
 protected:
  Places() : memory_(config(), Placement(config().nodes), {}, nullptr) {}

  static Config config() {
    Config config;
    config.nodes = {{.cpus = GetParam()}};
    return config;
  }
  Endpoint& rank(int r) { return *memory_.endpoint(r); }
  void send(int from, int tag = 0) {
    const int x = from;
    ASSERT_EQ(message::send(thread_, message::Port(rank(from)), message::Call::send, message::SendMode::standard, &x,
                            sizeof x, 0, tag, message::user_context),
              Code::ok);
  }
  int receive(int tag = 0) {
    int x = -1;
    const Status s = message::recv(thread_, message::Port(rank(0)), message::Call::recv, &x, sizeof x, any_source, tag,
                                   message::user_context);
    EXPECT_EQ(s.source, x);
    return x;
  }

  // By bells alone, too, where each place has one.
  int find() {
    const auto search = message::Search::of(thread_, rank(0));
    const int place = message::find_place<false>(thread_, rank(0), search);
    if (message::has_all_bells(rank(0))) {
      EXPECT_EQ(message::find_place<true>(thread_, rank(0), search), place);
    }
    return place;
  }

  const gpu::ThreadScope thread_{};
  message::RankMemory memory_;
};

TEST_P(Places, OfThoseWhoHaveSentAreFoundAndNoOthers) {
  EXPECT_EQ(find(), -1);
  for (int from = GetParam() - 1; from >= 0; --from) {
    send(from);
    EXPECT_EQ(find(), from);
    for (int first = 0; first < GetParam(); first += message::bell_group)
      EXPECT_EQ(message::full_places(rank(0), first),
                from / message::bell_group * message::bell_group == first ? 1u << from % message::bell_group : 0u);
    EXPECT_EQ(receive(), from);
    EXPECT_EQ(find(), -1);
  }
}

// What is noted beside a bell is what was taken, and no more: of a message that is received, and of one that is kept
// because another one was asked for.
TEST_P(Places, AreFoundAgainForTheNextMessage) {
  const int from = GetParam() - 1;
  for (int round = 0; round < 3; ++round) {
    send(from);
    ASSERT_EQ(find(), from) << "message " << round;
    EXPECT_EQ(receive(), from);
    send(from, 1);
    send(from);
    EXPECT_EQ(receive(), from);
    send(from);
    ASSERT_EQ(find(), from) << "behind the one that was kept " << round;
    EXPECT_EQ(receive(), from);
    EXPECT_EQ(receive(1), from);
  }
}

TEST_P(Places, TakeTurns) {
  for (int round = 0; round < 3; ++round)
    for (int from = 0; from < GetParam(); ++from) send(from);
  for (int i = 0; i < 3 * GetParam(); ++i) EXPECT_EQ(receive(), i % GetParam());
}

// A receive that names its source leaves the notes beside the bells as they were.
TEST_P(Places, AreNotFoundForWhatAReceiveThatNamesItsSourceHasTaken) {
  const int from = GetParam() - 1;
  send(from);
  int x = -1;
  message::recv(thread_, message::Port(rank(0)), message::Call::recv, &x, sizeof x, from, 0, message::user_context);
  EXPECT_EQ(x, from);
  EXPECT_EQ(find(), -1);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Places, ::testing::Values(1, 2, 8, 9, 10, 16, 17, 33));

}  // namespace
}  // namespace dcgn::test
