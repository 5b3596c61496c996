#include <dcgn/error.hpp>
#include <dcgn/placement.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace dcgn {

std::string to_string(const Place& place) {
  const std::string node = ", node " + std::to_string(place.node);
  if (!place.is_slot()) return "CPU " + std::to_string(place.cpu) + node;
  return "slot " + std::to_string(place.slot) + " of GPU " + std::to_string(place.device) + node;
}

Placement::Placement(const std::vector<NodeShape>& nodes) {
  const auto refuse = [](const std::string& detail) { throw Error(Code::configuration, "placement", detail); };
  std::int64_t ranks = 0;
  std::int64_t count = 0;
  for (const NodeShape& s : nodes) {
    const std::string shape = "a node of " + std::to_string(s.cpus) + " CPU kernels, " + std::to_string(s.gpus) +
                              " GPUs and " + std::to_string(s.slots) + " slots a GPU";
    if (s.cpus < 0 || s.gpus < 0 || s.slots < 0) refuse(shape + ": expected no negative count");
    if (s.count < 1) refuse("a shape of " + std::to_string(s.count) + " nodes: expected at least one");
    const std::int64_t each = s.cpus + static_cast<std::int64_t>(s.gpus) * s.slots;
    if (each == 0) refuse(shape + " has no rank: expected a CPU kernel or a slot");
    if (each > std::numeric_limits<int>::max() || ranks + each * s.count > std::numeric_limits<int>::max())
      refuse(std::to_string(s.count) + " x " + shape + ": more than " +
             std::to_string(std::numeric_limits<int>::max()) + " ranks");
    // A process says of each node what it is like: those that follow one another alike are one run.
    NodeShape* const last = runs_.empty() ? nullptr : &runs_.back().shape;
    if (last && last->cpus == s.cpus && last->gpus == s.gpus && last->slots == s.slots)
      last->count += s.count;
    else
      runs_.push_back({s, static_cast<int>(count), static_cast<int>(ranks), static_cast<int>(each)});
    ranks += each * s.count;
    count += s.count;
  }
  if (runs_.empty()) refuse("no nodes: expected at least one");
  runs_.shrink_to_fit();
  size_ = static_cast<int>(ranks);
  nodes_ = static_cast<int>(count);
}

const Placement::Run& Placement::run_of_node(int node) const {
  if (node < 0 || node >= nodes_)
    throw Error(Code::invalid_rank, "placement",
                "node " + std::to_string(node) + " is out of range, expected 0.." + std::to_string(nodes_ - 1));
  return *std::prev(
      std::upper_bound(runs_.begin(), runs_.end(), node, [](int n, const Run& run) { return n < run.first_node; }));
}

const NodeShape& Placement::shape(int node) const { return run_of_node(node).shape; }

int Placement::first_rank(int node) const {
  const Run& run = run_of_node(node);
  return run.first_rank + (node - run.first_node) * run.ranks_per_node;
}

Place Placement::place(int rank) const {
  if (rank < 0 || rank >= size_)
    throw Error(Code::invalid_rank, "placement",
                "rank " + std::to_string(rank) + " is out of range, expected 0.." + std::to_string(size_ - 1));
  const Run& run = *std::prev(std::upper_bound(runs_.begin(), runs_.end(), rank,
                                               [](int r, const Run& candidate) { return r < candidate.first_rank; }));
  const int within = (rank - run.first_rank) % run.ranks_per_node;
  Place place;
  place.node = run.first_node + (rank - run.first_rank) / run.ranks_per_node;
  if (within < run.shape.cpus) {
    place.cpu = within;
  } else {
    place.device = (within - run.shape.cpus) / run.shape.slots;
    place.slot = (within - run.shape.cpus) % run.shape.slots;
  }
  return place;
}

int Placement::rank(const Place& place) const {
  const Run& run = run_of_node(place.node);
  const NodeShape& s = run.shape;
  const bool exists = place.is_slot() ? place.device >= 0 && place.device < s.gpus && place.slot < s.slots
                                      : place.cpu >= 0 && place.cpu < s.cpus;
  if (!exists)
    throw Error(Code::invalid_rank, "placement",
                "there is no " + to_string(place) + ": the node has " + std::to_string(s.cpus) + " CPU kernels and " +
                    std::to_string(s.gpus) + " GPUs of " + std::to_string(s.slots) + " slots");
  return run.first_rank + (place.node - run.first_node) * run.ranks_per_node +
         (place.is_slot() ? s.cpus + place.device * s.slots + place.slot : place.cpu);
}

}  // namespace dcgn
