#include "references.hpp"

#include <stdexcept>
#include <utility>

namespace dcgn::test {

Words reference(const std::string& workload, const workloads::Snapshot& from) {
  using Reference = Words (*)(const workloads::Snapshot&);
  static constexpr std::pair<const char*, Reference> references[] = {
      {"vector-add", vector_add},
      {"back-propagation", back_propagation},
      {"scan", scan},
      {"walsh", walsh},
      {"fourier", fourier},
      {"srad", srad},
      {"finite-difference", finite_difference},
      {"rays", rays},
      {"coulomb", coulomb},
      {"breadth-first", breadth_first},
      {"k-means", k_means},
      {"histogram", histogram},
      {"conjugate-gradient", conjugate_gradient},
      {"breadth-first-masks", breadth_first},
      {"k-means-features", k_means_features},
      {"survey-propagation", survey_propagation},
      {"barnes-hut", barnes_hut},
      {"store-gpu", store_gpu},
  };
  for (const auto& [name, compute] : references)
    if (name == workload) return compute(from);
  throw std::invalid_argument(workload + " has no reference");
}

}  // namespace dcgn::test
