// Random programs against their oracle: 200 seeds in deterministic mode, 50 with threads, and as many more as
// DCGN_TEST_SEEDS says.
#include "emulated_gpus.hpp"
#include "program_kernels.hpp"
#include "program_run.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace dcgn::test {
namespace {

::testing::AssertionResult passes(const Program& p, bool schedule) {
  const std::string failure = run_program(p, schedule);
  if (failure.empty()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << failure;
}

// Seeds `first` to `first + count - 1`; fewer where a sanitizer slows everything.
void run_seeds(std::uint64_t first, int count, bool schedule) {
  Coverage coverage;
  const int step = sanitized ? 5 : 1;
  for (int i = 0; i < count; i += step) {
    const Program p = generate_program(first + static_cast<std::uint64_t>(i), most_gpus());
    coverage += p.coverage;
    ASSERT_TRUE(passes(p, schedule));
  }
  if (step == 1 && count >= 25 && most_gpus() > 1) {
    EXPECT_EQ(not_covered(coverage), "");
  }
  EXPECT_GT(coverage.messages, static_cast<std::uint64_t>(count / step));
  std::printf("%llu programs, %llu operations, %llu messages, %.1f MB\n",
              static_cast<unsigned long long>(coverage.programs), static_cast<unsigned long long>(coverage.operations),
              static_cast<unsigned long long>(coverage.messages), static_cast<double>(coverage.bytes) * 1e-6);
}

class DeterministicProgram : public ::testing::TestWithParam<int> {};
TEST_P(DeterministicProgram, MatchesTheOracle) {
  if (Device::count() && Device(0).kind() != DeviceKind::emulated)
    GTEST_SKIP() << "this machine's devices are not emulated";
  run_seeds(static_cast<std::uint64_t>(GetParam()) * 25, 25, true);
}
INSTANTIATE_TEST_SUITE_P(Seeds, DeterministicProgram, ::testing::Range(0, sanitized ? 3 : 8));

class ThreadedProgram : public ::testing::TestWithParam<int> {};
TEST_P(ThreadedProgram, MatchesTheOracle) {
  run_seeds(100000 + static_cast<std::uint64_t>(GetParam()) * 10, 10, false);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ThreadedProgram, ::testing::Range(0, sanitized ? 3 : 5));

TEST(RandomProgram, MatchesTheOracleOverProcesses) {
  if (processes() == 1) GTEST_SKIP() << "run by mpirun: core/tests/process";
  for (std::uint64_t seed = 0; seed < (sanitized ? 4 : 8); ++seed) {
    const Program p =
        generate_program(200000 + 100 * static_cast<std::uint64_t>(processes()) + seed, most_gpus(), processes());
    ASSERT_TRUE(passes(p, false));
  }
}

TEST(RandomProgram, ManySeeds) {
  const char* text = std::getenv("DCGN_TEST_SEEDS");
  if (!text) GTEST_SKIP() << "DCGN_TEST_SEEDS says how many";
  const int count = std::atoi(text);
  ASSERT_GT(count, 0) << "DCGN_TEST_SEEDS=" << text << ": expected a number of programs";
  run_seeds(200000, count, false);
}

TEST(RandomProgram, ReplayOfOneSeed) {
  const char* text = std::getenv("DCGN_TEST_SEED");
  if (!text) GTEST_SKIP() << "DCGN_TEST_SEED says which";
  const Program p = generate_program(std::strtoull(text, nullptr, 10), most_gpus(), processes());
  std::printf("%s\n", describe(p).c_str());
  for (std::size_t r = 0; r < p.ranks.size(); ++r) {
    std::printf("rank %zu, %s scope\n", r, to_string(p.ranks[r].scope));
    for (std::size_t i = 0; i < p.ranks[r].ops.size(); ++i)
      std::printf("  %3zu %s\n", i, describe(p.ranks[r], p.ranks[r].ops[i]).c_str());
  }
  std::fflush(stdout);
  if (Device::count() && Device(0).kind() == DeviceKind::emulated && processes() == 1) {
    EXPECT_TRUE(passes(p, true));
  }
  EXPECT_TRUE(passes(p, false));
}

}  // namespace
}  // namespace dcgn::test
