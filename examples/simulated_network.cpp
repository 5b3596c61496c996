// A network that a program drives cycle by cycle, as another simulator would: eight nodes that read from one another.
#include <dcgn/error.hpp>
#include <dcgn/simulated_network.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr int request = 0;  // message classes
constexpr int reply = 1;

const std::string configuration = R"(
[topology]
kind = "torus"
extents = [4, 2]

[router]
message_classes = 2
vcs_per_class = 4
)";

}  // namespace

int main() {
  try {
    dcgn::SimulatedNetwork network(configuration);
    const int nodes = network.terminals();
    int asked = 0, answered = 0;
    while (answered < 1000) {
      // What the other simulator does in a cycle: a node asks for 64 bytes of another one, until all are asked for.
      if (asked < 1000) {
        network.inject(
            {.source = asked % nodes, .destination = asked * 5 % nodes, .message_class = request, .flits = 1});
        ++asked;
      }
      network.step();
      for (const auto& [packet, created, injected, delivered, hops] : network.take_deliveries()) {
        if (packet.message_class == request) {
          network.inject({packet.destination, packet.source, reply, 1 + 64 / network.flit_bytes(), packet.tag});
        } else {
          ++answered;
        }
      }
    }
    const dcgn::SimulatedNetwork::Counters counters = network.counters();
    std::printf("%lld cycles for %lld packets, %.2f routers a flit\n", static_cast<long long>(network.now()),
                static_cast<long long>(counters.delivered_packets),
                static_cast<double>(counters.flit_hops) / static_cast<double>(counters.delivered_flits));
    return network.idle() && counters.delivered_packets == 2000 ? 0 : 1;
  } catch (const dcgn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
