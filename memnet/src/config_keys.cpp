#include "memnet/src/config_keys.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace dcgn::memnet {

namespace {

constexpr double many = 1e9;

// Kinds of topologies, for which a key is meant, stand first in its meaning.
const std::vector<Key>& table() {
  using enum KeyType;
  static const std::vector<Key> keys = {
      {"title", text, R"("")", 0, 0, "", "what pictures and tables are headed with"},

      {"topology.kind", word, "", 0, 0,
       "mesh|torus|flattened_butterfly|dragonfly|fat_tree|butterfly|"
       "dDFLY|dFBFLY|sFBFLY|sMESH|sTORUS|sMESH-2x|sTORUS-2x|overlay|pcie_tree|nvlink_switch|graph",
       "which generator; the names with capitals, and overlay, are the paper's memory networks"},
      {"topology.extents", counts, "", 2, 1e6, "", "mesh, torus, flattened_butterfly: routers along each dimension"},
      {"topology.concentration", count, "1", 1, 1024, "", "the same: nodes a router"},
      {"topology.extra_latency", cycles, "0", 0, 10000, "",
       "mesh, torus, flattened_butterfly, fat_tree, butterfly: of channels between routers, beyond the one cycle that "
       "all take"},
      {"topology.on_chip", flag, "false", 0, 0, "", "flattened_butterfly: channels take a cycle per node they pass"},
      {"topology.nodes_per_router", count, "2", 1, 1024, "", "dragonfly: p"},
      {"topology.routers_per_group", count, "4", 1, 1024, "", "dragonfly: a"},
      {"topology.global_channels", count, "2", 1, 1024, "", "dragonfly: h, of each router; there are a * h + 1 groups"},
      {"topology.local_latency", cycles, "0", 0, 10000, "", "dragonfly: of channels within groups, beyond their cycle"},
      {"topology.global_latency", cycles, "0", 0, 10000, "",
       "dragonfly: of channels between groups, beyond their cycle"},
      {"topology.arity", count, "4", 2, 64, "",
       "fat_tree, butterfly: k, channels of a switch down, and up; in, and out"},
      {"topology.levels", count, "2", 1, 16, "", "fat_tree, butterfly: n, of switches; there are k^n nodes"},
      {"topology.gpus", count, "4", 1, 256, "", "memory networks, pcie_tree, nvlink_switch: GPUs"},
      {"topology.cpus", count, "0", 0, 256, "", "memory networks: CPUs, whose clusters come first"},
      {"topology.hmcs_per_cluster", count, "4", 1, 64, "", "memory networks: local HMCs of a GPU or CPU, and slices"},
      {"topology.channels_per_node", count, "8", 1, 256, "", "memory networks: of a GPU or CPU, spread over its HMCs"},
      {"topology.vault_ports", count, "8", 1, 64, "", "memory networks: from an HMC's router to its vaults"},
      {"topology.channels_per_hmc", count, "8", 0, 64, "", "memory networks: at most so many; 0: as many as it takes"},
      {"topology.pair_channels", count, "1", 1, 16, "",
       "memory networks: between two clusters that are alone in a dimension of a slice"},
      {"topology.clusters_per_row", count, "4", 1, 256, "", "memory networks: slices of more are grids of such rows"},
      {"topology.gpus_per_switch", count, "0", 0, 256, "", "pcie_tree: GPUs on each switch; 0: one switch for all"},
      {"topology.bandwidth", bandwidth, "15.75", 1e-3, 1e4, "",
       "pcie_tree, nvlink_switch, graph: of a channel, each way; a graph's are full channels without it"},
      {"topology.latency", latency, "0", 0, 1e5, "", "pcie_tree, nvlink_switch, graph: of a channel, beyond its cycle"},
      {"topology.planes", count, "4", 1, 64, "", "nvlink_switch: parallel switches"},
      {"topology.links_per_plane", count, "4", 1, 64, "", "nvlink_switch: channels from a GPU to each switch"},
      {"topology.routers", count, "", 1, 1e6, "", "graph: how many"},
      {"topology.channels", links, "", 0, 1e6, "",
       "graph: [from, to] of each bidirectional channel, or {from, to, latency, bandwidth} where they are its own"},
      {"topology.terminals", lists, "", 0, 1e6, "", "graph: for each terminal the routers that its ports are on"},
      {"topology.kinds", words, "[]", 0, 0, "node|gpu|cpu|hmc", "graph: what each terminal is; all nodes without it"},
      {"topology.serdes", flag, "false", 0, 0, "", "graph: channels leave the chip and take network.serdes more"},
      {"topology.failed", lists, "[]", 0, 1e6, "",
       "all kinds: [from, to] of each channel that is taken away; what is left of a grid is routed as a graph"},

      {"network.clock", frequency, R"("1.25 GHz")", 1e-3, 100, "", "of routers and channels"},
      {"network.channel_bandwidth", bandwidth, R"("20 GB/s")", 1e-3, 1e5, "",
       "each way, of a channel that carries a flit a cycle: a flit has as many bytes as that is in one cycle"},
      {"network.serdes", time, R"("3.2 ns")", 0, 1e5, "", "of channels between chips, each way; rounded up to cycles"},

      {"router.stages", count, "4", 1, 16, "", "of the pipeline: route, allocate VC, allocate switch, traverse"},
      {"router.pass_through_stages", count, "1", 1, 16, "", "for packets on a pass-through path"},
      {"router.message_classes", count, "2", 1, 4, "", "with VCs of their own: requests, replies"},
      {"router.vcs_per_class", count, "6", 1, 64, "", "virtual channels; at most 64 over all classes"},
      {"router.vc_buffer", bytes, R"("512 B")", 1, 1048576, "", "of each VC"},
      {"router.credit_delay", cycles, "2", 0, 1000, "", "that a router takes over a credit, beyond its link's cycle"},

      {"routing.algorithm", word, R"("minimal")", 0, 0, "minimal|valiant|ugal|adaptive",
       "adaptive: minimal, over whichever channel and local HMC promise least waiting; what [system] has by default"},
      {"routing.ugal_queues", word, R"("route")", 0, 0, "route|channel",
       "ugal: what it knows: all that waits along a route, or the first channel, as a router does by itself"},
      {"routing.ugal_threshold", real, "0", -many, many, "", "ugal, adaptive: flits that a longer way must save"},
      {"routing.table", text, R"("")", 0, 0, "",
       "topologies without dimensions: a file of rows from,to,next, routers; in place of shortest paths"},

      {"energy.active", energy, R"("2.0 pJ/bit")", 0, 1e6, "",
       "of a flit on a channel between routers or of a processor"},
      {"energy.idle", energy, R"("1.5 pJ/bit")", 0, 1e6, "", "of such a channel's cycle without one"},

      {"traffic.pattern", word, R"("uniform")", 0, 0,
       "uniform|transpose|bit_complement|tornado|neighbour|hotspot|matrix", "who sends to whom"},
      {"traffic.load", load, "0.1", 0, 1024, "", "flits per source and cycle, at most one for each of its ports"},
      {"traffic.packet_flits", count, "1", 1, 65535, "", "of each packet"},
      {"traffic.message_class", count, "0", 0, 3, "", "of each packet"},
      {"traffic.sources", terminals, R"("all")", 0, 1e6, "all|node|gpu|cpu|hmc", "who sends"},
      {"traffic.destinations", terminals, R"("all")", 0, 1e6, "all|node|gpu|cpu|hmc", "uniform, hotspot: to whom"},
      {"traffic.hotspots", counts, "[]", 0, 1e6, "", "hotspot: terminals"},
      {"traffic.hotspot_fraction", real, "0.1", 0, 1, "", "hotspot: share of the packets that go there"},
      {"traffic.weights", reals, "[]", 0, many, "", "matrix: row by row, a number for each pair of terminals"},
      {"traffic.source_queue_flits", count, "0", 0, many, "", "of each terminal and class; 0: without bound"},

      {"run.seed", count, "1", 0, 9e15, "", "of all random numbers: the same seed gives the same result"},
      {"run.threads", count, "1", 1, 64, "", "that simulate one network, with the same result as one alone"},
      {"run.warmup", cycles, "0", 0, 1e12, "", "before the measurement; 0: until the latency stands still"},
      {"run.measure", cycles, "10000", 1, 1e12, "", "of the measurement"},
      {"run.max", cycles, "1000000", 1, 1e12, "", "a run that takes more is saturated, or unfinished"},
      {"run.latency_limit", real, "500", 1e-3, many, "",
       "cycles beyond the latency at zero load; a run with a larger mean is saturated"},

      {"requests.from", word, R"("gpu")", 0, 0, "gpu|cpu|all", "who reads and writes memory"},
      {"requests.count", count, "2000", 1, many, "", "of each"},
      {"requests.window", count, "512", 1, 65536, "", "outstanding at once, of each"},
      {"requests.gap", cycles, "0", 0, 1e6, "", "least time from one to the next: what computing takes"},
      {"requests.read_share", real, "1", 0, 1, "", "of the requests; the rest writes"},
      {"requests.random_share", real, "0", 0, 1, "", "of the requests, to any line; the rest walks through memory"},
      {"requests.footprint", bytes, R"("64 MiB")", 4096, 1e12, "", "in use, by all together"},
      {"requests.line", bytes, R"("128 B")", 32, 128, "", "of a read: 32, 64 or 128"},
      {"requests.write", bytes, R"("128 B")", 1, 128, "", "of a write: at most requests.line"},
      {"requests.cluster_weights", reals, "[]", 0, many, "", "of pages over clusters; all the same without it"},
      {"requests.trace", text, R"("")", 0, 0, "", "a file of accesses in place of all these, by the trace format"},
      {"requests.record", text, R"("")", 0, 0, "", "a file to write what was asked for to"},

      {"replay.trace", text, "", 0, 0, "",
       "a file of packets, each sent at its cycle: by the trace format, or as text, .txt"},

      {"kernels.trace", text, "", 0, 0, "",
       "a file of `dcgn sim record` or `dcgn vgpu run --record`, which all GPUs run"},
      {"kernels.schedule", word, R"("chunks")", 0, 0, "chunks|stealing",
       "of blocks: each GPU has an equal run of them; stealing: and takes from others when it has none"},
      {"kernels.cluster_weights", reals, "[]", 0, 1e9, "", "of pages over clusters; all the same without it"},

      {"gpu.cores", count, "64", 1, 1024, "", "of each GPU: Table I"},
      {"gpu.blocks_per_core", count, "8", 1, 64, "", "resident CTAs: Table I"},
      {"gpu.threads_per_core", count, "1024", 32, 4096, "", "resident: Table I"},
      {"gpu.shared_memory", bytes, R"("48 KiB")", 1, 1 << 20, "", "of a core: Table I"},
      {"gpu.clock", frequency, R"("1.4 GHz")", 0.01, 100, "",
       "of cores, which issue an instruction of a warp a cycle: Table I"},
      {"gpu.issue_gap", count, "4", 1, 1000, "", "cycles from one instruction of a warp to its next; assumed"},
      {"gpu.l1", bytes, R"("32 KiB")", 128, 1 << 26, "", "of a core, in lines of 128 bytes: Table I"},
      {"gpu.l1_ways", count, "4", 1, 1024, "", "lines of a set of the L1: Table I"},
      {"gpu.l1_latency", count, "20", 1, 10000, "", "of a hit, in cycles of the core; assumed"},
      {"gpu.l1_misses", count, "32", 1, 4096, "", "lines that a core waits for at once, and as many writes; assumed"},
      {"gpu.crossbar", time, R"("10 ns")", 0, 10000, "", "from a core to the L2 and back, each way; assumed"},
      {"gpu.l2", bytes, R"("2 MiB")", 128, 1 << 29, "", "of a GPU: Table I"},
      {"gpu.l2_ways", count, "16", 1, 1024, "", "lines of a set of the L2: Table I"},
      {"gpu.l2_banks", count, "8", 1, 4096, "", "each takes a request a cycle; assumed"},
      {"gpu.l2_clock", frequency, R"("0.7 GHz")", 0.01, 100, "", "Table I"},
      {"gpu.l2_latency", count, "20", 1, 10000, "", "in cycles of the L2; assumed"},
      {"gpu.outstanding", count, "512", 1, 1 << 20, "", "requests to memory of a GPU; assumed"},

      {"dram.tck", time, R"("1.25 ns")", 1e-3, 1000, "", "DRAM clock; the others are in its periods"},
      {"dram.trp", count, "11", 1, 1000, "", "precharge to activate"},
      {"dram.tccd", count, "4", 1, 1000, "", "column command to column command"},
      {"dram.trcd", count, "11", 1, 1000, "", "activate to column command"},
      {"dram.tcl", count, "11", 1, 1000, "", "column command to its data"},
      {"dram.twr", count, "12", 1, 1000, "", "end of write data to precharge"},
      {"dram.tras", count, "22", 1, 1000, "", "activate to precharge"},

      {"system.organisation", word, "", 0, 0, "PCIe|PCIe-ZC|CMN|CMN-ZC|GMN|GMN-ZC|UMN", "Table III; ZC: zero-copy"},
      {"system.workload", word, "", 0, 0, "BP|BFS|SRAD|KMN|BH|SP|SCAN|3DFD|FWT|CG.S|FT.S|RAY|STO|CP",
       "Table II; or the section [workload]"},
      {"system.trace", text, "", 0, 0, "", "a kernel trace in place of a workload: its copies and kernels"},
      {"system.gpus", count, "4", 1, 64, "", "beside one CPU"},
      {"system.hmcs_per_cluster", count, "4", 1, 64, "", "of each GPU and the CPU"},
      {"system.network", word, R"("sFBFLY")", 0, 0, "dDFLY|dFBFLY|sFBFLY|sMESH|sTORUS|sMESH-2x|sTORUS-2x|overlay",
       "GMN, UMN: the memory network"},
      {"system.channels_per_hmc", count, "8", 0, 63, "", "GMN, UMN: at most so many; 0: as many as it takes"},
      {"system.pcie_bandwidth", bandwidth, R"("15.75 GB/s")", 1e-3, 20, "", "of 16 lanes of version 3.0, each way"},
      {"system.pcie_latency", time, R"("250 ns")", 0, 1e5, "", "of each PCIe link"},
      {"system.cmn_channels", count, "1", 1, 64, "", "CMN: of each GPU into the CPU's network"},
      {"system.sample_requests", count, "4000", 10, many, "", "of each GPU that are simulated; the rest is scaled"},

      {"workload.copied_in", bytes, "0", 0, 1e15, "", "host to GPUs, before and between kernels"},
      {"workload.copied_out", bytes, "0", 0, 1e15, "", "GPUs to host"},
      {"workload.read", bytes, "", 1, 1e15, "", "that kernels of all GPUs read from memory, in lines of 128 bytes"},
      {"workload.written", bytes, "0", 0, 1e15, "", "that they write"},
      {"workload.write", bytes, R"("128 B")", 32, 128, "", "of one write"},
      {"workload.operations", real, "0", 0, 1e18, "", "issue slots of a thread each"},
      {"workload.launches", count, "1", 1, many, "", "of kernels, each of which waits for the one before"},
      {"workload.blocks", count, "4096", 1, many, "", "CTAs of a launch"},
      {"workload.block_lines", count, "8", 1, 1024, "", "lines that a resident CTA has outstanding"},
      {"workload.random", real, "0", 0, 1, "", "share of accesses to random lines; the rest walks through arrays"},
      {"workload.imbalance", real, "1", 1, 1000, "", "traffic of the busiest HMC over that of the least busy"},
  };
  return keys;
}

struct Unit {
  std::string_view name;
  double factor;  // to the type's own unit
};

std::vector<Unit> units_of(KeyType type, double clock_ghz, double gbytes_per_flit) {
  std::vector<Unit> bandwidths = {{"GB/s", 1}, {"MB/s", 1e-3}, {"TB/s", 1e3}, {"Gbit/s", 0.125}, {"Mbit/s", 0.125e-3}};
  std::vector<Unit> times = {{"ns", 1}, {"ps", 1e-3}, {"us", 1e3}, {"ms", 1e6}};
  switch (type) {
    case KeyType::bandwidth: return bandwidths;
    case KeyType::time: return times;
    case KeyType::bytes:
      return {{"B", 1}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}};
    case KeyType::frequency: return {{"GHz", 1}, {"MHz", 1e-3}};
    case KeyType::energy: return {{"pJ/bit", 1}, {"fJ/bit", 1e-3}, {"nJ/bit", 1e3}};
    case KeyType::cycles: {
      std::vector<Unit> all = {{"cycles", 1}};
      for (const Unit& time : times) all.push_back({time.name, time.factor * clock_ghz});
      return all;
    }
    case KeyType::latency: times.push_back({"cycles", 1 / clock_ghz}); return times;
    case KeyType::load: {
      std::vector<Unit> all = {{"flits/cycle", 1}};
      for (const Unit& one : bandwidths) all.push_back({one.name, one.factor / gbytes_per_flit});
      return all;
    }
    case KeyType::text:
    case KeyType::word:
    case KeyType::flag:
    case KeyType::count:
    case KeyType::real:
    case KeyType::counts:
    case KeyType::lists:
    case KeyType::links:
    case KeyType::reals:
    case KeyType::words:
    case KeyType::terminals: return {};
  }
  return {};
}

