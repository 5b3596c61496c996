// References of workloads whose host looks at what launches found, of the octree, and of hashes.
#include "references.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace dcgn::test {

using workloads::Snapshot;

Words k_means_features(const Snapshot& from) {
  const auto objects = values_of<float>(from.buffers[0]);
  const auto features = static_cast<std::size_t>(from.sizes[0]), centres = static_cast<std::size_t>(from.sizes[1]);
  std::vector<float> now(objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(centres * features));
  std::vector<int> nearest(objects.size() / features);
  for (int iteration = 0; iteration < from.sizes[2]; ++iteration) {
    std::vector<float> sums(now.size()), counts(centres);
    for (std::size_t object = 0; object < nearest.size(); ++object) {
      const std::span<const float> its(&objects[object * features], features);
      std::vector<float> distances;
      for (std::size_t c = 0; c < centres; ++c) {
        float distance = 0;
        for (std::size_t f = 0; f < features; ++f)
          distance = std::fma(its[f] - now[c * features + f], its[f] - now[c * features + f], distance);
        distances.push_back(distance);
      }
      const auto which =
          static_cast<std::size_t>(std::min_element(distances.begin(), distances.end()) - distances.begin());
      nearest[object] = static_cast<int>(which);
      counts[which] += 1;
      for (std::size_t f = 0; f < features; ++f) sums[which * features + f] += its[f];
    }
    for (std::size_t i = 0; i < now.size(); ++i)
      if (counts[i / features] > 0) now[i] = sums[i] / counts[i / features];
  }
  return {words_of(nearest), words_of(now)};
}

namespace {

struct Formula {
  std::vector<int> literals, first, edges, settled, satisfied;
  std::vector<float> surveys;

  // Of 1 - survey over a variable's other edges: those that want what the literal wants, then those that do not.
  std::array<float, 2> products(int literal, int but) const {
    std::array<float, 2> both{1, 1};
    const auto variable = static_cast<std::size_t>(literal) / 2;
    for (auto i = static_cast<std::size_t>(first[variable]); i < static_cast<std::size_t>(first[variable + 1]); ++i) {
      const auto edge = static_cast<std::size_t>(edges[i]);
      if (edges[i] != but) both[literals[edge] == literal ? 0 : 1] *= 1 - surveys[edge];
    }
    return both;
  }
  float warning(std::size_t edge) const {
    const int literal = literals[edge];
    if (settled[static_cast<std::size_t>(literal) / 2] >= 0) return 0;
    const auto [same, other] = products(literal, static_cast<int>(edge));
    const float against = (1 - other) * same, sum = against + (1 - same) * other + same * other;
    return sum == 0 ? 0 : against / sum;
  }
  bool sweep() {
    std::vector<float> sent(surveys.size());
    for (std::size_t clause = 0; clause < satisfied.size(); ++clause) {
      if (satisfied[clause] != 0) continue;
      const std::size_t edge = 3 * clause;
      const float w[] = {warning(edge), warning(edge + 1), warning(edge + 2)};
      sent[edge] = w[1] * w[2], sent[edge + 1] = w[2] * w[0], sent[edge + 2] = w[0] * w[1];
    }
    bool changes = false;
    for (std::size_t i = 0; i < sent.size(); ++i) changes = changes || std::abs(sent[i] - surveys[i]) > 0.01F;
    surveys = sent;
    return changes;
  }
};

}  // namespace

