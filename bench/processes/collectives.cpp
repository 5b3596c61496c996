#include "bench/processes/collectives.hpp"

#include "bench/memory.hpp"
#include "core/bench/coll_ranks.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/job.hpp>
#include <dcgn/version.hpp>
#include <dcgn/world.hpp>

#include <fmt/core.h>

#include <stdexcept>
#include <vector>

namespace dcgn::bench {

Row measure_between_processes(const CollWork& work) {
  const int ranks = work.ranks.cpus;
  const int processes = World({.nodes = {{.cpus = 1}}}).size();
  if (ranks % processes)
    throw std::runtime_error(fmt::format("--ranks {}: expected a multiple of the {} processes", ranks, processes));
  const CollPlan plan = plan_of(work, ranks);
  const std::int64_t each = room_of(plan, ranks);
  Row row{.whose = "dcgn " + std::string(version),
          .measure = name_of(work.op),
          .path = fmt::format("{} in {} processes", name_of(work.ranks), processes),
          .scope = "-",
          .bytes = work.bytes,
          .ranks = ranks};
  Job job({.nodes = {{.cpus = ranks / processes}}});
  job.cpu([&](Comm& comm) {
    const Pages pages(2 * static_cast<std::size_t>(each) * sizeof(float));
    auto* const floats = reinterpret_cast<float*>(pages.data());
    CollSamples mine{};
    take_part(comm, plan, {floats, floats + each, &mine});
    std::vector<CollSamples> all(comm.rank() == 0 ? static_cast<std::size_t>(ranks) : 0);
    comm.gather(mine, all, 0);
    if (comm.rank() == 0) set_figures(row, all);
  });
  job.run();
  return row;
}

}  // namespace dcgn::bench
