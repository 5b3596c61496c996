#include "vgpu/bench/workloads/workload.hpp"

#include "dcgn_corpus.hpp"
#include "vgpu/bench/workloads/common.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

namespace dcgn::workloads {

std::string corpus_file(const std::string& name) {
  for (const auto& [file, text] : corpus_files)
    if (name == file) return text;
  throw Error(Code::configuration, "bench", name + " was not built in, expected a file of vgpu/tests/corpus");
}

std::uint64_t differences(const Result& what, const std::vector<std::uint32_t>& a,
                          const std::vector<std::uint32_t>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (what.tolerance == 0) {
      wrong += a[i] != b[i];
    } else {
      const float x = std::bit_cast<float>(a[i]), y = std::bit_cast<float>(b[i]);
      wrong += !(std::abs(x - y) <= what.tolerance * std::max(std::abs(x), std::abs(y)));
    }
  }
  return wrong;
}

const std::vector<WorkloadKind>& workload_kinds() {
  static const std::vector<WorkloadKind> all = [] {
    std::vector<WorkloadKind> kinds;
    for (const auto& some : {streaming_workloads(), image_workloads(), gathering_workloads(), solver_workloads(),
                             iterative_workloads(), tree_workloads()})
      kinds.insert(kinds.end(), some.begin(), some.end());
    return kinds;
  }();
  return all;
}

}  // namespace dcgn::workloads
