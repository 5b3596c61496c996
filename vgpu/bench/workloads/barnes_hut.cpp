// N bodies by the method of Barnes and Hut: of each step the host knows no more than where levels of the tree begin.
#include "vgpu/bench/workloads/common.hpp"

#include <dcgn/error.hpp>

namespace dcgn::workloads {

namespace {

class BarnesHut final : public Program {
 public:
  BarnesHut(VirtualGpu& gpu, int scale)
      : Program(gpu, "barnes_hut"),
        bodies_(scaled(scale, std::size_t{8192}, std::size_t{1000}, std::size_t{8192})),
        bound_(kernel("bound_bodies")),
        place_(kernel("place_bodies")),
        enter_(kernel("enter_level")),
        open_(kernel("open_cells")),
        sum_(kernel("sum_masses")),
        sort_(kernel("sort_bodies")),
        force_(kernel("add_forces")),
        move_(kernel("move_bodies")) {
    nodes_ = allocate<Vector>(bodies_ + most_cells());
    speeds_ = allocate<Vector>(bodies_);
    forces_ = allocate<Vector>(bodies_);
    places_ = allocate<Place>(bodies_);
    for (int** one : {&slots_, &order_}) *one = allocate<int>(bodies_);
    for (int** one : {&children_, &counts_}) *one = allocate<int>(8 * most_cells());
    starts_ = allocate<int>(most_cells());
    cells_ = allocate<int>(1);
    half_ = allocate<unsigned>(1);
  }
  // A cluster that is denser towards its middle, at rest.
  void reset() override {
    Numbers numbers(25);
    std::vector<Vector> nodes(bodies_);
    for (Vector& p : nodes) {
      float squared = 2;
      while (squared > 1) {
        p = {2 * numbers.unit() - 1, 2 * numbers.unit() - 1, 2 * numbers.unit() - 1, 0.5F + numbers.unit()};
        squared = p.x * p.x + p.y * p.y + p.z * p.z;
      }
      p.x *= squared, p.y *= squared, p.z *= squared;
    }
    upload(nodes_, nodes);
    gpu().fill(speeds_, 0, bodies_ * sizeof(Vector));
  }
  void run(virtual_gpu::Stream& stream) override {
    for (int step = 0; step < steps; ++step) {
      const std::vector<Level> levels = build(stream);
      for (std::size_t i = levels.size(); i-- != 0;) {
        const Level& its = levels[i];
        launch(stream, sum_, each(its.end - its.begin), its.begin, its.end, bodies(), children_, nodes_);
      }
      gpu().fill(stream, starts_, 0, sizeof(int));
      for (const Level& its : levels)
        launch(stream, sort_, each(its.end - its.begin), its.begin, its.end, bodies(), children_, counts_, starts_,
               order_);
      launch(stream, force_, {.grid = blocks_for(bodies_, 32), .block = 32}, nodes_, bodies(), children_, order_, half_,
             angle, softening, forces_);
      launch(stream, move_, each(bodies()), nodes_, speeds_, forces_, bodies(), time_step);
    }
  }
  std::vector<Result> results() const override {
    return {result("bodies", nodes_, bodies_), result("speeds", speeds_, bodies_)};
  }

 private:
  struct Vector {
    float x, y, z, w;
  };
  struct Place {
    int x, y, z;
  };
  struct Level {
    int begin, end;  // of its cells
  };

  static constexpr int steps = 2, most_levels = 20;
  static constexpr float angle = 0.5F, softening = 0.0025F, time_step = 0.0001F;

  std::vector<int> sizes() const override { return {bodies(), steps}; }
  int bodies() const { return static_cast<int>(bodies_); }
  std::size_t most_cells() const { return 2 * bodies_; }
  static Launch each(int items) {
    return {.grid = blocks_for(static_cast<std::uint64_t>(items), threads), .block = threads};
  }

  // The tree without masses.
  std::vector<Level> build(virtual_gpu::Stream& stream) {
    gpu().fill(stream, half_, 0, sizeof(unsigned));
    gpu().fill(stream, children_, 0xff, 8 * most_cells() * sizeof(int));
    gpu().fill(stream, counts_, 0, 8 * most_cells() * sizeof(int));
    launch(stream, bound_, each(bodies()), nodes_, bodies(), half_);
    launch(stream, place_, each(bodies()), nodes_, bodies(), half_, places_, slots_);
    int cells = 1;
    gpu().fill(stream, cells_, 0, sizeof(int));
    gpu().fill(stream, cells_, 1, 1);  // little-endian
    std::vector<Level> levels;
    for (int level = 0, begin = 0; begin != cells; ++level) {
      if (level == most_levels || static_cast<std::size_t>(cells) > most_cells())
        throw Error(Code::configuration, "bench", "bodies at one place, expected a tree of at most 20 levels");
      const int end = cells;
      launch(stream, enter_, each(bodies()), places_, bodies(), level, children_, counts_, slots_);
      launch(stream, open_, each(8 * (end - begin)), begin, end, bodies(), children_, counts_, cells_);
      download(stream, &cells, cells_, 1);
      levels.push_back({begin, end});
      begin = end;
    }
    // Those that are alone in the last level.
    launch(stream, enter_, each(bodies()), places_, bodies(), static_cast<int>(levels.size()), children_, counts_,
           slots_);
    return levels;
  }

  std::size_t bodies_;
  virtual_gpu::Kernel bound_, place_, enter_, open_, sum_, sort_, force_, move_;
  Vector *nodes_, *speeds_, *forces_;
  Place* places_;
  int *slots_ = nullptr, *order_ = nullptr, *children_ = nullptr, *counts_ = nullptr, *starts_, *cells_;
  unsigned* half_;
};

}  // namespace

std::vector<WorkloadKind> tree_workloads() { return {{"barnes-hut", "BH", make_workload<BarnesHut>, 0, 0}}; }

}  // namespace dcgn::workloads
