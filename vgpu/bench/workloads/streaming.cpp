// Workloads that go through their data once, in the order of their blocks: vector add, back-propagation, scan, the
// Walsh transform, the Fourier transform.
#include "vgpu/bench/workloads/common.hpp"

#include <cmath>

namespace dcgn::workloads {

namespace {

class VectorAdd final : public Program {
 public:
  VectorAdd(VirtualGpu& gpu, int scale)
      : Program(gpu, "vector_add"),
        n_(scaled(scale, std::size_t{4} << 20, std::size_t{1} << 16, std::size_t{4} << 20)),
        add_(kernel("vector_add")) {
    a_ = allocate_input<float>(n_);
    b_ = allocate_input<float>(n_);
    c_ = allocate<float>(n_);
    upload(a_, random_pattern(n_, -1, 1, 1), n_);
    upload(b_, random_pattern(n_, -1, 1, 2), n_);
  }
  void reset() override { gpu().fill(c_, 0xff, n_ * sizeof(float)); }
  void run(virtual_gpu::Stream& stream) override {
    launch(stream, add_, {.grid = blocks_for(n_, threads), .block = threads}, a_, b_, c_, static_cast<int>(n_));
  }
  std::vector<Result> results() const override { return {result("c", c_, n_)}; }
  double bytes_moved() const override { return 12.0 * static_cast<double>(n_); }

 private:
  std::size_t n_;
  virtual_gpu::Kernel add_;
  float *a_, *b_, *c_;
};

class BackPropagation final : public Program {
 public:
  BackPropagation(VirtualGpu& gpu, int scale)
      : Program(gpu, "back_propagation"),
        // A grid has at most 65535 blocks in this direction.
        rows_(16 * std::min<std::size_t>(scaled(scale, std::size_t{4096}, std::size_t{64}, std::size_t{65535}), 65535)),
        forward_(kernel("layer_forward")),
        adjust_(kernel("adjust_weights")) {
    input_ = allocate_input<float>(rows_);
    weights_ = allocate<float>(rows_ * outputs);
    old_ = allocate<float>(rows_ * outputs);
    partial_ = allocate<float>(rows_ / 16 * outputs);
    delta_ = allocate_input<float>(outputs);
    upload(input_, random_pattern(rows_, 0, 1, 3), rows_);
    upload(delta_, random_floats(outputs, -1, 1, 4));
  }
  void reset() override {
    upload(weights_, random_pattern(rows_ * outputs, -1, 1, 5), rows_ * outputs);
    upload(old_, random_pattern(rows_ * outputs, -0.1f, 0.1f, 6), rows_ * outputs);
  }
  void run(virtual_gpu::Stream& stream) override {
    const Launch shape{.grid = Dim3(1, static_cast<unsigned>(rows_ / 16)), .block = Dim3(16, 16)};
    launch(stream, forward_, shape, input_, weights_, partial_, outputs);
    launch(stream, adjust_, shape, delta_, input_, weights_, old_, outputs);
  }
  std::vector<Result> results() const override {
    return {result("partial", partial_, rows_ / 16 * outputs), result("weights", weights_, rows_ * outputs)};
  }
  // Weights are read by both kernels and written by one, their changes read and written.
  double bytes_moved() const override { return 4.0 * static_cast<double>(rows_) * (5 * outputs + 2); }

 private:
  static constexpr int outputs = 16;
  std::size_t rows_;
  virtual_gpu::Kernel forward_, adjust_;
  float *input_, *weights_, *old_, *partial_, *delta_;
};

class Scan final : public Program {
 public:
  Scan(VirtualGpu& gpu, int scale)
      : Program(gpu, "scan"),
        n_(scaled(scale, std::size_t{1} << 20, std::size_t{1} << 15, std::size_t{16} << 20)),
        blocks_(kernel("scan_blocks")),
        add_(kernel("scan_add")),
        shift_(kernel("scan_shift")) {
    in_ = allocate_input<int>(n_);
    out_ = allocate<int>(n_);
    sums_ = allocate<int>(blocks_for(n_, each));
    scanned_ = allocate<int>(blocks_for(n_, each));
    sums_of_sums_ = allocate<int>(blocks_for(blocks_for(n_, each), each));
    Numbers numbers(7);
    std::vector<int> content(std::min(pattern, n_));
    for (int& value : content) value = static_cast<int>(numbers.below(7)) - 3;
    upload(in_, content, n_);
  }
  void reset() override { gpu().fill(out_, 0xff, n_ * sizeof(int)); }
  void run(virtual_gpu::Stream& stream) override {
    const unsigned grid = blocks_for(n_, each);
    const int n = static_cast<int>(n_), sums = static_cast<int>(grid);
    launch(stream, blocks_, {.grid = grid, .block = each}, in_, out_, sums_, n);
    launch(stream, blocks_, {.grid = blocks_for(grid, each), .block = each}, sums_, scanned_, sums_of_sums_, sums);
    launch(stream, add_, {.grid = blocks_for(grid, each), .block = each}, scanned_, sums_of_sums_, sums);
    launch(stream, shift_, {.grid = grid, .block = each}, out_, scanned_, n);
  }
  std::vector<Result> results() const override { return {result("out", out_, n_)}; }
  double bytes_moved() const override { return 16.0 * static_cast<double>(n_); }

