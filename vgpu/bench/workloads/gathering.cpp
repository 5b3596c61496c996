// Workloads whose blocks write to the same places, by atomics: breadth-first search, k-means, histograms.
#include "vgpu/bench/workloads/common.hpp"

namespace dcgn::workloads {

namespace {

class BreadthFirst final : public Program {
 public:
  BreadthFirst(VirtualGpu& gpu, int scale)
      : Program(gpu, "breadth_first"),
        nodes_(scaled(scale, std::size_t{1} << 18, std::size_t{1} << 12, std::size_t{1} << 20)),
        step_(kernel("bfs_level")) {
    first_ = allocate_input<int>(nodes_ + 1);
    edges_ = allocate_input<int>(nodes_ * degree);
    level_ = allocate<int>(nodes_);
    for (int*& one : frontier_) one = allocate<int>(nodes_);
    size_ = allocate<int>(1);
    std::vector<int> first(nodes_ + 1), edges(nodes_ * degree);
    for (std::size_t node = 0; node <= nodes_; ++node) first[node] = static_cast<int>(node * degree);
    Numbers numbers(14);
    for (int& edge : edges) edge = static_cast<int>(numbers.below(static_cast<std::uint32_t>(nodes_)));
    upload(first_, first);
    upload(edges_, edges);
  }
  void reset() override {
    gpu().fill(level_, 0xff, nodes_ * sizeof(int));
    const int root = 0;
    gpu().copy(level_, &root, sizeof root);
    gpu().copy(frontier_[0], &root, sizeof root);
  }
  void run(virtual_gpu::Stream& stream) override {
    int size = 1;
    for (int level = 0; size != 0; ++level) {
      gpu().fill(stream, size_, 0, sizeof(int));
      launch(stream, step_, {.grid = blocks_for(static_cast<std::uint64_t>(size), threads), .block = threads}, first_,
             edges_, level_, level, frontier_[level % 2], size, frontier_[(level + 1) % 2], size_);
      gpu().copy(stream, &size, size_, sizeof size);
      stream.synchronize();
    }
  }
  // The order within a frontier is any; a node's level is not.
  std::vector<Result> results() const override { return {result("level", level_, nodes_)}; }

 private:
  static constexpr std::size_t degree = 8;
  std::size_t nodes_;
  virtual_gpu::Kernel step_;
  int *first_, *edges_, *level_, *frontier_[2], *size_;
};

class KMeans final : public Program {
 public:
  KMeans(VirtualGpu& gpu, int scale)
      : Program(gpu, "k_means"),
        points_(scaled(scale, std::size_t{1} << 20, std::size_t{1} << 13, std::size_t{494020})),
        step_(kernel("k_means")) {
    coordinates_ = allocate_input<float>(4 * points_);
    nearest_ = allocate<int>(points_);
    sums_ = allocate<float>(centres);
    counts_ = allocate<unsigned>(centres);
    upload(coordinates_, random_floats(4 * std::min<std::size_t>(points_, 250'007), -1, 1, 15), 4 * points_);
    write_constant("centres", random_floats(4 * centres, -1, 1, 16));
  }
  void reset() override {
    gpu().fill(nearest_, 0xff, points_ * sizeof(int));
    gpu().fill(sums_, 0, centres * sizeof(float));
    gpu().fill(counts_, 0, centres * sizeof(unsigned));
  }
  void run(virtual_gpu::Stream& stream) override {
    launch(stream, step_, {.grid = blocks_for(points_, threads), .block = threads}, coordinates_,
           static_cast<int>(points_), centres, nearest_, sums_, counts_);
  }
  // Sums of some 30,000 floats of both signs that cancel: what the order does to them is bounded by their number.
  std::vector<Result> results() const override {
    return {result("nearest", nearest_, points_), result("counts", counts_, centres),
            result("sums", sums_, centres, 1e-2)};
  }

 private:
  static constexpr int centres = 32;
  std::size_t points_;
  virtual_gpu::Kernel step_;
  float *coordinates_, *sums_;
  int* nearest_;
  unsigned* counts_;
};

// A histogram, which counts in a device variable too, the largest value, and a queue of work.
class Histogram final : public Program {
 public:
  Histogram(VirtualGpu& gpu, int scale)
      : Program(gpu, "histogram"),
        n_(scaled(scale, std::size_t{16} << 20, std::size_t{1} << 16, std::size_t{16} << 20)),
        // Blocks grow with the data: 1,024 of them fill one GPU, and their threads, each of which waits for a byte at a
        // time, would not end sooner on two.
        blocks_(static_cast<unsigned>(scaled(scale, 64, 16, 64))),
        items_(fixed(scale, 4096U, 48U, 4096U)),
        count_(kernel("histogram")),
        largest_(kernel("largest")),
        queue_(kernel("work_queue")) {
    data_ = allocate_input<unsigned char>(n_);
    bins_ = allocate<unsigned>(256);
    floats_ = allocate<float>(floats());
    largest_value_ = allocate<float>(1);
    next_ = allocate<unsigned>(1);
    Numbers numbers(17);
    std::vector<unsigned char> content(std::min(pattern, n_));
    for (unsigned char& c : content) c = static_cast<unsigned char>(numbers.below(16) * numbers.below(17));
    upload(data_, content, n_);
  }
  void reset() override {
    const unsigned long long none = 0;
    module().write("values_seen", &none, sizeof none);
    gpu().fill(bins_, 0, 256 * sizeof(unsigned));
    gpu().fill(largest_value_, 0, sizeof(float));
    gpu().fill(next_, 0, sizeof(unsigned));
    upload(floats_, random_floats(floats(), 0, 1, 18));
  }
  void run(virtual_gpu::Stream& stream) override {
    launch(stream, count_, {.grid = blocks_, .block = 256}, data_, static_cast<unsigned>(n_), bins_);
    launch(stream, queue_, {.grid = blocks_ / 2, .block = threads}, next_, items_, floats_);
    launch(stream, largest_, {.grid = items_, .block = threads}, floats_, static_cast<int>(floats()), largest_value_);
  }
  std::vector<Result> results() const override {
    return {result("bins", bins_, 256),
            result("values_seen", static_cast<const unsigned long long*>(module().address("values_seen")), 1),
            result("floats", floats_, floats()), result("largest", largest_value_, 1)};
  }
  double bytes_moved() const override { return static_cast<double>(n_); }

 private:
  std::vector<int> sizes() const override { return {static_cast<int>(blocks_)}; }
  std::size_t floats() const { return std::size_t{items_} * threads; }

  std::size_t n_;
  unsigned blocks_, items_;
  virtual_gpu::Kernel count_, largest_, queue_;
  unsigned char* data_;
  unsigned *bins_, *next_;
  float *floats_, *largest_value_;
};

}  // namespace

std::vector<WorkloadKind> gathering_workloads() {
  return {{"breadth-first", "BFS with a queue", make_workload<BreadthFirst>, 4, 64},
          {"k-means", "KMN with atomics", make_workload<KMeans>, 48, 500},
          {"histogram", "not among them", make_workload<Histogram>, 60, 250}};
}

}  // namespace dcgn::workloads
