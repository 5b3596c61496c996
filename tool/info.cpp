// dcgn info
#include "dcgn_parts.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/residency.hpp"
#include "tool/settings.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#include "transport/mpi_library.hpp"

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/version.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr int block_threads = 128;
constexpr int most_ranks_shown = 64;

struct InfoArguments {
  ShapeOptions shape;
  JsonOption json;
};

struct Link {
  std::string between, through;
};

std::vector<Link> links(bool p2p) {
  const int devices = Device::count();
  std::vector<Link> links = {{"CPU ranks", "memory of this process"}};
  if (devices == 0) return links;
  if (Device(0).kind() == DeviceKind::emulated) {
    links.push_back({"slots of one emulated GPU", "host memory"});
    links.push_back({"slots and CPU ranks", "host memory"});
    if (devices > 1) links.push_back({"slots of two emulated GPUs", "host memory"});
  } else {
    links.push_back({"slots of one GPU", "its own memory"});
    links.push_back({"slots and CPU ranks", "pinned host memory"});
    if (devices > 1)
      links.push_back({"slots of two GPUs", p2p ? "the memory of one of them if direct, else pinned host memory"
                                                : "pinned host memory: DCGN_P2P=off"});
  }
  return links;
}

struct GpuLink {
  int from, to;
  DeviceLink link;
};

// Of every two GPUs, both ways; all staged without peer access.
std::vector<GpuLink> gpu_links(bool p2p) {
  std::vector<GpuLink> links;
  for (int from = 0; from < Device::count(); ++from)
    for (int to = 0; to < Device::count(); ++to)
      if (from != to) links.push_back({from, to, p2p ? Device(from).link_to(Device(to)) : DeviceLink()});
  return links;
}

const char* to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::emulated: return "emulated";
    case DeviceKind::cuda: return "CUDA";
  }
  return "";
}

Json document_of(const InfoArguments& a, const Placement& placement) {
  Json document = {{"version", version},
                   {"build", {{"type", build_type}, {"compiler", build_compiler}, {"sanitizers", build_sanitizers}}}};
  for (const Part& part : build_parts) document["build"]["parts"][part.name] = part.state;
  document["devices"] = Json::array();
  for (int d = 0; d < Device::count(); ++d) {
    const DeviceProperties p = Device(d).properties();
    document["devices"].push_back({{"index", d},
                                   {"kind", to_string(p.kind)},
                                   {"name", p.name},
                                   {"compute", fmt::format("{}.{}", p.compute_major, p.compute_minor)},
                                   {"multiprocessors", p.multiprocessors},
                                   {"memory_bytes", p.memory_bytes},
                                   {"cache_bytes", p.cache_bytes},
                                   {"max_threads_per_block", p.max_threads_per_block},
                                   {"shared_bytes_per_block", p.shared_bytes_per_block},
                                   {"resident_blocks_of_128_threads", resident_blocks(Device(d), block_threads)}});
  }
  document["links"] = Json::array();
  const bool p2p = Config().p2p;
  for (const Link& link : links(p2p))
    document["links"].push_back({{"between", link.between}, {"through", link.through}});
  document["gpu_links"] = Json::array();
  for (const GpuLink& l : gpu_links(p2p))
    document["gpu_links"].push_back({{"from", l.from},
                                     {"to", l.to},
                                     {"link", l.link.direct ? "direct" : "staged"},
                                     {"native_atomics", l.link.native_atomics},
                                     {"performance_rank", l.link.performance_rank}});
  const NodeShape shape = a.shape.shape();
  document["placement"] = {{"cpus", shape.cpus},   {"gpus", shape.gpus},       {"slots", shape.slots},
                           {"nodes", shape.count}, {"size", placement.size()}, {"ranks", Json::array()}};
  for (int r = 0; r < std::min(placement.size(), 1 << 16); ++r) {
    const Place place = placement.place(r);
    Json entry = {{"rank", r}, {"node", place.node}};
    if (place.is_slot()) {
      entry["gpu"] = place.device;
      entry["slot"] = place.slot;
    } else {
      entry["cpu"] = place.cpu;
    }
    document["placement"]["ranks"].push_back(entry);
  }
  document["mpi"] = Json::array();
  for (const transport::FoundMpi& m : transport::find_mpis())
    document["mpi"].push_back({{"name", m.mpi}, {"library", m.library}, {"version", m.version}});
  document["settings"] = Json::array();
  for (const Setting& s : settings_in_force())
    document["settings"].push_back({{"name", s.name}, {"value", s.value}, {"from", s.from}});
  return document;
}

