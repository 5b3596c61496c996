// One open-loop run.
#include "memnet/src/simulation.hpp"

#include "memnet/src/injection.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace dcgn::memnet {
namespace {

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
  for (const Channel& channel : topology.channels()) capacity += channel.missing ? 0 : channel.link.bandwidth;
  for (const Terminal& terminal : topology.terminals()) {
    if (terminal.kind == TerminalKind::hmc) continue;
    for (const Port& port : terminal.ports) capacity += 2 * port.link.bandwidth;
  }
  return capacity;
}

// Latencies by value: what they take up grows with their range and not with the length of the run.
class Latencies {
 public:
  void add(std::int64_t latency) {
    if (latency >= near_limit) {
      ++far_[latency];
    } else {
      if (static_cast<std::size_t>(latency) >= near_.size()) near_.resize(latency + 1, 0);
      ++near_[latency];
    }
    ++packets_;
    sum_ += latency;
  }

  std::int64_t packets() const { return packets_; }

  LatencySummary summary() const {
    LatencySummary summary;
    if (packets_ == 0) return summary;
    summary.packets = packets_;
    summary.mean = static_cast<double>(sum_) / static_cast<double>(packets_);
    summary.p50 = percentile(0.5);
    summary.p99 = percentile(0.99);
    summary.max = far_.empty() ? static_cast<double>(near_.size() - 1) : static_cast<double>(far_.rbegin()->first);
    return summary;
  }

 private:
  static constexpr std::int64_t near_limit = 1 << 16;

  // The nearest rank, as summarize() has it.
  double percentile(double share) const {
    std::int64_t left = std::max<std::int64_t>(1, std::llround(std::ceil(share * static_cast<double>(packets_))));
    for (std::size_t latency = 0; latency < near_.size(); ++latency) {
      left -= near_[latency];
      if (left <= 0) return static_cast<double>(latency);
    }
    for (const auto& [latency, count] : far_) {
      left -= count;
      if (left <= 0) return static_cast<double>(latency);
    }
    return 0;
  }

  std::vector<std::int64_t> near_;
  std::map<std::int64_t, std::int64_t> far_;
  std::int64_t packets_ = 0;
  std::int64_t sum_ = 0;
};

// Cycles of packets alone in the network, of pairs drawn as the traffic draws them.
struct ZeroLoad {
  double mean = 0;
  double longest = 0;
};

ZeroLoad zero_load(const Network& network, const Traffic& traffic, const Destinations& destinations) {
  const Parameters& parameters = network.parameters();
  const int sources = static_cast<int>(destinations.sources().size());
  Random random(parameters.seed ^ 0x7a65726fULL);
  double sum = 0;
  int count = 0;
  ZeroLoad result;
  for (int i = 0; i < 512; ++i) {
    const int index = random.below(sources);
    const int destination = destinations.draw(index, random);
    if (destination < 0) continue;
    const auto cycles =
        static_cast<double>(network.zero_load_latency(destinations.sources()[index], destination, traffic.flits));
    sum += cycles;
    result.longest = std::max(result.longest, cycles);
    ++count;
  }
  if (count == 0) return result;
  result.mean = sum / count;
  if (parameters.routing == Routing::valiant) {
    result.mean += result.mean - (traffic.flits - 1);
    result.longest += result.longest - (traffic.flits - 1);
  }
  // Flits that do not fit a VC wait for credits, at worst over the longest channel.
  int longest = 0;
  for (const Channel& channel : network.topology().channels()) {
    longest = std::max(longest, channel.link.extra_latency + (channel.link.serdes ? parameters.serdes_cycles() : 0));
  }
  const double depth = parameters.vc_buffer_flits();
  const double round_trip = 2.0 * (1 + longest) + parameters.stages + parameters.credit_delay + 1;
  const double waiting = std::max(0.0, traffic.flits - depth) * std::max(0.0, round_trip / depth - 1);
  result.mean += waiting;
  result.longest += waiting;
  return result;
}

