// Table III's organisations: bandwidths against their links, and which is faster than which.
#include "memnet/src/organisation.hpp"

#include "tests/expect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace dcgn::memnet;

namespace {

SystemModel quick() {
  SystemModel model;
  model.sample_requests = 400;
  return model;
}

TEST(Organisation, EveryProcessorReachesEveryCube) {
  for (const Organisation organisation : all_organisations) {
    const Topology topology = organisation_topology(organisation, {});
    EXPECT_NO_THROW(topology.validate()) << to_string(organisation);
    int cubes = 0, gpus = 0, cpus = 0;
    for (const Terminal& terminal : topology.terminals()) {
      cubes += terminal.kind == TerminalKind::hmc ? 1 : 0;
      gpus += terminal.kind == TerminalKind::gpu ? 1 : 0;
      cpus += terminal.kind == TerminalKind::cpu ? 1 : 0;
    }
    EXPECT_EQ(gpus, 4) << to_string(organisation);
    // The GPUs' network of a GMN is looked at by itself.
    EXPECT_EQ(cubes, organisation == Organisation::gmn ? 16 : 20) << to_string(organisation);
    EXPECT_EQ(cpus, organisation == Organisation::gmn ? 0 : 1) << to_string(organisation);
  }
}

TEST(Organisation, CopiesRunAtTheirLinks) {
  SystemModel model = quick();
  model.sample_requests = 1500;
  constexpr double bytes = 64 << 20;
  for (const bool to_gpus : {true, false}) {
    // One PCIe link of the CPU's for all GPUs; a line of 128 bytes has a header of 16. B/ns are GB/s.
    const double pcie = bytes / copy_phase(Organisation::pcie, model, bytes, to_gpus).ns;
    EXPECT_LT(pcie, 15.75 * 128 / 144);
    EXPECT_GT(pcie, 15.75 * 128 / 144 * 0.9);
    EXPECT_EQ(copy_phase(Organisation::gmn, model, bytes, to_gpus).ns,
              copy_phase(Organisation::pcie, model, bytes, to_gpus).ns);
    // A channel of 20 GB/s for each of four GPUs.
    const double cmn = bytes / copy_phase(Organisation::cmn, model, bytes, to_gpus).ns;
    EXPECT_LT(cmn, 80.0 * 128 / 144);
    EXPECT_GT(cmn, 80.0 * 128 / 144 * 0.8);
  }
  for (const Organisation without :
       {Organisation::pcie_zero_copy, Organisation::cmn_zero_copy, Organisation::gmn_zero_copy, Organisation::umn}) {
    EXPECT_EQ(copy_phase(without, model, bytes, true).ns, 0) << to_string(without);
  }
  EXPECT_EQ(copy_phase(Organisation::pcie, model, 0, true).ns, 0);
}

TEST(Organisation, KernelsAreFasterTheMoreBandwidthTheyFind) {
  SystemModel model = quick();
  model.sample_requests = 3000;
  const Workload& scan = workload("SCAN");
  const auto ns = [&](Organisation on) { return kernel_phase(on, model, scan).ns; };
  const double pcie = ns(Organisation::pcie), zero_copy = ns(Organisation::pcie_zero_copy), cmn = ns(Organisation::cmn),
               gmn = ns(Organisation::gmn), umn = ns(Organisation::umn);
  EXPECT_GT(zero_copy, pcie);
  EXPECT_GT(pcie, cmn);
  EXPECT_GT(cmn, gmn);
  EXPECT_GT(pcie, 3 * umn);
  EXPECT_EQ(ns(Organisation::gmn_zero_copy), zero_copy);
  // PCIe carries three quarters of each GPU's lines in and, for the others, out: 160 bytes either way for each.
  const double lines = request_count(scan) / 4;
  EXPECT_GT(pcie, lines * 0.75 * 160 / 15.75);
  EXPECT_LT(pcie, lines * 0.75 * 160 / 15.75 * 1.4);
  // No kernel is faster than the channels of its GPUs: a line read and one written are 160 bytes each way.
  EXPECT_GT(gmn, lines * 80 / 160);
}

TEST(Organisation, AComputeBoundKernelTakesItsComputing) {
  const Workload& cp = workload("CP");
  const double ns = kernel_phase(Organisation::umn, quick(), cp).ns;
  EXPECT_GT(ns, compute_ns(cp, 4) * 0.95);
  EXPECT_LT(ns, compute_ns(cp, 4) * 1.1);
}

TEST(Organisation, TimeAndEnergyGrowWithTheWork) {
  const SystemModel model = quick();
  Workload one = workload("SCAN");
  const Phase first = network_kernel({}, model, one);
  for (double* amount : {&one.read, &one.written, &one.operations, &one.blocks}) *amount *= 2;
  const Phase second = network_kernel({}, model, one);
  EXPECT_NEAR(second.ns / first.ns, 2, 0.02);
  EXPECT_NEAR(second.energy.active_pj / first.energy.active_pj, 2, 1e-9);
  EXPECT_NEAR(second.energy.idle_pj / first.energy.idle_pj, 2, 0.03);
}

TEST(Organisation, TheHostsRoundTripOnThePassThroughPathIsExact) {
  // To a cube of its own the CPU pays one SerDes and one router each way, as without the path. Each cluster farther on
  // adds a link and a cycle of pass-through, twice.
  MemoryNetwork network;
  network.gpus = 3;
  network.cpus = 1;
  const auto round_trips = [&](MemoryTopology kind) {
    network.kind = kind;
    const Topology topology = memory_network(network);
    std::vector<std::int64_t> cycles;
    for (int cluster = 0; cluster < 4; ++cluster) {
      Network net(topology, {});
      net.inject({.source = 0, .destination = 4 + 4 * cluster, .message_class = 0, .flits = 1});
      while (!net.idle()) net.step();
      net.inject({.source = 4 + 4 * cluster, .destination = 0, .message_class = 1, .flits = 1});
      while (!net.idle()) net.step();
      cycles.push_back(net.deliveries()[0].delivered + net.deliveries()[1].delivered - net.deliveries()[1].created);
    }
    return cycles;
  };
  const std::vector<std::int64_t> butterfly = round_trips(MemoryTopology::sliced_butterfly);
  const std::vector<std::int64_t> overlay = round_trips(MemoryTopology::overlay);
  EXPECT_EQ(overlay[0], butterfly[0]);
  for (int cluster = 1; cluster < 4; ++cluster) {
    EXPECT_EQ(overlay[cluster], overlay[0] + 4 * cluster);
    EXPECT_LT(overlay[cluster], butterfly[cluster]);
  }
}

TEST(Organisation, DimensionsOfTwoClustersMayHaveTwoChannelsALink) {
  for (const auto& [gpus, channels] : {std::pair{2, 8}, std::pair{4, 24}, std::pair{8, 48 + 32}, std::pair{16, 192}}) {
    MemoryNetwork network;
    network.gpus = gpus;
    network.pair_channels = 2;
    const Topology topology = memory_network(network);
    EXPECT_EQ(topology.channel_count(), channels) << gpus << " GPUs";
    std::vector<int> used(topology.routers().size(), 2);
    for (const Channel& channel : topology.channels()) ++used[channel.from];
    EXPECT_LE(*std::max_element(used.begin(), used.end()), 8) << gpus << " GPUs";
  }
}

}  // namespace
