#include "apps/nbody/nbody.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <cmath>

namespace dcgn::nbody {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::configuration, "nbody", what); }

void check_count(const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) refuse(fmt::format("{} is {}, expected {}..{}", what, value, least, most));
}

}  // namespace

const char* name_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::broadcast: return "broadcast";
    case Exchange::all_gather: return "all-gather";
  }
  return "";
}

double Outcome::drift() const {
  const double at_first = energies.front().total();
  double most = 0;
  for (const Energy& e : energies) most = std::max(most, std::abs(e.total() - at_first));
  return most / std::abs(at_first);
}

void validate(const Options& o) {
  check_count("the number of bodies", o.bodies, 1, 1 << 24);
  check_count("the number of steps", o.steps, 1, 1 << 24);
  check_count("the number of steps between records", o.every, 0, 1 << 24);
  const std::int64_t records = o.every ? o.steps / o.every + 2 : 1;
  if (records * o.bodies * static_cast<std::int64_t>(sizeof(Body)) > std::int64_t{4} << 30)
    refuse(fmt::format("{} records of {} bodies are more than 4 GiB, expected fewer", records, o.bodies));
  if (!(o.dt > 0) || !std::isfinite(o.dt)) refuse(fmt::format("the time step is {}, expected one above 0", o.dt));
  if (!(o.softening > 1e-6f) || !std::isfinite(o.softening))
    refuse(fmt::format("the softening is {}, expected one above 1e-6", o.softening));
  check_count("the number of blocks of a slot", o.blocks, 0, 1 << 16);
  if (o.threads && (o.threads < 32 || o.threads > 512 || (o.threads & (o.threads - 1))))
    refuse(fmt::format("{} threads: expected 32, 64, 128, 256 or 512", o.threads));
  const Placement placement({o.nodes});  // refuses what makes no sense
  if (placement.size() > o.bodies)
    refuse(fmt::format("{} bodies for {} ranks: expected at least as many", o.bodies, placement.size()));
}

}  // namespace dcgn::nbody
