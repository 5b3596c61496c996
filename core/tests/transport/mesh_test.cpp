// Processes that talk over TCP, all of them here: what one thread of each would do, this one does in turn.
#include "tests/expect.hpp"

#include "transport/tcp/mesh.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace dcgn::transport::test {
namespace {

using Bytes = std::vector<unsigned char>;
using dcgn::test::contains;
using dcgn::test::error_of;

class MeshTest : public ::testing::Test {
 protected:
  static constexpr int count = 3;

  void SetUp() override { make(count); }
  void make(int processes) {
    addresses_.clear();
    meshes_.clear();
    std::vector<Bootstrap> bootstraps(static_cast<std::size_t>(processes));
    for (Bootstrap& m : bootstraps) {
      m.listener = listen_at(0, 16);
      m.token = 4711;
      addresses_.push_back({htonl(INADDR_LOOPBACK), own_address(m.listener).port});
    }
    for (int r = 0; r < processes; ++r) {
      bootstraps[static_cast<std::size_t>(r)].rank = r;
      bootstraps[static_cast<std::size_t>(r)].addresses = addresses_;
      meshes_.push_back(std::make_unique<Mesh>(std::move(bootstraps[static_cast<std::size_t>(r)])));
    }
  }

  Mesh& mesh(int rank) { return *meshes_[static_cast<std::size_t>(rank)]; }

  // Of all meshes_: a look at a receive that never matches makes them move what they can.
  void progress(int times = 50) {
    for (int i = 0; i < times; ++i)
      for (auto& m : meshes_) {
        if (!m) continue;
        const MpiHandle idle = m->receive(nullptr, 0, Mesh::any_source, 99);
        MpiStatus ignored;
        m->test(idle, ignored);
        m->cancel(idle);
        m->test(idle, ignored);
      }
  }

  MpiStatus wait(int rank, MpiHandle request) {
    MpiStatus status;
    const auto until = Clock::now() + std::chrono::seconds(20);
    while (!mesh(rank).test(request, status)) {
      if (Clock::now() > until) throw std::runtime_error("nothing came");
      progress(1);
    }
    return status;
  }

  // One of each process; they get on when they are looked at.
  void wait_all(std::vector<MpiHandle> requests) {
    const auto until = Clock::now() + std::chrono::seconds(20);
    MpiStatus status;
    for (bool over = false; !over;) {
      over = true;
      for (int r = 0; r < count; ++r) {
        MpiHandle& request = requests[static_cast<std::size_t>(r)];
        if (request && mesh(r).test(request, status)) request = 0;
        over = over && !request;
      }
      if (Clock::now() > until) throw std::runtime_error("nothing came");
    }
  }

  std::vector<Address> addresses_;
  std::vector<std::unique_ptr<Mesh>> meshes_;
};

Bytes content(std::size_t bytes, int seed) {
  Bytes b(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    b[i] = static_cast<unsigned char>(i * 7 + i / 251 + static_cast<std::size_t>(seed));
  return b;
}

TEST_F(MeshTest, MessagesComeWholeWheneverTheirReceiveIsPosted) {
  for (const std::size_t bytes : {0u, 1u, 100u, 16384u, 70000u, 5'000'000u})
    for (const int looks : {0, 1, 50}) {  // of the receiver, between the send and the receive
      const Bytes out = content(bytes, looks);
      Bytes in(bytes + 1, 0xee);
      const MpiHandle send = mesh(0).send(out.data(), bytes, 1, 5);
      progress(looks);
      const MpiHandle receive = mesh(1).receive(in.data(), in.size(), 0, 5);
      const MpiStatus status = wait(1, receive);
      wait(0, send);
      EXPECT_EQ(status.source, 0);
      EXPECT_EQ(status.tag, 5);
      ASSERT_EQ(status.bytes, static_cast<std::int64_t>(bytes));
      EXPECT_EQ(in.back(), 0xee);
      in.pop_back();
      EXPECT_EQ(in, out) << bytes << " bytes";
    }
}

TEST_F(MeshTest, MatchesByTagAndInOrder) {
  const Bytes a = content(40, 1), b = content(40, 2), c = content(40, 3);
  for (const Bytes* message : {&a, &b}) wait(0, mesh(0).send(message->data(), 40, 2, 1));
  wait(0, mesh(0).send(c.data(), 40, 2, 2));
  Bytes in(40);
  wait(2, mesh(2).receive(in.data(), 40, Mesh::any_source, 2));
  EXPECT_EQ(in, c);
  wait(2, mesh(2).receive(in.data(), 40, Mesh::any_source, 1));
  EXPECT_EQ(in, a);
  wait(2, mesh(2).receive(in.data(), 40, 0, 1));
  EXPECT_EQ(in, b);
}

TEST_F(MeshTest, ASynchronousSendIsDoneWhenItHasBeenMatched) {
  const int x = 1;
  int y = 0;
  MpiStatus status;
  const MpiHandle send = mesh(0).send(&x, sizeof x, 1, 3, true);
  progress();
  EXPECT_FALSE(mesh(0).test(send, status));
  wait(1, mesh(1).receive(&y, sizeof y, 0, 3));
  wait(0, send);
  EXPECT_EQ(y, 1);
}

std::size_t open_sockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    count += std::filesystem::read_symlink(entry, gone).string().starts_with("socket:");
  }
  return count;
}