Words survey_propagation(const Snapshot& from) {
  Formula formula{values_of<int>(from.buffers[0]), values_of<int>(from.buffers[1]), values_of<int>(from.buffers[2]),
                  values_of<int>(from.buffers[3]), values_of<int>(from.buffers[4]), values_of<float>(from.buffers[5])};
  std::vector<float> biases(formula.settled.size());
  for (int round = 0; round < from.sizes[0]; ++round) {
    bool changes = true;
    for (int sweep = 0; sweep < from.sizes[1] && changes; ++sweep) changes = formula.sweep();
    for (std::size_t variable = 0; variable < biases.size(); ++variable) {
      if (formula.settled[variable] >= 0) continue;
      const auto [same, other] = formula.products(2 * static_cast<int>(variable), -1);
      const float is_true = (1 - same) * other, is_false = (1 - other) * same;
      const float sum = is_true + is_false + same * other;
      biases[variable] = sum == 0 ? 0 : (is_true - is_false) / sum;
      if (std::abs(biases[variable]) > 0.3F) formula.settled[variable] = biases[variable] > 0 ? 1 : 0;
    }
    for (std::size_t edge = 0; edge < formula.literals.size(); ++edge) {
      const int literal = formula.literals[edge], value = formula.settled[static_cast<std::size_t>(literal) / 2];
      if (value >= 0 && value != literal % 2) formula.satisfied[edge / 3] = 1;
    }
  }
  return {words_of(biases), words_of(formula.settled), words_of(formula.satisfied)};
}

namespace {

struct Body {
  float x, y, z, mass;
};

// A cell: its eight children by their nodes, -1 where there is none.
struct Octree {
  std::vector<Body> nodes;  // bodies, then cells
  std::vector<std::array<int, 8>> cells;
  std::vector<int> order;  // of bodies
  int bodies = 0;

  explicit Octree(const std::vector<Body>& all, float half) : nodes(all), bodies(static_cast<int>(all.size())) {
    std::vector<int> every(all.size());
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = static_cast<int>(i);
    const float scale = 524287.0F / half;
    for (const Body& b : all)
      places_.push_back({static_cast<int>((b.x + half) * scale), static_cast<int>((b.y + half) * scale),
                         static_cast<int>((b.z + half) * scale)});
    build(every, 19);
  }

 private:
  std::vector<std::array<int, 3>> places_;

  // Gives the node's number.
  int build(const std::vector<int>& inside, int bit) {
    const std::size_t cell = cells.size();
    cells.emplace_back();
    nodes.emplace_back();
    std::array<std::vector<int>, 8> parts;
    for (const int body : inside) {
      const auto& p = places_[static_cast<std::size_t>(body)];
      const int octant = (p[0] >> bit & 1) * 4 + (p[1] >> bit & 1) * 2 + (p[2] >> bit & 1);
      parts[static_cast<std::size_t>(octant)].push_back(body);
    }
    Body sum{};
    for (std::size_t octant = 0; octant < 8; ++octant) {
      int child = -1;
      if (parts[octant].size() == 1) order.push_back(child = parts[octant].front());
      if (parts[octant].size() > 1) child = build(parts[octant], bit - 1);
      cells[cell][octant] = child;
      if (child < 0) continue;
      const Body& p = nodes[static_cast<std::size_t>(child)];
      sum = {std::fma(p.mass, p.x, sum.x), std::fma(p.mass, p.y, sum.y), std::fma(p.mass, p.z, sum.z),
             sum.mass + p.mass};
    }
    nodes[static_cast<std::size_t>(bodies) + cell] = {sum.x / sum.mass, sum.y / sum.mass, sum.z / sum.mass, sum.mass};
    return bodies + static_cast<int>(cell);
  }
};

constexpr float angle = 0.5F, softening = 0.0025F, time_step = 0.0001F;

// Of a warp's bodies, which open a cell together; the last child comes first.
void add_forces(const Octree& tree, std::span<const int> warp, float half, std::vector<Body>& forces) {
  struct Entry {
    int node;
    float side;
  };
  const float root = 2 * half / angle;
  for (std::vector<Entry> stack{{tree.bodies, root * root}}; !stack.empty();) {
    const Entry at = stack.back();
    stack.pop_back();
    const Body& p = tree.nodes[static_cast<std::size_t>(at.node)];
    const auto squared = [&](int body) {
      const Body& own = tree.nodes[static_cast<std::size_t>(body)];
      const float dx = p.x - own.x, dy = p.y - own.y, dz = p.z - own.z;
      return std::fma(dx, dx, std::fma(dy, dy, std::fma(dz, dz, softening)));
    };
    if (at.node >= tree.bodies &&
        std::any_of(warp.begin(), warp.end(), [&](int body) { return squared(body) < at.side; })) {
      for (const int child : tree.cells[static_cast<std::size_t>(at.node - tree.bodies)])
        if (child >= 0) stack.push_back({child, at.side * 0.25F});
      continue;
    }
    for (const int body : warp) {
      const Body& own = tree.nodes[static_cast<std::size_t>(body)];
      const auto inverse = static_cast<float>(1 / std::sqrt(static_cast<long double>(squared(body))));
      const float pull = p.mass * (inverse * (inverse * inverse));
      Body& force = forces[static_cast<std::size_t>(body)];
      force = {std::fma(pull, p.x - own.x, force.x), std::fma(pull, p.y - own.y, force.y),
               std::fma(pull, p.z - own.z, force.z), 0};
    }
  }
}

}  // namespace

