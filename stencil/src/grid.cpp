#include <dcgn/stencil/grid.hpp>

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>

namespace dcgn {

namespace {

[[noreturn]] void refuse_grid(const std::string& why) { throw Error(Code::configuration, "Grid", why); }

// A list of one for each of `count`, which may be given as one for all, or not at all.
template <class T>
void fill_in(std::vector<T>& list, std::size_t count, const T& otherwise, const char* what) {
  if (list.empty()) list.assign(count, otherwise);
  if (list.size() == 1) list.assign(count, list.front());
  if (list.size() != count)
    refuse_grid(std::to_string(list.size()) + " " + what + " for " + std::to_string(count) + ", expected 1 or " +
                std::to_string(count));
}

// Bytes of arrays of them are counted in 64 bits.
constexpr std::int64_t most_cells = std::int64_t{1} << 56;

std::string dimension(std::size_t dim) { return std::string(1, "xyzw"[dim]); }

std::string extents_text(const GridShape& shape) {
  std::string text;
  for (const std::int64_t extent : shape.extents) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

void check_shape(const GridShape& shape, int ranks) {
  const std::size_t dims = shape.extents.size();
  std::int64_t parts = 1, cells = 1;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t extent = shape.extents[d];
    if (extent < 1 || extent > 1 << 30)
      refuse_grid(std::to_string(extent) + " cells along " + dimension(d) + ", expected 1 to 1073741824");
    if (!(shape.spacing[d] > 0) || !std::isfinite(shape.spacing[d]))
      refuse_grid("a spacing of " + std::to_string(shape.spacing[d]) + " along " + dimension(d) +
                  ", expected a positive number");
    if (shape.parts[d] < 1 || shape.parts[d] > extent)
      refuse_grid(std::to_string(shape.parts[d]) + " parts of " + std::to_string(extent) + " cells along " +
                  dimension(d) + ", expected 1 to " + std::to_string(extent));
    using Kind = Boundary::Kind;
    if ((shape.sides[2 * d].kind() == Kind::periodic) != (shape.sides[2 * d + 1].kind() == Kind::periodic))
      refuse_grid("one side of " + dimension(d) + " is periodic, expected both or neither");
    parts = std::min<std::int64_t>(parts * shape.parts[d], 1 << 30);
    if (cells > most_cells / extent)
      refuse_grid(extents_text(shape) + " cells, expected at most " + std::to_string(most_cells) + " in all");
    cells *= extent;
  }
  if (parts != ranks)
    refuse_grid(std::to_string(parts) + " parts for " + std::to_string(ranks) + " ranks, expected one for each");
}

GridShape filled_in(GridShape shape, int ranks) {
  const std::size_t dims = shape.extents.size();
  if (dims < 1 || dims > Box::most_dims)
    refuse_grid(std::to_string(dims) + " dimensions, expected 1 to " + std::to_string(Box::most_dims));
  fill_in(shape.spacing, dims, 1.0, "spacings");
  fill_in(shape.sides, 2 * dims, Boundary::periodic(), "sides");
  if (shape.parts.empty()) {
    shape.parts.assign(dims, 1);
    shape.parts.back() = ranks;
  }
  if (shape.parts.size() != dims)
    refuse_grid(std::to_string(shape.parts.size()) + " numbers of parts, expected " + std::to_string(dims));
  check_shape(shape, ranks);
  return shape;
}

Cart cart_of(const GridShape& shape) {
  int lengths[Box::most_dims];
  bool periodic[Box::most_dims];
  for (std::size_t d = 0; d < Box::most_dims; ++d) {
    const bool there = d < shape.extents.size();
    lengths[Box::most_dims - 1 - d] = there ? shape.parts[d] : 1;
    periodic[Box::most_dims - 1 - d] = !there || shape.sides[2 * d].kind() == Boundary::Kind::periodic;
  }
  return Cart(lengths, periodic);
}

}  // namespace

Box Box::intersection(const Box& other) const {
  Box both;
  for (int d = 0; d < most_dims; ++d) {
    both.begin[d] = std::max(begin[d], other.begin[d]);
    both.end[d] = std::max(both.begin[d], std::min(end[d], other.end[d]));
  }
  return both;
}

std::string to_string(const Box& box, int dims) {
  std::string text;
  for (int d = 0; d < dims; ++d)
    text += (d ? " x " : "") + std::to_string(box.begin[d]) + ".." + std::to_string(box.end[d]);
  return text;
}

Grid::Grid(GridShape shape, int ranks) : shape_(filled_in(std::move(shape), ranks)), cart_(cart_of(shape_)) {}

Box Grid::all() const {
  Box box;
  for (int d = 0; d < dims(); ++d) box.end[d] = extent(d);
  return box;
}

Box Grid::part(int rank) const {
  Box box;
  for (int d = 0; d < dims(); ++d) {
    const std::int64_t at = cart_.coordinate(rank, Box::most_dims - 1 - d), each = extent(d) / parts(d),
                       larger = extent(d) % parts(d);
    box.begin[d] = at * each + std::min(at, larger);
    box.end[d] = box.begin[d] + each + (at < larger);
  }
  return box;
}

int Grid::neighbour(int rank, const std::array<int, Box::most_dims>& steps) const {
  int at[Box::most_dims];
  for (int d = 0; d < Box::most_dims; ++d) {
    const int dim = Box::most_dims - 1 - d;
    at[dim] = cart_.coordinate(rank, dim) + steps[d];
  }
  return cart_.rank(at);
}

bool operator==(const Grid& a, const Grid& b) {
  const GridShape &x = a.shape_, &y = b.shape_;
  return x.extents == y.extents && x.spacing == y.spacing && x.sides == y.sides && x.parts == y.parts;
}

}  // namespace dcgn
