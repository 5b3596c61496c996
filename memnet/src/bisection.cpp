// Halves of a graph: all of them where it is small, Kernighan and Lin's exchanges elsewhere.
#include "memnet/src/bisection.hpp"

#include "memnet/src/traffic.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace dcgn::memnet {
namespace {

constexpr int most_enumerated = 20;

using Sides = std::vector<std::uint8_t>;

class Halves {
 public:
  explicit Halves(const Topology& topology) : topology_(topology) {
    group();
    std::vector<std::map<int, double>> neighbours(count_);
    for (const Channel& channel : topology.channels()) {
      const int from = group_of_[channel.from];
      const int to = group_of_[channel.to];
      if (from != to) neighbours[from][to] += channel.link.bandwidth;
    }
    for (const auto& one : neighbours) neighbours_.emplace_back(one.begin(), one.end());
  }

  Bisection find() {
    if (count_ <= most_enumerated) {
      try_all();
    } else {
      improve_starts();
    }
    Bisection found;
    double flits[2] = {0, 0};  // by the half that they come from
    for (std::size_t c = 0; c < topology_.channels().size(); ++c) {
      const Channel& channel = topology_.channels()[c];
      const bool from = best_[group_of_[channel.from]], to = best_[group_of_[channel.to]];
      if (from == to) continue;
      found.channels += c % 2 == 0 ? 1 : 0;
      if (!channel.missing) flits[from ? 1 : 0] += channel.link.bandwidth;
    }
    found.flits = std::min(flits[0], flits[1]);
    found.exact = count_ <= most_enumerated || known(found.channels);
    return found;
  }

 private:
  // Routers of a terminal are one group, where that makes groups of one size; else each is its own.
  void group() {
    const int routers = static_cast<int>(topology_.routers().size());
    std::vector<int> head(routers);
    std::iota(head.begin(), head.end(), 0);
    const auto head_of = [&head](int router) {
      while (head[router] != router) router = head[router] = head[head[router]];
      return router;
    };
    for (const Terminal& terminal : topology_.terminals()) {
      for (const Port& port : terminal.ports) {
        const int a = head_of(port.router);
        const int b = head_of(terminal.ports[0].router);
        head[std::max(a, b)] = std::min(a, b);
      }
    }
    std::vector<int> size(routers, 0);
    for (int r = 0; r < routers; ++r) ++size[head_of(r)];
    const bool alike = std::all_of(size.begin(), size.end(), [&](int one) { return one == 0 || one == size[0]; });
    group_of_.resize(routers);
    for (int r = 0; r < routers; ++r) {
      const int first = alike ? head_of(r) : r;
      if (first == r) first_of_.push_back(r);
      group_of_[r] = first == r ? static_cast<int>(first_of_.size()) - 1 : group_of_[first];
    }
    count_ = static_cast<int>(first_of_.size());
  }

  double cut(const Sides& side) const {
    double flits = 0;
    for (int r = 0; r < count_; ++r) {
      for (const auto& [other, width] : neighbours_[r]) {
        if (side[r] == 0 && side[other] == 1) flits += width;
      }
    }
    return flits;
  }

  void keep(const Sides& side) {
    const double flits = cut(side);
    if (!best_.empty() && flits >= least_) return;
    least_ = flits;
    best_ = side;
  }

  void try_all() {
    Sides side(count_);
    // The last router is always on side 0: halves and their mirror images are alike.
    for (std::uint32_t set = 0; set < std::uint32_t{1} << (count_ - 1); ++set) {
      const int size = std::popcount(set);
      if (size != count_ / 2 && count_ - size != count_ / 2) continue;
      for (int r = 0; r < count_; ++r) side[r] = static_cast<std::uint8_t>(set >> r & 1);
      keep(side);
    }
  }