// One run; the phases share what they count.
class Run {
 public:
  Run(const Topology& topology, const Parameters& parameters, const Traffic& traffic, double rate,
      const Progress& progress, RunObserver* observer)
      : parameters_(parameters),
        network_(topology, parameters),
        injection_(topology, traffic, rate, parameters.seed),
        progress_(progress),
        observer_(observer),
        flits_(traffic.flits),
        report_interval_(
            std::clamp<std::int64_t>(2000000 / static_cast<std::int64_t>(topology.routers().size()), 10, 1000)),
        class_latency_(parameters.message_classes) {
    result_.rate = rate;
    result_.routes = network_.routes();
    const ZeroLoad alone = zero_load(network_, traffic, injection_.destinations());
    depth_ = std::llround(alone.longest);
    result_.zero_load_latency = alone.mean;
    result_.latency_limit =
        result_.zero_load_latency + std::max(parameters.latency_limit, 2 * result_.zero_load_latency);
    // Past saturation source queues would grow for as long as the run lasts. By Little's law one that stays this long
    // belongs to a latency far above the limit, and a source with this many packets never runs dry.
    const double most = std::max(1024.0, 4 * rate / flits_ * result_.latency_limit);
    room_ = static_cast<std::int64_t>(most) * flits_;
  }

  Result all() {
    const auto start = std::chrono::steady_clock::now();
    warm_up();
    measure();
    if (!result_.saturated) drain();
    if (observer_ != nullptr) observer_->ended(network_);
    summarize_all();
    result_.cycles = network_.now();
    result_.flit_hops = network_.counters().flit_hops;
    result_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (progress_) progress_(1);
    return std::move(result_);
  }

 private:
  // Goes on to a cycle, with packets of a tag.
  Offer run_until(std::int64_t end, std::uint64_t tag, Backlog* backlog = nullptr) {
    Offer offer;
    while (network_.now() < end) {
      if (progress_ && network_.now() >= next_report_) report();
      const std::int64_t next = injection_.next();
      if (next > network_.now() && network_.idle()) {
        network_.advance(std::min(next, end));
        continue;
      }
      if (observer_ != nullptr) observer_->stepping(network_);
      if (next <= network_.now()) injection_.inject(network_, tag, room_, offer, backlog);
      network_.step();
      if (observer_ != nullptr) observer_->stepped(network_);
      if (!network_.deliveries().empty()) collect();
    }
    return offer;
  }

  // How long a warm-up or a drain will take is not known: each has a part of its own.
  void report() {
    next_report_ = network_.now() + report_interval_;
    const double now = static_cast<double>(network_.now());
    const double measured = static_cast<double>(parameters_.measure_cycles);
    const double warm = parameters_.warmup_cycles > 0 ? static_cast<double>(parameters_.warmup_cycles) : 30000;
    const double first = parameters_.warmup_cycles > 0 ? warm / (warm + measured) : 4000 / (4000 + measured);
    double share = first * std::min(1.0, now / warm);
    if (measuring_) share = first + (1 - first) * (now - static_cast<double>(result_.warmup_cycles)) / measured;
    progress_(std::min(share, 0.99));
  }

  void collect() {
    for (const Delivery& delivery : network_.deliveries()) {
      const std::int64_t latency = delivery.delivered - delivery.created;
      window_sum_ += latency;
      ++window_packets_;
      if (delivery.packet.tag != measured_tag) continue;
      latency_.add(latency);
      network_latency_.add(delivery.delivered - delivery.injected);
      if (class_latency_.size() > 1) class_latency_[delivery.packet.message_class].add(latency);
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
      // The last packets measured have time to come out.
      const std::int64_t most =
          parameters_.max_cycles - parameters_.measure_cycles - std::llround(result_.latency_limit);
      double previous = -1;
      int still = 0;
      for (int i = 0; i < 30 && still < 2 && network_.now() < most; ++i) {
        window_sum_ = 0;
        window_packets_ = 0;
        run_until(std::min(most, network_.now() + window), 0);
        const double mean = window_packets_ > 0 ? static_cast<double>(window_sum_) / window_packets_ : 0;
        still = previous >= 0 && std::abs(mean - previous) <= 0.05 * mean ? still + 1 : 0;
        previous = mean;
        if (mean > result_.latency_limit) break;
      }
    }
    result_.warmup_cycles = network_.now();
  }

