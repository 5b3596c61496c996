// Open-loop runs: Bernoulli injection at a rate, warm-up, measurement, drain; sweeps and the search for saturation.
#pragma once

#include "memnet/src/network.hpp"
#include "memnet/src/observer.hpp"
#include "memnet/src/traffic.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Cycles, over packets created during the measurement. Without packets there is no latency: the zeros mean nothing.
struct LatencySummary {
  std::int64_t packets = 0;
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double max = 0;
};
LatencySummary summarize(std::vector<std::int64_t> samples);

// Over the channels between routers and those of processors; an HMC's own ports stay on the chip and are left out.
struct Energy {
  double active_pj = 0;
  double idle_pj = 0;
  double capacity_pj = 0;  // active_pj + idle_pj, computed from all slots: idle ones and carried flits in one
};

// Why a run is taken for saturated.
enum class SaturationReason : std::uint8_t {
  none,        // it is not
  throughput,  // what is offered does not all come through, of all sources together or of one
  latency,     // the mean latency is above its limit
  cycles,      // Parameters::max_cycles was reached before all that was measured had come out
};
std::string_view to_string(SaturationReason reason) noexcept;

struct Result {
  double rate = 0;      // flits per source and cycle, as asked for
  double offered = 0;   // as created during the measurement, dropped packets too
  double accepted = 0;  // as delivered, during the measurement
  LatencySummary latency;
  LatencySummary network_latency;
  std::vector<LatencySummary> by_class;
  double hops = 0;                     // routers passed, mean
  std::string routes;                  // which ways, and classes of VCs: Network::routes()
  std::vector<double> channel_load;    // flits per cycle, by the topology's directed channels
  std::vector<double> injection_load;  // by terminal and port, in order
  std::vector<double> ejection_load;
  Energy energy;  // of the measurement
  bool saturated = false;
  SaturationReason saturation_reason = SaturationReason::none;
  double zero_load_latency = 0;      // cycles: the mean of the same traffic's packets, each alone in the network
  double latency_limit = 0;          // cycles: the mean above which the run is saturated
  std::int64_t dropped_packets = 0;  // of the measurement: offered, but the source queue had no room
  std::int64_t warmup_cycles = 0;
  std::int64_t measured_cycles = 0;
  std::int64_t cycles = 0;     // in all
  std::int64_t flit_hops = 0;  // in all
  double seconds = 0;          // of the machine: the only number that another run does not repeat
};

// The energy of what a network's channels carried between two readings of its counters.
class EnergyMeter {
 public:
  explicit EnergyMeter(const Network& network);
  Energy read(const Network& network) const;  // since construction

 private:
  std::int64_t cycle_;
  double flits_;
};

// Called now and then by the thread that runs, with the share that is done: 0 .. 1, never less than before.
using Progress = std::function<void(double share)>;

// `rate`: flits per source and cycle, 0 .. 1 per port. Throws Error(configuration), also where warm-up and
// measurement leave nothing of Parameters::max_cycles. What finds its source queue full is dropped; a queue without a
// bound is full where it has far more packets than the latency limit allows, and that run is saturated.
Result run_open_loop(const Topology& topology, const Parameters& parameters, const Traffic& traffic, double rate,
                     const Progress& progress = {}, RunObserver* observer = nullptr);

// A point a rate, in `threads` threads (0: as many as the machine has). A point's seed comes from the seed and its
// place: the results do not depend on the number of threads.
std::vector<Result> sweep(const Topology& topology, const Parameters& parameters, const Traffic& traffic,
                          const std::vector<double>& rates, int threads);

struct Saturation {
  bool found = false;          // some rate was saturated; otherwise none up to `rate` is
  double rate = 0;             // the highest that was not saturated
  double latency_at_zero = 0;  // cycles: of the run at the lowest rate, or computed where it measured too few packets
  std::vector<Result> points;  // in the order tried
};

// Bisection to `resolution`, between 0 and a flit for each port of the source with fewest: a run is taken for saturated
// where Result::saturated, or its mean latency is above `latency_factor` times that near zero load.
Saturation find_saturation(const Topology& topology, const Parameters& parameters, const Traffic& traffic,
                           double resolution = 0.01, double latency_factor = 3, const Progress& progress = {});

}  // namespace dcgn::memnet