TEST_F(MeshTest, AnAnswerTakesTheConnectionOfTheQuestion) {
  const Bytes out = content(100, 1);
  Bytes in(100);
  const auto pass = [&](int from, int to) {
    const MpiHandle sent = mesh(from).send(out.data(), out.size(), to, 5);
    wait(to, mesh(to).receive(in.data(), in.size(), from, 5));
    wait(from, sent);
    EXPECT_EQ(in, out);
  };
  pass(0, 1);
  const std::size_t sockets = open_sockets();
  pass(1, 0);
  EXPECT_EQ(open_sockets(), sockets);
}

TEST_F(MeshTest, TwoThatGatherHaveOneConnection) {
  make(2);
  const std::size_t sockets = open_sockets();
  for (int value = 0; value < 3; ++value) {
    int all[2][2] = {};
    const int mine[2] = {value, value + 10};
    const MpiHandle zero = mesh(0).all_gather(&mine[0], all[0], sizeof(int)),
                    one = mesh(1).all_gather(&mine[1], all[1], sizeof(int));
    MpiStatus ignored;
    bool done[2] = {};
    for (const auto until = Clock::now() + std::chrono::seconds(20); !(done[0] && done[1]) && Clock::now() < until;) {
      done[1] = done[1] || mesh(1).test(one, ignored);
      done[0] = done[0] || mesh(0).test(zero, ignored);
    }
    ASSERT_TRUE(done[0] && done[1]);
    for (const auto& got : all) EXPECT_TRUE(got[0] == mine[0] && got[1] == mine[1]);
  }
  EXPECT_EQ(open_sockets(), sockets + 2);  // its two ends
}

TEST_F(MeshTest, TwoThatBeginAtTheSameTimeHearEachOther) {
  const Bytes out = content(100, 1);
  Bytes in(100), in_too(100);
  for (int round = 0; round < 3; ++round) {
    const MpiHandle sent = mesh(0).send(out.data(), out.size(), 1, 5), sent_too = mesh(1).send(out.data(), 100, 0, 5);
    wait(1, mesh(1).receive(in.data(), in.size(), 0, 5));
    wait(0, mesh(0).receive(in_too.data(), in_too.size(), 1, 5));
    wait(0, sent);
    wait(1, sent_too);
    EXPECT_EQ(in, out);
    EXPECT_EQ(in_too, out);
  }
}

// Its connection is over, but not the one by which its message has come.
TEST_F(MeshTest, WhatAProcessSentBeforeItLeftIsReceived) {
  const Bytes out = content(100, 1);
  Bytes in(100);
  mesh(0).send(out.data(), out.size(), 1, 5);
  mesh(1).send(out.data(), out.size(), 0, 5);
  meshes_[1].reset();
  wait(0, mesh(0).receive(in.data(), in.size(), 1, 5));
  EXPECT_EQ(in, out);
  EXPECT_TRUE(contains(error_of([&] { wait(0, mesh(0).receive(in.data(), in.size(), 1, 5)); }).what(),
                       "process 1 has gone, and a message of it is waited for"));
}

// One connection is looked at more often than others, whatever comes over it.
TEST_F(MeshTest, WhoSendsAllTheTimeHoldsNobodyElseUp) {
  const Bytes out = content(100, 1);
  std::array<unsigned char, 100> in{};
  unsigned char other = 0;
  const MpiHandle waited = mesh(0).receive(&other, 1, 2, 7);
  MpiStatus status;
  bool came = false;
  for (int i = 0; i < 1000 && !came; ++i) {
    const MpiHandle sent = mesh(1).send(out.data(), out.size(), 0, 5);
    if (i == 10) wait(2, mesh(2).send(out.data(), 1, 0, 7));
    wait(1, sent);
    came = mesh(0).test(waited, status);
  }
  EXPECT_TRUE(came);
  for (int i = 0; i < 10; ++i) wait(0, mesh(0).receive(in.data(), in.size(), 1, 5));
}

TEST_F(MeshTest, AReceiveThatIsCancelledLeavesItsBufferAlone) {
  const Bytes out = content(3'000'000, 1);
  Bytes in(out.size());
  MpiStatus status;
  MpiHandle send = mesh(0).send(out.data(), out.size(), 1, 1);
  MpiHandle receive = mesh(1).receive(in.data(), in.size(), 0, 1);
  mesh(1).test(receive, status);  // it may have begun
  mesh(1).cancel(receive);
  ASSERT_TRUE(mesh(1).test(receive, status));
  if (status.cancelled) {
    const Bytes before(in.begin(), in.end());
    progress(200);
    EXPECT_EQ(in, before);
  }
  const int x = 7;
  int y = 0;
  mesh(0).send(&x, sizeof x, 1, 2);
  wait(1, mesh(1).receive(&y, sizeof y, 0, 2));
  EXPECT_EQ(y, 7);
  static_cast<void>(send);
}

