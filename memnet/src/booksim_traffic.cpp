// Traffic patterns of booksim2: those that mean the same here by name, the others by the weights of all pairs.
#include "memnet/src/booksim_parts.hpp"
#include "memnet/src/config_keys.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dcgn::memnet {

namespace {

constexpr int most_weighed = 1024;

// A pattern's name, and the lists of numbers that follow it: hotspot({1,2},{3,4}).
struct BooksimPattern {
  std::string name;
  std::vector<std::vector<int>> lists;
  bool valid = true;
};

BooksimPattern pattern_of(const std::string& text) {
  BooksimPattern made;
  const std::size_t open = text.find('(');
  made.name = text.substr(0, open);
  if (open == std::string::npos) return made;
  if (text.back() != ')') return {made.name, {}, false};
  int depth = 0;
  std::string word;
  std::vector<int> list;
  const auto take = [&] {
    int value = 0;
    if (word.empty()) return;
    made.valid = made.valid && booksim_whole(word, value);
    list.push_back(value);
    word.clear();
  };
  for (std::size_t i = open + 1; i < text.size(); ++i) {
    const char c = text[i];
    const bool last = i + 1 == text.size();
    if (c == '{') {
      ++depth;
    } else if (c == '}') {
      --depth;
    } else if (c == ',' || last) {
      take();
      if (depth != 0 && !last) continue;
      made.valid = made.valid && !list.empty();
      made.lists.push_back(std::exchange(list, {}));
    } else {
      word += c;
    }
  }
  made.valid = made.valid && depth == 0;
  return made;
}

// Whom each node sends to, with what weight.
using Shares = std::vector<std::pair<int, double>>;

class BooksimTraffic {
 public:
  BooksimTraffic(BooksimValues& values, const BooksimNetwork& network) : values_(values), network_(network) {}

  std::string toml() {
    const BooksimPattern pattern = pattern_of(values_.text("traffic"));
    const std::string& name = pattern.name;
    if (!pattern.valid) {
      values_.refuse("traffic", "a pattern, or a pattern with whole numbers, as in hotspot({1,2},{1,1})");
      return {};
    }
    if (name == "uniform") return "pattern = \"uniform\"\n";
    if (!set_digits(pattern)) return {};
    if (network_.plain_grid && pattern.lists.empty()) {
      if (name == "tornado" || name == "bitcomp") {
        if (name == "tornado") return "pattern = \"tornado\"\n";
        if (power_of_two()) return "pattern = \"bit_complement\"\n";
      }
      if (name == "neighbor") return "pattern = \"neighbour\"\n";
      if (name == "transpose" && shift() > 0) return "pattern = \"transpose\"\n";
    }
    if (name == "hotspot" && equal_rates(pattern)) return hotspots(pattern);
    if (network_.nodes > most_weighed) {
      values_.refuse("traffic", "uniform, or a network of at most " + std::to_string(most_weighed) +
                                    " nodes, whose pairs are weighed one by one");
      return {};
    }
    return matrix(pattern);
  }

 private:
  bool power_of_two() const { return (network_.nodes & (network_.nodes - 1)) == 0; }

  // Half of the bits of a node's number; 0 where they have no half.
  int shift() const {
    int bits = 0;
    while ((1 << bits) < network_.nodes) ++bits;
    return power_of_two() && bits % 2 == 0 ? bits / 2 : 0;
  }

  // The k, n and xr of tornado, neighbor and the bad patterns.
  bool set_digits(const BooksimPattern& pattern) {
    if (pattern.name != "tornado" && pattern.name != "neighbor" && pattern.name != "badperm_yarc" &&
        pattern.name != "bad_dragon") {
      return true;
    }
    const auto argument = [&](std::size_t i, const char* key) {
      const int value = i < pattern.lists.size() ? pattern.lists[i].front() : values_.whole(key, 1, 4096);
      return value > 4096 ? 0 : value;
    };
    k_ = argument(0, "k");
    n_ = argument(1, "n");
    if (pattern.name == "bad_dragon") {
      n_ = 1;
    } else {
      k_ *= argument(2, "xr");
    }
    if (k_ > 0 && n_ > 0 && std::pow(k_, n_) <= network_.nodes) return true;
    values_.refuse("traffic", "digits that the " + std::to_string(network_.nodes) + " nodes have: (k * xr)^n of them");
    return false;
  }

  static bool equal_rates(const BooksimPattern& pattern) {
    if (pattern.lists.size() < 2) return true;
    const std::vector<int>& rates = pattern.lists[1];
    return std::all_of(rates.begin(), rates.end(), [&](int rate) { return rate == rates.front() && rate > 0; });
  }

  int terminal(int node) const {
    return network_.terminals.empty() ? node : network_.terminals[static_cast<std::size_t>(node)];
  }

  bool are_nodes(const std::vector<int>& nodes) {
    if (std::all_of(nodes.begin(), nodes.end(), [&](int node) { return node >= 0 && node < network_.nodes; }))
      return true;
    values_.refuse("traffic", "nodes from 0 to " + std::to_string(network_.nodes - 1));
    return false;
  }

