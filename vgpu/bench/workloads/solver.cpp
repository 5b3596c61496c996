// Conjugate gradients for a Laplacian on a square grid; all numbers stay on the device.
#include "vgpu/bench/workloads/common.hpp"

#include <map>
#include <optional>

namespace dcgn::workloads {

namespace {

class ConjugateGradient final : public Program {
 public:
  ConjugateGradient(VirtualGpu& gpu, int scale)
      : Program(gpu, "conjugate_gradient"),
        width_(fixed(scale, 512, 64, 40)),
        lines_(scaled(scale, 512, 32, 35)),
        blocks_(fixed(scale, 1024U, 6U, 6U)),
        solutions_(fixed(scale, 1, 1, 15)),
        steps_(fixed(scale, 8, 8, 25)),
        product_(kernel("sparse_product")),
        dot_(kernel("dot")),
        axpy_(kernel("axpy")),
        direction_(kernel("direction")) {
    std::vector<int> first{0}, column;
    std::vector<double> value;
    for (const Row& row : scale < 0 ? scattered() : laplacian()) {
      for (const auto& [at, v] : row) {
        column.push_back(at);
        value.push_back(v);
      }
      first.push_back(static_cast<int>(column.size()));
    }
    entries_ = column.size();
    first_ = allocate_input<int>(first.size());
    column_ = allocate_input<int>(entries_);
    value_ = allocate_input<double>(entries_);
    upload(first_, first);
    upload(column_, column);
    upload(value_, value);
    for (double** vector : {&x_, &r_, &p_, &q_}) *vector = allocate<double>(rows());
    numbers_ = allocate<double>(3);
    if (solutions_ > 1) right_ = allocate<double>(rows());
  }
  void reset() override {
    Numbers numbers(19);
    std::vector<double> b(rows());
    for (double& v : b) v = static_cast<double>(numbers.unit());
    gpu().fill(x_, 0, rows() * sizeof(double));
    upload(r_, b);
    upload(p_, b);
    if (right_) upload(right_, b);
  }
  void run(virtual_gpu::Stream& stream) override {
    if (is_sampled()) return solve(stream);
    if (!solving_) solving_ = gpu().record([this](virtual_gpu::Stream& its) { solve(its); });
    for (int i = 0; i < solutions_; ++i) {
      gpu().launch(stream, *solving_);
      if (i + 1 < solutions_) begin_again(stream);
    }
  }
  std::vector<Result> results() const override {
    return {result("x", x_, rows()), result("r", r_, rows()), result("r * r", numbers_, 1)};
  }
  double bytes_moved() const override {
    return solutions_ * steps_ * (12.0 * static_cast<double>(entries_) + 8.0 * 14 * static_cast<double>(rows()));
  }

 private:
  using Row = std::map<int, double>;  // by column

  std::vector<Row> laplacian() const {
    std::vector<Row> matrix(rows());
    for (int y = 0; y < lines_; ++y)
      for (int x = 0; x < width_; ++x) {
        const int row = y * width_ + x;
        Row& its = matrix[static_cast<std::size_t>(row)];
        its[row] = 4;
        if (y > 0) its[row - width_] = -1;
        if (x > 0) its[row - 1] = -1;
        if (x < width_ - 1) its[row + 1] = -1;
        if (y < lines_ - 1) its[row + width_] = -1;
      }
    return matrix;
  }
  // About as many entries as the paper's class S has, 78,000, anywhere; as many in (i, j) as in (j, i).
  std::vector<Row> scattered() const {
    constexpr int pairs_of_row = 28;
    std::vector<Row> matrix(rows());
    Numbers numbers(20);
    for (std::size_t row = 0; row < rows(); ++row) {
      matrix[row][static_cast<int>(row)] = 4 * pairs_of_row;
      for (int i = 0; i < pairs_of_row; ++i) {
        const std::size_t other = numbers.below(static_cast<std::uint32_t>(rows()));
        if (other == row) continue;
        matrix[row][static_cast<int>(other)] = -1;
        matrix[other][static_cast<int>(row)] = -1;
      }
    }
    return matrix;
  }

  // The paper's benchmark solves the same matrix again and again: 15 times 25 steps.
  void begin_again(virtual_gpu::Stream& stream) {
    gpu().fill(stream, x_, 0, rows() * sizeof(double));
    for (double* const vector : {r_, p_}) gpu().copy(stream, vector, right_, rows() * sizeof(double));
  }
  // Short launches, with nothing for the host in between.
  void solve(virtual_gpu::Stream& stream) {
    const int n = static_cast<int>(rows());
    const Launch each{.grid = blocks_for(rows(), 256), .block = 256}, sum{.grid = blocks_, .block = 256};
    double *const old = numbers_, *const now = numbers_ + 1, *const curvature = numbers_ + 2;
    launch(stream, dot_, sum, r_, r_, old, n);
    for (int step = 0; step < steps_; ++step) {
      launch(stream, product_, each, first_, column_, value_, p_, q_, n);
      launch(stream, dot_, sum, p_, q_, curvature, n);
      launch(stream, axpy_, each, 1.0, old, curvature, p_, x_, n);
      launch(stream, axpy_, each, -1.0, old, curvature, q_, r_, n);
      launch(stream, dot_, sum, r_, r_, now, n);
      launch(stream, direction_, each, now, old, r_, p_, n);
      gpu().copy(stream, old, now, sizeof(double));
    }
  }
  std::vector<int> sizes() const override { return {static_cast<int>(blocks_), steps_}; }
  std::size_t rows() const { return static_cast<std::size_t>(lines_) * static_cast<std::size_t>(width_); }

  int width_, lines_;
  unsigned blocks_;
  int solutions_, steps_;
  std::size_t entries_ = 0;
  virtual_gpu::Kernel product_, dot_, axpy_, direction_;
  std::optional<virtual_gpu::Graph> solving_;
  int *first_ = nullptr, *column_ = nullptr;
  double *value_ = nullptr, *x_ = nullptr, *r_ = nullptr, *p_ = nullptr, *q_ = nullptr, *numbers_ = nullptr,
         *right_ = nullptr;
};

}  // namespace

std::vector<WorkloadKind> solver_workloads() {
  return {{"conjugate-gradient", "CG.S", make_workload<ConjugateGradient>, 4, 32}};
}

}  // namespace dcgn::workloads
