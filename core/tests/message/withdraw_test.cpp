// A call that fails for good leaves its rank's buffers to nobody: whoever reads them is waited for, since the error
// takes them with it.
#include "message/engine/calls.hpp"
#include "message/memory.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/collective/calls.hpp>
#include <dcgn/placement.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace dcgn::test {
namespace {

using message::Action;
using message::Call;
using message::Endpoint;
using message::Port;
using message::Transfer;
using Bytes = std::vector<unsigned char>;

constexpr gpu::ThreadScope thread{};
constexpr std::int64_t length = 16 << 10;

class Withdraw : public ::testing::Test {
 protected:
  Withdraw() : memory_(config(), Placement(config().nodes), {}, nullptr) {}

  static Config config() {
    Config config;
    config.nodes = {{.cpus = 3}};
    config.eager_bytes = 512;
    config.without = message::without_addresses;
    return config;
  }
  Endpoint& rank(int r) { return *memory_.endpoint(r); }
  void abort() { memory_.set_phase(static_cast<std::uint32_t>(message::Phase::aborted)); }

  // `reader` posts a receive of what rank 2 sends, and is made to wait in the middle of its copy; `fails`, rank 2's
  // call in a thread, may not be over before.
  template <class Fails>
  void expect_awaited(int reader, int tag, std::uint32_t context, const Fails& fails) {
    Bytes buffer(static_cast<std::size_t>(length));
    ASSERT_EQ(message::irecv(thread, rank(reader), {buffer.data(), length}, 2, tag, context).code(), Code::ok);
    std::atomic<bool> over = false;
    std::thread sender([&] {
      fails();
      over = true;
    });
    // It may have taken its buffer back before the reader came to it.
    Transfer transfer, next;
    while (!over && transfer.action == Action::nothing) message::step(rank(reader), 2, true, transfer);
    if (transfer.action != Action::nothing) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      EXPECT_FALSE(over) << "rank 2's buffer is being read";
      finish(rank(reader), transfer, next);
    }
    abort();
    sender.join();
    message::step(rank(reader), 2, true, transfer = {});
    EXPECT_EQ(transfer.action, Action::nothing) << "rank 2's buffer is gone";
  }

  message::RankMemory memory_;
};

// The job is aborted, and the first to tell is who has ended by that.
TEST_F(Withdraw, BeforeASendToARankThatHasEndedWithTheJob) {
  const Bytes data(static_cast<std::size_t>(length));
  ASSERT_EQ(
      message::isend(thread, rank(2), message::SendMode::standard, {data.data(), length}, 0, 7, message::user_context)
          .code(),
      Code::ok);
  expect_awaited(0, 7, message::user_context, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    abort();
    memory_.set_ended(1, false);
    EXPECT_EQ(message::send(thread, Port(rank(2)), Call::send, message::SendMode::standard, {data.data(), 4}, 1, 7,
                            message::user_context),
              Code::aborted);
  });
}

// One has ended, and the job goes on: its collective has sent to another before it finds out.
TEST_F(Withdraw, BeforeACollectiveSaysThatARankHasEnded) {
  memory_.set_ended(1, false);
  const Bytes in(static_cast<std::size_t>(length));
  Bytes out(3 * in.size());
  const Port port(rank(2));
  const collective::Member member{port, collective::whole_world(port)};
  expect_awaited(0, any_tag, member.group.collective_context(), [&] {
    EXPECT_EQ(collective::all_gather(thread, member, {in.data(), length}, {out.data(), 3 * length}, 1),
              Code::rank_ended);
  });
}

}  // namespace
}  // namespace dcgn::test
