#include "apps/cahn_hilliard/update_kernel.hpp"
#include "apps/simulation/rank.hpp"

namespace dcgn::simulation {

namespace {

cahn_hilliard::Parameters cahn_hilliard_parameters(const Options& o) {
  return {.mobility = o.parameters.at("M"),
          .b = o.parameters.at("B"),
          .u = o.parameters.at("U"),
          .k = o.parameters.at("K")};
}

}  // namespace

void cahn_hilliard_rank(Comm& comm, const Run& run) {
  const Options& o = run.options;
  with_type(o, [&]<class T, int Dims>() {
    const auto start = [noise = Noise(o), mean = o.parameters.at("mean"), by = o.parameters.at("noise")](
                           const Box::Cell& at) { return static_cast<T>(mean + by * noise(at)); };
    rank_of<T>(comm, run, cahn_hilliard::Update<T, Dims>(cahn_hilliard_parameters(o), o.spacing), start);
  });
}

double cahn_hilliard_rate(const Options& o) {
  return with_type(o, [&]<class T, int Dims>() {
    return cahn_hilliard::Update<T, Dims>(cahn_hilliard_parameters(o), o.spacing).fastest_rate();
  });
}

}  // namespace dcgn::simulation
