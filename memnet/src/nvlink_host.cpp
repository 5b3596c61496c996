#include "memnet/src/nvlink_host.hpp"

#include "memnet/src/network.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace dcgn::memnet {

namespace {

constexpr int payload_flits = 8, packet_flits = payload_flits + 1;
constexpr double mib = 1 << 20, gib = 1 << 30;

// The receiver of a GPU's next packet; -1: it does not send.
int receiver(HostPattern pattern, int gpu, int gpus, Random& random) {
  switch (pattern) {
    case HostPattern::pair: return gpu == 0 ? 1 : -1;
    case HostPattern::both_ways: return gpu < 2 ? 1 - gpu : -1;
    case HostPattern::ring: return (gpu + 1) % gpus;
    case HostPattern::all_to_all: return (gpu + 1 + random.below(gpus - 1)) % gpus;
  }
  return -1;
}

}  // namespace

void NvlinkHost::validate() const {
  const auto check = [](const char* name, double value, double least) {
    if (value >= least) return;
    throw Error(Code::configuration, "memnet",
                std::string("NVLink host: ") + name + " is " + std::to_string(value) + ", expected " +
                    std::to_string(least) + " or more");
  };
  check("gpus", gpus, 2);
  check("planes", planes, 1);
  check("engine_gbytes", engine_gbytes, 1);
  check("store_gbytes", store_gbytes, 1);
  check("block_gbytes", block_gbytes, 1);
  check("send_startup_us", send_startup_us, 0);
  check("broadcast_startup_us", broadcast_startup_us, 0);
  check("reduce_startup_us", reduce_startup_us, 0);
  check("exchange_startup_us", exchange_startup_us, 0);
  if (store_gbytes > engine_gbytes) {
    throw Error(Code::configuration, "memnet",
                "NVLink host: store_gbytes is " + std::to_string(store_gbytes) + ", expected at most engine_gbytes, " +
                    std::to_string(engine_gbytes));
  }
}

double pattern_gbytes(const NvlinkHost& host, HostPattern pattern, HostSender sender, std::uint64_t seed, int packets) {
  host.validate();
  if (packets < 100) {
    throw Error(Code::configuration, "memnet", std::to_string(packets) + " packets, expected 100 or more");
  }
  Parameters parameters;
  parameters.seed = seed;
  parameters.routing = Routing::adaptive;
  // The clock at which all channels of a GPU together carry the copy engine's payload.
  parameters.clock_ghz =
      host.engine_gbytes / (host.planes * parameters.flit_bytes) * packet_flits / static_cast<double>(payload_flits);
  // NVSwitch is sold as a crossbar that does not block: as many VCs as the simulator takes come nearest to it. With the
  // 6 of a memory cube, waiting packets would hold up others, and an all-to-all would reach 250 GB/s.
  parameters.message_classes = 1;
  parameters.replies = false;
  parameters.vcs_per_class = 64;
  parameters.vc_buffer_bytes = 2048;
  parameters.source_queue_flits = 4 * host.planes * packet_flits;
  const Topology topology = nvlink_switch(host.gpus, host.planes, 1, 1.0, 20);
  Network network(topology, parameters);
  Random random(seed);

  const double engine_gap = packet_flits / static_cast<double>(host.planes);  // cycles a packet
  double gap = engine_gap;
  switch (sender) {
    case HostSender::copy_engine: break;
    case HostSender::kernel: gap = engine_gap * host.engine_gbytes / host.store_gbytes; break;
  }
  struct Sender {
    int next = -1;  // receiver
    int sent = 0;
    double ready = 0;
    std::vector<std::int64_t> arrived;  // its packets' cycles, in order
  };
  std::vector<Sender> senders(static_cast<std::size_t>(host.gpus));
  int left = 0;
  for (int g = 0; g < host.gpus; ++g) {
    senders[g].next = receiver(pattern, g, host.gpus, random);
    if (senders[g].next >= 0) left += packets;
  }
  while (left > 0) {
    for (int g = 0; g < host.gpus; ++g) {
      Sender& it = senders[g];
      while (it.next >= 0 && it.sent < packets && it.ready <= static_cast<double>(network.now()) &&
             network.can_inject(g, 0, packet_flits)) {
        network.inject({.source = g, .destination = it.next, .message_class = 0, .flits = packet_flits, .tag = 0});
        ++it.sent;
        it.ready = std::max(it.ready, static_cast<double>(network.now()) - gap) + gap;
        it.next = receiver(pattern, g, host.gpus, random);
      }
    }
    network.step();
    for (const Delivery& delivery : network.deliveries()) {
      senders[delivery.packet.source].arrived.push_back(delivery.delivered);
      --left;
    }
    network.clear_deliveries();
  }
  double slowest = 0;  // cycles a packet, over the middle of each sender's
  for (const Sender& it : senders) {
    if (it.arrived.empty()) continue;
    const std::size_t first = it.arrived.size() / 5, last = it.arrived.size() * 4 / 5;
    slowest = std::max(slowest,
                       static_cast<double>(it.arrived[last] - it.arrived[first]) / static_cast<double>(last - first));
  }
  return payload_flits * parameters.flit_bytes * parameters.clock_ghz / slowest;
}