  // The halves when groups are ordered by `key`.
  template <class KeyOf>
  void improve_by(KeyOf&& key) {
    std::vector<int> order(count_);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return key(a) < key(b); });
    Sides side(count_, 0);
    for (int i = count_ / 2; i < count_; ++i) side[order[i]] = 1;
    while (exchange(side)) {
    }
    keep(side);
  }

  void improve_starts() {
    improve_by([](int r) { return r; });
    improve_by([this](int g) { return topology_.routers()[first_of_[g]].cluster; });
    for (std::size_t d = 0; d < topology_.shape().extents.size(); ++d) {
      improve_by([&](int g) { return topology_.routers()[first_of_[g]].coordinates[d]; });
    }
    const int more = count_ <= 2000 ? 16 : 2;
    for (int i = 0; i < more; ++i) {
      const std::vector<int> distance = distances_from(static_cast<int>(std::int64_t{i} * count_ / more));
      improve_by([&](int r) { return distance[r]; });
    }
    Random random(1);
    for (int i = 0; i < more; ++i) {
      std::vector<int> draw(count_);
      for (int& one : draw) one = random.below(1 << 30);
      improve_by([&](int r) { return draw[r]; });
    }
  }

  std::vector<int> distances_from(int start) const {
    std::vector<int> distance(count_, count_);
    std::vector<int> queue(1, start);
    distance[start] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      for (const auto& [other, width] : neighbours_[queue[i]]) {
        if (distance[other] < count_) continue;
        distance[other] = distance[queue[i]] + 1;
        queue.push_back(other);
      }
    }
    return distance;
  }

  // Exchanges pairs of routers, each the best that has not been moved, for as long as that may pay, and keeps the best
  // of what came about. False where nothing was gained.
  bool exchange(Sides& side) const {
    std::vector<double> gain(count_, 0);
    std::set<std::pair<double, int>> free[2];  // by side: minus the gain, router
    for (int r = 0; r < count_; ++r) {
      for (const auto& [other, width] : neighbours_[r]) gain[r] += side[r] == side[other] ? -width : width;
      free[side[r]].emplace(-gain[r], r);
    }
    std::vector<int> moved;
    double total = 0;
    double best = 1e-9;
    std::size_t best_moves = 0;
    const std::size_t patience = 2 * static_cast<std::size_t>(std::max(100, std::min(count_, 1000)));
    while (!free[0].empty() && !free[1].empty() && moved.size() < best_moves + patience) {
      for (const int from : {0, 1}) {
        const int router = free[from].begin()->second;
        free[from].erase(free[from].begin());
        total += gain[router];
        moved.push_back(router);
        side[router] ^= 1;
        for (const auto& [other, width] : neighbours_[router]) {
          const auto at = free[side[other]].find({-gain[other], other});
          const bool is_free = at != free[side[other]].end();
          if (is_free) free[side[other]].erase(at);
          gain[other] += side[other] == side[router] ? -2 * width : 2 * width;
          if (is_free) free[side[other]].emplace(-gain[other], other);
        }
      }
      if (total <= best) continue;
      best = total;
      best_moves = moved.size();
    }
    for (std::size_t i = moved.size(); i-- > best_moves;) side[moved[i]] ^= 1;
    return best_moves > 0;
  }

  // Whether theory knows that no halves have fewer channels: of meshes and tori Azizoglu and Egecioglu's; of flattened
  // butterflies that a graph's halves have n / 4 times its second eigenvalue between them, or more.
  bool known(int channels) const {
    const Shape& shape = topology_.shape();
    if (shape.kind == ShapeKind::irregular || shape.broken || shape.sliced) return false;
    std::int64_t routers = 1;
    for (const int extent : shape.extents) routers *= extent;
    if (routers != count_ || routers != static_cast<std::int64_t>(topology_.routers().size())) return false;
    for (const Channel& channel : topology_.channels()) {
      if (channel.link.bandwidth != topology_.channels()[0].link.bandwidth) return false;
    }
    for (const auto& one : neighbours_) {
      for (const auto& [other, width] : one) {
        if (width != topology_.channels()[0].link.bandwidth) return false;  // parallel channels
      }
    }
    const auto [shortest, longest] = std::minmax_element(shape.extents.begin(), shape.extents.end());
    switch (shape.kind) {
      case ShapeKind::irregular: return false;
      case ShapeKind::mesh: return *longest % 2 == 0 && channels == routers / *longest;
      case ShapeKind::torus: return *longest % 2 == 0 && *shortest > 2 && channels == 2 * routers / *longest;
      case ShapeKind::flattened: return *shortest % 2 == 0 && channels == routers * *shortest / 4;
    }
    return false;
  }

  const Topology& topology_;
  int count_ = 0;                                                // of groups
  std::vector<int> group_of_;                                    // by router
  std::vector<int> first_of_;                                    // by group, its first router
  std::vector<std::vector<std::pair<int, double>>> neighbours_;  // with the flits of all channels between
  Sides best_;
  double least_ = 0;
};

}  // namespace

Bisection bisection(const Topology& topology) { return Halves(topology).find(); }

}  // namespace dcgn::memnet
