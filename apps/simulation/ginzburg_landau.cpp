#include "apps/ginzburg_landau/update_kernel.hpp"
#include "apps/simulation/rank.hpp"

namespace dcgn::simulation {

namespace {

ginzburg_landau::Parameters ginzburg_landau_parameters(const Options& o) {
  return {.b = o.parameters.at("b"), .c = o.parameters.at("c")};
}

}  // namespace

void ginzburg_landau_rank(Comm& comm, const Run& run) {
  const Options& o = run.options;
  with_type(o, [&]<class T, int Dims>() {
    const auto start = [noise = Noise(o), by = o.parameters.at("noise")](const Box::Cell& at) {
      return complex<T>(static_cast<T>(by * noise(at)), static_cast<T>(by * noise(at, 1)));
    };
    rank_of<complex<T>>(comm, run, ginzburg_landau::Update<T, Dims>(ginzburg_landau_parameters(o), o.spacing), start);
  });
}

double ginzburg_landau_rate(const Options& o) {
  return with_type(o, [&]<class T, int Dims>() {
    return ginzburg_landau::Update<T, Dims>(ginzburg_landau_parameters(o), o.spacing).fastest_rate();
  });
}

}  // namespace dcgn::simulation
