#include "apps/image/field.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

namespace dcgn::image {

namespace {

constexpr Colour not_a_number{128, 128, 128};

// Cells from the plane's rows, summed up to the pixels that they are.
class Plane {
 public:
  Plane(std::int64_t width, std::int64_t height, int numbers, int most_pixels) : numbers_(numbers), columns_(width) {
    const std::int64_t longer = std::max(width, height);
    cells_ = (longer + most_pixels - 1) / most_pixels;
    pixels_ = cells_ > 1 ? 1 : static_cast<int>(std::max<std::int64_t>(1, most_pixels / longer));
    width_ = (width + cells_ - 1) / cells_;
    height_ = (height + cells_ - 1) / cells_;
    sums_.resize(static_cast<std::size_t>(width_ * height_) * static_cast<std::size_t>(numbers));
    counts_.resize(static_cast<std::size_t>(width_ * height_));
  }

  void add_row(std::int64_t y, const double* values) {
    const std::int64_t first = y / cells_ * width_;
    for (std::int64_t x = 0; x < columns_; ++x) {
      const auto at = static_cast<std::size_t>(first + x / cells_);
      for (int i = 0; i < numbers_; ++i)
        sums_[at * static_cast<std::size_t>(numbers_) + static_cast<std::size_t>(i)] += *values++;
      ++counts_[at];
    }
  }

  template <class Paint>
  Image image(const Paint& paint) const {
    Image image(static_cast<int>(width_) * pixels_, static_cast<int>(height_) * pixels_);
    for (std::int64_t v = 0; v < height_; ++v)
      for (std::int64_t u = 0; u < width_; ++u) {
        const auto at = static_cast<std::size_t>(v * width_ + u);
        const double* sum = &sums_[at * static_cast<std::size_t>(numbers_)];
        const Colour colour = paint(sum[0] / counts_[at], sum[numbers_ - 1] / counts_[at]);
        image.fill(static_cast<int>(u) * pixels_, static_cast<int>(height_ - 1 - v) * pixels_, pixels_, pixels_,
                   colour);
      }
    return image;
  }

 private:
  int numbers_, pixels_ = 1;
  std::int64_t columns_, cells_ = 1, width_ = 0, height_ = 0;
  std::vector<double> sums_;
  std::vector<int> counts_;
};

}  // namespace

Colour diverging(double value) {
  if (std::isnan(value)) return not_a_number;
  const double v = std::min(std::abs(value), 1.0);
  return oklch(0.97 - 0.57 * v, 0.16 * std::sin(v * std::numbers::pi * 0.62), value < 0 ? 0.70 : 0.08);
}

Colour heat(double value) {
  if (std::isnan(value)) return not_a_number;
  const double v = std::clamp(value, 0.0, 1.0);
  return oklch(0.05 + 0.9 * v, 0.19 * std::sin(std::numbers::pi * std::min(0.96, v * 0.96 + 0.04)), 0.04 + 0.24 * v);
}

Colour phase(double real, double imaginary) {
  const double magnitude = std::hypot(real, imaginary);
  if (std::isnan(magnitude)) return not_a_number;
  const double turns = std::atan2(imaginary, real) / (2 * std::numbers::pi);
  const double v = std::min(magnitude, 1.0);
  return oklch(0.12 + 0.62 * v, 0.125 * v, turns < 0 ? turns + 1 : turns);
}

Image picture(const stencil::FieldSource& source, Palette palette, Range range, int most_pixels) {
  const stencil::FieldShape& shape = source.shape;
  if (shape.dimensions() != 2 && shape.dimensions() != 3)
    throw Error(Code::configuration, "picture",
                "field '" + source.name + "' is " + to_string(shape) + ": expected 2 or 3 dimensions");
  const int numbers = is_complex(shape.type) ? 2 : 1;
  const std::int64_t width = shape.extents[0], height = shape.extents[1];
  Plane plane(width, height, numbers, most_pixels);
  if (shape.dimensions() == 2) {
    stencil::for_each_layer(source, [&](std::int64_t y, std::span<const double> row) { plane.add_row(y, row.data()); });
  } else {
    const std::vector<double> cells = stencil::layer_of(source, shape.layers() / 2);
    for (std::int64_t y = 0; y < height; ++y) plane.add_row(y, cells.data() + y * width * numbers);
  }
  return plane.image([&](double first, double second) {
    switch (palette) {
      case Palette::diverging: return diverging(first / range.greatest);
      case Palette::heat: return heat((first - range.least) / (range.greatest - range.least));
      case Palette::phase: return phase(first / range.greatest, second / range.greatest);
    }
    return not_a_number;
  });
}

}  // namespace dcgn::image
