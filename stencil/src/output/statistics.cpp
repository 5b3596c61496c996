#include "stencil/src/output/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dcgn::stencil {

namespace {

// Neumaier's: what each addition loses is added up beside it.
class CompensatedSum {
 public:
  void add(double value) {
    const double sum = sum_ + value;
    lost_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

// Where a layer's cells have their neighbours along a dimension within it.
struct LayerDimension {
  std::size_t stride, extent;
  double inverse;  // of the spacing
};

class Pass {
 public:
  Pass(const FieldShape& shape, const Landau& energy, bool periodic)
      : energy_(energy), numbers_(is_complex(shape.type) ? 2 : 1), periodic_(periodic), volume_(1) {
    std::size_t stride = numbers_;
    for (std::size_t d = 0; d < shape.dimensions(); ++d) {
      dimensions_.push_back({stride, static_cast<std::size_t>(shape.extents[d]), 1 / shape.spacing[d]});
      stride *= static_cast<std::size_t>(shape.extents[d]);
      volume_ *= shape.spacing[d];
    }
  }

  void layer(std::span<const double> values) {
    if (first_.empty()) {
      first_.assign(values.begin(), values.end());
    } else {
      across(values);
    }
    last_.assign(values.begin(), values.end());
    within(values);
  }

  Statistics result() {
    if (periodic_) across(first_);
    return {mass_.value() * volume_, free_energy_.value() * volume_, least_, greatest_};
  }

 private:
  // From the layer before to this one.
  void across(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i) difference(last_[i], values[i], dimensions_.back().inverse);
  }

  void within(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); i += numbers_) {
      const double square =
          numbers_ == 1 ? values[i] * values[i] : values[i] * values[i] + values[i + 1] * values[i + 1];
      const double value = numbers_ == 1 ? values[i] : std::sqrt(square);
      mass_.add(numbers_ == 1 ? value : square);
      free_energy_.add((energy_.quadratic / 2 + energy_.quartic / 4 * square) * square);
      least_ = std::min(least_, value);
      greatest_ = std::max(greatest_, value);
    }
    for (std::size_t d = 0; d + 1 < dimensions_.size(); ++d) {
      const auto& [stride, extent, inverse] = dimensions_[d];
      for (std::size_t i = 0; i < values.size(); ++i) {
        const bool last = i / stride % extent == extent - 1;
        if (!last)
          difference(values[i], values[i + stride], inverse);
        else if (periodic_)
          difference(values[i], values[i - (extent - 1) * stride], inverse);
      }
    }
  }

  void difference(double a, double b, double inverse) {
    const double slope = (b - a) * inverse;
    free_energy_.add(energy_.gradient / 2 * slope * slope);
  }

  Landau energy_;
  std::size_t numbers_;
  bool periodic_;
  double volume_;
  std::vector<LayerDimension> dimensions_;
  std::vector<double> first_, last_;
  CompensatedSum mass_, free_energy_;
  double least_ = std::numeric_limits<double>::infinity(), greatest_ = -least_;
};

}  // namespace

Statistics statistics_of(const FieldSource& source, const Landau& energy, bool periodic) {
  Pass pass(source.shape, energy, periodic);
  for_each_layer(source, [&](std::int64_t, std::span<const double> values) { pass.layer(values); });
  return pass.result();
}

}  // namespace dcgn::stencil
