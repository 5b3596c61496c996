#include "memnet/src/report.hpp"

#include "memnet/src/bisection.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

namespace dcgn::memnet {

namespace {

// Nothing where there was no packet.
Cell of_packets(std::int64_t packets, double value) { return packets > 0 ? Cell(value) : Cell(std::monostate()); }

void add_latency(ReportRow& row, const std::string& prefix, const LatencySummary& latency) {
  row.emplace_back(prefix + "_mean", of_packets(latency.packets, latency.mean));
  row.emplace_back(prefix + "_p50", of_packets(latency.packets, latency.p50));
  row.emplace_back(prefix + "_p99", of_packets(latency.packets, latency.p99));
  row.emplace_back(prefix + "_max", of_packets(latency.packets, latency.max));
}

void add_energy(ReportRow& row, const Energy& energy) {
  row.emplace_back("energy_active_nj", energy.active_pj / 1000);
  row.emplace_back("energy_idle_nj", energy.idle_pj / 1000);
  row.emplace_back("energy_nj", (energy.active_pj + energy.idle_pj) / 1000);
}

double mean_of(const std::vector<double>& values) {
  return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double most_of(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

// Who sends, as Destinations counts them.
int sources_of(const Configuration& configuration) {
  return static_cast<int>(Destinations(configuration.topology, configuration.traffic).sources().size());
}

// Channels to every router from the nearest of a terminal's; -1: none.
void find_distances(const Topology& topology, const std::vector<std::vector<int>>& outputs, const Terminal& from,
                    std::vector<int>& distance) {
  distance.assign(topology.routers().size(), -1);
  std::vector<int> queue;
  const auto reach = [&](int router, int channels) {
    if (distance[router] >= 0) return;
    distance[router] = channels;
    queue.push_back(router);
  };
  for (const Port& port : from.ports) reach(port.router, 0);
  std::size_t next = 0;
  while (next < queue.size()) {
    const int router = queue[next++];
    for (const int channel : outputs[router]) reach(topology.channels()[channel].to, distance[router] + 1);
  }
}

// The diameter and the mean of hops.
void measure_paths(const Topology& topology, TopologySummary& summary) {
  const auto outputs = topology.outputs();
  std::vector<int> distance;
  double hops = 0, pairs = 0;
  for (int a = 0; a < summary.terminals; ++a) {
    find_distances(topology, outputs, topology.terminals()[a], distance);
    for (int b = 0; b < summary.terminals; ++b) {
      if (!topology.may_talk(a, b)) continue;
      int least = -1;
      for (const Port& port : topology.terminals()[b].ports) {
        const int d = distance[port.exit];
        if (d >= 0 && (least < 0 || d < least)) least = d;
      }
      if (least < 0) continue;
      summary.diameter = std::max(summary.diameter, least);
      hops += least + 1;
      pairs += 1;
    }
  }
  summary.mean_hops = pairs > 0 ? hops / pairs : 0;
}

}  // namespace

ReportRow report_row(const Configuration& configuration, const Result& result) {
  const double gbytes = configuration.parameters.flits_to_gbytes() * sources_of(configuration);
  ReportRow row = {{"load", result.rate},
                   {"offered", result.offered},
                   {"throughput", result.accepted},
                   {"throughput_gbytes", result.accepted * gbytes},
                   {"packets", result.latency.packets}};
  add_latency(row, "latency", result.latency);
  add_latency(row, "network_latency", result.network_latency);
  for (std::size_t c = 0; c < result.by_class.size(); ++c) {
    const std::string prefix = "class" + std::to_string(c);
    row.emplace_back(prefix + "_packets", result.by_class[c].packets);
    row.emplace_back(prefix + "_latency_mean", of_packets(result.by_class[c].packets, result.by_class[c].mean));
    row.emplace_back(prefix + "_latency_p99", of_packets(result.by_class[c].packets, result.by_class[c].p99));
  }
  row.emplace_back("hops", of_packets(result.latency.packets, result.hops));
  row.emplace_back("channel_load_max", most_of(result.channel_load));
  std::vector<double> loads;
  for (std::size_t c = 0; c < result.channel_load.size(); ++c)
    if (!configuration.topology.channels()[c].missing) loads.push_back(result.channel_load[c]);
  row.emplace_back("channel_load_mean", mean_of(loads));
  row.emplace_back("injection_load_max", most_of(result.injection_load));
  row.emplace_back("ejection_load_max", most_of(result.ejection_load));
  add_energy(row, result.energy);
  row.emplace_back("saturated", result.saturated);
  row.emplace_back("warmup_cycles", result.warmup_cycles);
  row.emplace_back("measured_cycles", result.measured_cycles);
  row.emplace_back("cycles", result.cycles);
  row.emplace_back("flit_hops", result.flit_hops);
  return row;
}

ReportRow report_row(const Configuration& configuration, const ClosedLoopResult& result) {
  const Parameters& p = configuration.parameters;
  const double ns = static_cast<double>(result.cycles) / p.clock_ghz;
  const double bytes = static_cast<double>(result.counters.delivered_flits) * p.flit_bytes;
  int peak = 0;
  for (const int one : result.peak) peak = std::max(peak, one);
  ReportRow row = {{"requests", result.requests},
                   {"replies", result.replies},
                   {"cycles", result.cycles},
                   {"ns", ns},
                   {"cycles_per_request", result.cycles_per_request},
                   {"throughput_gbytes", ns > 0 ? bytes / ns : 0.0}};
  add_latency(row, "latency", result.latency);
  row.emplace_back("hops", of_packets(result.latency.packets, result.hops));
  row.emplace_back("row_hit_share", result.row_hit_share);
  row.emplace_back("peak_outstanding", static_cast<std::int64_t>(peak));
  add_energy(row, result.energy);
  row.emplace_back("finished", result.finished);
  row.emplace_back("flit_hops", result.counters.flit_hops);
  return row;
}

ReportRow report_row(const Configuration& configuration, const LaunchResult& launch) {
  return {{"kernel", launch.kernel},
          {"blocks", static_cast<std::int64_t>(launch.blocks)},
          {"simulated_blocks", static_cast<std::int64_t>(launch.simulated_blocks)},
          {"cycles", launch.cycles},
          {"us", launch.cycles / configuration.parameters.clock_ghz / 1000},
          {"requests", launch.requests}};
}

ReportRow report_row(const Configuration& configuration, const KernelResult& result) {
  const Parameters& p = configuration.parameters;
  const auto share = [](std::int64_t part, std::int64_t all) {
    return all > 0 ? Cell(static_cast<double>(part) / static_cast<double>(all)) : Cell(std::monostate());
  };
  std::uint64_t blocks = 0, simulated = 0;
  for (const LaunchResult& launch : result.launches) blocks += launch.blocks, simulated += launch.simulated_blocks;
  const double ns = static_cast<double>(result.network.counters.cycles) / p.clock_ghz;
  const double bytes = static_cast<double>(result.network.counters.delivered_flits) * p.flit_bytes;
  ReportRow row = {{"launches", static_cast<std::int64_t>(result.launches.size())},
                   {"blocks", static_cast<std::int64_t>(blocks)},
                   {"simulated_blocks", static_cast<std::int64_t>(simulated)},
                   {"cycles", result.cycles()},
                   {"us", result.cycles() / p.clock_ghz / 1000},
                   {"requests", result.all_requests()},
                   {"warp_instructions", result.instructions},
                   {"reads", result.reads},
                   {"writes", result.writes},
                   {"atomics", result.atomics},
                   {"l1_hit_share", share(result.l1_hits, result.l1_reads)},
                   {"l2_hit_share", share(result.l2_hits, result.l2_reads)},
                   {"throughput_gbytes", ns > 0 ? bytes / ns : 0.0}};
  add_latency(row, "latency", result.network.latency);
  row.emplace_back("hops", of_packets(result.network.latency.packets, result.network.hops));
  row.emplace_back("row_hit_share", result.network.row_hit_share);
  add_energy(row, result.energy);
  row.emplace_back("flit_hops", result.network.counters.flit_hops);
  return row;
}

ReportRow report_row(const Configuration& configuration, const std::vector<Delivery>& deliveries) {
  const Parameters& p = configuration.parameters;
  std::vector<std::int64_t> latency, network;
  std::vector<std::vector<std::int64_t>> by_class(p.message_classes);
  std::int64_t end = 0, hops = 0, flits = 0;
  for (const Delivery& one : deliveries) {
    latency.push_back(one.delivered - one.created);
    network.push_back(one.delivered - one.injected);
    by_class[one.packet.message_class].push_back(latency.back());
    end = std::max(end, one.delivered);
    hops += one.hops;
    flits += one.packet.flits;
  }
  const auto count = static_cast<std::int64_t>(deliveries.size());
  const double ns = static_cast<double>(end) / p.clock_ghz;
  ReportRow row = {{"packets", count},
                   {"flits", flits},
                   {"cycles", end},
                   {"ns", ns},
                   {"throughput_gbytes", ns > 0 ? static_cast<double>(flits) * p.flit_bytes / ns : 0.0}};
  add_latency(row, "latency", summarize(std::move(latency)));
  add_latency(row, "network_latency", summarize(std::move(network)));
  for (std::size_t c = 0; c < by_class.size(); ++c) {
    const std::string prefix = "class" + std::to_string(c);
    const LatencySummary one = summarize(std::move(by_class[c]));
    row.emplace_back(prefix + "_packets", one.packets);
    row.emplace_back(prefix + "_latency_mean", of_packets(one.packets, one.mean));
    row.emplace_back(prefix + "_latency_p99", of_packets(one.packets, one.p99));
  }
  row.emplace_back("hops", of_packets(count, static_cast<double>(hops) / static_cast<double>(count)));
  return row;
}

ReportRow report_row(const SystemPlan& plan, const std::string& phase, const Phase& result) {
  ReportRow row = {{"organisation", std::string(to_string(plan.organisation))},
                   {"workload", std::string(plan.workload.name)},
                   {"phase", phase},
                   {"us", result.ns / 1000},
                   {"requests", result.requests},
                   {"latency_mean", of_packets(result.sampled.latency.packets, result.sampled.latency.mean)},
                   {"hops", of_packets(result.sampled.latency.packets, result.sampled.hops)}};
  add_energy(row, result.energy);
  return row;
}

std::vector<NamedLink> named_links(const Topology& topology) {
  std::vector<NamedLink> links;
  const auto router = [&](int r) { return "router " + topology.routers()[r].name; };
  for (const Channel& channel : topology.channels()) {
    if (!channel.missing) links.push_back({router(channel.from), router(channel.to), channel.link.bandwidth});
  }
  for (const bool into : {true, false}) {
    for (const Terminal& terminal : topology.terminals()) {
      for (const Port& port : terminal.ports) {
        if (into) {
          links.push_back({terminal.name, router(port.router), port.link.bandwidth});
        } else {
          links.push_back({router(port.exit), terminal.name, port.link.bandwidth});
        }
      }
    }
  }
  std::map<std::pair<std::string, std::string>, int> alike;
  for (NamedLink& link : links) link.number = ++alike[{link.from, link.to}];
  return links;
}

std::vector<std::int64_t> flits_of_links(const Network& network) {
  const Topology& topology = network.topology();
  std::vector<std::int64_t> flits;
  for (int c = 0; c < static_cast<int>(topology.channels().size()); ++c) {
    if (!topology.channels()[static_cast<std::size_t>(c)].missing) flits.push_back(network.channel_flits(c));
  }
  for (const bool into : {true, false}) {
    for (int t = 0; t < static_cast<int>(topology.terminals().size()); ++t) {
      for (int p = 0; p < static_cast<int>(topology.terminals()[static_cast<std::size_t>(t)].ports.size()); ++p) {
        flits.push_back(into ? network.injection_flits(t, p) : network.ejection_flits(t, p));
      }
    }
  }
  return flits;
}

std::vector<ReportRow> report_loads(const Topology& topology, const Result& result) {
  std::vector<double> loads;
  for (std::size_t c = 0; c < topology.channels().size(); ++c) {
    if (!topology.channels()[c].missing) loads.push_back(result.channel_load[c]);
  }
  loads.insert(loads.end(), result.injection_load.begin(), result.injection_load.end());
  loads.insert(loads.end(), result.ejection_load.begin(), result.ejection_load.end());
  std::vector<ReportRow> rows;
  for (const NamedLink& link : named_links(topology)) {
    const double load = loads[rows.size()];
    rows.push_back({{"from", link.from},
                    {"to", link.to},
                    {"bandwidth", link.bandwidth},
                    {"load", load},
                    {"use", load / link.bandwidth}});
  }
  return rows;
}

ReportRow report_row(const Figure& figure, const FigureRow& row) {
  const auto cell = [](const std::optional<double>& value) { return value ? Cell(*value) : Cell(std::monostate()); };
  return {{"figure", static_cast<std::int64_t>(figure.number)},
          {"series", row.series},
          {"label", row.label},
          {"ours", row.ours},
          {"paper", cell(row.paper)},
          {"deviation", cell(row.deviation())},
          {"spread", row.spread}};
}

TopologySummary summarize(const Topology& topology) {
  TopologySummary summary;
  summary.name = topology.name();
  summary.routers = static_cast<int>(topology.routers().size());
  summary.channels = topology.channel_count();
  summary.intra_cluster_channels = topology.intra_cluster_channel_count();
  summary.terminal_channels = topology.terminal_channel_count();
  summary.terminals = static_cast<int>(topology.terminals().size());
  std::vector<int> radix(topology.routers().size(), 0);
  for (const Channel& channel : topology.channels()) radix[channel.from] += channel.missing ? 0 : 1;
  for (const Terminal& terminal : topology.terminals()) {
    if (terminal.kind == TerminalKind::hmc) continue;
    for (const Port& port : terminal.ports) ++radix[port.exit];
  }
  for (const int one : radix) summary.largest_radix = std::max(summary.largest_radix, one);
  measure_paths(topology, summary);
  const Bisection halves = bisection(topology);
  summary.bisection = halves.channels;
  summary.bisection_flits = halves.flits;
  summary.bisection_exact = halves.exact;
  return summary;
}

ReportRow report_row(const TopologySummary& s) {
  const auto count = [](int value) { return static_cast<std::int64_t>(value); };
  return {{"name", s.name},
          {"routers", count(s.routers)},
          {"channels", count(s.channels)},
          {"intra_cluster_channels", count(s.intra_cluster_channels)},
          {"terminal_channels", count(s.terminal_channels)},
          {"terminals", count(s.terminals)},
          {"largest_radix", count(s.largest_radix)},
          {"diameter", count(s.diameter)},
          {"mean_hops", s.mean_hops},
          {"bisection", count(s.bisection)},
          {"bisection_flits", s.bisection_flits},
          {"bisection_exact", s.bisection_exact}};
}

std::string to_text(const Cell& cell) {
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "true" : "false";
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  std::array<char, 40> digits{};
  char* const end = digits.data() + digits.size();
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) {
    return {digits.data(), std::to_chars(digits.data(), end, *whole).ptr};
  }
  if (const auto* real = std::get_if<double>(&cell)) {
    return {digits.data(), std::to_chars(digits.data(), end, *real).ptr};
  }
  return {};
}

std::string to_csv(const std::vector<ReportRow>& rows) {
  std::string text;
  const auto field = [&text](const std::string& value, bool first) {
    if (!first) text += ',';
    if (value.find_first_of(",\"\n") == std::string::npos) {
      text += value;
      return;
    }
    text += '"';
    for (const char c : value) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    text += '"';
  };
  if (rows.empty()) return text;
  for (std::size_t i = 0; i < rows.front().size(); ++i) field(rows.front()[i].first, i == 0);
  text += '\n';
  for (const ReportRow& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) field(to_text(row[i].second), i == 0);
    text += '\n';
  }
  return text;
}

}  // namespace dcgn::memnet
