// Several runs: sweeps, and the search for saturation.
#include "memnet/src/simulation.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <mutex>
#include <string>
#include <thread>

namespace dcgn::memnet {
namespace {

std::uint64_t point_seed(std::uint64_t seed, std::size_t point) {
  Random random(seed ^ (0x706f696e74ULL + point * 0x9e3779b97f4a7c15ULL));
  return random.next();
}

}  // namespace

std::vector<Result> sweep(const Topology& topology, const Parameters& parameters, const Traffic& traffic,
                          const std::vector<double>& rates, int threads) {
  if (threads < 0) {
    throw Error(Code::configuration, "simulate", "threads is " + std::to_string(threads) + ", expected 0 or more");
  }
  std::size_t count = threads > 0 ? static_cast<std::size_t>(threads) : std::thread::hardware_concurrency();
  count = std::max<std::size_t>(1, std::min(count, rates.size()));
  std::vector<Result> results(rates.size());
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    for (std::size_t i = next++; i < rates.size(); i = next++) {
      try {
        Parameters own = parameters;
        own.seed = point_seed(parameters.seed, i);
        results[i] = run_open_loop(topology, own, traffic, rates[i]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!error) error = std::current_exception();
      }
    }
  };
  std::vector<std::thread> workers;
  workers.reserve(count - 1);
  for (std::size_t t = 1; t < count; ++t) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (error) std::rethrow_exception(error);
  return results;
}

Saturation find_saturation(const Topology& topology, const Parameters& parameters, const Traffic& traffic,
                           double resolution, double latency_factor, const Progress& progress) {
  if (!(resolution > 0 && resolution < 1)) {
    throw Error(Code::configuration, "simulate",
                "resolution is " + std::to_string(resolution) + ", expected more than 0, less than 1");
  }
  // A rate is every source's: none may send more than its ports take.
  int ports = 0;
  const Destinations destinations(topology, traffic);
  for (const int source : destinations.sources()) {
    const int own = static_cast<int>(topology.terminals()[source].ports.size());
    ports = ports == 0 ? own : std::min(ports, own);
  }
  // How many runs there will be: the lowest rate, the highest and each halving.
  const double runs = 2 + std::ceil(std::max(0.0, std::log2(ports / resolution)));
  Saturation saturation;
  const auto run = [&](double rate) -> const Result& {
    Parameters own = parameters;
    own.seed = point_seed(parameters.seed, saturation.points.size());
    const double done = static_cast<double>(saturation.points.size());
    const Progress part = [&](double share) { progress((done + share) / runs); };
    saturation.points.push_back(run_open_loop(topology, own, traffic, rate, progress ? part : Progress()));
    return saturation.points.back();
  };
  // Few packets, or those of a run that is saturated, do not tell.
  const Result& first = run(std::min(0.01, resolution) * ports);
  saturation.latency_at_zero =
      first.latency.packets < 100 || first.saturated ? first.zero_load_latency : first.latency.mean;
  const auto saturated = [&](double rate) {
    const Result& result = run(rate);
    return result.saturated || result.latency.mean > latency_factor * saturation.latency_at_zero;
  };
  double low = 0;
  double high = ports;
  saturation.found = saturated(high);
  if (!saturation.found) low = high;
  while (high - low > resolution) {
    const double rate = (low + high) / 2;
    (saturated(rate) ? high : low) = rate;
  }
  saturation.rate = low;
  if (progress) progress(1);
  return saturation;
}

}  // namespace dcgn::memnet
