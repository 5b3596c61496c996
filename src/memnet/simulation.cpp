// Open-loop runs.
#include "memnet/simulation.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <utility>

namespace dcgn::memnet {
namespace {

// Packets at a rate: Bernoulli trials in as many slots a cycle as the source has ports, drawn as the gaps between
// successes, so that a cycle without packets costs nothing.
class Injection {
 public:
  Injection(const Topology& topology, const Traffic& traffic, double rate, std::uint64_t seed)
      : destinations_(topology, traffic), random_(seed), flits_(traffic.flits), message_class_(traffic.message_class) {
    for (std::size_t i = 0; i < destinations_.sources().size(); ++i) {
      const int ports = static_cast<int>(topology.terminals()[destinations_.sources()[i]].ports.size());
      const double chance = rate / traffic.flits / ports;
      if (!(rate >= 0 && chance <= 1)) {
        throw Error(Code::configuration, "simulate",
                    "rate is " + std::to_string(rate) + " flits per source and cycle, expected 0.." +
                        std::to_string(ports * traffic.flits));
      }
      ports_.push_back(ports);
      chance_.push_back(chance);
      per_log_.push_back(chance > 0 && chance < 1 ? 1 / std::log1p(-chance) : 0);
      if (chance > 0) events_.emplace(gap(static_cast<int>(i)) - 1, static_cast<int>(i));
    }
  }

  int sources() const { return static_cast<int>(destinations_.sources().size()); }
  // The next cycle with a packet.
  std::int64_t next() const { return events_.empty() ? INT64_MAX : events_.top().first / ports_[events_.top().second]; }

  // Injects the packets of the network's cycle; the number of flits.
  std::int64_t inject(Network& network, std::uint64_t tag) {
    std::int64_t flits = 0;
    while (next() <= network.now()) {
      const auto [slot, index] = events_.top();
      events_.pop();
      events_.emplace(slot + gap(index), index);
      const int destination = destinations_.draw(index, random_);
      if (destination < 0) continue;
      network.inject({destinations_.sources()[index], destination, message_class_, flits_, tag});
      flits += flits_;
    }
    return flits;
  }

 private:
  std::int64_t gap(int index) {
    if (chance_[index] >= 1) return 1;
    const double trials = std::log1p(-random_.uniform()) * per_log_[index];
    return 1 + static_cast<std::int64_t>(std::min(trials, 1e15));
  }

  // Slots are compared as cycles: those of sources with other numbers of ports are of other lengths.
  struct Later {
    const std::vector<int>* ports;
    bool operator()(const std::pair<std::int64_t, int>& a, const std::pair<std::int64_t, int>& b) const {
      const std::int64_t first = a.first / (*ports)[a.second];
      const std::int64_t second = b.first / (*ports)[b.second];
      return first != second ? first > second : a.second > b.second;
    }
  };

  Destinations destinations_;
  Random random_;
  int flits_;
  int message_class_;
  std::vector<int> ports_;
  std::vector<double> chance_;
  std::vector<double> per_log_;  // 1 / log(1 - chance)
  std::priority_queue<std::pair<std::int64_t, int>, std::vector<std::pair<std::int64_t, int>>, Later> events_{
      Later{&ports_}};
};

// The counters of all channels.
struct Loads {
  std::vector<std::int64_t> channels;
  std::vector<std::int64_t> injection;
  std::vector<std::int64_t> ejection;
};

Loads read_loads(const Network& network) {
  Loads loads;
  const Topology& topology = network.topology();
  for (int c = 0; c < static_cast<int>(topology.channels().size()); ++c) {
    loads.channels.push_back(network.channel_flits(c));
  }
  for (int t = 0; t < static_cast<int>(topology.terminals().size()); ++t) {
    for (int p = 0; p < static_cast<int>(topology.terminals()[t].ports.size()); ++p) {
      loads.injection.push_back(network.injection_flits(t, p));
      loads.ejection.push_back(network.ejection_flits(t, p));
    }
  }
  return loads;
}

std::vector<double> per_cycle(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after,
                              std::int64_t cycles) {
  std::vector<double> result;
  for (std::size_t i = 0; i < after.size(); ++i) {
    result.push_back(static_cast<double>(after[i] - before[i]) / static_cast<double>(cycles));
  }
  return result;
}

// Flits on the channels whose energy counts, and how many those channels could carry in a cycle.
double metered_flits(const Network& network) {
  double flits = 0;
  const Topology& topology = network.topology();
  for (int c = 0; c < static_cast<int>(topology.channels().size()); ++c) {
    flits += static_cast<double>(network.channel_flits(c));
  }
  for (int t = 0; t < static_cast<int>(topology.terminals().size()); ++t) {
    if (topology.terminals()[t].kind == TerminalKind::hmc) continue;
    for (int p = 0; p < static_cast<int>(topology.terminals()[t].ports.size()); ++p) {
      flits += static_cast<double>(network.injection_flits(t, p) + network.ejection_flits(t, p));
    }
  }
  return flits;
}

double metered_capacity(const Topology& topology) {
  double capacity = 0;
  for (const Channel& channel : topology.channels()) capacity += channel.link.bandwidth;
  for (const Terminal& terminal : topology.terminals()) {
    if (terminal.kind == TerminalKind::hmc) continue;
    for (const Port& port : terminal.ports) capacity += 2 * port.link.bandwidth;
  }
  return capacity;
}

std::uint64_t point_seed(std::uint64_t seed, std::size_t point) {
  Random random(seed ^ (0x706f696e74ULL + point * 0x9e3779b97f4a7c15ULL));
  return random.next();
}

// One run; the phases share what they count.
class Run {
 public:
  Run(const Topology& topology, const Parameters& parameters, const Traffic& traffic, double rate)
      : parameters_(parameters),
        network_(topology, parameters),
        injection_(topology, traffic, rate, parameters.seed),
        classes_(parameters.message_classes) {
    result_.rate = rate;
  }

