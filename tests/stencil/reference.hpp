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
        fields_ = plus(plus(plus(plus(u, dt * (1.0 / 6), k1), dt * (1.0 / 3), k2), dt * (1.0 / 3), k3),
                       dt * (1.0 / 6), k4);
        return;
      }
    }
  }

 private:
  using Real = typename stencil::RealOf<T>::type;

  T value(const Array<T>& field, Box::Cell at) const {
    for (int d = 0; d < grid_.dims(); ++d) {
      const std::int64_t n = grid_.extent(d);
      while (at[d] < 0 || at[d] >= n) {
        const int upper = at[d] < 0 ? 0 : 1;
        const Boundary& side = grid_.side(d, upper);
        switch (side.kind()) {
          case Boundary::Kind::periodic: at[d] = (at[d] + n) % n; break;
          case Boundary::Kind::neumann: at[d] = upper ? 2 * n - 1 - at[d] : -1 - at[d]; break;
          case Boundary::Kind::dirichlet:
            if constexpr (std::is_same_v<T, Real>)
              return static_cast<T>(side.value());
            else
              return {static_cast<Real>(side.value()), static_cast<Real>(side.imag())};
        }
      }
    }
    return field[static_cast<std::size_t>(number_of(grid_, at))];
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
            const auto around = [&](std::size_t f) {
              return [&, f](int dx, int dy = 0, int dz = 0, int dw = 0) {
                return value(fields[f], {at[0] + dx, at[1] + dy, at[2] + dz, at[3] + dw});
              };
            };
            if constexpr (Fields == 1) {
              result[0][i] = update(around(0));
            } else {
              const auto values = update(around(0), around(1));
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
