// Cannon's algorithm with NCCL: tiles move by ncclSend and ncclRecv in a stream of their own while others are
// multiplied.
//   dcgn_peer_nccl_cannon --gpus G --size N --steps PRODUCTS
#include "apps/cannon/cannon.hpp"
#include "bench/peers/cannon_kernel.hpp"
#include "bench/peers/nccl_app.hpp"

#include <dcgn/cart.hpp>

#include <algorithm>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

class Product {
 public:
  // lines: begin
  Product(std::vector<NcclGpu>& gpus, int size, int across)
      : gpus_(gpus), size_(size), n_(size / across), grid_({across, across}, {true, true}) {
    width_ = cannon_width(n_, gpus[0].multiprocessors);
    for (const NcclGpu& gpu : gpus_) {
      Memory& m = memory_.emplace_back();
      for (int k = 0; k < 2; ++k) {
        m.a[k] = allocate<float>(gpu, elements());
        m.b[k] = allocate<float>(gpu, elements());
      }
      m.c = allocate<float>(gpu, elements());
    }
  }

  void fill() {
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const int row = grid_.coordinate(static_cast<int>(g), 0), column = grid_.coordinate(static_cast<int>(g), 1);
      const Launch shape = fill_launch();
      launch(gpus_[g], shape.grid.x, shape.block.x, 0, FillTiles{}, size_, row * n_, column * n_, n_, memory_[g].a[0],
             memory_[g].b[0], memory_[g].c);
    }
  }

  void enqueue() {
    const int across = grid_.length(0);
    int here = 0;
    if (across > 1) {
      move(here, true);
      await();
      here = 1;
    }
    for (int step = 0; step < across; ++step, here = 1 - here) {
      if (step + 1 < across) move(here, false);
      for (std::size_t g = 0; g < gpus_.size(); ++g) {
        const Memory& m = memory_[g];
        const Launch shape = cannon_launch(n_, width_);
        launch(gpus_[g], shape.grid.x, shape.block.x, shape.shared_bytes, MultiplyTiles{},
               static_cast<const float*>(m.a[here]), static_cast<const float*>(m.b[here]), m.c, n_, width_);
      }
      if (step + 1 < across) await();
    }
  }

 private:
  // Begins to move all tiles from one copy to the other: to where the algorithm starts, or a step on.
  void move(int here, bool align) {
    for (const NcclGpu& gpu : gpus_) {
      gpu.use();
      check(cudaEventRecord(gpu.ready, gpu.stream), "cudaEventRecord");
      check(cudaStreamWaitEvent(gpu.beside, gpu.ready, 0), "cudaStreamWaitEvent");
    }
    check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const int me = static_cast<int>(g), there = 1 - here;
      const Cart::Shift left = grid_.shift(me, 1, align ? -grid_.coordinate(me, 0) : -1);
      const Cart::Shift up = grid_.shift(me, 0, align ? -grid_.coordinate(me, 1) : -1);
      pass(g, memory_[g].a[here], memory_[g].a[there], left);
      pass(g, memory_[g].b[here], memory_[g].b[there], up);
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    for (const NcclGpu& gpu : gpus_) {
      gpu.use();
      check(cudaEventRecord(gpu.moved, gpu.beside), "cudaEventRecord");
    }
  }
  void pass(std::size_t g, const float* from, float* to, Cart::Shift way) {
    check(ncclSend(from, elements(), ncclFloat, way.to, gpus_[g].comm, gpus_[g].beside), "ncclSend");
    check(ncclRecv(to, elements(), ncclFloat, way.from, gpus_[g].comm, gpus_[g].beside), "ncclRecv");
  }
  void await() {
    for (const NcclGpu& gpu : gpus_) {
      gpu.use();
      check(cudaStreamWaitEvent(gpu.stream, gpu.moved, 0), "cudaStreamWaitEvent");
    }
  }
  // lines: end

 public:
  std::vector<float> result() const {
    const auto size = static_cast<std::size_t>(size_), n = static_cast<std::size_t>(n_);
    std::vector<float> c(size * size), tile(elements());
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      gpus_[g].use();
      check(cudaMemcpy(tile.data(), memory_[g].c, tile.size() * sizeof(float), cudaMemcpyDefault), "cudaMemcpy");
      const auto row = static_cast<std::size_t>(grid_.coordinate(static_cast<int>(g), 0));
      const auto column = static_cast<std::size_t>(grid_.coordinate(static_cast<int>(g), 1));
      for (std::size_t r = 0; r < n; ++r)
        std::copy_n(tile.data() + r * n, n, c.data() + (row * n + r) * size + column * n);
    }
    return c;
  }

 private:
  struct Memory {
    float *a[2], *b[2], *c;
  };
  std::size_t elements() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }

  std::vector<NcclGpu>& gpus_;
  int size_, n_, width_ = 0;
  Cart grid_;
  std::vector<Memory> memory_;
};

bench::AppRow measure(const AppArguments& a) {
  int across = 1;
  while (across * across < a["gpus"]) ++across;
  if (across * across != a["gpus"] || a["size"] % across)
    throw std::runtime_error("expected a square number of --gpus, and a --size that its root divides");
  std::vector<NcclGpu> gpus = open_gpus(a["gpus"]);
  Product product(gpus, a["size"], across);
  const auto prepare = [&] {
    product.fill();
    synchronize(gpus);
  };
  prepare();
  product.enqueue();  // what NCCL does once, it does now
  synchronize(gpus);
  capture(gpus, [&] { product.enqueue(); });
  prepare();
  replay(gpus);
  std::vector<double> us;
  for (int k = 0; k < a["steps"]; ++k) {
    prepare();
    us.push_back(replay(gpus));
  }
  bench::AppRow row{.whose = nccl_library(), .app = "cannon", .size = a["size"], .gpus = a["gpus"]};
  row.wrong = static_cast<std::uint64_t>(cannon::count_wrong(a["size"], product.result()));
  set_figures(row, us, bench::flop(a["size"]), bench::flop_unit);
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_nccl_app(argc, argv, "dcgn_peer_nccl_cannon", measure); }