  std::string hotspots(const BooksimPattern& pattern) {
    if (pattern.lists.empty()) {
      values_.refuse("traffic", "hotspots by number: a random one is booksim2's own");
      return {};
    }
    if (!are_nodes(pattern.lists[0])) return {};
    std::string text;
    for (const int node : pattern.lists[0]) text += (text.empty() ? "" : ", ") + std::to_string(terminal(node));
    return "pattern = \"hotspot\"\nhotspots = [" + text + "]\nhotspot_fraction = 1\n";
  }

  // Moves each digit of base k.
  template <class Move>
  int digits(int node, Move&& move) const {
    int result = 0;
    int offset = 1;
    for (int d = 0; d < n_; ++d) {
      result += offset * move(node / offset % k_);
      offset *= k_;
    }
    return result;
  }

  // Empty where the pattern has no counterpart.
  Shares shares(const BooksimPattern& pattern, int node) const {
    const int nodes = network_.nodes;
    const std::string& name = pattern.name;
    const bool bits = power_of_two();
    if (name == "bitcomp" && bits) return {{nodes - 1 - node, 1}};
    if (name == "transpose" && shift() > 0) {
      const int side = 1 << shift();
      return {{node % side * side + node / side, 1}};
    }
    if (name == "bitrev" && bits) {
      int result = 0;
      for (int rest = nodes, from = node; rest > 1; rest /= 2, from /= 2) result = 2 * result + from % 2;
      return {{result, 1}};
    }
    if (name == "shuffle" && bits) return {{(2 * node) % nodes + 2 * node / nodes, 1}};
    if (name == "tornado") return {{digits(node, [this](int at) { return (at + (k_ + 1) / 2 - 1) % k_; }), 1}};
    if (name == "neighbor") return {{digits(node, [this](int at) { return (at + 1) % k_; }), 1}};
    if (name == "diagonal") return {{(node + 1) % nodes, 1}, {node, 2}};
    if (name == "asymmetric" && nodes > 1) return {{node % (nodes / 2), 1}, {node % (nodes / 2) + nodes / 2, 1}};
    Shares all;
    if (name == "bad_dragon") {
      const int group = 2 * k_ * k_;
      for (int i = 0; i < group; ++i) all.emplace_back((i + (node / group + 1) * group) % nodes, 1);
    }
    if (name == "badperm_yarc") {
      for (int i = 0; i < k_; ++i) all.emplace_back(i * k_ + node / k_, 1);
    }
    if (name == "background" && !pattern.lists.empty()) {
      const std::vector<int>& out = pattern.lists[0];
      for (int i = 0; i < nodes; ++i) {
        if (std::find(out.begin(), out.end(), i) == out.end()) all.emplace_back(i, 1);
      }
    }
    if (name == "hotspot") {
      const std::vector<int>& rates = pattern.lists[1];
      for (std::size_t i = 0; i < pattern.lists[0].size(); ++i) {
        all.emplace_back(pattern.lists[0][i], i < rates.size() ? rates[i] : rates.back());
      }
    }
    return all;
  }

  std::string matrix(const BooksimPattern& pattern) {
    const std::size_t nodes = static_cast<std::size_t>(network_.nodes);
    std::vector<double> weights(nodes * nodes);
    for (int node = 0; node < network_.nodes; ++node) {
      const Shares all = shares(pattern, node);
      if (all.empty()) {
        values_.refuse("traffic", "a pattern that is here and that " + std::to_string(nodes) +
                                      " nodes have: uniform, transpose, bitcomp, bitrev, shuffle, tornado, neighbor, "
                                      "diagonal, asymmetric, bad_dragon, badperm_yarc, background, hotspot");
        return {};
      }
      for (const auto& [to, weight] : all) {
        if (!are_nodes({to})) return {};
        weights[static_cast<std::size_t>(terminal(node)) * nodes + static_cast<std::size_t>(terminal(to))] += weight;
      }
    }
    std::string text = "pattern = \"matrix\"  # " + values_.text("traffic") + "\nweights = [";
    for (std::size_t i = 0; i < weights.size(); ++i) {
      text += (i % nodes == 0 ? "\n  " : " ") + number_text(weights[i]) + ",";
    }
    return text + "\n]\n";
  }

  BooksimValues& values_;
  const BooksimNetwork& network_;
  int k_ = 1;
  int n_ = 1;
};

}  // namespace

std::string booksim_traffic(BooksimValues& values, const BooksimNetwork& network) {
  const int flits = values.whole("packet_size", 1, 65535);
  const bool in_flits = values.whole("injection_rate_uses_flits", 0, 1) == 1;
  const double rate = values.real("injection_rate", 0, 1);
  const double load = in_flits ? rate : rate * flits;
  if (load > 1) {
    values.refuse("injection_rate",
                  "at most " + number_text(1.0 / flits) + " packets a cycle: a node sends a flit a cycle");
  }
  return "[traffic]\n" + BooksimTraffic(values, network).toml() + "packet_flits = " + std::to_string(flits) +
         "\nload = " + number_text(load) + "\n\n";
}

}  // namespace dcgn::memnet
