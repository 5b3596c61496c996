// Processes that speak another protocol than this library are refused by name where they meet.
#include "tests/expect.hpp"

#include "transport/processes.hpp"
#include "transport/tcp/mesh.hpp"

#include <dcgn/world.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace dcgn::transport::test {
namespace {

using namespace std::chrono_literals;
using dcgn::test::contains;
using dcgn::test::error_of;

// As the bootstrap begins, in all versions.
struct Hello {
  std::uint64_t magic, job;
  std::uint32_t protocol;
  std::int32_t rank;
};
struct Welcome {
  std::uint64_t magic;
  std::uint32_t protocol, padding;
};

class BootstrapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    port_ = 32000 + getpid() % 500;
    setenv("MASTER_ADDR", "localhost", 1);
    setenv("MASTER_PORT", std::to_string(port_).c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"}) unsetenv(name);
  }
  Address door() const { return {htonl(INADDR_LOOPBACK), htons(static_cast<std::uint16_t>(port_ + 1))}; }

  int port_ = 0;
};

// What a visitor says first, as this library does it.
Hello hello_of_a_visitor(const Address& door) {
  const Socket listener = listen_at(ntohs(door.port), 4, htonl(INADDR_LOOPBACK));
  std::thread visitor([] { error_of([] { bootstrap(1, 2, 0.5); }); });
  const Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  Hello hello{};
  EXPECT_TRUE(read_all(s.fd(), &hello, sizeof hello, Clock::now() + 5s));
  visitor.join();
  return hello;
}

TEST_F(BootstrapTest, AVisitorOfAnotherVersionIsNamed) {
  Hello hello = hello_of_a_visitor(door());
  EXPECT_EQ(hello.protocol, process_protocol);
  hello.protocol += 7;
  Error error(Code::ok, "", "");
  std::thread rank_0([&] { error = error_of([] { bootstrap(0, 2, 20); }); });
  Socket s;
  while (!s) s = connect_to(door(), Clock::now() + 5s);
  ASSERT_TRUE(write_all(s.fd(), &hello, sizeof hello, Clock::now() + 5s));
  Welcome welcome{};
  EXPECT_TRUE(read_all(s.fd(), &welcome, sizeof welcome, Clock::now() + 5s));
  rank_0.join();
  EXPECT_EQ(welcome.magic, hello.magic);
  EXPECT_EQ(welcome.protocol, process_protocol);
  EXPECT_EQ(error.code(), Code::configuration);
  EXPECT_TRUE(contains(error.what(), "says RANK=1 and speaks protocol " + std::to_string(hello.protocol) +
                                         " between processes, expected " + std::to_string(process_protocol)));
}

TEST_F(BootstrapTest, AVisitorOfAnotherVersionIsToldSo) {
  const Socket listener = listen_at(ntohs(door().port), 4, htonl(INADDR_LOOPBACK));
  Error error(Code::ok, "", "");
  std::thread visitor([&] { error = error_of([] { bootstrap(1, 2, 20); }); });
  const Socket s(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  Hello hello{};
  ASSERT_TRUE(read_all(s.fd(), &hello, sizeof hello, Clock::now() + 5s));
  const Welcome welcome{hello.magic, process_protocol + 7, 0};
  ASSERT_TRUE(write_all(s.fd(), &welcome, sizeof welcome, Clock::now() + 5s));
  visitor.join();
  EXPECT_EQ(error.code(), Code::configuration);
  EXPECT_TRUE(contains(error.what(), "speaks protocol " + std::to_string(process_protocol + 7)));
}

// What a launcher of MPI has started has met already.
TEST_F(BootstrapTest, AProcessOfAnotherVersionIsNamedByTheFirstThatProcessesTellEachOther) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    setenv("RANK", "0", 1);
    setenv("WORLD_SIZE", "2", 1);
    const std::string said = error_of([] { const World world({.nodes = {{.cpus = 1}}}); }).what();
    _exit(write(ends[1], said.data(), said.size()) < 0);
  }
  close(ends[1]);
  {
    Mesh mesh(bootstrap(1, 2, 20));
    const std::uint32_t mine = process_protocol + 7;
    std::array<std::uint32_t, 2> all{};
    const MpiHandle gather = mesh.all_gather(&mine, all.data(), sizeof mine);
    MpiStatus status;
    while (!mesh.test(gather, status)) std::this_thread::yield();
    EXPECT_EQ(all[0], process_protocol);
  }
  std::array<char, 1000> said{};
  EXPECT_GT(read(ends[0], said.data(), said.size() - 1), 0);
  close(ends[0]);
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(contains(said.data(), "process 1 speaks protocol " + std::to_string(process_protocol + 7)));
}

}  // namespace
}  // namespace dcgn::transport::test
