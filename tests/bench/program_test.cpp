// Other programs beside the command: which exit codes are fine, and that they end in time and with whoever started
// them.
#include "bench/program.hpp"
#include "tests/expect.hpp"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

using dcgn::bench::output_of, dcgn::bench::quoted;
using dcgn::test::contains, dcgn::test::error_of;
using namespace std::chrono_literals;

namespace {

bool within(std::chrono::seconds time, const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(10ms);
  }
  return true;
}

TEST(OtherProgram, ExitCodesThatAreFine) {
  const std::string command = "sh -c " + quoted("echo said; exit 255");
  EXPECT_EQ(output_of(command, 60, "it: ", {255}), "said\n");
  EXPECT_TRUE(contains(error_of([&] { output_of(command, 60, "it: "); }).what(), "it: exit code 255 from: "));
  EXPECT_TRUE(contains(error_of([&] { output_of("true", 60, "it: ", {255}); }).what(), "it: exit code 0 from: "));
  EXPECT_EQ(output_of("sh -c " + quoted("echo wrong >&2") + " 2>&1", 60, "it: "), "wrong\n");
}

TEST(OtherProgram, EndsAfterItsTime) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(contains(error_of([] { output_of("sleep 100 2>&1", 1, "it: ", {0, 255}); }).what(), "exit code 124"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 50s);
}

TEST(OtherProgram, EndsWithThisOne) {
  const std::string file = ::testing::TempDir() + "dcgn_other_program_" + std::to_string(::getpid());
  const std::string command = "sh -c " + quoted("echo $$ > " + quoted(file) + "; exec sleep 100") + " 2>&1";
  const pid_t starter = ::fork();
  ASSERT_GE(starter, 0);
  if (starter == 0) {
    error_of([&] { output_of(command, 90, "it: "); });
    ::_exit(1);
  }
  pid_t started = 0;
  EXPECT_TRUE(within(60s, [&] { return static_cast<bool>(std::ifstream(file) >> started); }));
  ::kill(starter, SIGTERM);
  ::waitpid(starter, nullptr, 0);
  // It may be left as a zombie where nobody waits for orphans.
  const auto is_gone = [&] {
    std::string word;
    std::ifstream status("/proc/" + std::to_string(started) + "/stat");
    return !(status >> word >> word >> word) || word == "Z";
  };
  EXPECT_TRUE(started != 0 && within(30s, is_gone));
  std::filesystem::remove(file);
}

}  // namespace
