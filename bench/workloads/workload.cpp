#include "bench/workloads/workload.hpp"

#include "bench/workloads/common.hpp"
#include "dcgn_corpus.hpp"

#include <dcgn/error.hpp>

#include <cmath>

namespace dcgn::workloads {

std::string corpus_source(const std::string& name) {
  for (const auto& [file, text] : corpus_files)
    if (name == file) return text;
  throw Error(Code::configuration, "bench", name + " was not built in, expected a file of tests/virtual_gpu/corpus");
}

std::uint64_t differences(const Output& a, const Output& b) {
  if (a.bytes.size() != b.bytes.size()) return std::max(a.bytes.size(), b.bytes.size());
  std::uint64_t wrong = 0;
  if (a.tolerance == 0) {
    if (std::memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0) return 0;
    for (std::size_t i = 0; i < a.bytes.size(); ++i) wrong += a.bytes[i] != b.bytes[i];
    return wrong;
  }
  for (std::size_t at = 0; at < a.bytes.size(); at += sizeof(float)) {
    float x = 0, y = 0;
    std::memcpy(&x, &a.bytes[at], sizeof x);
    std::memcpy(&y, &b.bytes[at], sizeof y);
    wrong += !(std::abs(x - y) <= a.tolerance * std::max(std::abs(x), std::abs(y)));
  }
  return wrong;
}

const std::vector<WorkloadKind>& workload_kinds() {
  static const std::vector<WorkloadKind> all = [] {
    std::vector<WorkloadKind> kinds;
    for (const auto& some : {streaming_workloads(), image_workloads(), gathering_workloads(), solver_workloads()})
      kinds.insert(kinds.end(), some.begin(), some.end());
    return kinds;
  }();
  return all;
}

}  // namespace dcgn::workloads
