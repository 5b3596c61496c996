#include "apps/cannon/cannon.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

namespace dcgn::cannon {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::configuration, "cannon", what); }

void check_count(const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) refuse(fmt::format("{} is {}, expected {}..{}", what, value, least, most));
}

}  // namespace

int grid_of(const NodeShape& nodes) {
  const int ranks = Placement({nodes}).size();
  int across = 1;
  while ((across + 1) * (across + 1) <= ranks) ++across;
  return across;
}

void validate(const Options& o) {
  check_count("the size", o.size, 1, 1 << 16);
  check_count("the number of products", o.repeats, 1, 1 << 20);
  check_count("the number of blocks of a slot", o.blocks, 0, 1 << 16);
  const int across = grid_of(o.nodes);
  if (across > o.size)
    refuse(fmt::format("size {} for a grid of {} x {} ranks: expected at least {}", o.size, across, across, across));
}

}  // namespace dcgn::cannon
