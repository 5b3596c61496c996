#include "memnet/src/config.hpp"

#include "memnet/src/config_keys.hpp"
#include "memnet/src/config_parts.hpp"
#include "memnet/src/config_values.hpp"
#include "memnet/src/fail.hpp"
#include "memnet/src/topologies.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace dcgn::memnet {

namespace {

constexpr std::array routings = {Routing::minimal, Routing::valiant, Routing::ugal, Routing::adaptive};
constexpr std::array ugal_queues = {UgalQueues::route, UgalQueues::channel};
constexpr std::array patterns = {Pattern::uniform,   Pattern::transpose, Pattern::bit_complement, Pattern::tornado,
                                 Pattern::neighbour, Pattern::hotspot,   Pattern::matrix};
constexpr std::array schedules = {BlockSchedule::chunks, BlockSchedule::stealing};
constexpr std::array organisations = {
    Organisation::pcie, Organisation::pcie_zero_copy, Organisation::cmn, Organisation::cmn_zero_copy,
    Organisation::gmn,  Organisation::gmn_zero_copy,  Organisation::umn};

class Builder {
 public:
  Builder(ConfigValues& values, const std::string& file) : values_(values) { made_.file = file; }

  Configuration build() {
    made_.title = values_.word("title");
    choose_kind();
    if (made_.kind == RunKind::system) {
      read_system();
    } else {
      read_parameters();
      made_.topology = read_topology(values_, made_.parameters);
      kind_ = values_.word("topology.kind");
      validate_topology();
    }
    if (made_.kind == RunKind::open_loop) read_traffic();
    if (made_.kind == RunKind::closed_loop) read_requests();
    if (made_.kind == RunKind::kernels) read_kernels();
    if (made_.kind == RunKind::replay) made_.packets = values_.word("replay.trace");
    values_.refuse_unused([this](std::string_view key) { return why(key); });
    if (made_.title.empty()) made_.title = made_.topology.name();
    for (const char* key :
         {"topology.kind", "topology.channels", "traffic.pattern", "traffic.load", "routing.algorithm",
          "router.vcs_per_class", "router.message_classes", "requests.from", "requests.trace", "requests.record",
          "kernels.trace", "system.trace", "replay.trace", "system.organisation"}) {
      made_.places.emplace(key, values_.where(key));
    }
    for (const char* key :
         {"routing.table", "requests.trace", "requests.record", "replay.trace", "kernels.trace", "system.trace"}) {
      if (values_.given(key)) made_.files.emplace_back(key, values_.word(key));
    }
    made_.places.emplace("cycles", values_.where(first_set({"run.max", "run.measure", "run.warmup"})));
    made_.places.emplace("deadlock",
                         values_.where(first_given({"routing.table", "router.vcs_per_class", "routing.algorithm",
                                                    "topology.channels", "topology.kind"})));
    made_.places.emplace(
        "ports",
        values_.where(first_given({"topology.concentration", "topology.nodes_per_router", "topology.routers_per_group",
                                   "topology.global_channels", "topology.vault_ports", "topology.channels_per_node",
                                   "topology.channels_per_hmc", "topology.gpus_per_switch", "topology.gpus",
                                   "topology.links_per_plane", "topology.extents", "topology.channels",
                                   "topology.terminals", "topology.arity", "topology.kind"})));
    return std::move(made_);
  }

 private:
  // The first that was given; the last where none was.
  const char* first_given(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (values_.given(key)) return key;
    }
    return *(keys.end() - 1);
  }

