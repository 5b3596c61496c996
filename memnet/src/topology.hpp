// A network as a graph: routers, the channels between them, and the terminals that talk over them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcgn::memnet {

// What a terminal is. Nodes talk to nodes; GPUs and CPUs to memory cubes (HMCs) and back. Cubes never talk to cubes
// (section V.B); processors talk to processors where Topology::processors_talk() says so.
enum class TerminalKind : std::uint8_t { node, gpu, cpu, hmc };
std::string_view to_string(TerminalKind kind) noexcept;

// "1 GPU", "4 GPUs".
std::string counted(int count, std::string_view what);

// One direction of a channel, of routers or of a terminal.
struct Link {
  int extra_latency = 0;      // cycles beyond the one that every link takes
  double bandwidth = 1.0;     // flits per cycle, in (0, 1]; what is wider is several channels in parallel
  bool serdes = false;        // leaves the chip: Parameters::serdes_ns is added
  bool pass_through = false;  // may be forwarded to the next pass-through channel past SerDes and router (section V.C)
};

struct Router {
  std::string name;
  std::vector<int> coordinates;  // in the dimensions of the topology's shape; empty where there is none
  int cluster = -1;              // of the GPU or CPU whose local HMC this is
  int slice = -1;
  double x = 0;  // where a picture shows it; the unit is the distance of neighbours
  double y = 0;
};

// Directed: channel c and channel c ^ 1 are the two directions of one channel. A one-way channel lacks the second.
struct Channel {
  int from = 0;  // routers
  int to = 0;
  Link link;
  bool missing = false;
};

// A channel from a terminal to a router, and one back, from the same router but in one-way networks.
struct Port {
  int router = 0;
  Link link;
  int exit = 0;  // the router that it comes back from
};

struct Terminal {
  std::string name;
  TerminalKind kind = TerminalKind::node;
  int cluster = -1;
  std::vector<Port> ports;  // an HMC's ports are its logic layer's, all on its own router
};

// How routers with coordinates are connected, which says how dimension-order routing goes.
enum class ShapeKind : std::uint8_t {
  irregular,  // none: routes are shortest paths, from a table
  mesh,
  torus,
  flattened,  // all pairs of a dimension are connected
};

// Dimensions are routed in the order of `extents`. Where `sliced`, each Router::slice is a grid of its own, without
// channels to others. A `broken` grid lacks channels, and is routed as an irregular one.
struct Shape {
  ShapeKind kind = ShapeKind::irregular;
  std::vector<int> extents;
  bool sliced = false;
  bool broken = false;
};

class Topology {
 public:
  explicit Topology(std::string name, Shape shape = {}) : name_(std::move(name)), shape_(std::move(shape)) {}

  // Each returns the new index. Throws Error(configuration) for a router or terminal that is not there, a channel from
  // a router to itself, a bandwidth outside (0, 1], a negative latency.
  int add_router(Router router);
  int add_channel(int from, int to, const Link& link = {});  // both directions; the index of the first
  int add_one_way(int from, int to, const Link& link = {});
  int add_terminal(std::string name, TerminalKind kind, int cluster = -1);
  // The index of the terminal's new port; the second form: into the network at one router, out of it at another.
  int attach(int terminal, int router, const Link& link = {}) { return attach(terminal, router, router, link); }
  int attach(int terminal, int entry, int exit, const Link& link);

  // The pass-through path of a slice: routers in order, connected by pass-through channels. Packets from and to CPUs
  // take it instead of the shortest path (section V.C).
  void add_overlay(std::vector<int> routers);
  // Takes away one channel between two routers, both directions, as if it had failed. Later channels move up by two.
  // Throws Error(configuration) where there is none, and where an overlay needs it.
  void remove_channel(int from, int to);
  // Routes in place of shortest paths: by target and router, the next router, -1 where there is none. Those of all
  // pairs that may talk must arrive, over channels that are there; channels must not change afterwards.
  void set_next_routers(std::vector<std::int32_t> next) { next_routers_ = std::move(next); }
  const std::vector<std::int32_t>& next_routers() const { return next_routers_; }
  void set_processors_talk(bool talk) { processors_talk_ = talk; }

  const std::string& name() const { return name_; }
  const Shape& shape() const { return shape_; }
  const std::vector<Router>& routers() const { return routers_; }
  const std::vector<Channel>& channels() const { return channels_; }  // directed
  const std::vector<Terminal>& terminals() const { return terminals_; }
  const std::vector<std::vector<int>>& overlays() const { return overlays_; }
  bool processors_talk() const { return processors_talk_; }

  // Whether packets may go from one terminal to the other.
  bool may_talk(int from, int to) const;

  // Throws Error(configuration): no router, no terminal, a terminal without a port, a pair that may talk without a path
  // (named), coordinates that do not fit the shape.
  void validate() const;

  // Whether some channel has one direction alone.
  bool one_way() const;

  // Channels between routers, as Figure 12 counts them; those of terminals (HMCs' own ports left out);
  // and those between routers of one cluster.
  int channel_count() const { return static_cast<int>(channels_.size() / 2); }
  int terminal_channel_count() const;
  int intra_cluster_channel_count() const;

  // Channel indices that leave each router, and that come to it, in the same order of channels.
  std::vector<std::vector<int>> outputs() const;
  std::vector<std::vector<int>> inputs() const;

 private:
  bool passes_through(int from, int to) const;  // a pass-through channel
  void check_one_way_paths() const;

  std::string name_;
  Shape shape_;
  std::vector<Router> routers_;
  std::vector<Channel> channels_;
  std::vector<Terminal> terminals_;
  std::vector<std::vector<int>> overlays_;
  std::vector<std::int32_t> next_routers_;
  bool processors_talk_ = false;
};

}  // namespace dcgn::memnet