 private:
  static constexpr unsigned each = 1024;
  std::size_t n_;
  virtual_gpu::Kernel blocks_, add_, shift_;
  int *in_, *out_, *sums_, *scanned_, *sums_of_sums_;
};

class Walsh final : public Program {
 public:
  Walsh(VirtualGpu& gpu, int scale)
      : Program(gpu, "walsh"),
        n_(fixed(scale, std::size_t{1} << 20, std::size_t{1} << 13, std::size_t{8} << 20)),
        step_(kernel("walsh_step")) {
    for (std::size_t least = (std::size_t{1} << 20) * static_cast<std::size_t>(std::max(scale, 0)); n_ < least;)
      n_ *= 2;
    data_ = allocate<float>(n_);
  }
  void reset() override { upload(data_, random_pattern(n_, -1, 1, 8), n_); }
  void run(virtual_gpu::Stream& stream) override {
    const int n = static_cast<int>(n_);
    for (std::size_t stride = 1; stride < n_; stride *= 2)
      launch(stream, step_, {.grid = blocks_for(n_ / 2, threads), .block = threads}, data_, static_cast<int>(stride),
             n);
  }
  std::vector<Result> results() const override { return {result("data", data_, n_)}; }
  double bytes_moved() const override { return 8.0 * static_cast<double>(n_) * std::log2(static_cast<double>(n_)); }

 private:
  std::size_t n_;
  virtual_gpu::Kernel step_;
  float* data_;
};

// Transforms of 64 x 64 x 64 in three directions; at scale 0, of 64 x 64 in two.
class Fourier final : public Program {
 public:
  struct Complex {
    float re, im;
  };
  Fourier(VirtualGpu& gpu, int scale)
      : Program(gpu, "fourier"),
        // Whole cubes.
        size_(scaled(scale < 0 ? paper_scale : scale, std::size_t{4} * 64 * 64 * 64, std::size_t{2} * 64 * 64,
                     std::size_t{64} * 64 * 64)),
        strides_(scale == 0 ? std::vector<int>{1, 64} : std::vector<int>{1, 64, 64 * 64}),
        transform_(kernel("fourier")) {
    data_ = allocate<Complex>(size_);
    std::vector<Complex> roots(32);
    for (std::size_t k = 0; k < roots.size(); ++k) {
      const double angle = -2 * 3.14159265358979323846 * static_cast<double>(k) / 64;
      roots[k] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    write_constant("roots", roots);
  }
  void reset() override {
    Numbers numbers(9);
    std::vector<Complex> content(std::min(pattern, size_));
    for (Complex& c : content) c = {numbers.unit() - 0.5f, numbers.unit() - 0.5f};
    upload(data_, content, size_);
  }
  void run(virtual_gpu::Stream& stream) override {
    for (const int stride : strides_)
      launch(stream, transform_, {.grid = static_cast<unsigned>(size_ / 64), .block = 32}, data_, stride);
  }
  std::vector<Result> results() const override { return {result("data", data_, size_)}; }
  double bytes_moved() const override { return 16.0 * static_cast<double>(strides_.size() * size_); }

 private:
  std::vector<int> sizes() const override { return strides_; }

  std::size_t size_;
  std::vector<int> strides_;
  virtual_gpu::Kernel transform_;
  Complex* data_;
};

// Hashes of a file's segments.
class StoreGpu final : public Program {
 public:
  StoreGpu(VirtualGpu& gpu, int scale)
      : Program(gpu, "store_gpu"),
        segments_(scaled(scale, std::size_t{1} << 17, std::size_t{1} << 11, (std::size_t{26} << 20) / segment_bytes)),
        hash_(kernel("hash_segments")) {
    file_ = allocate_input<std::uint32_t>(segments_ * segment_bytes / 4);
    hashes_ = allocate<std::uint32_t>(4 * segments_);
    Numbers numbers(26);
    std::vector<std::uint32_t> content(std::min(pattern, segments_ * segment_bytes / 4));
    for (std::uint32_t& word : content) word = 2 * numbers.next();
    upload(file_, content, segments_ * segment_bytes / 4);
    std::vector<std::uint32_t> sines(64);
    for (std::size_t i = 0; i < sines.size(); ++i)
      sines[i] = static_cast<std::uint32_t>(4294967296.0 * std::abs(std::sin(static_cast<double>(i + 1))));
    write_constant("sines", sines);
  }
  void reset() override { gpu().fill(hashes_, 0, 16 * segments_); }
  void run(virtual_gpu::Stream& stream) override {
    launch(stream, hash_, {.grid = static_cast<unsigned>(segments_ / 128), .block = 128}, file_,
           static_cast<int>(segment_bytes / 64), hashes_);
  }
  std::vector<Result> results() const override { return {result("hashes", hashes_, 4 * segments_)}; }
  double bytes_moved() const override { return static_cast<double>(segments_ * (segment_bytes + 16)); }

 private:
  static constexpr std::size_t segment_bytes = 512;
  std::vector<int> sizes() const override { return {static_cast<int>(segment_bytes)}; }

  std::size_t segments_;
  virtual_gpu::Kernel hash_;
  std::uint32_t *file_, *hashes_;
};

}  // namespace

std::vector<WorkloadKind> streaming_workloads() {
  return {{"vector-add", "vectorAdd of figure 7", make_workload<VectorAdd>, 22, 170},
          {"back-propagation", "BP", make_workload<BackPropagation>, 16, 16},
          {"scan", "SCAN", make_workload<Scan>, 128, 1000},
          {"walsh", "FWT", make_workload<Walsh>, 64, 512},
          {"fourier", "FT.S", make_workload<Fourier>, 128, 1000},
          {"store-gpu", "STO", make_workload<StoreGpu>, 0, 0}};
}

}  // namespace dcgn::workloads