Words barnes_hut(const Snapshot& from) {
  auto bodies = values_of<Body>(from.buffers[0]), speeds = values_of<Body>(from.buffers[1]);
  bodies.resize(static_cast<std::size_t>(from.sizes[0]));
  for (int step = 0; step < from.sizes[1]; ++step) {
    float half = 0;
    for (const Body& b : bodies) half = std::max({half, std::abs(b.x), std::abs(b.y), std::abs(b.z)});
    const Octree tree(bodies, half);
    std::vector<Body> forces(bodies.size());
    const std::span<const int> order(tree.order);
    for (std::size_t at = 0; at < order.size(); at += 32)
      add_forces(tree, order.subspan(at, std::min<std::size_t>(32, order.size() - at)), half, forces);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      Body &p = bodies[i], &v = speeds[i];
      const Body& f = forces[i];
      v = {std::fma(f.x, time_step, v.x), std::fma(f.y, time_step, v.y), std::fma(f.z, time_step, v.z), v.mass};
      p = {std::fma(v.x, time_step, p.x), std::fma(v.y, time_step, p.y), std::fma(v.z, time_step, p.z), p.mass};
    }
  }
  return {words_of(bodies), words_of(speeds)};
}

std::array<std::uint32_t, 4> md5(std::span<const std::uint32_t> words) {
  std::vector<std::uint32_t> padded(words.begin(), words.end());
  padded.push_back(0x80);
  while (padded.size() % 16 != 14) padded.push_back(0);
  padded.push_back(static_cast<std::uint32_t>(32 * words.size()));
  padded.push_back(0);
  std::array<std::uint32_t, 4> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  constexpr int turns[] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  for (std::size_t chunk = 0; chunk < padded.size(); chunk += 16) {
    auto [a, b, c, d] = state;
    for (std::uint32_t i = 0; i < 64; ++i) {
      const std::uint32_t round = i / 16;
      std::uint32_t mixed = 0, word = 0;
      if (round == 0) mixed = (b & c) | (~b & d), word = i;
      if (round == 1) mixed = (b & d) | (c & ~d), word = 5 * i + 1;
      if (round == 2) mixed = b ^ c ^ d, word = 3 * i + 5;
      if (round == 3) mixed = c ^ (b | ~d), word = 7 * i;
      const auto sine = static_cast<std::uint32_t>(std::abs(std::sin(static_cast<double>(i) + 1)) * 4294967296.0);
      const std::uint32_t sum = a + mixed + sine + padded[chunk + word % 16];
      a = d, d = c, c = b, b += std::rotl(sum, turns[round * 4 + i % 4]);
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d};
  }
  return state;
}

Words store_gpu(const Snapshot& from) {
  const auto file = values_of<std::uint32_t>(from.buffers[0]);
  const auto words = static_cast<std::size_t>(from.sizes[0]) / 4;
  std::vector<std::uint32_t> hashes;
  for (std::size_t at = 0; at < file.size(); at += words)
    for (const std::uint32_t one : md5({&file[at], words})) hashes.push_back(one);
  return {hashes};
}

}  // namespace dcgn::test
