// Workloads on grids of two and three dimensions: speckle-reducing diffusion, finite differences, a ray tracer, the
// Coulomb potential.
#include "vgpu/bench/workloads/common.hpp"

namespace dcgn::workloads {

namespace {

class Srad final : public Program {
 public:
  Srad(VirtualGpu& gpu, int scale) : Program(gpu, "srad"), rows_(scaled(scale, 512, 16, 2048)), step_(kernel("srad")) {
    image_ = allocate_input<float>(size());
    coefficient_ = allocate<float>(size());
    upload(image_, random_pattern(size(), 0.5f, 1.5f, 10), size());
  }
  void reset() override { gpu().fill(coefficient_, 0xff, size() * sizeof(float)); }
  void run(virtual_gpu::Stream& stream) override {
    launch(stream, step_, {.grid = Dim3(columns / 32, blocks_for(rows(), 8)), .block = Dim3(32, 8)}, image_,
           coefficient_, columns, rows_, 0.05f);
  }
  std::vector<Result> results() const override { return {result("coefficient", coefficient_, size())}; }
  double bytes_moved() const override { return 8.0 * static_cast<double>(size()); }

 private:
  std::vector<int> sizes() const override { return {columns, rows_}; }

  static constexpr int columns = 2048;
  std::size_t rows() const { return static_cast<std::size_t>(rows_); }
  std::size_t size() const { return rows() * columns; }

  int rows_;
  virtual_gpu::Kernel step_;
  float *image_, *coefficient_;
};

class FiniteDifference final : public Program {
 public:
  FiniteDifference(VirtualGpu& gpu, int scale)
      : Program(gpu, "finite_difference"),
        nx_(fixed(scale, 512, 96, 1024)),
        nz_(scaled(scale, 16, 6, 4)),
        step_(kernel("finite_difference")) {
    for (float*& one : grids_) one = allocate<float>(size());
  }
  void reset() override {
    for (float* one : grids_) upload(one, random_pattern(size(), 0, 1, 11), size());
  }
  void run(virtual_gpu::Stream& stream) override {
    const std::size_t inner = static_cast<std::size_t>(nx_) - 2;
    const Launch shape{.grid = Dim3(blocks_for(inner, 64), blocks_for(inner, 4), static_cast<unsigned>(nz_ - 2)),
                       .block = Dim3(64, 4)};
    for (int step = 0; step < steps; ++step)
      launch(stream, step_, shape, grids_[step % 2], grids_[(step + 1) % 2], nx_, nx_, nz_);
  }
  std::vector<Result> results() const override { return {result("grid", grids_[steps % 2], size())}; }
  double bytes_moved() const override { return 8.0 * steps * static_cast<double>(size()); }

 private:
  static constexpr int steps = 4;
  std::vector<int> sizes() const override { return {nx_, nz_, steps}; }
  std::size_t size() const { return static_cast<std::size_t>(nz_ * nx_) * static_cast<std::size_t>(nx_); }

  int nx_, nz_;
  virtual_gpu::Kernel step_;
  float* grids_[2];
};

class Rays final : public Program {
 public:
  Rays(VirtualGpu& gpu, int scale)
      : Program(gpu, "rays"),
        width_(fixed(scale, 1024, 128, 1024)),
        height_(scaled(scale, 1024, 64, 1024)),
        trace_(kernel("rays")) {
    picture_ = allocate<std::uint32_t>(size());
    Numbers numbers(12);
    std::vector<float> spheres(8 * 4);
    for (std::size_t s = 0; s < 8; ++s) {
      for (std::size_t k = 0; k < 3; ++k) spheres[4 * s + k] = 3 * numbers.unit() - 1.5f;
      spheres[4 * s + 3] = 0.2f + 0.4f * numbers.unit();
    }
    write_constant("spheres", spheres);
  }
  void reset() override { gpu().fill(picture_, 0, size() * 4); }
  void run(virtual_gpu::Stream& stream) override {
    const Dim3 grid(static_cast<unsigned>(width_) / 16, static_cast<unsigned>(height_) / 16);
    launch(stream, trace_, {.grid = grid, .block = Dim3(16, 16)}, picture_, width_, height_);
  }
  std::vector<Result> results() const override { return {result("picture", picture_, size())}; }

 private:
  std::vector<int> sizes() const override { return {width_, height_}; }
  std::size_t size() const { return static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_); }

  int width_, height_;
  virtual_gpu::Kernel trace_;
  std::uint32_t* picture_;
};

class Coulomb final : public Program {
 public:
  Coulomb(VirtualGpu& gpu, int scale)
      : Program(gpu, "coulomb"),
        columns_(fixed(scale, 1024, 256, 512)),
        rows_(scaled(scale, 1024, 32, 256)),
        count_(fixed(scale, 1000, 258, 100)),
        add_(kernel("coulomb")) {
    const auto numbers = 4 * static_cast<std::size_t>(count_);
    potential_ = allocate<float>(size());
    atoms_ = allocate_input<float>(numbers);
    upload(atoms_, random_floats(numbers, 0, 50, 13));
  }
  void reset() override { gpu().fill(potential_, 0, size() * sizeof(float)); }
  void run(virtual_gpu::Stream& stream) override {
    const Dim3 grid(static_cast<unsigned>(columns_) / 128, static_cast<unsigned>(rows_) / 8);
    launch(stream, add_, {.grid = grid, .block = Dim3(32, 8)}, potential_, atoms_, count_, 0.1f, 1.0f);
  }
  std::vector<Result> results() const override { return {result("potential", potential_, size())}; }

 private:
  std::vector<int> sizes() const override { return {columns_, rows_}; }
  std::size_t size() const { return static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_); }

  int columns_, rows_, count_;
  virtual_gpu::Kernel add_;
  float *potential_, *atoms_;
};

}  // namespace

std::vector<WorkloadKind> image_workloads() {
  return {{"srad", "SRAD", make_workload<Srad>, 128, 1000},
          {"finite-difference", "3DFD", make_workload<FiniteDifference>, 32, 250},
          {"rays", "RAY", make_workload<Rays>, 8, 500},
          {"coulomb", "CP", make_workload<Coulomb>, 8, 500}};
}

}  // namespace dcgn::workloads