std::vector<HostRow> nvlink_host_rows(const NvlinkHost& host, std::uint64_t seed) {
  const auto rate = [&](HostPattern pattern, HostSender sender) { return pattern_gbytes(host, pattern, sender, seed); };
  const double engine = rate(HostPattern::pair, HostSender::copy_engine);
  const double store = rate(HostPattern::pair, HostSender::kernel);
  const double both = rate(HostPattern::both_ways, HostSender::kernel);
  const double kernel_ring = rate(HostPattern::ring, HostSender::kernel);
  const double exchange = rate(HostPattern::all_to_all, HostSender::kernel);
  // Bytes over GB/s are ns.
  const auto us = [](double startup, double bytes, double gbytes) { return startup + bytes / gbytes / 1000; };
  const double others = (host.gpus - 1.0) / host.gpus;

  std::vector<HostRow> rows{
      {"GPU to GPU, copy engine", 393, engine, "GB/s", true},
      {"GPU to GPU, kernel stores, 132 blocks", 368, store, "GB/s", true},
      {"GPU to GPU, kernel stores, 1 block", 46, host.block_gbytes, "GB/s", true},
      {"send and receive, 8 B", 6.3, host.send_startup_us, "us", true},
      {"broadcast, 8 B", 14.1, host.broadcast_startup_us, "us", true},
      {"all-reduce, 8 B", 19.8, host.reduce_startup_us, "us", true},
      {"all-to-all, 8 B", 15.2, host.exchange_startup_us, "us", true},
      {"ring of all, copy engine", 390, rate(HostPattern::ring, HostSender::copy_engine), "GB/s", false},
      {"both directions at once, kernel stores", 363, both, "GB/s", false},
  };
  for (const auto& [blocks, measured] : {std::pair{2, 91.0}, std::pair{4, 182.0}, std::pair{8, 352.0}}) {
    rows.push_back({"GPU to GPU, kernel stores, " + std::to_string(blocks) + " blocks", measured,
                    std::min(blocks * host.block_gbytes, store), "GB/s", false});
  }
  struct Operation {
    const char* name;
    double startup, share, gbytes;  // bytes that each GPU sends are this share of the operation's
    double measured_256m, measured_1g;
  };
  // NCCL moves bytes by kernels. A ring broadcast passes all bytes on, a ring all-reduce twice 7/8 of them, and an
  // all-to-all sends 7/8 to others.
  const Operation operations[] = {
      {"send and receive", host.send_startup_us, 1, store, 745, 2903},
      {"broadcast", host.broadcast_startup_us, 1, kernel_ring, 785, 2993},
      {"all-reduce", host.reduce_startup_us, 2 * others, kernel_ring, 1363, 5227},
      {"all-to-all", host.exchange_startup_us, others, exchange, 765, 2980},
  };
  for (const Operation& one : operations) {
    const std::string name = one.name;
    rows.push_back(
        {name + ", 256 M", one.measured_256m, us(one.startup, one.share * 256 * mib, one.gbytes), "us", false});
    rows.push_back({name + ", 1 G", one.measured_1g, us(one.startup, one.share * gib, one.gbytes), "us", false});
  }
  // 256 M in the measured 765 us.
  rows.push_back({"all-to-all, 256 M, bandwidth of each GPU", 307,
                  others * 256 * mib / us(host.exchange_startup_us, others * 256 * mib, exchange) / 1000, "GB/s",
                  false});
  return rows;
}

}  // namespace dcgn::memnet