  // The first that a setting gives, as that is what the user has changed; else the first that was given.
  const char* first_set(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      if (values_.where(key).rfind("--set: ", 0) == 0) return key;
    }
    return first_given(keys);
  }

  void choose_kind() {
    const std::pair<const char*, RunKind> kinds[] = {{"traffic", RunKind::open_loop},
                                                     {"requests", RunKind::closed_loop},
                                                     {"kernels", RunKind::kernels},
                                                     {"replay", RunKind::replay},
                                                     {"system", RunKind::system}};
    std::string found;
    for (const auto& [section, kind] : kinds) {
      if (!values_.has_section(section)) continue;
      if (!found.empty()) {
        fail("configuration", values_.where_section(section) + ": [" + section + "] beside [" + found + "] of " +
                                  values_.where_section(found) + ", expected one of them");
      }
      found = section;
      made_.kind = kind;
    }
  }

  // What makes a key mean nothing: another key, or the kind of run.
  std::string why(std::string_view key) const {
    const bool system = made_.kind == RunKind::system;
    if (key == "routing.ugal_threshold" || (key == "routing.ugal_queues" && !system)) {
      return "with routing.algorithm = " + std::string(to_string(routing_));
    }
    if (key == "system.workload") return made_.kernels.trace.empty() ? "beside [workload]" : "beside system.trace";
    if (!system && made_.kind != RunKind::kernels && find_config_key(key)->section() == "gpu")
      return "without [kernels]";
    if (find_config_key(key)->section() == "system") {
      return "with system.organisation = " + std::string(to_string(made_.system.organisation));
    }
    switch (made_.kind) {
      case RunKind::system: return "where [system] says what is simulated";
      case RunKind::closed_loop: return "with topology.kind = " + kind_ + " and [requests]";
      case RunKind::kernels: return "with topology.kind = " + kind_ + " and [kernels]";
      case RunKind::replay: return "with topology.kind = " + kind_ + " and [replay]";
      case RunKind::open_loop: break;
    }
    return "with topology.kind = " + kind_ + (pattern_.empty() ? "" : " and traffic.pattern = " + pattern_);
  }

  void read_parameters() {
    Parameters& p = made_.parameters;
    p.clock_ghz = values_.number("network.clock");
    const double bytes = values_.number("network.channel_bandwidth") / p.clock_ghz;
    p.flit_bytes = static_cast<int>(std::lround(bytes));
    if (p.flit_bytes < 1 || p.flit_bytes > 4096 || std::abs(bytes - p.flit_bytes) > 1e-6 * bytes) {
      const bool clock = values_.given("network.clock") && !values_.given("network.channel_bandwidth");
      values_.refuse(clock ? "network.clock" : "network.channel_bandwidth",
                     "a whole number of bytes, 1 to 4096, of network.channel_bandwidth in a cycle of network.clock: " +
                         std::to_string(bytes) + " is none");
    }
    values_.set_scale(p.clock_ghz, p.flits_to_gbytes());
    p.serdes_ns = values_.number("network.serdes");
    p.stages = values_.whole("router.stages");
    p.pass_through_stages = values_.whole("router.pass_through_stages");
    p.message_classes = values_.whole("router.message_classes");
    p.vcs_per_class = values_.whole("router.vcs_per_class");
    if (p.vcs() > 64) values_.refuse("router.vcs_per_class", "at most 64 VCs over all message classes");
    p.vc_buffer_bytes = static_cast<int>(values_.wide("router.vc_buffer"));
    if (p.vc_buffer_flits() < 1) {
      values_.refuse("router.vc_buffer", "at least a flit, which is " + std::to_string(p.flit_bytes) + " B here");
    }
    p.credit_delay = values_.whole("router.credit_delay");
    read_routing(p.routing, p.ugal_threshold);
    if (p.routing == Routing::ugal) p.ugal_queues = named(values_.word("routing.ugal_queues"), ugal_queues);
    p.active_pj_per_bit = values_.number("energy.active");
    p.idle_pj_per_bit = values_.number("energy.idle");
    p.seed = static_cast<std::uint64_t>(values_.wide("run.seed"));
    p.threads = values_.whole("run.threads");
    if (made_.kind != RunKind::replay && made_.kind != RunKind::kernels) p.max_cycles = values_.wide("run.max");
    if (made_.kind != RunKind::open_loop) return;
    p.warmup_cycles = values_.wide("run.warmup");
    p.measure_cycles = values_.wide("run.measure");
    p.latency_limit = values_.number("run.latency_limit");
    p.source_queue_flits = values_.whole("traffic.source_queue_flits");
  }

  void read_routing(Routing& routing, double& threshold) {
    // What [system] has by default is not what the key has.
    if (made_.kind != RunKind::system || values_.given("routing.algorithm")) {
      routing = named(values_.word("routing.algorithm"), routings);
    }
    routing_ = routing;
    if (routing == Routing::ugal || routing == Routing::adaptive) threshold = values_.number("routing.ugal_threshold");
  }

  void validate_topology() {
    at_key(values_, first_given({"topology.failed", "topology.channels", "topology.kind"}), [&] {
      made_.topology.validate();
      return 0;
    });
  }

  std::vector<int> terminals_of(TerminalKind kind) const {
    std::vector<int> found;
    for (std::size_t t = 0; t < made_.topology.terminals().size(); ++t) {
      if (made_.topology.terminals()[t].kind == kind) found.push_back(static_cast<int>(t));
    }
    return found;
  }

  // Of a list: that there are such, each once.
  void check_terminals(const char* key, const std::vector<int>& numbers) const {
    const int count = static_cast<int>(made_.topology.terminals().size());
    if (numbers.empty()) values_.refuse(key, "at least one terminal");
    std::set<int> seen;
    for (const int number : numbers) {
      if (number >= count) {
        values_.refuse(key,
                       "terminals from 0 to " + std::to_string(count - 1) + ": there is no " + std::to_string(number));
      }
      if (!seen.insert(number).second) {
        values_.refuse(key, "each terminal once: " + std::to_string(number) + " is there again");
      }
    }
  }

  // Those that a word or a list means; none: all.
  std::vector<int> read_terminals(const char* key) {
    std::vector<int> numbers;
    const std::string word = values_.terminals(key, numbers);
    if (word == "all") return numbers;
    if (word.empty()) {
      check_terminals(key, numbers);
      return numbers;
    }
    numbers = terminals_of(named(word, terminal_kinds));
    if (numbers.empty()) values_.refuse(key, "terminals that " + made_.topology.name() + " has");
    return numbers;
  }

  void read_traffic() {
    Traffic& t = made_.traffic;
    pattern_ = values_.word("traffic.pattern");
    t.pattern = named(pattern_, patterns);
    t.flits = values_.whole("traffic.packet_flits");
    t.message_class = values_.whole("traffic.message_class");
    if (t.message_class >= made_.parameters.message_classes) {
      values_.refuse("traffic.message_class",
                     "less than router.message_classes, which is " + std::to_string(made_.parameters.message_classes));
    }
    t.sources = read_terminals("traffic.sources");
    if (t.pattern == Pattern::uniform || t.pattern == Pattern::hotspot) {
      t.destinations = read_terminals("traffic.destinations");
    }
    if (t.pattern == Pattern::hotspot) {
      t.hotspots = values_.counts("traffic.hotspots");
      check_terminals("traffic.hotspots", t.hotspots);
      t.hotspot_fraction = values_.number("traffic.hotspot_fraction");
    }
    if (t.pattern == Pattern::matrix) {
      t.weights = values_.reals("traffic.weights");
      const std::size_t count = made_.topology.terminals().size();
      if (t.weights.size() != count * count) {
        values_.refuse("traffic.weights", std::to_string(count * count) + " numbers, one for each pair of terminals: " +
                                              std::to_string(t.weights.size()) + " are there");
      }
    }
    made_.load = values_.number("traffic.load");
    const bool matrix = t.pattern == Pattern::matrix;
    at_key(values_,
           matrix ? "traffic.weights"
                  : first_given({"traffic.pattern", "traffic.destinations", "traffic.sources", "traffic.pattern"}),
           [&] { return Destinations(made_.topology, t); });
  }

  void read_dram(DramTiming& dram) {
    dram.tck_ps = std::llround(values_.number("dram.tck") * 1000);
    dram.trp = values_.whole("dram.trp");
    dram.tccd = values_.whole("dram.tccd");
    dram.trcd = values_.whole("dram.trcd");
    dram.tcl = values_.whole("dram.tcl");
    dram.twr = values_.whole("dram.twr");
    dram.tras = values_.whole("dram.tras");
  }

  void read_requests() {
    RequestPlan& plan = made_.plan;
    const std::string from = values_.word("requests.from");
    if (from != "cpu") plan.terminals = terminals_of(TerminalKind::gpu);
    if (from != "gpu") {
      for (const int cpu : terminals_of(TerminalKind::cpu)) plan.terminals.push_back(cpu);
    }
    std::sort(plan.terminals.begin(), plan.terminals.end());
    if (plan.terminals.empty()) {
      values_.refuse("requests.from", "terminals that " + made_.topology.name() + " has; [requests], of " +
                                          values_.where_section("requests") + ", are those of processors to HMCs");
    }
    const AddressMap map = read_address_map("requests");
    plan.window = values_.whole("requests.window");
    plan.trace = values_.word("requests.trace");
    plan.record = values_.word("requests.record");
    if (plan.trace.empty()) {
      AccessPattern& pattern = plan.pattern;
      pattern.count = values_.wide("requests.count");
      pattern.read_share = values_.number("requests.read_share");
      pattern.random_share = values_.number("requests.random_share");
      pattern.bytes = static_cast<std::uint64_t>(values_.wide("requests.footprint"));
      if (pattern.bytes % AddressMap::page_bytes != 0) {
        values_.refuse("requests.footprint", "whole pages of " + std::to_string(AddressMap::page_bytes) + " B");
      }
      pattern.line_bytes = static_cast<std::uint32_t>(values_.wide("requests.line"));
      if (map.line_bytes % pattern.line_bytes != 0) values_.refuse("requests.line", "32, 64 or 128 bytes");
      pattern.write_bytes = static_cast<std::uint32_t>(values_.wide("requests.write"));
      if (pattern.write_bytes > pattern.line_bytes) {
        if (values_.given("requests.write")) {
          values_.refuse("requests.write",
                         "at most requests.line, which is " + std::to_string(pattern.line_bytes) + " bytes");
        }
        pattern.write_bytes = pattern.line_bytes;
      }
      plan.gap_cycles = values_.number("requests.gap");
    }
    read_memory(map, "requests.cluster_weights");
  }

  // Of memory that a section's processors ask for.
  AddressMap read_address_map(const std::string& section) {
    const std::vector<int> cubes = terminals_of(TerminalKind::hmc);
    if (cubes.empty()) values_.refuse("topology.kind", "one with HMCs, which [" + section + "] go to");
    if (made_.parameters.message_classes < 2) {
      values_.refuse("router.message_classes", "2 or more: replies have a class of their own");
    }
    AddressMap map;
    int clusters = 0;
    for (const int cube : cubes) clusters = std::max(clusters, made_.topology.terminals()[cube].cluster + 1);
    if (clusters < 1) clusters = 1;
    map.clusters = static_cast<std::uint32_t>(clusters);
    map.locals = static_cast<std::uint32_t>(cubes.size()) / map.clusters;
    return map;
  }

  void read_memory(const AddressMap& map, const char* weights_key) {
    read_dram(made_.memory.timing);
    std::vector<double> weights = values_.reals(weights_key);
    if (weights.empty()) weights.assign(map.clusters, 1.0);
    at_key(values_, values_.given(weights_key) ? weights_key : "topology.kind", [&] {
      made_.memory.placements.emplace_back(map, weights, made_.parameters.seed);
      return 0;
    });
    made_.parameters.replies = true;
  }

  void read_kernels() {
    KernelPlan& plan = made_.kernels;
    plan.trace = values_.word("kernels.trace");
    if (plan.trace.empty()) values_.refuse("kernels.trace", "the name of a file");
    plan.schedule = named(values_.word("kernels.schedule"), schedules);
    plan.gpus = terminals_of(TerminalKind::gpu);
    if (plan.gpus.empty()) values_.refuse("topology.kind", "one with GPUs, which run [kernels]");
    plan.cores = read_gpu(values_);
    read_memory(read_address_map("kernels"), "kernels.cluster_weights");
  }

  Workload read_workload() {
    Workload w;
    w.name = "[workload]";
    w.problem = "as the file says";
    w.assumed = "nothing";
    w.copied_in = values_.number("workload.copied_in");
    w.copied_out = values_.number("workload.copied_out");
    w.read = values_.number("workload.read");
    w.written = values_.number("workload.written");
    w.write_bytes = static_cast<int>(values_.wide("workload.write"));
    w.operations = values_.number("workload.operations");
    w.launches = values_.whole("workload.launches");
    w.blocks = values_.number("workload.blocks");
    w.block_lines = values_.whole("workload.block_lines");
    w.random = values_.number("workload.random");
    w.imbalance = values_.number("workload.imbalance");
    return w;
  }

  void read_system() {
    SystemPlan& system = made_.system;
    SystemModel& model = system.model;
    system.organisation = named(values_.word("system.organisation"), organisations);
    if (values_.given("system.trace")) {
      made_.kernels.trace = values_.word("system.trace");
      if (made_.kernels.trace.empty()) values_.refuse("system.trace", "the name of a file");
      made_.kernels.cores = read_gpu(values_);
    } else {
      system.workload = values_.has_section("workload") ? read_workload() : workload(values_.word("system.workload"));
    }
    model.sample_requests = values_.wide("system.sample_requests");
    model.gpus = values_.whole("system.gpus");
    model.hmcs_per_cluster = values_.whole("system.hmcs_per_cluster");
    if (system.organisation == Organisation::gmn || system.organisation == Organisation::umn) {
      model.network = named(values_.word("system.network"), memory_topologies);
      model.channels_per_hmc = values_.whole("system.channels_per_hmc");
    }
    read_routing(model.routing, model.ugal_threshold);
    model.pcie_gbytes = values_.number("system.pcie_bandwidth");
    model.pcie_latency_ns = values_.number("system.pcie_latency");
    model.cmn_channels = values_.whole("system.cmn_channels");
    model.seed = static_cast<std::uint64_t>(values_.wide("run.seed"));
    read_dram(model.dram);
    made_.parameters.seed = model.seed;
    made_.topology =
        at_key(values_, "system.organisation", [&] { return organisation_topology(system.organisation, model); });
  }

  ConfigValues& values_;
  Configuration made_;
  std::string kind_;  // the topology's kind
  std::string pattern_;
  Routing routing_ = Routing::minimal;
};

}  // namespace

std::string_view to_string(RunKind kind) noexcept {
  switch (kind) {
    case RunKind::open_loop: return "open loop";
    case RunKind::closed_loop: return "closed loop";
    case RunKind::kernels: return "kernels";
    case RunKind::replay: return "replay";
    case RunKind::system: return "system";
  }
  return "unknown";
}

Configuration parse_configuration(const std::string& content, const std::string& file,
                                  const std::vector<std::string>& settings, bool lines) {
  ConfigValues values(content, file, settings, lines);
  return Builder(values, file).build();
}

}  // namespace dcgn::memnet
