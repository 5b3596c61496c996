// Configurations of booksim2: what is taken is a configuration, or refused as one.
#include "fuzz.hpp"

#include "memnet/src/booksim.hpp"
#include "memnet/src/config.hpp"

using namespace dcgn;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::is_taken([&] {
    const memnet::BooksimConfiguration made = memnet::read_booksim(fuzz::text_of(data, size), "in.cfg");
    fuzz::require(made.toml.find("[topology]") != std::string::npos, "a network has a topology");
    for (const memnet::BooksimNote& note : made.notes)
      fuzz::require(note.taken == note.reason.empty(), "what is not taken has a reason");
    if (made.toml.size() < 4096) memnet::parse_configuration(made.toml, "in.cfg", {}, false);
  });
  return 0;
}
