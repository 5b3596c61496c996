#include "core/bench/coll_peer.hpp"

#include "bench/json.hpp"
#include "bench/program.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace dcgn::bench {

namespace {

struct CollPeer {
  const char* name;
  std::vector<Collective> ops;
  std::int64_t largest;  // size: one block takes long over more
};

const CollPeer peers[] = {
    {"nccl",
     {Collective::barrier, Collective::broadcast, Collective::reduce, Collective::all_reduce,
      Collective::reduce_scatter, Collective::all_gather, Collective::gather, Collective::scatter,
      Collective::all_to_all},
     std::numeric_limits<std::int64_t>::max()},
    {"custom", {Collective::all_reduce}, std::numeric_limits<std::int64_t>::max()},
    {"torch", {Collective::all_reduce}, std::numeric_limits<std::int64_t>::max()},
    {"nvshmem",
     {Collective::barrier, Collective::broadcast, Collective::all_reduce, Collective::reduce_scatter,
      Collective::all_gather, Collective::all_to_all},
     4 << 20},
    {"mpi", {std::begin(all_collectives), std::end(all_collectives)}, std::numeric_limits<std::int64_t>::max()},
};

const CollPeer& peer_of(const std::string& name) {
  for (const CollPeer& peer : peers)
    if (name == peer.name) return peer;
  throw Error(Code::configuration, "bench",
              fmt::format("--peers {}: expected {}", name, fmt::join(coll_peers(), ", ")));
}

bool has(const CollPeer& peer, Collective op) {
  return std::find(peer.ops.begin(), peer.ops.end(), op) != peer.ops.end();
}

struct Point {
  Collective op;
  std::int64_t bytes;
};
std::vector<Point> points_of(const CollPeer& peer, const CollPeerPlan& plan) {
  std::vector<Point> points;
  for (const Collective op : plan.ops)
    if (has(peer, op))
      for (const std::int64_t bytes : sizes_of(op, plan.sizes, plan.ranks))
        if (bytes <= peer.largest) points.push_back({op, bytes});
  return points;
}

}  // namespace

std::vector<std::string> coll_peers() {
  std::vector<std::string> names;
  for (const CollPeer& peer : peers) names.emplace_back(peer.name);
  return names;
}

bool coll_peer_has(const std::string& name, const CollRanks& ranks, const std::vector<Collective>& ops) {
  const CollPeer& peer = peer_of(name);
  const bool gpus = ranks.cpus == 0 && ranks.slots == 1, cpus = ranks.gpus == 0 && name == "mpi";
  return (gpus || cpus) && std::any_of(ops.begin(), ops.end(), [&](Collective op) { return has(peer, op); });
}

std::vector<Row> run_coll_peer(const std::string& name, const CollPeerPlan& plan) {
  const CollPeer& peer = peer_of(name);
  const std::vector<Point> points = points_of(peer, plan);
  if (points.empty()) return {};
  const std::string who = "--peers " + name + ": ";
  std::vector<std::string> words;
  words.reserve(points.size());
  for (const Point& point : points) words.push_back(fmt::format("{}:{}", name_of(point.op), point.bytes));
  const std::string command =
      fmt::format("{} --ranks {} --seconds {} {}", peer_command(name, collectives_of_peers, plan.ranks), plan.ranks,
                  plan.seconds, fmt::join(words, " "));
  std::vector<Row> rows;
  // A peer may measure each in three forms.
  const nlohmann::ordered_json printed =
      rows_of(command, 600 + 6 * plan.seconds * static_cast<double>(points.size()), who);
  try {
    for (const auto& row : printed) rows.push_back(row_from(row));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", who + command + " printed no rows: " + e.what());
  }
  for (const Row& row : rows)
    if (std::none_of(points.begin(), points.end(), [&](const Point& point) {
          return row.measure == name_of(point.op) && row.bytes == point.bytes && row.ranks == plan.ranks;
        }))
      throw Error(Code::io, "bench",
                  fmt::format("{}a row of {} of {} bytes by {} ranks that was not asked for, from: {}", who,
                              row.measure, row.bytes, row.ranks, command));
  return rows;
}

}  // namespace dcgn::bench
