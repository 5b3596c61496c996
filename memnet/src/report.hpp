// Results as rows of named values, which JSON, CSV and tables are made from.
#pragma once

#include "memnet/src/config.hpp"
#include "memnet/src/figure.hpp"
#include "memnet/src/simulation.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace dcgn::memnet {

// The last is a value that there is none of: null, an empty field of CSV.
using Cell = std::variant<bool, std::int64_t, double, std::string, std::monostate>;
using ReportRow = std::vector<std::pair<std::string, Cell>>;

// An open-loop run. Latencies are in cycles, loads and throughput in flits per source and cycle, energy in nJ over the
// measurement. Nothing in a row depends on the machine or the number of threads.
ReportRow report_row(const Configuration& configuration, const Result& result);
// A closed-loop run: cycles until the last reply, GB/s of requests and replies together.
ReportRow report_row(const Configuration& configuration, const ClosedLoopResult& result);
// Kernels: a row a launch, whose cycles are of all its blocks.
ReportRow report_row(const Configuration& configuration, const LaunchResult& launch);
// All launches together; shares of hits are of what was simulated.
ReportRow report_row(const Configuration& configuration, const KernelResult& result);
// A replay of packets: cycles until the last delivery.
ReportRow report_row(const Configuration& configuration, const std::vector<Delivery>& deliveries);
// A phase of a workload on an organisation: "copy in", "kernel", "copy out", "total".
ReportRow report_row(const SystemPlan& plan, const std::string& phase, const Phase& result);
// A channel or port in one direction: from and to as "router 3" or "node 3", and the flits it can carry in a cycle.
struct NamedLink {
  std::string from;
  std::string to;
  double bandwidth = 1;
  int number = 1;  // among those with the same ends
};
// Those of routers, then of terminals into the network and out of it.
std::vector<NamedLink> named_links(const Topology& topology);
// The flits that each of them has carried.
std::vector<std::int64_t> flits_of_links(const Network& network);
// A channel or port in one direction, of a run: those of routers, then of terminals into the network and out of it.
std::vector<ReportRow> report_loads(const Topology& topology, const Result& result);
ReportRow report_row(const Figure& figure, const FigureRow& row);

// What a topology is: routers, channels, terminals, diameter and mean distance, the bisection.
struct TopologySummary {
  std::string name;
  int routers = 0;
  int channels = 0;  // bidirectional, between routers
  int intra_cluster_channels = 0;
  int terminal_channels = 0;  // HMCs' own ports left out
  int terminals = 0;
  int largest_radix = 0;       // channels of a router, those of processors and nodes included, HMCs' own ports not
  int diameter = 0;            // channels between routers on the shortest way, over pairs that may talk
  double mean_hops = 0;        // routers passed, over ordered pairs that may talk
  int bisection = 0;           // bidirectional channels between halves of the routers: see bisection()
  double bisection_flits = 0;  // what they carry in a cycle, each way
  bool bisection_exact = false;
};
TopologySummary summarize(const Topology& topology);
ReportRow report_row(const TopologySummary& summary);

// RFC 4180: the names, and a line a row, of which all have the same names; fields with commas or quotes are quoted.
std::string to_csv(const std::vector<ReportRow>& rows);
// The shortest text that is read as the same number again.
std::string to_text(const Cell& cell);

}  // namespace dcgn::memnet
