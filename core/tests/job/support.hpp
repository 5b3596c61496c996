// What some of the job tests have in common.
#pragma once

#include "tests/expect.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/error.hpp>
#include <dcgn/gpu/comm.hpp>
#include <dcgn/job.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace dcgn::test {

inline constexpr double slower = sanitized ? 5 : 1;

struct Stopped {
  Code code = Code::ok;
  std::string what;
  double seconds = 0;
};

// Runs the job and says how it was stopped, and how long that took.
inline Stopped run_to_error(Job& job) {
  Stopped stopped;
  const auto start = std::chrono::steady_clock::now();
  try {
    job.run();
  } catch (const Error& error) {
    stopped.code = error.code();
    stopped.what = error.what();
  }
  stopped.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return stopped;
}

// Jobs whose kernels use the host's memory, or that only an emulated GPU can run.
class EmulatedJob : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Device::count() == 0 || Device(0).kind() != DeviceKind::emulated)
      GTEST_SKIP() << "this machine's devices are not emulated";
  }
};

struct Nothing {
  DCGN_HOST_DEVICE void operator()(gpu::Context&, gpu::Comm) const {}
};

inline Config config_of(std::vector<NodeShape> nodes, double deadline_s) {
  Config c;
  c.nodes = std::move(nodes);
  c.deadline_s = deadline_s * slower;
  return c;
}

}  // namespace dcgn::test
