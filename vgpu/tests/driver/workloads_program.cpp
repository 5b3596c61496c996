// The workloads of the 2014 paper's Table II as programs of the driver that know of one GPU. Each result must be, bit
// for bit, what plain C++ computes. Arguments: names of workloads; all without.
#include "vgpu/bench/workloads/workload.hpp"
#include "vgpu/tests/references.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace dcgn;

namespace {

// Words that are wrong.
std::uint64_t run(const workloads::WorkloadKind& kind, VirtualGpu& gpu) {
  const auto workload = kind.make(gpu, 0);
  workload->reset();
  const test::Words expected = test::reference(kind.name, workload->snapshot());
  {
    VirtualGpu::Stream stream;
    workload->run(stream);
    stream.synchronize();
  }
  const std::vector<workloads::Result> results = workload->results();
  std::uint64_t wrong = results.size() == expected.size() ? 0 : 1;
  for (std::size_t i = 0; i < results.size() && i < expected.size(); ++i) {
    std::vector<std::uint32_t> found(results[i].bytes / 4);
    gpu.copy(found.data(), results[i].data, results[i].bytes);
    wrong += differences(results[i], found, expected[i]);
    if (std::count(found.begin(), found.end(), 0U) == static_cast<std::ptrdiff_t>(found.size())) ++wrong;
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> named(argv + 1, argv + argc);
  VirtualGpu gpu;
  int failed = 0, done = 0;
  for (const workloads::WorkloadKind& kind : workloads::workload_kinds()) {
    if (!named.empty() && std::find(named.begin(), named.end(), kind.name) == named.end()) continue;
    const std::uint64_t wrong = run(kind, gpu);
    std::printf("%s: %llu words wrong\n", kind.name, static_cast<unsigned long long>(wrong));
    failed += wrong != 0;
    ++done;
  }
  std::printf("%d workloads, %d failed\n", done, failed);
  return failed != 0 || done == 0;
}