std::string range_of(const Key& key) {
  if (key.most >= many) return key.least <= -many ? "" : ", " + number_text(key.least) + " or more";
  return " from " + number_text(key.least) + " to " + number_text(key.most);
}

std::string choices_of(const Key& key) {
  std::string text;
  for (const char c : key.choices) text += c == '|' ? std::string(", ") : std::string(1, c);
  return text;
}

}  // namespace

std::string number_text(double value) {
  std::array<char, 32> text{};
  const bool whole = std::abs(value) < 1e15 && std::floor(value) == value;
  const auto format = whole ? std::chars_format::fixed : std::chars_format::general;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value, format).ptr};
}

std::string_view to_string(KeyType type) noexcept {
  switch (type) {
    case KeyType::text: return "text";
    case KeyType::word: return "word";
    case KeyType::flag: return "true or false";
    case KeyType::count: return "whole number";
    case KeyType::real: return "number";
    case KeyType::load: return "flits/cycle or GB/s";
    case KeyType::bandwidth: return "GB/s";
    case KeyType::time: return "ns";
    case KeyType::cycles: return "cycles or ns";
    case KeyType::latency: return "ns or cycles";
    case KeyType::bytes: return "B";
    case KeyType::frequency: return "GHz";
    case KeyType::energy: return "pJ/bit";
    case KeyType::counts: return "whole numbers";
    case KeyType::lists: return "lists of whole numbers";
    case KeyType::links: return "lists or tables";
    case KeyType::reals: return "numbers";
    case KeyType::words: return "words";
    case KeyType::terminals: return "word or whole numbers";
  }
  return "unknown";
}

