// routing.table: what is taken makes a network, or one that could deadlock.
#include "fuzz.hpp"

#include "memnet/src/config.hpp"
#include "memnet/src/network.hpp"

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile in;
  in.write(data, size);
  fuzz::is_taken([&] {
    const memnet::Configuration made = memnet::parse_configuration(
        "[topology]\nkind = \"graph\"\nrouters = 4\nchannels = [[0, 1], [1, 2], [2, 3], [3, 0]]\n"
        "terminals = [[0], [2]]\n[routing]\ntable = \"" +
            in.path() + "\"\n",
        "in.toml");
    memnet::Network network(made.topology, made.parameters);
    network.inject({.source = 0, .destination = 1});
    network.advance(1000);
    fuzz::require(network.deliveries().size() == 1, "a packet arrives");
  });
  return 0;
}
