// Tests that run in one process, or as well in several of a job: mpirun -n 3 test_message. Each process makes the same
// calls; what the ranks of all have in the end is told to all, so that each can hold it against the oracle.
#pragma once

#include <dcgn/job.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

namespace dcgn::test {

inline int from_launcher(std::initializer_list<const char*> variables, int otherwise) {
  for (const char* variable : variables)
    if (const char* text = std::getenv(variable)) return std::atoi(text);
  return otherwise;
}
inline int processes() { return from_launcher({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}, 1); }
inline int this_process() { return from_launcher({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK"}, 0); }

// As many ranks, spread over the processes: the CPU ranks and the GPUs each as evenly as can be. Nothing where there
// are fewer than processes; as it was where there is one process.
inline std::vector<NodeShape> spread(const std::vector<NodeShape>& nodes) {
  if (processes() == 1) return nodes;
  int cpus = 0, gpus = 0, slots = 1;
  for (const NodeShape& s : nodes) {
    cpus += s.cpus * s.count;
    gpus += s.gpus * s.count;
    slots = std::max(slots, s.slots);
  }
  // A GPU whose slots would all be in one process becomes as many GPUs.
  if (cpus + gpus < processes()) {
    gpus *= slots;
    slots = 1;
  }
  std::vector<NodeShape> over;
  for (int p = 0; p < processes(); ++p) {
    const auto share = [p](int all, int at) {
      return all / processes() + ((p + at) % processes() < all % processes());
    };
    over.push_back({.cpus = share(cpus, 0), .gpus = share(gpus, cpus), .slots = slots});
  }
  for (const NodeShape& s : over)
    if (s.cpus + s.gpus == 0) return {};
  return over;
}

// all[i] of the processes where it is not empty, to all of them.
template <class T>
  requires std::is_trivially_copyable_v<T>
void share(std::vector<std::vector<T>>& all) {
  if (processes() == 1) return;
  Job job({.nodes = {{.cpus = 1}}});
  job.cpu([&](Comm& comm) {
    std::vector<std::int64_t> sizes, most(all.size());
    for (const std::vector<T>& v : all) sizes.push_back(static_cast<std::int64_t>(v.size() * sizeof(T)));
    comm.all_reduce(sizes, most, Max{});
    for (std::size_t i = 0; i < all.size(); ++i) {
      // Who has it: the one process with as many bytes, of which all others have none.
      std::vector<int> owner{sizes[i] ? comm.rank() : -1};
      comm.all_reduce(owner, Max{});
      if (owner[0] < 0) continue;
      all[i].resize(static_cast<std::size_t>(most[i]) / sizeof(T));
      comm.broadcast_bytes(all[i].data(), most[i], owner[0]);
    }
  });
  job.run();
}

}  // namespace dcgn::test
