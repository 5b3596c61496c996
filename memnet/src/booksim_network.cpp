// Topologies and routing functions of booksim2.
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "memnet/src/booksim_parts.hpp"
#include "memnet/src/fail.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <utility>

namespace dcgn::memnet {

namespace {

constexpr int most_nodes = 1 << 20;

struct BooksimRoute {
  std::string_view topology;
  std::string_view function;
  std::string_view toml;
};
constexpr std::array routes = {
    BooksimRoute{"mesh", "dim_order", "algorithm = \"minimal\"\n"},
    BooksimRoute{"mesh", "dor", "algorithm = \"minimal\"\n"},
    BooksimRoute{"mesh", "valiant", "algorithm = \"valiant\"\n"},
    BooksimRoute{"torus", "dim_order", "algorithm = \"minimal\"\n"},
    BooksimRoute{"torus", "valiant", "algorithm = \"valiant\"\n"},
    BooksimRoute{"cmesh", "dor_no_express", "algorithm = \"minimal\"\n"},
    BooksimRoute{"fly", "dest_tag", "algorithm = \"minimal\"\n"},
    BooksimRoute{"flatfly", "ran_min", "algorithm = \"minimal\"\n"},
    BooksimRoute{"flatfly", "valiant", "algorithm = \"valiant\"\n"},
    BooksimRoute{"flatfly", "ugal", "algorithm = \"ugal\"\nugal_queues = \"channel\"\nugal_threshold = 2\n"},
    BooksimRoute{"dragonflynew", "min", "algorithm = \"minimal\"\n"},
    BooksimRoute{"dragonflynew", "ugal", "algorithm = \"ugal\"\nugal_queues = \"channel\"\nugal_threshold = 30\n"},
    BooksimRoute{"fattree", "nca", "algorithm = \"minimal\"\n"},
    BooksimRoute{"anynet", "min", "algorithm = \"minimal\"\n"},
};

std::string joined_with(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string routing_of(BooksimValues& values, const std::string& topology) {
  const std::string function = values.text("routing_function");
  std::set<std::string> functions;
  for (const BooksimRoute& one : routes) {
    if (one.topology != topology) continue;
    if (one.function == function) return "[routing]\n" + std::string(one.toml) + "\n";
    functions.emplace(one.function);
  }
  values.refuse("routing_function", "one of " + joined_with(functions) + " with topology = " + topology +
                                        ": other ones have no counterpart here");
  return {};
}

// base^exponent, or most_nodes + 1 where it is more.
std::int64_t booksim_power(int base, int exponent) {
  std::int64_t result = 1;
  for (int i = 0; i < exponent && result <= most_nodes; ++i) result *= base;
  return result;
}

std::string extents_of(int k, int n) {
  std::string text = "extents = [";
  for (int i = 0; i < n; ++i) text += (i > 0 ? ", " : "") + std::to_string(k);
  return text + "]\n";
}

// booksim2 numbers nodes of routers with several row by row of the whole field: xr by yr of a router, `columns` routers
// a row.
std::vector<int> tiled(int routers, int columns, int xr, int yr) {
  std::vector<int> terminals(static_cast<std::size_t>(routers) * xr * yr);
  for (int r = 0; r < routers; ++r) {
    for (int y = 0; y < yr; ++y) {
      for (int x = 0; x < xr; ++x) {
        const int node = columns * xr * (yr * (r / columns) + y) + xr * (r % columns) + x;
        terminals[static_cast<std::size_t>(node)] = r * xr * yr + y * xr + x;
      }
    }
  }
  return terminals;
}

struct AnyLink {
  int latency = 0;
  int line = 0;
  bool named = false;  // its line says it, and not that of the other end
};

// The file of anynet: `router 0 node 0 router 1 5` connects router 0 with node 0, and with router 1 by 5 cycles; back
// from router 1 it is one cycle unless router 1's line says otherwise.
class AnyNetwork {
 public:
  explicit AnyNetwork(const std::string& file) : file_(file) {
    base::each_line(base::read_configuration(file, file), [this](std::string_view line, int number) {
      line_ = number;
      read(booksim_words(line, " \t\r"));
    });
    for (const auto& [ends, link] : links_) {
      const AnyLink& back = links_.at({ends.second, ends.first});
      if (back.latency == link.latency) continue;
      const AnyLink& named = link.named ? link : back;
      fail("configuration", file_ + ":" + std::to_string(named.line) + ": routers " + std::to_string(ends.first) +
                                " and " + std::to_string(ends.second) + " are " + std::to_string(link.latency) +
                                " cycles apart, but " + std::to_string(back.latency) +
                                " the other way, expected one latency: each router's line has to give it");
    }
    check_numbers("router", routers_);
    std::set<int> nodes;
    for (const auto& [node, router] : nodes_) nodes.insert(node);
    check_numbers("node", nodes);
  }

  int nodes() const { return static_cast<int>(nodes_.size()); }

  std::string toml() const {
    std::string text = "kind = \"graph\"\nrouters = " + std::to_string(routers_.size()) + "\nchannels = [";
    bool first = true;
    for (const auto& [ends, link] : links_) {
      if (ends.first > ends.second) continue;
      text += first ? "" : ", ";
      first = false;
      const std::string from = std::to_string(ends.first);
      const std::string to = std::to_string(ends.second);
      if (link.latency == 1) {
        text.append("[").append(from).append(", ").append(to).append("]");
        continue;
      }
      text.append("{from = ").append(from).append(", to = ").append(to).append(", latency = \"");
      text.append(std::to_string(link.latency - 1)).append(" cycles\"}");
    }
    text += "]\nterminals = [";
    for (const auto& [node, router] : nodes_) text += (node > 0 ? ", [" : "[") + std::to_string(router) + "]";
    return text + "]\n\n";
  }

 private:
  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    fail("configuration", file_ + ":" + std::to_string(line_) + ": " + found + ": expected " + expected);
  }

  int number(const std::vector<std::string>& words, std::size_t i, int least) const {
    int value = 0;
    if (i >= words.size()) refuse("the line ends", "a number");
    if (!base::parse(words[i], value) || value < least || value > most_nodes) {
      refuse(words[i], "a number from " + std::to_string(least) + " to " + std::to_string(most_nodes));
    }
    return value;
  }

  void read(const std::vector<std::string>& words) {
    if (words.empty()) return;
    if (words[0] != "router") refuse(words[0], "router NUMBER, then what it is connected to");
    const int router = number(words, 1, 0);
    routers_.insert(router);
    for (std::size_t i = 2; i < words.size();) {
      const std::string& type = words[i];
      if (type != "router" && type != "node") refuse(type, "router NUMBER [CYCLES] or node NUMBER");
      const int other = number(words, i + 1, 0);
      i += 2;
      int latency = 1;
      const bool given = i < words.size() && words[i] != "router" && words[i] != "node";
      if (given) latency = number(words, i++, 1);
      if (type == "node") {
        if (latency != 1)
          refuse("node " + std::to_string(other) + " " + std::to_string(latency), "a node a cycle away");
        if (!nodes_.emplace(other, router).second && nodes_.at(other) != router) {
          refuse("node " + std::to_string(other),
                 "a node of one router: it is at router " + std::to_string(nodes_.at(other)) + " already");
        }
        continue;
      }
      if (other == router) refuse("router " + std::to_string(other), "another router");
      routers_.insert(other);
      links_[{router, other}] = {latency, line_, true};
      links_.insert({{other, router}, {1, line_, false}});
    }
  }

  void check_numbers(const char* what, const std::set<int>& numbers) const {
    int next = 0;
    for (const int number : numbers) {
      if (number != next) {
        fail("configuration", file_ + ": " + what + " " + std::to_string(number) + " without " + what + " " +
                                  std::to_string(next) + ", expected numbers from 0 on");
      }
      ++next;
    }
    if (next == 0) fail("configuration", file_ + ": no " + what + ", expected one or more");
  }

  std::string file_;
  int line_ = 0;
  std::set<int> routers_;
  std::map<int, int> nodes_;  // to routers
  std::map<std::pair<int, int>, AnyLink> links_;
};

// Nodes by a router, with x, y, xr and yr where a router has several.
void read_grid(BooksimValues& values, BooksimNetwork& made, const std::string& topology, int k, int n) {
  const bool noc = values.whole("use_noc_latency", 0, 1) == 1;
  const int routers = static_cast<int>(booksim_power(k, n));
  made.nodes = routers;
  if (topology == "mesh" || topology == "torus") {
    made.plain_grid = true;
    made.toml += "kind = \"" + topology + "\"\n" + extents_of(k, n);
    if (topology == "torus" && noc) made.toml += "extra_latency = 1  # use_noc_latency\n";
    made.toml += "\n";
    return;
  }
  const int c = values.whole("c", 1, 64);
  const bool mesh = topology == "cmesh";
  if (mesh && n != 2) values.refuse("n", "2 with topology = cmesh");
  if (mesh && c != 4) values.refuse("c", "4 with topology = cmesh");
  const int xr = mesh ? 2 : values.whole("xr", 1, 8);
  const int yr = mesh ? 2 : values.whole("yr", 1, 8);
  if (!mesh && xr * yr != c) values.refuse("c", "xr * yr, which is " + std::to_string(xr * yr));
  if (!mesh && xr != yr) values.refuse("yr", "xr, which is " + std::to_string(xr));
  if (!mesh && noc && n > 2) values.refuse("use_noc_latency", "0 with n = " + std::to_string(n));
  if (!mesh && noc && xr > 3) values.refuse("xr", "at most 3 with use_noc_latency: nodes here are a cycle away");
  const int columns = mesh ? k : values.whole("x", 1, most_nodes);
  if (!mesh && columns != k) values.refuse("x", "k, which is " + std::to_string(k));
  // booksim2 stops where x and y differ; of a file without y its default is not held against it.
  if (!mesh && values.given().count("y") > 0 && values.whole("y", 1, most_nodes) != columns)
    values.refuse("y", "x, which is " + std::to_string(columns));
  if (routers > most_nodes / c) values.refuse("c", "at most " + std::to_string(most_nodes) + " nodes");
  if (xr * yr != c || columns != k || routers > most_nodes / c) return;
  made.nodes = routers * c;
  if (c > 1) made.terminals = tiled(routers, columns, xr, yr);
  made.toml += std::string("kind = \"") + (mesh ? "mesh" : "flattened_butterfly") + "\"\n" + extents_of(k, n);
  made.toml += "concentration = " + std::to_string(c) + "\n";
  if (noc) made.toml += mesh ? "extra_latency = 1  # use_noc_latency\n" : "on_chip = true  # use_noc_latency\n";
  made.toml += "\n";
}

}  // namespace

BooksimNetwork booksim_network(BooksimValues& values) {
  BooksimNetwork made;
  made.toml = "[topology]\n";
  const std::string topology = values.text("topology");
  std::set<std::string> topologies;
  for (const BooksimRoute& one : routes) topologies.emplace(one.topology);
  if (topologies.count(topology) == 0) {
    values.refuse("topology", "one of " + joined_with(topologies) +
                                  ": other ones have no counterpart here, but anynet "
                                  "takes any graph");
    return made;
  }
  if (topology == "anynet") {
    const std::string file = values.text("network_file");
    if (file.empty()) {
      values.refuse("network_file", "the file of the network");
      return made;
    }
    const AnyNetwork network(file);
    made.nodes = network.nodes();
    made.file = file;
    made.toml += network.toml() + routing_of(values, topology);
    return made;
  }
  const int k = values.whole("k", topology == "dragonflynew" ? 1 : 2, 4096);
  const int n = values.whole("n", 1, topology == "dragonflynew" ? 1 : 16);
  if (booksim_power(k, n) > most_nodes) {
    values.refuse("k", "at most " + std::to_string(most_nodes) + " routers or nodes");
    return made;
  }
  if (topology == "dragonflynew") {
    made.toml += "kind = \"dragonfly\"\nnodes_per_router = " + std::to_string(k) +
                 "\nrouters_per_group = " + std::to_string(2 * k) + "\nglobal_channels = " + std::to_string(k) + "\n\n";
    made.nodes = static_cast<int>(std::min<std::int64_t>(2LL * k * k * (2LL * k * k + 1), most_nodes));
  } else if (topology == "fly" || topology == "fattree") {
    made.toml += std::string("kind = \"") + (topology == "fly" ? "butterfly" : "fat_tree") +
                 "\"\narity = " + std::to_string(k) + "\nlevels = " + std::to_string(n) + "\n\n";
    made.nodes = static_cast<int>(booksim_power(k, n));
  } else {
    read_grid(values, made, topology, k, n);
  }
  made.toml += routing_of(values, topology);
  return made;
}

}  // namespace dcgn::memnet
