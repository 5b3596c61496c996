// Traffic patterns of booksim2: those that mean the same here by name, the others by the weights of all pairs.
#include "base/text.hpp"
#include "memnet/src/booksim_parts.hpp"
#include "memnet/src/config_keys.hpp"
#include "memnet/src/topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

namespace dcgn::memnet {

namespace {

constexpr int most_weighed = 1024;

// A pattern's name, and the numbers that follow it, a list for each argument: hotspot({1,2},{3,4}), tornado(8,2).
struct BooksimPattern {
  std::string name;
  std::vector<std::vector<int>> lists;
};

// What a pattern takes: so many arguments at most, of one number each or of several.
struct BooksimPatternKind {
  std::string_view name;
  std::size_t arguments = 0;
  bool several = false;
};
constexpr std::array pattern_kinds = {
    BooksimPatternKind{"uniform"},          BooksimPatternKind{"transpose"},
    BooksimPatternKind{"bitcomp"},          BooksimPatternKind{"bitrev"},
    BooksimPatternKind{"shuffle"},          BooksimPatternKind{"tornado", 3},
    BooksimPatternKind{"neighbor", 3},      BooksimPatternKind{"diagonal"},
    BooksimPatternKind{"asymmetric"},       BooksimPatternKind{"bad_dragon", 2},
    BooksimPatternKind{"badperm_yarc", 3},  BooksimPatternKind{"background", 1, true},
    BooksimPatternKind{"hotspot", 2, true},
};

// Nothing where the text is none.
std::optional<BooksimPattern> pattern_of(const std::string& text) {
  const std::size_t open = text.find('(');
  BooksimPattern made{text.substr(0, open), {}};
  if (open == std::string::npos) return made;
  if (text.back() != ')') return std::nullopt;
  const std::string_view all = std::string_view(text).substr(0, text.size() - 1);
  for (std::size_t at = open + 1; at <= all.size(); ++at) {  // from one comma to the next
    const bool braces = at < all.size() && all[at] == '{';
    const std::size_t close = braces ? all.find('}', at) : std::string_view::npos;
    if (braces && close == std::string_view::npos) return std::nullopt;
    const std::size_t end = std::min(all.find(',', braces ? close : at), all.size());
    if (braces && end != close + 1) return std::nullopt;
    std::vector<int> list;
    for (const std::string& word : booksim_words(all.substr(at + braces, (braces ? close : end) - at - braces), ",")) {
      if (!base::parse(word, list.emplace_back())) return std::nullopt;
    }
    if (list.empty()) return std::nullopt;
    made.lists.push_back(std::move(list));
    at = end;
  }
  return made;
}

// Whom each node sends to, with what weight.
using Shares = std::vector<std::pair<int, double>>;

class BooksimTraffic {
 public:
  BooksimTraffic(BooksimValues& values, const BooksimNetwork& network) : values_(values), network_(network) {}

  std::string toml() {
    const std::optional<BooksimPattern> read = pattern_of(values_.text("traffic"));
    if (!read) {
      values_.refuse("traffic", "a pattern, or a pattern with whole numbers, as in hotspot({1,2},{1,1})");
      return {};
    }
    const BooksimPattern& pattern = *read;
    const std::string& name = pattern.name;
    if (!check_arguments(pattern)) return {};
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
    if (name == "hotspot" && equal_shares(pattern)) return hotspots(pattern);
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

  // Notes a refusal of a name that is not here, and of arguments that the pattern does not take.
  bool check_arguments(const BooksimPattern& pattern) {
    const auto kind = std::find_if(pattern_kinds.begin(), pattern_kinds.end(),
                                   [&](const BooksimPatternKind& one) { return one.name == pattern.name; });
    const auto refuse = [this](const std::string& expected) {
      values_.refuse("traffic", expected);
      return false;
    };
    if (kind == pattern_kinds.end()) {
      std::string names;
      for (const BooksimPatternKind& one : pattern_kinds) names += (names.empty() ? "" : ", ") + std::string(one.name);
      return refuse("one of " + names + ": other ones have no counterpart here");
    }
    if (pattern.lists.size() > kind->arguments) {
      return refuse(pattern.name + " with at most " + counted(static_cast<int>(kind->arguments), "argument"));
    }
    for (const std::vector<int>& list : pattern.lists) {
      if (!kind->several && list.size() > 1) return refuse("one number for each argument of " + pattern.name);
    }
    if (!kind->several) return true;
    if (pattern.lists.empty()) return refuse("nodes by number, as in " + pattern.name + "({1,2})");
    if (!are_nodes(pattern.lists[0])) return false;
    if (pattern.lists.size() < 2) return true;
    const std::vector<int>& rates = pattern.lists[1];
    if (rates.size() > pattern.lists[0].size()) return refuse("at most a rate for each hotspot");
    if (*std::min_element(rates.begin(), rates.end()) >= 0 && *std::max_element(rates.begin(), rates.end()) > 0) {
      return true;
    }
    return refuse("rates of 0 or more, and one above 0");
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
    if (pattern.name == "bad_dragon" && 2LL * k_ * k_ > network_.nodes) {
      values_.refuse("traffic", "groups of at most " + std::to_string(network_.nodes) + " nodes: 2 * k^2 of them");
      return false;
    }
    if (k_ > 0 && n_ > 0 && std::pow(k_, n_) <= network_.nodes) return true;
    values_.refuse("traffic", "digits that the " + std::to_string(network_.nodes) + " nodes have: (k * xr)^n of them");
    return false;
  }

  // Of hotspots, each of which is there once.
  static bool equal_shares(const BooksimPattern& pattern) {
    const std::vector<int>& spots = pattern.lists[0];
    if (std::set<int>(spots.begin(), spots.end()).size() < spots.size()) return false;
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
    if (name == "background") {
      const std::vector<int>& out = pattern.lists[0];
      for (int i = 0; i < nodes; ++i) {
        if (std::find(out.begin(), out.end(), i) == out.end()) all.emplace_back(i, 1);
      }
    }
    if (name == "hotspot") {
      const std::vector<int> rates = pattern.lists.size() > 1 ? pattern.lists[1] : std::vector<int>{1};
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
        values_.refuse("traffic", "a pattern that " + std::to_string(nodes) + " nodes have");
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