  Result all() {
    const auto start = std::chrono::steady_clock::now();
    warm_up();
    measure();
    drain();
    summarize_all();
    result_.cycles = network_.now();
    result_.flit_hops = network_.counters().flit_hops;
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(result_);
  }

 private:
  // Goes on to a cycle, with packets of a tag; flits injected.
  std::int64_t run_until(std::int64_t end, std::uint64_t tag) {
    std::int64_t flits = 0;
    while (network_.now() < end) {
      const std::int64_t next = injection_.next();
      if (next > network_.now() && network_.idle()) {
        network_.advance(std::min(next, end));
        continue;
      }
      if (next <= network_.now()) flits += injection_.inject(network_, tag);
      network_.step();
      if (!network_.deliveries().empty()) collect();
    }
    return flits;
  }

  void collect() {
    for (const Delivery& delivery : network_.deliveries()) {
      const std::int64_t latency = delivery.delivered - delivery.created;
      window_sum_ += latency;
      ++window_packets_;
      if (delivery.packet.tag != measured_tag) continue;
      latency_.push_back(latency);
      network_latency_.push_back(delivery.delivered - delivery.injected);
      class_latency_[delivery.packet.message_class].push_back(latency);
      hops_ += delivery.hops;
    }
    network_.clear_deliveries();
  }

  // Windows until the mean latency of one is near that of the one before; a network past saturation never gets there.
  void warm_up() {
    if (parameters_.warmup_cycles > 0) {
      run_until(parameters_.warmup_cycles, 0);
    } else {
      const std::int64_t window = 1000;
      double previous = -1;
      int still = 0;
      for (int i = 0; i < 30 && still < 2; ++i) {
        window_sum_ = 0;
        window_packets_ = 0;
        run_until(network_.now() + window, 0);
        const double mean = window_packets_ > 0 ? static_cast<double>(window_sum_) / window_packets_ : 0;
        still = previous >= 0 && std::abs(mean - previous) <= 0.05 * mean ? still + 1 : 0;
        previous = mean;
        if (mean > parameters_.latency_limit) break;
      }
    }
    result_.warmup_cycles = network_.now();
  }

  void measure() {
    const Loads before = read_loads(network_);
    const Counters counters = network_.counters();
    const EnergyMeter meter(network_);
    const std::int64_t flits = run_until(network_.now() + parameters_.measure_cycles, measured_tag);
    const std::int64_t cycles = parameters_.measure_cycles;
    const double slots = static_cast<double>(cycles) * injection_.sources();
    const Loads after = read_loads(network_);
    result_.measured_cycles = cycles;
    result_.offered = static_cast<double>(flits) / slots;
    result_.accepted = static_cast<double>(network_.counters().delivered_flits - counters.delivered_flits) / slots;
    result_.channel_load = per_cycle(before.channels, after.channels, cycles);
    result_.injection_load = per_cycle(before.injection, after.injection, cycles);
    result_.ejection_load = per_cycle(before.ejection, after.ejection, cycles);
    result_.energy = meter.read(network_);
    measured_packets_ = network_.counters().injected_packets - counters.injected_packets;
    // What was injected and not delivered is in the network, or, past saturation, in ever longer source queues.
    result_.saturated = result_.accepted < 0.95 * result_.offered && result_.offered * slots > 1000;
  }

  // Traffic goes on, so that the last packets measured meet what the first ones met.
  void drain() {
    const std::int64_t end =
        std::min(parameters_.max_cycles, network_.now() + 4 * std::max<std::int64_t>(parameters_.measure_cycles, 1000));
    while (static_cast<std::int64_t>(latency_.size()) < measured_packets_) {
      if (network_.now() >= end) {
        result_.saturated = true;
        break;
      }
      run_until(std::min(end, network_.now() + 100), 0);
    }
  }