void print_devices() {
  using enum Table::Align;
  Table table({{"device"}, {"kind", left}, {"name", left}, {"multiprocessors"}, {"memory"}, {"blocks of 128 at once"}});
  for (int d = 0; d < Device::count(); ++d) {
    const DeviceProperties p = Device(d).properties();
    table.add({fmt::to_string(d), to_string(p.kind), p.name, fmt::to_string(p.multiprocessors),
               bytes_text(static_cast<double>(p.memory_bytes)),
               fmt::to_string(resident_blocks(Device(d), block_threads))});
  }
  fmt::print("Devices\n{}\n", Device::count() ? table.text() : "none\n");
}

void print_links() {
  using enum Table::Align;
  const bool p2p = Config().p2p;
  Table table({{"between", left}, {"messages go through", left}});
  for (const Link& link : links(p2p)) table.add({link.between, link.through});
  fmt::print("Links\n{}\n", table.text());
  if (Device::count() < 2) return;

  // A line for all GPUs that one GPU is linked to in the same way.
  using Line = std::tuple<int, bool, bool, int>;
  std::map<Line, std::string> lines;
  for (const auto& [from, to, link] : gpu_links(p2p)) {
    std::string& peers = lines[{from, !link.direct, !link.native_atomics, link.performance_rank}];
    peers += fmt::format("{}{}", peers.empty() ? "" : " ", to);
  }
  Table gpus({{"from GPU"}, {"to GPU", left}, {"link", left}, {"atomics", left}, {"performance rank"}});
  for (const auto& [line, peers] : lines) {
    const auto& [from, staged, no_atomics, rank] = line;
    gpus.add({fmt::to_string(from), peers, staged ? "staged" : "direct", staged ? "-" : (no_atomics ? "no" : "native"),
              staged ? "-" : fmt::to_string(rank)});
  }
  fmt::print("Links between GPUs{}\n{}\n", p2p ? "" : ": all staged through host memory, DCGN_P2P=off", gpus.text());
}

void print_mpis() {
  using enum Table::Align;
  Table table({{"MPI", left}, {"version", left}, {"library", left}});
  for (const transport::FoundMpi& m : transport::find_mpis())
    table.add({m.mpi, m.version, m.library.empty() ? "-" : m.library});
  fmt::print("Between processes\n{}\n", table.text());
}

void print_placement(const NodeShape& shape, const Placement& placement) {
  fmt::print("Ranks of {} node{} with {} CPU kernels and {} GPUs of {} slots: {}\n", shape.count,
             shape.count == 1 ? "" : "s", shape.cpus, shape.gpus, shape.slots, placement.size());
  const int shown = placement.size() <= most_ranks_shown ? placement.size() : most_ranks_shown / 2;
  Table table({{"rank"}, {"place", Table::Align::left}});
  for (int r = 0; r < shown; ++r) table.add({fmt::to_string(r), dcgn::to_string(placement.place(r))});
  if (shown < placement.size()) {
    table.add({"...", fmt::format("{} more", placement.size() - shown - 1)});
    table.add({fmt::to_string(placement.size() - 1), dcgn::to_string(placement.place(placement.size() - 1))});
  }
  fmt::print("{}\n", table.text());
}

void print_all(const InfoArguments& a, const Placement& placement) {
  using enum Table::Align;
  fmt::print("Decagon {}, {}, {}{}{}\n\n", version, build_type, build_compiler,
             *build_sanitizers ? ", sanitizers: " : "", build_sanitizers);
  Table parts({{"part", left}, {"in this build", left}});
  for (const Part& part : build_parts) parts.add({part.name, part.state});
  fmt::print("{}\n", parts.text());
  print_devices();
  print_links();
  print_mpis();
  print_placement(a.shape.shape(), placement);
  Table settings({{"setting", left}, {"value", left}, {"from", left}});
  for (const Setting& s : settings_in_force()) settings.add({s.name, s.value, s.from});
  fmt::print("Settings\n{}", settings.text());
}

int run(InfoArguments& a) {
  const Placement placement({a.shape.shape()});
  settings_in_force();  // throws what is wrong with them before anything is printed
  a.json.open();
  if (a.json.given()) a.json.write(document_of(a, placement).dump(2));
  if (!a.json.on_stdout()) print_all(a, placement);
  return exit_ok;
}

}  // namespace

void add_info(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<InfoArguments>();
  CLI::App* app = parent.add_subcommand("info",
                                        "What is here: devices, links, MPI, placement of ranks, settings\n\n"
                                        "The build and its optional parts, the devices and what links them, the MPI "
                                        "between processes, which rank "
                                        "of a job is where, and the settings\n"
                                        "in force with their origin.");
  a->shape.add_to(*app);
  a->json.add_to(*app, "All of it");
  app->footer(std::string("Examples:\n"
                          "  dcgn info\n"
                          "  dcgn info --cpus 2 --gpus 8 --slots 132 --nodes 4     which rank would be where\n"
                          "  DCGN_EMULATED_GPUS=4 dcgn info --json\n\n"
                          "Settings come from the environment, else from the TOML file that DCGN_CONFIG names.\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
