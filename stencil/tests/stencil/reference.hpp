// The oracle: the whole grid in one array, every neighbour looked up by the boundaries' definition, and the schemes as
// they are in a book.
#pragma once

#include <dcgn/stencil.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace dcgn::test {

template <class T>
using Array = std::vector<T>;

inline std::int64_t number_of(const Grid& grid, const Box::Cell& at) {
  return at[0] + grid.extent(0) * (at[1] + grid.extent(1) * (at[2] + grid.extent(2) * at[3]));
}

// Around a cell of a whole field. (Callable in kernels as updates are, so that nvcc need not warn.)
template <class T>
struct Around {
  const T* field;
  int dims;
  std::int64_t extent[4], cell[4];
  Boundary::Kind kind[4][2];
  T constant[4][2];

  DCGN_HOST_DEVICE T operator()(int dx, int dy = 0, int dz = 0, int dw = 0) const {
    const int steps[4] = {dx, dy, dz, dw};
    std::int64_t number = 0, stride = 1;
    for (int d = 0; d < dims; ++d) {
      const std::int64_t n = extent[d];
      std::int64_t at = cell[d] + steps[d];
      while (at < 0 || at >= n) {
        const int upper = at < 0 ? 0 : 1;
        if (kind[d][upper] == Boundary::Kind::dirichlet) return constant[d][upper];
        if (kind[d][upper] == Boundary::Kind::periodic)
          at = (at + n) % n;
        else
          at = upper ? 2 * n - 1 - at : -1 - at;
      }
      number += at * stride;
      stride *= n;
    }
    return field[number];
  }
};

// Of one or two fields.
template <class T, int Fields>
class Reference {
 public:
  // `all`: each field, x fastest.
  Reference(const Grid& grid, std::vector<Array<T>> all) : grid_(grid), fields_(std::move(all)) {}

  const Array<T>& field(std::size_t f) const { return fields_[f]; }

  template <class Update>
  void step(const Update& update, Scheme scheme, double dt) {
    const auto u = fields_;
    switch (scheme) {
      case Scheme::next: fields_ = applied(update, u); return;
      case Scheme::euler: fields_ = plus(u, dt, applied(update, u)); return;
      case Scheme::midpoint: fields_ = plus(u, dt, applied(update, plus(u, dt * 0.5, applied(update, u)))); return;
      case Scheme::rk4: {
        const auto k1 = applied(update, u), k2 = applied(update, plus(u, dt * 0.5, k1)),
                   k3 = applied(update, plus(u, dt * 0.5, k2)), k4 = applied(update, plus(u, dt, k3));
        fields_ =
            plus(plus(plus(plus(u, dt * (1.0 / 6), k1), dt * (1.0 / 3), k2), dt * (1.0 / 3), k3), dt * (1.0 / 6), k4);
        return;
      }
    }
  }

 private:
  using Real = typename stencil::RealOf<T>::type;

  Around<T> around(const Array<T>& field, const Box::Cell& at) const {
    Around<T> cells{};
    cells.field = field.data();
    cells.dims = grid_.dims();
    for (int d = 0; d < grid_.dims(); ++d) {
      cells.extent[d] = grid_.extent(d);
      cells.cell[d] = at[d];
      for (int upper = 0; upper < 2; ++upper) {
        const Boundary& side = grid_.side(d, upper);
        cells.kind[d][upper] = side.kind();
        if constexpr (std::is_same_v<T, Real>)
          cells.constant[d][upper] = static_cast<T>(side.value());
        else
          cells.constant[d][upper] = T(static_cast<Real>(side.value()), static_cast<Real>(side.imag()));
      }
    }
    return cells;
  }

  template <class Update>
  std::vector<Array<T>> applied(const Update& update, const std::vector<Array<T>>& fields) const {
    std::vector<Array<T>> result = fields;
    Box::Cell at;
    std::size_t i = 0;
    for (at[3] = 0; at[3] < grid_.extent(3); ++at[3])
      for (at[2] = 0; at[2] < grid_.extent(2); ++at[2])
        for (at[1] = 0; at[1] < grid_.extent(1); ++at[1])
          for (at[0] = 0; at[0] < grid_.extent(0); ++at[0], ++i) {
            if constexpr (Fields == 1) {
              result[0][i] = update(around(fields[0], at));
            } else {
              const auto values = update(around(fields[0], at), around(fields[1], at));
              for (std::size_t f = 0; f < 2; ++f) result[f][i] = values.value[f];
            }
          }
    return result;
  }

  static std::vector<Array<T>> plus(std::vector<Array<T>> base, double factor, const std::vector<Array<T>>& k) {
    for (std::size_t f = 0; f < base.size(); ++f)
      for (std::size_t i = 0; i < base[f].size(); ++i) {
        const Real c = static_cast<Real>(factor);
        if constexpr (std::is_same_v<T, Real>)
          base[f][i] += c * k[f][i];
        else
          base[f][i] = T(base[f][i].real() + c * k[f][i].real(), base[f][i].imag() + c * k[f][i].imag());
      }
    return base;
  }

  Grid grid_;
  std::vector<Array<T>> fields_;
};

}  // namespace dcgn::test
