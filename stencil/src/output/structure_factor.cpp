#include "stencil/src/output/statistics.hpp"

#include <dcgn/error.hpp>

#if defined(DCGN_HAS_FFTW)
#include <fftw3.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <numbers>

namespace dcgn::stencil {

double StructureFactor::domain_length() const {
  double sum = 0, moment = 0;
  for (const Shell& shell : shells) {
    sum += shell.s;
    moment += shell.k * shell.s;
  }
  return 2 * std::numbers::pi * sum / moment;
}

#if defined(DCGN_HAS_FFTW)

namespace {

// FFTW makes plans one at a time; they may be executed at the same time.
std::mutex& planner() {
  static std::mutex mutex;
  return mutex;
}

struct FftwFree {
  void operator()(double* numbers) const { fftw_free(numbers); }
};

// The transform of a field in place: of real cells half of the modes along x, whose conjugates the others are.
class Transform {
 public:
  explicit Transform(const FieldSource& source)
      : shape_(source.shape), complex_(is_complex(shape_.type)), cells_x_(shape_.extents[0]) {
    kept_x_ = complex_ ? cells_x_ : cells_x_ / 2 + 1;
    rows_ = shape_.cells() / cells_x_;
    numbers_.reset(fftw_alloc_real(static_cast<std::size_t>(rows_ * kept_x_ * 2)));
    if (!numbers_) throw std::bad_alloc();
    fill(source);
    auto* modes = reinterpret_cast<fftw_complex*>(numbers_.get());
    const std::vector<int> extents(shape_.extents.rbegin(), shape_.extents.rend());
    const auto rank = static_cast<int>(extents.size());
    std::unique_lock lock(planner());
    fftw_plan plan = complex_ ? fftw_plan_dft(rank, extents.data(), modes, modes, FFTW_FORWARD, FFTW_ESTIMATE)
                              : fftw_plan_dft_r2c(rank, extents.data(), numbers_.get(), modes, FFTW_ESTIMATE);
    lock.unlock();
    if (!plan) throw Error(Code::unsupported, "stencil", "FFTW has no plan for " + to_string(shape_));
    fftw_execute(plan);
    lock.lock();
    fftw_destroy_plan(plan);
  }

  // use(index along each dimension, |amplitude|^2, how many modes this one stands for)
  template <class Use>
  void for_each_mode(const Use& use) const {
    std::vector<std::int64_t> at(shape_.dimensions());
    const double* mode = numbers_.get();
    for (std::int64_t row = 0; row < rows_; ++row) {
      std::int64_t left = row;
      for (std::size_t d = 1; d < at.size(); left /= shape_.extents[d++]) at[d] = left % shape_.extents[d];
      for (at[0] = 0; at[0] < kept_x_; ++at[0], mode += 2) {
        const bool own_conjugate = at[0] == 0 || 2 * at[0] == cells_x_;
        use(at, mode[0] * mode[0] + mode[1] * mode[1], complex_ || own_conjugate ? 1 : 2);
      }
    }
  }

 private:
  // A layer is several rows or, of one dimension, a part of one.
  void fill(const FieldSource& source) {
    const std::int64_t row_numbers = complex_ ? 2 * cells_x_ : cells_x_;
    double* row = numbers_.get();
    std::int64_t column = 0;
    for_each_layer(source, [&](std::int64_t, std::span<const double> values) {
      for (const double value : values) {
        row[column] = value;
        if (++column < row_numbers) continue;
        column = 0;
        row += 2 * kept_x_;
      }
    });
  }

  FieldShape shape_;
  bool complex_;
  std::int64_t cells_x_, kept_x_ = 0, rows_ = 0;
  std::unique_ptr<double, FftwFree> numbers_;
};

}  // namespace

StructureFactor structure_factor(const FieldSource& source) {
  const FieldShape& shape = source.shape;
  double longest = 0, resolved = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < shape.dimensions(); ++d) {
    longest = std::max(longest, static_cast<double>(shape.extents[d]) * shape.spacing[d]);
    if (shape.extents[d] > 1) resolved = std::min(resolved, std::numbers::pi / shape.spacing[d]);
  }
  const double width = 2 * std::numbers::pi / longest;
  if (std::isinf(resolved)) return {};  // a single cell
  // What lies half way between two shells, as all of a kind do but for rounding, is the upper one's.
  const auto shell_of = [width](double k) { return static_cast<std::size_t>(k / width + 0.5 + 1e-9); };
  std::vector<StructureFactor::Shell> shells(shell_of(resolved) + 1);

  const Transform transform(source);
  transform.for_each_mode([&](const std::vector<std::int64_t>& at, double square, int modes) {
    double k2 = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const std::int64_t n = std::min(at[d], shape.extents[d] - at[d]);  // of the two directions the nearer
      const double k =
          2 * std::numbers::pi * static_cast<double>(n) / (static_cast<double>(shape.extents[d]) * shape.spacing[d]);
      k2 += k * k;
    }
    const std::size_t n = shell_of(std::sqrt(k2));
    if (k2 == 0 || n >= shells.size()) return;  // the mean is no structure
    shells[n].s += square * modes;
    shells[n].modes += modes;
  });
  StructureFactor result;
  for (std::size_t n = 0; n < shells.size(); ++n) {
    const auto [k, sum, modes] = shells[n];
    if (modes == 0) continue;
    const double s = sum / static_cast<double>(modes) / static_cast<double>(shape.cells());
    result.shells.push_back({static_cast<double>(n) * width, s, modes});
  }
  return result;
}

bool has_structure_factor() { return true; }

#else

StructureFactor structure_factor(const FieldSource&) {
  throw Error(Code::unsupported, "stencil",
              "this build has no FFTW for structure factors; expected one with it: scripts/install-packages stencil, "
              "-DDCGN_FFTW=ON");
}

bool has_structure_factor() { return false; }

#endif

}  // namespace dcgn::stencil
