// What an update sees: the cells around one, by their distance. Three kinds, which give the same values.
#pragma once

#include <dcgn/element.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/stencil/stage.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::stencil {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<complex<T>> {
  using type = T;
};

template <class T>
DCGN_HOST_DEVICE inline T cell_value(double real, double imag) {
  using Real = typename RealOf<T>::type;
  if constexpr (std::is_same_v<T, Real>)
    return static_cast<T>(real);
  else
    return {static_cast<Real>(real), static_cast<Real>(imag)};
}

// Sides are chosen by branches: an index that is not known would have a kernel's argument copied to memory.

// What all cells beyond a side are.
template <class T>
DCGN_HOST_DEVICE inline T constant_of(const Part& part, int dim, int upper) {
  const double(&sides)[2][2] = part.constant[dim];
  return upper ? cell_value<T>(sides[1][0], sides[1][1]) : cell_value<T>(sides[0][0], sides[0][1]);
}

// A place beyond a side, once around or back.
DCGN_HOST_DEVICE inline int around(const Part& part, int dim, int place) {
  const bool below = place < part.stored_begin[dim];
  const bool wrapped = (below ? part.beyond[dim][0] : part.beyond[dim][1]) == Beyond::wrapped;
  if (wrapped) return below ? place + part.own[dim] : place - part.own[dim];
  return (below ? -1 : 2 * part.own[dim] - 1) - place;
}

// The place in memory of one that is beyond it, by the boundary of the dimension; or which side's constant it has.
struct Found {
  int place;
  int constant;  // 0 or 1: the constant of the lower or the upper side; -1: the place is in memory
};
DCGN_HOST_DEVICE inline Found find(const Part& part, int dim, int place) {
  // A part may be smaller than the stencil: then it goes round, or back and forth, several times.
  for (;;) {
    const bool below = place < part.stored_begin[dim];
    if (!below && place < part.stored_end[dim]) return {place, -1};
    if ((below ? part.beyond[dim][0] : part.beyond[dim][1]) == Beyond::constant) return {0, below ? 0 : 1};
    place = around(part, dim, place);
  }
}

// Any cell, wherever it is.
template <class T>
DCGN_HOST_DEVICE inline T value_at(const Part& part, const T* array, const int (&cell)[most_dims]) {
  std::int64_t at = 0;
  for (int d = 0; d < most_dims; ++d) {
    const Found found = find(part, d, cell[d]);
    if (found.constant >= 0) return constant_of<T>(part, d, found.constant);
    at += found.place * part.stride[d];
  }
  return array[at];
}

// Around a cell that is not near anything: all of it is in memory.
template <class T>
class InMemory {
 public:
  DCGN_HOST_DEVICE InMemory(const T* cell, const Part& part)
      : cell_(cell), y_(part.stride[1]), z_(part.stride[2]), w_(part.stride[3]) {}
  DCGN_HOST_DEVICE T operator()(int dx, int dy = 0, int dz = 0, int dw = 0) const {
    return cell_[dx + dy * y_ + dz * z_ + dw * w_];
  }

 private:
  const T* cell_;
  std::int64_t y_, z_, w_;
};

// Around any cell.
template <class T>
class Anywhere {
 public:
  DCGN_HOST_DEVICE Anywhere(const T* array, const Part& part, const int (&cell)[most_dims])
      : array_(array), part_(part), cell_(cell) {}
  DCGN_HOST_DEVICE T operator()(int dx, int dy = 0, int dz = 0, int dw = 0) const {
    return value_at(part_, array_, {cell_[0] + dx, cell_[1] + dy, cell_[2] + dz, cell_[3] + dw});
  }

 private:
  const T* array_;
  const Part& part_;
  const int (&cell_)[most_dims];
};

// The cells that a thread of a GPU keeps in registers: `Width` in a row, and all around them. Every index is known when
// the update has been inlined, so that what it never reads is never loaded.
template <class T, int Dims, int Radius, int Width>
struct Window {
  static constexpr int columns = Width + 2 * Radius;
  static constexpr int rows = Dims > 1 ? 2 * Radius + 1 : 1;
  static constexpr int planes = Dims > 2 ? 2 * Radius + 1 : 1;
  T cell[planes][rows][columns];
};

template <class T, int Dims, int Radius, int Width>
class InWindow {
 public:
  DCGN_HOST_DEVICE InWindow(const Window<T, Dims, Radius, Width>& window, int column)
      : window_(window), column_(column) {}
  DCGN_HOST_DEVICE T operator()(int dx, int dy = 0, int dz = 0) const {
    return window_.cell[Dims > 2 ? dz + Radius : 0][Dims > 1 ? dy + Radius : 0][column_ + dx + Radius];
  }

 private:
  const Window<T, Dims, Radius, Width>& window_;
  int column_;
};

}  // namespace dcgn::stencil
