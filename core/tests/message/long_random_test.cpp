// Ten thousand random programs against their oracle: 7,500 seeds in deterministic mode, 2,500 with threads.
#include "emulated_gpus.hpp"
#include "program_kernels.hpp"
#include "program_run.hpp"

#include <gtest/gtest.h>

namespace dcgn::test {
namespace {

void run(std::uint64_t first, int count, bool schedule) {
  Coverage coverage;
  for (int i = 0; i < count; ++i) {
    const Program p = generate_program(first + static_cast<std::uint64_t>(i), most_gpus());
    coverage += p.coverage;
    const std::string failure = run_program(p, schedule);
    ASSERT_TRUE(failure.empty()) << failure;
  }
  if (most_gpus() > 1) {
    EXPECT_EQ(not_covered(coverage), "");
    EXPECT_GT(coverage.large, 0u);
  }
}

class ManyDeterministicPrograms : public ::testing::TestWithParam<int> {};
TEST_P(ManyDeterministicPrograms, MatchTheOracle) {
  if (Device::count() && Device(0).kind() != DeviceKind::emulated)
    GTEST_SKIP() << "this machine's devices are not emulated";
  run(1000000 + static_cast<std::uint64_t>(GetParam()) * 500, 500, true);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ManyDeterministicPrograms, ::testing::Range(0, 15));

class ManyThreadedPrograms : public ::testing::TestWithParam<int> {};
TEST_P(ManyThreadedPrograms, MatchTheOracle) {
  run(2000000 + static_cast<std::uint64_t>(GetParam()) * 250, 250, false);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ManyThreadedPrograms, ::testing::Range(0, 10));

}  // namespace
}  // namespace dcgn::test
