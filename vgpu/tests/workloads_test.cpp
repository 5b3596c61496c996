// Kernels of the 2014 paper's Table II: a virtual GPU of several parts computes what one GPU does, bit for bit. On a
// machine with one GPU the parts are all that GPU. Without one they are emulated, and compute what plain C++ does.
#include "references.hpp"
#include "vgpu/bench/workloads/workload.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

using namespace dcgn;
using namespace dcgn::workloads;
using dcgn::virtual_gpu::Placement, dcgn::virtual_gpu::Schedule;

namespace dcgn::workloads {
std::ostream& operator<<(std::ostream& out, const WorkloadKind& kind) { return out << kind.name; }
}  // namespace dcgn::workloads

namespace {

std::string name_of(const WorkloadKind& kind) {
  std::string name = kind.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Workloads : public testing::TestWithParam<WorkloadKind> {
 protected:
  static std::vector<Device> devices(int parts) {
    std::vector<Device> all;
    all.reserve(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) all.emplace_back(part % Device::count());
    return all;
  }
  static bool emulated() { return Device(0).kind() == DeviceKind::emulated; }
  static int scale() { return emulated() ? 0 : 1; }
  // What it computes, copied to the host.
  using Words = std::vector<std::vector<std::uint32_t>>;
  static Words run_once(Workload& workload, VirtualGpu& gpu) {
    workload.reset();
    VirtualGpu::Stream stream(gpu);
    workload.run(stream);
    stream.synchronize();
    Words words;
    for (const Result& result : workload.results())
      gpu.copy(words.emplace_back(result.bytes / 4).data(), result.data, result.bytes);
    return words;
  }
  static Words on_one_gpu() {
    VirtualGpu gpu(devices(1));
    const auto workload = GetParam().make(gpu, scale());
    return run_once(*workload, gpu);
  }
  static void expect_equal(const Workload& workload, const Words& found, const Words& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Result what = workload.results()[i];
      EXPECT_EQ(differences(what, found[i], expected[i]), 0U) << what.name;
      EXPECT_NE(std::count(found[i].begin(), found[i].end(), 0U), static_cast<std::ptrdiff_t>(found[i].size()))
          << what.name << " is all zero";
    }
  }
};

}  // namespace

TEST_P(Workloads, compute_what_plain_code_does) {
  if (!emulated()) GTEST_SKIP() << "GPUs here are real: they approximate otherwise";
  for (const int parts : {1, 2}) {
    SCOPED_TRACE(std::to_string(parts) + " parts");
    VirtualGpu gpu(devices(parts));
    const auto workload = GetParam().make(gpu, 0);
    workload->reset();
    const Words expected = test::reference(GetParam().name, workload->snapshot());
    expect_equal(*workload, run_once(*workload, gpu), expected);
  }
}

TEST_P(Workloads, compute_the_same_on_several_parts) {
  const Words expected = on_one_gpu();
  for (const int parts : {2, 3, std::max(4, Device::count())}) {
    SCOPED_TRACE(std::to_string(parts) + " parts");
    VirtualGpu gpu(devices(parts));
    const auto workload = GetParam().make(gpu, scale());
    expect_equal(*workload, run_once(*workload, gpu), expected);
    EXPECT_EQ(gpu.statistics().whole, 0U);
  }
}

TEST_P(Workloads, compute_the_same_wherever_pages_lie) {
  const Words expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(3, Device::count())));
  const auto workload = GetParam().make(gpu, scale());
  for (const Placement& placement : {Placement::interleaved(), Placement::owner(1), Placement::chunked()}) {
    for (void* buffer : workload->buffers()) gpu.place(buffer, placement);
    expect_equal(*workload, run_once(*workload, gpu), expected);
  }
}

TEST_P(Workloads, read_inputs_from_copies) {
  const Words expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(2, Device::count())));
  const auto workload = GetParam().make(gpu, scale());
  for (void* buffer : workload->inputs()) gpu.place(buffer, Placement::replicated());
  expect_equal(*workload, run_once(*workload, gpu), expected);
}

// Those that are made by themselves, for the second launch or a later one, and those of what is written in between.
TEST_P(Workloads, compute_the_same_again_and_again) {
  const Words expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(2, Device::count())));
  const auto workload = GetParam().make(gpu, scale());
  for (int run = 0; run < 4; ++run) expect_equal(*workload, run_once(*workload, gpu), expected);
}

TEST_P(Workloads, compute_the_same_where_sampling_places_pages) {
  const Words expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(2, Device::count())));
  const auto workload = GetParam().make(gpu, scale());
  workload->sample_next_run(64);
  expect_equal(*workload, run_once(*workload, gpu), expected);
}

TEST_P(Workloads, compute_the_same_whoever_steals_blocks) {
  const Words expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(3, Device::count())), {.schedule = Schedule::stealing});
  const auto workload = GetParam().make(gpu, scale());
  expect_equal(*workload, run_once(*workload, gpu), expected);
}

TEST_P(Workloads, compute_the_same_where_launches_are_measured) {
  const Words expected = on_one_gpu();
  VirtualGpu gpu(devices(std::max(2, Device::count())), {.schedule = Schedule::measured});
  const auto workload = GetParam().make(gpu, scale());
  for (int run = 0; run < 4; ++run) expect_equal(*workload, run_once(*workload, gpu), expected);
}

// `head -c 512 /dev/zero | md5sum`.
TEST(References, HashAsMd5sumDoes) {
  const std::vector<std::uint32_t> zeros(128);
  EXPECT_EQ(test::md5(zeros), (std::array<std::uint32_t, 4>{0xac9e61bf, 0x683fdf0c, 0x93ea96d4, 0x8b7e1344}));
}

INSTANTIATE_TEST_SUITE_P(TableII, Workloads, testing::ValuesIn(workload_kinds()),
                         [](const auto& kind) { return name_of(kind.param); });