TEST_F(MeshTest, AllGather) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::array<int, 5>> in(count), out(static_cast<std::size_t>(count) * count);
    std::vector<MpiHandle> requests;
    for (int r = 0; r < count; ++r) {
      auto& mine = in[static_cast<std::size_t>(r)];
      std::iota(mine.begin(), mine.end(), 100 * r + round);
      requests.push_back(mesh(r).all_gather(mine.data(), &out[static_cast<std::size_t>(r) * count], sizeof mine));
    }
    wait_all(requests);
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], in[i % count]);
  }
}

TEST_F(MeshTest, ABarrierWaitsForAll) {
  std::vector<MpiHandle> requests;
  for (int r = 0; r + 1 < count; ++r) requests.push_back(mesh(r).all_gather(nullptr, nullptr, 0));
  MpiStatus status;
  for (int i = 0; i < 50; ++i)
    for (int r = 0; r + 1 < count; ++r) EXPECT_FALSE(mesh(r).test(requests[static_cast<std::size_t>(r)], status));
  requests.push_back(mesh(count - 1).all_gather(nullptr, nullptr, 0));
  wait_all(requests);
}

TEST_F(MeshTest, TooLongAMessageIsRefused) {
  const Bytes out(100);
  Bytes in(10);
  mesh(0).send(out.data(), out.size(), 1, 1);
  progress();
  EXPECT_TRUE(contains(error_of([&] { mesh(1).receive(in.data(), in.size(), 0, 1); }).what(),
                       "a message of 100 bytes from process 0 for a buffer of 10"));
}

TEST_F(MeshTest, WhoHasGoneIsNamed) {
  int x = 1;
  wait(2, mesh(2).send(&x, sizeof x, 0, 1));
  wait(0, mesh(0).receive(&x, sizeof x, 2, 1));
  meshes_[2].reset();
  const MpiHandle receive = mesh(0).receive(&x, sizeof x, 2, 1);
  EXPECT_TRUE(contains(error_of([&] { wait(0, receive); }).what(), "process 2 has gone"));
}

// A child's copy of the socket keeps the poll looking at what has been closed here.
TEST_F(MeshTest, AConnectionThatIsOverStaysForgottenWhileAChildHasItsSocket) {
  const Socket stranger = connect_to(addresses_[0], Clock::now() + std::chrono::seconds(5));
  ASSERT_TRUE(stranger);
  progress();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    pause();
    _exit(0);
  }
  const Bytes nonsense(64, 'x');  // of which a greeting is read, and the connection closed
  ASSERT_TRUE(write_all(stranger.fd(), nonsense.data(), nonsense.size(), Clock::now() + std::chrono::seconds(5)));
  EXPECT_NO_THROW(progress());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(MeshTest, AStrangerIsSentAway) {
  const Socket stranger = connect_to(addresses_[0], Clock::now() + std::chrono::seconds(5));
  ASSERT_TRUE(stranger);
  const Bytes nonsense(64, 'x');
  ASSERT_TRUE(write_all(stranger.fd(), nonsense.data(), nonsense.size(), Clock::now() + std::chrono::seconds(5)));
  progress();
  char answer = 0;
  EXPECT_LE(recv(stranger.fd(), &answer, 1, MSG_DONTWAIT), 0);
  int x = 3;
  const MpiHandle send = mesh(1).send(&x, sizeof x, 0, 1);
  int y = 0;
  wait(0, mesh(0).receive(&y, sizeof y, 1, 1));
  wait(1, send);
  EXPECT_EQ(y, 3);
}

TEST_F(MeshTest, AStrangerWhoTakesANameDoesNoHarmToIt) {
  struct {
    std::uint64_t token = 4712;
    std::int32_t rank = 1, padding = 0;
  } const greeting;
  {
    const Socket stranger = connect_to(addresses_[0], Clock::now() + std::chrono::seconds(5));
    ASSERT_TRUE(stranger);
    ASSERT_TRUE(write_all(stranger.fd(), &greeting, sizeof greeting, Clock::now() + std::chrono::seconds(5)));
    progress();
  }
  progress();
  int x = 3, y = 0;
  const MpiHandle receive = mesh(0).receive(&y, sizeof y, 1, 1);
  MpiStatus status;
  EXPECT_FALSE(mesh(0).test(receive, status));  // process 1 is not taken to have gone
  const MpiHandle send = mesh(1).send(&x, sizeof x, 0, 1);
  wait(0, receive);
  wait(1, send);
  EXPECT_EQ(y, 3);
}

}  // namespace
}  // namespace dcgn::transport::test
