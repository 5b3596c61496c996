// A regular grid of cells, what lies beyond its sides, and which rank has which part of it.
//
//   const dcgn::Grid plane({.extents = {1024, 768}}, comm.size());          // layers along y, periodic
//   const dcgn::Grid box({.extents = {64, 64, 64}, .sides = {dcgn::Boundary::neumann()}, .parts = {1, 2, 2}}, 4);
//
// Dimension 0 is x, then come y, z, and layers of those: what changes fastest in memory comes first, in all lists here.
#pragma once

#include <dcgn/cart.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace dcgn {

// Cells from `begin` to before `end` in each dimension; a dimension that a grid has not has one cell.
struct Box {
  static constexpr int most_dims = 4;
  using Cell = std::array<std::int64_t, most_dims>;

  Cell begin{};
  Cell end{1, 1, 1, 1};

  // Cells along a dimension, and in all.
  std::int64_t extent(int dim) const { return end[dim] > begin[dim] ? end[dim] - begin[dim] : 0; }
  std::int64_t cells() const { return extent(0) * extent(1) * extent(2) * extent(3); }
  bool empty() const { return cells() == 0; }
  // The cells of both.
  Box intersection(const Box& other) const;
  friend bool operator==(const Box&, const Box&) = default;
};
// "0..16 x 4..8", as many dimensions as asked for.
std::string to_string(const Box& box, int dims);

// What a stencil reads beyond a side of the grid.
class Boundary {
 public:
  enum class Kind : std::int32_t { periodic, dirichlet, neumann };

  constexpr Boundary() = default;
  // The cells of the opposite side. Both sides of a dimension are, or neither.
  static constexpr Boundary periodic() { return {}; }
  // This value in all cells beyond; the imaginary part is for fields of complex cells.
  static constexpr Boundary dirichlet(double value, double imag = 0) { return {Kind::dirichlet, value, imag}; }
  // The mirror image of the cells before the side: nothing flows through it.
  static constexpr Boundary neumann() { return {Kind::neumann, 0, 0}; }

  constexpr Kind kind() const { return kind_; }
  constexpr double value() const { return value_; }
  constexpr double imag() const { return imag_; }
  friend constexpr bool operator==(const Boundary&, const Boundary&) = default;

 private:
  constexpr Boundary(Kind kind, double value, double imag) : kind_(kind), value_(value), imag_(imag) {}
  Kind kind_ = Kind::periodic;
  double value_ = 0, imag_ = 0;
};

// What a Grid is made of.
struct GridShape {
  std::vector<std::int64_t> extents;  // cells along each dimension, 1 to 4 of these
  std::vector<double> spacing = {};   // of neighbouring cells, in each dimension or one for all; 1 where not given
  std::vector<Boundary> sides = {};   // the lower and the upper of each dimension, or one for all; or else periodic
  std::vector<int> parts = {};        // ranks along each dimension; not given: layers, all along the last one
};

// Each rank has a box of the grid; along a dimension that does not divide, the first parts have a cell more. Ranks are
// numbered with x fastest. A value: all ranks make the same one.
class Grid {
 public:
  // For so many ranks. Throws Error(configuration), naming the value, where there are no or too many dimensions, an
  // extent, a spacing or a number of parts is not positive, lists have other lengths than extents, the parts are not as
  // many as ranks or more than cells, cells are more than 2^56, or a dimension is periodic at one side only.
  Grid(GridShape shape, int ranks);

  // Of the grid along a dimension, from 0 to dims() - 1.
  int dims() const noexcept { return static_cast<int>(shape_.extents.size()); }
  std::int64_t extent(int dim) const { return dim < dims() ? shape_.extents[static_cast<std::size_t>(dim)] : 1; }
  double spacing(int dim) const { return shape_.spacing[static_cast<std::size_t>(dim)]; }
  // At the lower side (0) or the upper (1).
  const Boundary& side(int dim, int upper) const {
    return shape_.sides[2 * static_cast<std::size_t>(dim) + static_cast<std::size_t>(upper)];
  }
  int parts(int dim) const { return dim < dims() ? shape_.parts[static_cast<std::size_t>(dim)] : 1; }
  bool periodic(int dim) const { return side(dim, 0).kind() == Boundary::Kind::periodic; }

  // All of the grid, and the part of it that a rank has.
  Box all() const;
  std::int64_t cells() const { return all().cells(); }
  int ranks() const noexcept { return cart_.size(); }
  Box part(int rank) const;
  // Cells that the smallest part has along a dimension.
  std::int64_t least_extent(int dim) const { return extent(dim) / parts(dim); }
  // The rank that is `steps[d]` parts on in each dimension; no_rank beyond a side that is not periodic.
  int neighbour(int rank, const std::array<int, Box::most_dims>& steps) const;

  friend bool operator==(const Grid& a, const Grid& b);

 private:
  GridShape shape_;  // with all its lists filled in
  Cart cart_;        // the last dimension first, as Cart has its fastest last
};

}  // namespace dcgn
