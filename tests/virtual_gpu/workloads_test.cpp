// Kernels of the 2014 paper's Table II: a virtual GPU of several parts computes what one GPU does, bit for bit. On a
// machine with one GPU the parts are all that GPU.
#include "bench/workloads/workload.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

using namespace dcgn;
using namespace dcgn::workloads;
using dcgn::virtual_gpu::Placement, dcgn::virtual_gpu::Schedule;

namespace dcgn::workloads {
void PrintTo(const WorkloadKind& kind, std::ostream* out) { *out << kind.name; }
}  // namespace dcgn::workloads

namespace {

std::string name_of(const WorkloadKind& kind) {
  std::string name = kind.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Workloads : public testing::TestWithParam<WorkloadKind> {
 protected:
  void SetUp() override {
    if (Device::count() < 1 || Device(0).kind() != DeviceKind::cuda) GTEST_SKIP() << "no CUDA device here";
  }

  static std::vector<Device> devices(int parts) {
    std::vector<Device> all;
    for (int part = 0; part < parts; ++part) all.emplace_back(part % Device::count());
    return all;
  }
  static std::vector<Output> run_once(Workload& workload, VirtualGpu& gpu) {
    workload.reset();
    VirtualGpu::Stream stream(gpu);
    workload.run(stream);
    stream.synchronize();
    return workload.results();
  }
  static std::vector<Output> on_one_gpu() {
    VirtualGpu gpu(devices(1));
    const auto workload = GetParam().make(gpu, 1);
    return run_once(*workload, gpu);
  }
  static void expect_equal(const std::vector<Output>& found, const std::vector<Output>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(differences(found[i], expected[i]), 0U) << found[i].name;
      EXPECT_TRUE(
          std::any_of(found[i].bytes.begin(), found[i].bytes.end(), [](std::byte b) { return b != std::byte{}; }))
          << found[i].name << " is all zero";
    }
  }
};

}  // namespace

TEST_P(Workloads, compute_the_same_on_several_parts) {
  const std::vector<Output> expected = on_one_gpu();
  for (const int parts : {2, 3, std::max(4, Device::count())}) {
    SCOPED_TRACE(std::to_string(parts) + " parts");
    VirtualGpu gpu(devices(parts));
    const auto workload = GetParam().make(gpu, 1);
    expect_equal(run_once(*workload, gpu), expected);
    EXPECT_EQ(gpu.statistics().whole, 0U);
  }
}

TEST_P(Workloads, compute_the_same_wherever_pages_lie) {
  const std::vector<Output> expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(3, Device::count())));
  const auto workload = GetParam().make(gpu, 1);
  for (const Placement& placement : {Placement::interleaved(), Placement::owner(1), Placement::chunked()}) {
    for (void* buffer : workload->buffers()) gpu.place(buffer, placement);
    expect_equal(run_once(*workload, gpu), expected);
  }
}

TEST_P(Workloads, read_inputs_from_copies) {
  const std::vector<Output> expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(2, Device::count())));
  const auto workload = GetParam().make(gpu, 1);
  for (void* buffer : workload->inputs()) gpu.place(buffer, Placement::replicated());
  expect_equal(run_once(*workload, gpu), expected);
}

TEST_P(Workloads, compute_the_same_whoever_steals_blocks) {
  const std::vector<Output> expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(3, Device::count())), {.schedule = Schedule::stealing});
  const auto workload = GetParam().make(gpu, 1);
  expect_equal(run_once(*workload, gpu), expected);
}

INSTANTIATE_TEST_SUITE_P(TableII, Workloads, testing::ValuesIn(workload_kinds()),
                         [](const auto& kind) { return name_of(kind.param); });