  void measure() {
    measuring_ = true;
    const Loads before = read_loads(network_);
    const Counters counters = network_.counters();
    const EnergyMeter meter(network_);
    const std::int64_t cycles = parameters_.measure_cycles;
    const std::int64_t start = network_.now();
    const std::int64_t end = start + cycles;
    Backlog backlog(injection_.sources(), flits_, start, cycles);
    Offer offer = run_until(std::min(start + depth_, end), measured_tag, &backlog);
    std::int64_t delivered = network_.counters().delivered_flits;
    offer += run_until(end, measured_tag, &backlog);
    const double slots = static_cast<double>(cycles) * injection_.sources();
    const Loads after = read_loads(network_);
    const double offered = static_cast<double>(offer.flits);
    const double accepted = static_cast<double>(network_.counters().delivered_flits - counters.delivered_flits);
    result_.measured_cycles = cycles;
    result_.offered = offered / slots;
    result_.accepted = accepted / slots;
    result_.dropped_packets = offer.dropped;
    result_.channel_load = per_cycle(before.channels, after.channels, cycles);
    result_.injection_load = per_cycle(before.injection, after.injection, cycles);
    result_.ejection_load = per_cycle(before.ejection, after.ejection, cycles);
    result_.energy = meter.read(network_);
    measured_packets_ = network_.counters().injected_packets - counters.injected_packets;
    const bool overflowed = parameters_.source_queue_flits == 0 && offer.dropped > 0;
    if (overflowed || backlog.grows()) {
      saturate(SaturationReason::throughput);
      return;
    }
    // What was offered and not delivered was dropped, or is in the network or, past saturation, in ever longer source
    // queues. Deliveries are counted as much later as the longest way takes: then a network that the warm-up did not
    // fill lacks none. Few packets differ by chance: by the square root of their number, and by a packet each.
    const std::int64_t later = end + depth_;
    if (later >= parameters_.max_cycles) return;
    if (start + depth_ > end) {
      run_until(start + depth_, 0);
      delivered = network_.counters().delivered_flits;
    }
    run_until(later, 0);
    delivered = network_.counters().delivered_flits - delivered;
    const double by_chance = 3 * std::sqrt(offered / flits_) * flits_;
    if (offered - static_cast<double>(delivered) > std::max(0.05 * offered, by_chance)) {
      saturate(SaturationReason::throughput);
    }
  }

  // Traffic goes on, so that the last packets measured meet what the first ones met.
  void drain() {
    const std::int64_t most = network_.now() + 4 * std::max({parameters_.measure_cycles, std::int64_t{1000}, depth_});
    const std::int64_t end = std::min(parameters_.max_cycles, most);
    while (latency_.packets() < measured_packets_) {
      if (network_.now() >= end) {
        saturate(end < most ? SaturationReason::cycles : SaturationReason::throughput);
        break;
      }
      run_until(std::min(end, network_.now() + 100), 0);
    }
  }

  void summarize_all() {
    if (latency_.packets() > 0) result_.hops = static_cast<double>(hops_) / static_cast<double>(latency_.packets());
    result_.latency = latency_.summary();
    result_.network_latency = network_latency_.summary();
    for (const Latencies& latencies : class_latency_)
      result_.by_class.push_back(class_latency_.size() > 1 ? latencies.summary() : result_.latency);
    if (result_.latency.mean > result_.latency_limit) saturate(SaturationReason::latency);
  }

  // The first reason is the one that is told.
  void saturate(SaturationReason reason) {
    if (!result_.saturated) result_.saturation_reason = reason;
    result_.saturated = true;
  }

  static constexpr std::uint64_t measured_tag = 1;

  Parameters parameters_;
  Network network_;
  Injection injection_;
  const Progress& progress_;
  RunObserver* observer_;
  int flits_;
  std::int64_t depth_ = 0;  // cycles that the longest way takes a packet alone
  std::int64_t report_interval_;
  std::int64_t next_report_ = 0;
  bool measuring_ = false;
  std::int64_t room_ = 0;  // flits in a source queue, a port
  Result result_;
  Latencies latency_;
  Latencies network_latency_;
  std::vector<Latencies> class_latency_;
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
                     const Progress& progress, RunObserver* observer) {
  parameters.validate();
  topology.validate();
  if (traffic.message_class < 0 || traffic.message_class >= parameters.message_classes) {
    throw Error(Code::configuration, "simulate",
                "message_class is " + std::to_string(traffic.message_class) + ", expected 0.." +
                    std::to_string(parameters.message_classes - 1));
  }
  if (parameters.measure_cycles >= parameters.max_cycles ||
      parameters.warmup_cycles >= parameters.max_cycles - parameters.measure_cycles) {
    throw Error(Code::configuration, "simulate",
                "warmup_cycles + measure_cycles is " + std::to_string(parameters.warmup_cycles) + " + " +
                    std::to_string(parameters.measure_cycles) + ", expected less than max_cycles, " +
                    std::to_string(parameters.max_cycles));
  }
  return Run(topology, parameters, traffic, rate, progress, observer).all();
}

}  // namespace dcgn::memnet
