// A simulation's TOML: what is taken can be set up.
#include "fuzz.hpp"

#include "memnet/src/config.hpp"

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::is_taken([&] {
    const memnet::Configuration made = memnet::parse_configuration(fuzz::text_of(data, size), "in.toml");
    fuzz::require(!made.title.empty(), "a simulation has a title");
    if (made.kind == memnet::RunKind::closed_loop && made.plan.trace.empty())
      fuzz::require(made.requesters().size() == made.plan.terminals.size(), "each terminal asks");
  });
  return 0;
}