  void summarize_all() {
    if (!latency_.empty()) result_.hops = static_cast<double>(hops_) / static_cast<double>(latency_.size());
    result_.latency = summarize(std::move(latency_));
    result_.network_latency = summarize(std::move(network_latency_));
    for (auto& samples : class_latency_) result_.by_class.push_back(summarize(std::move(samples)));
    if (result_.latency.mean > parameters_.latency_limit) result_.saturated = true;
  }

  static constexpr std::uint64_t measured_tag = 1;

  Parameters parameters_;
  Network network_;
  Injection injection_;
  int classes_;
  Result result_;
  std::vector<std::int64_t> latency_;
  std::vector<std::int64_t> network_latency_;
  std::vector<std::vector<std::int64_t>> class_latency_ = std::vector<std::vector<std::int64_t>>(classes_);
  std::int64_t hops_ = 0;
  std::int64_t measured_packets_ = 0;
  std::int64_t window_sum_ = 0;
  std::int64_t window_packets_ = 0;
};

}  // namespace

std::string_view to_string(SaturationReason reason) noexcept {
  switch (reason) {
    case SaturationReason::none: return "none";
    case SaturationReason::throughput: return "throughput";
    case SaturationReason::latency: return "latency";
    case SaturationReason::cycles: return "cycles";
  }
  return "unknown";
}

LatencySummary summarize(std::vector<std::int64_t> samples) {
  LatencySummary summary;
  if (samples.empty()) return summary;
  double sum = 0;
  for (const std::int64_t sample : samples) sum += static_cast<double>(sample);
  const double count = static_cast<double>(samples.size());
  // The nearest rank: the smallest sample that so large a share does not exceed.
  const auto percentile = [&samples, count](double share) {
    const std::size_t rank = static_cast<std::size_t>(std::ceil(share * count));
    const auto at = samples.begin() + static_cast<std::ptrdiff_t>(std::clamp<std::size_t>(rank, 1, samples.size()) - 1);
    std::nth_element(samples.begin(), at, samples.end());
    return static_cast<double>(*at);
  };
  summary.packets = static_cast<std::int64_t>(samples.size());
  summary.mean = sum / count;
  summary.p50 = percentile(0.5);
  summary.p99 = percentile(0.99);
  summary.max = static_cast<double>(*std::max_element(samples.begin(), samples.end()));
  return summary;
}

EnergyMeter::EnergyMeter(const Network& network) : cycle_(network.now()), flits_(metered_flits(network)) {}

Energy EnergyMeter::read(const Network& network) const {
  const Parameters& parameters = network.parameters();
  const double bits = 8.0 * parameters.flit_bytes;
  const double carried = metered_flits(network) - flits_;
  const double slots = metered_capacity(network.topology()) * static_cast<double>(network.now() - cycle_);
  Energy energy;
  energy.active_pj = carried * bits * parameters.active_pj_per_bit;
  energy.idle_pj = (slots - carried) * bits * parameters.idle_pj_per_bit;
  energy.capacity_pj = bits * (slots * parameters.idle_pj_per_bit +
                               carried * (parameters.active_pj_per_bit - parameters.idle_pj_per_bit));
  return energy;
}

Result run_open_loop(const Topology& topology, const Parameters& parameters, const Traffic& traffic, double rate,
                     const Progress& progress) {
  parameters.validate();
  topology.validate();
  if (traffic.message_class < 0 || traffic.message_class >= parameters.message_classes) {
    throw Error(Code::configuration, "simulate",
                "message_class is " + std::to_string(traffic.message_class) + ", expected 0.." +
                    std::to_string(parameters.message_classes - 1));
  }
  Result result = Run(topology, parameters, traffic, rate).all();
  if (progress) progress(1);
  return result;
}

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
  Saturation saturation;
  const auto run = [&](double rate) {
    Parameters own = parameters;
    own.seed = point_seed(parameters.seed, saturation.points.size());
    saturation.points.push_back(run_open_loop(topology, own, traffic, rate));
    return saturation.points.back();
  };
  int ports = 1;
  const Destinations destinations(topology, traffic);
  for (const int source : destinations.sources()) {
    ports = std::max(ports, static_cast<int>(topology.terminals()[source].ports.size()));
  }
  double low = 0;
  double high = ports;
  saturation.latency_at_zero = run(std::min(0.01, resolution) * ports).latency.mean;
  while (high - low > resolution) {
    const double rate = (low + high) / 2;
    const Result& result = run(rate);
    const bool saturated = result.saturated || result.latency.mean > latency_factor * saturation.latency_at_zero;
    (saturated ? high : low) = rate;
    saturation.found = saturation.found || saturated;
  }
  saturation.rate = low;
  if (progress) progress(1);
  return saturation;
}

}  // namespace dcgn::memnet
