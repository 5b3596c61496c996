// Requests and replies among nodes, each reply as soon as its request has come: half of the requests are reads of a
// flit with replies of five, the others writes of five with replies of one.
#include "memnet/src/network.hpp"
#include "memnet/src/topologies.hpp"
#include "memnet/src/traffic.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace dcgn::memnet {
namespace {

// The mean latency of all packets, cycles; `rate` is requests a node and cycle.
double request_reply_latency(const Topology& topology, double rate, std::int64_t cycles) {
  Parameters parameters;
  parameters.stages = 3;
  parameters.message_classes = 2;
  parameters.vcs_per_class = 4;
  parameters.vc_buffer_bytes = 8 * parameters.flit_bytes;
  parameters.replies = true;
  Network network(topology, parameters);
  Random random(1);
  constexpr std::uint64_t measured = 1, writes = 2;
  const int nodes = static_cast<int>(topology.terminals().size());
  const std::int64_t warm = cycles / 4;
  double sum = 0, packets = 0;
  for (std::int64_t cycle = 0; cycle < warm + cycles; ++cycle) {
    const std::uint64_t tag = cycle < warm ? 0 : measured;
    for (int node = 0; node < nodes; ++node) {
      if (random.uniform() >= rate) continue;
      const bool write = random.uniform() < 0.5;
      network.inject({node, random.below(nodes), 0, write ? 5 : 1, tag | (write ? writes : 0)});
    }
    network.step();
    for (const Delivery& delivery : network.deliveries()) {
      const Packet& packet = delivery.packet;
      if (packet.message_class == 0)
        network.inject({packet.destination, packet.source, 1, (packet.tag & writes) != 0 ? 1 : 5, tag},
                       delivery.delivered);
      if ((packet.tag & measured) == 0) continue;
      sum += static_cast<double>(delivery.delivered - delivery.created);
      ++packets;
    }
    network.clear_deliveries();
  }
  return sum / packets;
}

// Two random nodes of a row of 8 are 2 5/8 apart: 6.25 routers of 4 cycles, 2 more, and 2 for the other flits. A reply
// leaves in the cycle after the one that its request came in: half a cycle for the mean of both.
TEST(RequestReply, TakesTheRoutersAndTheFlitsOfItsPackets) {
  EXPECT_NEAR(request_reply_latency(mesh({8, 8}), 0.0002, 400000), 29.5, 0.01 * 29.5);
}

// 0.12, 0.24 and 0.36 flits a node and cycle; the flattened butterfly's third is in the guide, with what is different.
TEST(RequestReply, AgreesWithThePublicSimulator) {
  EXPECT_NEAR(request_reply_latency(mesh({8, 8}), 0.02, 20000), 31.1, 0.02 * 31.1);
  EXPECT_NEAR(request_reply_latency(mesh({8, 8}), 0.04, 20000), 34.8, 0.02 * 34.8);
  EXPECT_NEAR(request_reply_latency(mesh({8, 8}), 0.06, 20000), 49.8, 0.02 * 49.8);
  const Topology butterfly = flattened_butterfly({4, 4}, 4, true);
  EXPECT_NEAR(request_reply_latency(butterfly, 0.03, 20000), 19.7, 0.02 * 19.7);
  EXPECT_NEAR(request_reply_latency(butterfly, 0.06, 20000), 23.4, 0.02 * 23.4);
}

}  // namespace
}  // namespace dcgn::memnet