std::string_view Key::section() const {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

const std::vector<Key>& config_keys() { return table(); }

const Key* find_config_key(std::string_view name) {
  const auto at = std::find_if(table().begin(), table().end(), [&](const Key& key) { return key.name == name; });
  return at == table().end() ? nullptr : &*at;
}

std::string_view describe_section(std::string_view section) {
  if (section == "topology") return "the network's graph";
  if (section == "network") return "clock and channels";
  if (section == "router") return "what each router is";
  if (section == "routing") return "which way packets go";
  if (section == "energy") return "of channels";
  if (section == "traffic") return "open loop: packets at a rate, whatever the network does";
  if (section == "run") return "how long, and from which seed";
  if (section == "requests") return "closed loop: processors with windows of requests to memory";
  if (section == "replay") return "packets of a trace, at their cycles";
  if (section == "kernels") return "recorded kernels, which GPUs run block by block";
  if (section == "gpu") return "of [kernels]: cores and caches, Table I where that says it";
  if (section == "dram") return "of the vaults that serve requests: Table I";
  if (section == "system") return "a workload of Table II on an organisation of Table III";
  if (section == "workload") return "of a system, in place of one of Table II";
  return {};
}

std::string expected_value(const Key& key) {
  switch (key.type) {
    case KeyType::text: return "a text";
    case KeyType::word: return "one of " + choices_of(key);
    case KeyType::flag: return "true or false";
    case KeyType::count: return "a whole number" + range_of(key);
    case KeyType::real: return "a number" + range_of(key);
    case KeyType::counts: return "a list of whole numbers" + range_of(key);
    case KeyType::lists: return "a list of lists of whole numbers" + range_of(key);
    case KeyType::links:
      return "a list of [from, to] and {from, to, latency, bandwidth}, of whole numbers" + range_of(key);
    case KeyType::reals: return "a list of numbers" + range_of(key);
    case KeyType::words: return "a list of " + choices_of(key);
    case KeyType::terminals: return "one of " + choices_of(key) + "; or a list of terminals' numbers";
    case KeyType::load:
    case KeyType::bandwidth:
    case KeyType::time:
    case KeyType::cycles:
    case KeyType::latency:
    case KeyType::bytes:
    case KeyType::frequency:
    case KeyType::energy: break;
  }
  std::string units;
  const std::vector<Unit> all = units_of(key.type, 1, 1);
  for (const Unit& unit : all) units += (units.empty() ? "" : ", ") + std::string(unit.name);
  return "a number of " + std::string(all.front().name) + range_of(key) + ", or a text with a unit of " + units;
}

bool parse_quantity(std::string_view text, KeyType type, double clock_ghz, double gbytes_per_flit, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return false;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& one : units_of(type, clock_ghz, gbytes_per_flit)) {
    if (one.name != unit) continue;
    value *= one.factor;
    return true;
  }
  return false;
}

}  // namespace dcgn::memnet
