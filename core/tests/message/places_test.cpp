// Where a receive from any source looks: whoever has sent is found, and nobody else.
#include "emulated_gpus.hpp"
#include "message/engine/calls.hpp"
#include "message/memory.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/device.hpp>
#include <dcgn/placement.hpp>

#include <gtest/gtest.h>
#include <optional>
#include <ostream>
#include <vector>

namespace dcgn::test {
namespace {

using message::Endpoint;

// Slots are of one GPU; the first of them receives, or where there are none the first CPU rank.
struct Ranks {
  int cpus, slots;
  int all() const { return cpus + slots; }
};
std::ostream& operator<<(std::ostream& out, const Ranks& ranks) {
  return out << ranks.cpus << " CPU ranks and " << ranks.slots << " slots";
}

class Places : public ::testing::TestWithParam<Ranks> {
 protected:
  void SetUp() override {
    Config config;
    std::vector<Device> devices;
    config.nodes = {{.cpus = GetParam().cpus}};
    if (GetParam().slots) {
      config.nodes = {{.cpus = GetParam().cpus, .gpus = 1, .slots = GetParam().slots}};
      devices.emplace_back(0);
      if (devices[0].kind() != DeviceKind::emulated) GTEST_SKIP() << "the host does not reach into a real GPU's memory";
      receiver_ = GetParam().cpus;
    }
    memory_.emplace(config, Placement(config.nodes), std::move(devices), nullptr);
  }
  Endpoint& rank(int r) { return *memory_->endpoint(r); }
  Endpoint& receiver() { return rank(receiver_); }
  void send(int from, int tag = 0) {
    const int x = from;
    ASSERT_EQ(message::send(thread_, message::Port(rank(from)), message::Call::send, message::SendMode::standard,
                            {&x, sizeof x}, receiver_, tag, message::user_context),
              Code::ok);
  }
  int receive(int tag = 0, int from = any_source) {
    int x = -1;
    const Status s = message::recv(thread_, message::Port(receiver()), message::Call::recv, {&x, sizeof x}, from, tag,
                                   message::user_context);
    EXPECT_EQ(s.source, x);
    return x;
  }
  // One look of a receive that waits.
  int look() { return finder_->full(finder_->rung()); }
  // The only look of a receive that begins.
  int find() {
    finder_.emplace(thread_, receiver());
    return look();
  }

  const gpu::ThreadScope thread_{};
  int receiver_ = 0;
  std::optional<message::RankMemory> memory_;
  std::optional<message::FifoFinder<gpu::ThreadScope>> finder_;
};

TEST_P(Places, OfThoseWhoHaveSentAreFoundAndNoOthers) {
  EXPECT_EQ(find(), -1);
  for (int from = GetParam().all() - 1; from >= 0; --from) {
    send(from);
    EXPECT_EQ(find(), from);
    EXPECT_EQ(receive(), from);
    EXPECT_EQ(find(), -1);
  }
}

// Behind a message that is received, and behind one that is kept because another one was asked for.
TEST_P(Places, AreFoundAgainForTheNextMessage) {
  const int from = GetParam().all() - 1;
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
  const int all = GetParam().all();
  for (int round = 0; round < 3; ++round)
    for (int from = 0; from < all; ++from) send(from);
  for (int i = 0; i < 3 * all; ++i) EXPECT_EQ(receive(), i % all);
  EXPECT_EQ(find(), -1);
}

// Each of them sends again while messages of the others are taken.
TEST_P(Places, AreFoundAmongOthersThatSendMeanwhile) {
  const int all = GetParam().all();
  std::vector<int> waiting(static_cast<std::size_t>(all)), received(static_cast<std::size_t>(all));
  for (int turn = 0; turn < 40 * all; ++turn) {
    const int from = turn * 7 % all;
    send(from);
    ++waiting[static_cast<std::size_t>(from)];
    if (turn % 3 == 0) continue;
    const int place = find();
    ASSERT_GE(place, 0) << "turn " << turn;
    EXPECT_GT(waiting[static_cast<std::size_t>(place)], 0) << "turn " << turn;
    --waiting[static_cast<std::size_t>(receive())];
  }
  for (int from = 0; from < all; ++from)
    for (int& left = waiting[static_cast<std::size_t>(from)]; left; --left) EXPECT_EQ(receive(0, from), from);
  EXPECT_EQ(find(), -1);
}

TEST_P(Places, AreNotFoundForWhatAReceiveThatNamesItsSourceHasTaken) {
  const int from = GetParam().all() - 1;
  send(from);
  EXPECT_EQ(receive(0, from), from);
  EXPECT_EQ(find(), -1);
}

// As on a GPU, where a doorbell may be seen before the packet: the receiver has cleared it by the time the message
// comes.
TEST_P(Places, AreFoundByTheirPacketsWhereADoorbellWasTooEarly) {
  if (!receiver().doorbells) GTEST_SKIP() << "no doorbells: few ranks";
  for (int from = 0; from < GetParam().all(); ++from) {
    message::set_doorbell(receiver(), from);
    EXPECT_EQ(find(), -1);
    send(from);
    message::clear_doorbell(receiver(), from);
    EXPECT_EQ(look(), from);
    EXPECT_EQ(receive(), from);
    EXPECT_EQ(find(), -1);
  }
}

// The same behind the message before, whose FIFO is left for another one.
TEST_P(Places, AreFoundByTheirPacketsWhereTheDoorbellWasClearedForAnEarlierMessage) {
  const int all = GetParam().all();
  if (!receiver().doorbells) GTEST_SKIP() << "no doorbells: few ranks";
  for (int from = 0; from + 1 < all; ++from) {
    send(from);
    EXPECT_EQ(receive(), from);
    send(from + 1);
    EXPECT_EQ(find(), from + 1);
    EXPECT_EQ(receive(), from + 1);  // clears the doorbell of `from`
    send(from);
    message::clear_doorbell(receiver(), from);
    EXPECT_EQ(find(), from);
    EXPECT_EQ(receive(), from);
    EXPECT_EQ(find(), -1);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpus, Places,
                         ::testing::Values(Ranks{1, 0}, Ranks{2, 0}, Ranks{8, 0}, Ranks{9, 0}, Ranks{33, 0},
                                           Ranks{70, 0}));
INSTANTIATE_TEST_SUITE_P(Slots, Places,
                         ::testing::Values(Ranks{0, 8}, Ranks{0, 9}, Ranks{0, 32}, Ranks{0, 33}, Ranks{0, 64},
                                           Ranks{0, 65}, Ranks{0, 130}, Ranks{2, 7}, Ranks{3, 30}, Ranks{33, 2}));

}  // namespace
}  // namespace dcgn::test
