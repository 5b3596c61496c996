// Any number of ranks, in every mode and decomposition, computes the bits that the oracle does.
#include "apps/cahn_hilliard/update_kernel.hpp"
#include "apps/ginzburg_landau/update_kernel.hpp"
#include "apps/heat/update_kernel.hpp"
#include "ranks.hpp"
#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

constexpr unsigned cells_seed = 17;

// Of what is tried one after the other the last only, where each takes ten times as long.
template <class T>
std::vector<T> some(std::vector<T> all) {
  if (sanitized) all.erase(all.begin(), all.end() - 1);
  return all;
}
using Parts = std::vector<int>;

// Compares what several ways of stepping give with the oracle's.
template <class T, int Fields, class Update>
class Expectation {
 public:
  Expectation(const GridShape& shape, const Update& update, Scheme scheme, double dt, std::int64_t steps)
      : shape_(shape), update_(update), scheme_(scheme), dt_(dt), steps_(steps) {
    GridShape whole = shape;
    whole.parts.clear();
    const Grid grid(whole, 1);
    for (int f = 0; f < Fields; ++f)
      first_.push_back(random_cells<T>(grid.cells(), cells_seed + static_cast<unsigned>(f)));
    Reference<T, Fields> reference(grid, first_);
    for (std::int64_t s = 0; s < steps; ++s) reference.step(update, scheme, dt);
    for (std::size_t f = 0; f < Fields; ++f) expected_.push_back(reference.field(f));
  }

  void hold(const Parts& parts, Where where, Mode mode, Exchange exchange = Exchange::each_stage) const {
    How how{.shape = shape_,
            .where = where,
            .options = {.scheme = scheme_, .dt = dt_, .mode = mode, .exchange = exchange},
            .steps = steps_};
    how.shape.parts = parts;
    for (const int p : parts) how.ranks *= p;
    const std::vector<Array<T>> found = stepped<Fields>(how, update_, first_);
    for (std::size_t f = 0; f < Fields; ++f) {
      std::int64_t wrong = 0;
      for (std::size_t i = 0; i < found[f].size(); ++i) wrong += !(found[f][i] == expected_[f][i]);
      EXPECT_EQ(wrong, 0) << "of " << found[f].size() << " cells of field " << f << ": " << to_string(how) << ", seed "
                          << cells_seed;
    }
  }

 private:
  GridShape shape_;
  Update update_;
  Scheme scheme_;
  double dt_;
  std::int64_t steps_;
  std::vector<Array<T>> first_, expected_;
};

using CahnHilliard = cahn_hilliard::Update<float, 2>;
const std::vector<Where> places{Where::host, Where::device};

const std::vector<Mode> modes{Mode::borders_first, Mode::shift, Mode::graph, Mode::persistent};

TEST(Bitwise, LayersOfCahnHilliardInAllModes) {
  const Expectation<float, 1, CahnHilliard> expected({.extents = {21, 70}}, CahnHilliard(), Scheme::midpoint, 0.01,
                                                     sanitized ? 20 : 250);
  for (const Where where : places)
    for (const int ranks : some<int>({1, 2, 4, 8, 3}))
      for (const Mode mode : modes) expected.hold({1, ranks}, where, mode);
}

TEST(Bitwise, BlocksOfCahnHilliard) {
  const Expectation<float, 1, CahnHilliard> expected({.extents = {37, 30}}, CahnHilliard(), Scheme::midpoint, 0.01,
                                                     100 / fewer);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{2, 1}, {3, 1}, {4, 2}, {2, 2}}))
      for (const Mode mode : {Mode::borders_first, Mode::graph, Mode::persistent}) expected.hold(parts, where, mode);
}

TEST(Bitwise, HalosForAWholeStep) {
  const Expectation<float, 1, CahnHilliard> expected({.extents = {37, 40}}, CahnHilliard(), Scheme::rk4, 0.01,
                                                     60 / fewer);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1}, {1, 2}, {1, 4}, {4, 1}, {2, 2}}))
      expected.hold(parts, where, Mode::borders_first, Exchange::each_step);
}

TEST(Bitwise, ThreeDimensionsWithBoundariesOfAllKinds) {
  using Update = cahn_hilliard::Update<double, 3>;
  const GridShape shape{.extents = {11, 13, 17},
                        .sides = {Boundary::periodic(), Boundary::periodic(), Boundary::neumann(),
                                  Boundary::dirichlet(0.5), Boundary::dirichlet(-1), Boundary::neumann()}};
  const Expectation<double, 1, Update> expected(shape, Update(), Scheme::midpoint, 0.005, 20 / fewer);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1, 1}, {1, 1, 3}, {2, 2, 1}, {2, 2, 2}, {1, 2, 2}}))
      for (const Mode mode : {Mode::borders_first, Mode::graph, Mode::persistent}) {
        expected.hold(parts, where, mode);
        if (mode == Mode::borders_first && parts[2] < 3) expected.hold(parts, where, mode, Exchange::each_step);
      }
}

TEST(Bitwise, ComplexCells) {
  using Update = ginzburg_landau::Update<double, 2>;
  const GridShape shape{
      .extents = {19, 24},
      .sides = {Boundary::periodic(), Boundary::periodic(), Boundary::dirichlet(1, -0.5), Boundary::neumann()}};
  const Expectation<complex<double>, 1, Update> expected(shape, Update({.b = 0.5, .c = -1}), Scheme::rk4, 0.05,
                                                         100 / fewer);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1}, {1, 4}, {2, 2}}))
      for (const Mode mode : {Mode::borders_first, Mode::graph, Mode::persistent}) expected.hold(parts, where, mode);
}

TEST(Bitwise, ComplexCellsOfFloatInOneDimension) {
  using Update = ginzburg_landau::Update<float, 1>;
  const Expectation<complex<float>, 1, Update> expected({.extents = {61}}, Update({.b = 0.5, .c = -1}), Scheme::euler,
                                                        0.05, 100 / fewer + 1);
  for (const Where where : places)
    for (const int ranks : some<int>({1, 8, 3}))
      for (const Mode mode : modes) expected.hold({ranks}, where, mode);
}

TEST(Bitwise, NextValues) {
  using Update = heat::Jacobi<float, 2>;
  const GridShape shape{
      .extents = {33, 22},
      .sides = {Boundary::dirichlet(1), Boundary::dirichlet(0), Boundary::neumann(), Boundary::dirichlet(2)}};
  const Expectation<float, 1, Update> expected(shape, Update(), Scheme::next, 1, 150 / fewer + 1);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1}, {1, 4}, {3, 2}}))
      for (const Mode mode : {Mode::borders_first, Mode::graph, Mode::persistent}) expected.hold(parts, where, mode);
}

// Conway's.
struct Life {
  static constexpr int dims = 2, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE int operator()(const Cells& u) const {
    const int around = u(-1, -1) + u(0, -1) + u(1, -1) + u(-1, 0) + u(1, 0) + u(-1, 1) + u(0, 1) + u(1, 1);
    return around == 3 || (around == 2 && u(0, 0)) ? 1 : 0;
  }
};

TEST(Bitwise, CellsOfIntegersWhoseCornersCount) {
  const Expectation<int, 1, Life> expected({.extents = {30, 25}}, Life(), Scheme::next, 1, 60 / fewer);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1}, {1, 3}, {4, 2}, {2, 2}}))
      for (const Mode mode : {Mode::borders_first, Mode::graph, Mode::persistent}) expected.hold(parts, where, mode);
}

// Two fields that react, one of which diffuses twice as fast (Gray and Scott's).
struct GrayScott {
  static constexpr int dims = 2, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE static float laplace(const Cells& u) {
    return u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * u(0, 0);
  }
  template <class Cells>
  DCGN_HOST_DEVICE Values<float, 2> operator()(const Cells& u, const Cells& v) const {
    const float reaction = u(0, 0) * v(0, 0) * v(0, 0);
    return {{0.2f * laplace(u) - reaction + 0.03f * (1 - u(0, 0)), 0.1f * laplace(v) + reaction - 0.09f * v(0, 0)}};
  }
};

TEST(Bitwise, TwoFields) {
  const Expectation<float, 2, GrayScott> expected({.extents = {18, 35}}, GrayScott(), Scheme::midpoint, 0.5,
                                                  100 / fewer);
  for (const Where where : places)
    for (const int ranks : some<int>({1, 4}))
      for (const Mode mode : modes) expected.hold({1, ranks}, where, mode);
}

// A sum over the nearest cells in four dimensions.
struct Layered {
  static constexpr int dims = 4, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE double operator()(const Cells& u) const {
    return 0.1 * ((u(-1) + u(1)) + (u(0, -1) + u(0, 1)) + (u(0, 0, -1) + u(0, 0, 1)) +
                  (u(0, 0, 0, -1) + u(0, 0, 0, 1)) - 8 * u(0));
  }
};

TEST(Bitwise, LayersOfVolumes) {
  const Expectation<double, 1, Layered> expected({.extents = {5, 4, 3, 9}}, Layered(), Scheme::midpoint, 0.1,
                                                 20 / fewer + 1);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1, 1, 1}, {1, 1, 1, 2}, {1, 2, 1, 2}}))
      for (const Mode mode : {Mode::borders_first, Mode::graph, Mode::persistent}) expected.hold(parts, where, mode);
}

// The mean of a cube: its corners count in three dimensions, too.
struct Smoothed {
  static constexpr int dims = 3, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE float operator()(const Cells& u) const {
    float sum = 0;
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy) sum += u(-1, dy, dz) + u(0, dy, dz) + u(1, dy, dz);
    return sum * (1.0f / 27);
  }
};

TEST(Bitwise, CornersOfThreeDimensions) {
  const GridShape shape{.extents = {9, 8, 10},
                        .sides = {Boundary::periodic(), Boundary::periodic(), Boundary::dirichlet(0.25),
                                  Boundary::neumann(), Boundary::periodic(), Boundary::periodic()}};
  const Expectation<float, 1, Smoothed> expected(shape, Smoothed(), Scheme::next, 1, 12 / fewer + 2);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 1, 1}, {2, 2, 2}, {1, 1, 4}}))
      for (const Mode mode : {Mode::borders_first, Mode::persistent}) expected.hold(parts, where, mode);
}

// Ranks of several processes, where mpirun starts these.
TEST(Bitwise, MessagesOverProcesses) {
  const Expectation<float, 1, CahnHilliard> expected({.extents = {21, 50}}, CahnHilliard(), Scheme::midpoint, 0.01,
                                                     sanitized ? 15 : 40);
  for (const Where where : places)
    for (const Parts& parts : some<Parts>({{1, 4}, {2, 2}})) {
      expected.hold(parts, where, Mode::borders_first);
      expected.hold(parts, where, Mode::borders_first, Exchange::each_step);
      expected.hold(parts, where, Mode::automatic);
      if (parts[0] == 1) expected.hold(parts, where, Mode::shift);
    }
}

// Parts that are smaller than the stencil, along what is not decomposed.
TEST(Bitwise, GridsSmallerThanTheStencil) {
  for (const Boundary side : {Boundary::periodic(), Boundary::neumann()}) {
    const Expectation<float, 1, CahnHilliard> expected({.extents = {1, 12}, .sides = {side}}, CahnHilliard(),
                                                       Scheme::midpoint, 0.01, 30 / fewer);
    for (const Where where : places)
      for (const int ranks : {1, 3}) expected.hold({1, ranks}, where, Mode::borders_first);
  }
}

TEST(Bitwise, AutomaticMeasuresAndSaysWhatItChose) {
  const Expectation<float, 1, CahnHilliard> expected({.extents = {21, 40}}, CahnHilliard(), Scheme::midpoint, 0.01, 90);
  for (const Where where : places) expected.hold({1, 4}, where, Mode::automatic);
  std::string said;
  const How how{.shape = {.extents = {21, 40}}, .ranks = 2, .options = {.dt = 0.01}, .steps = 90};
  stepped(how, CahnHilliard(), random_cells<float>(21 * 40, cells_seed), &said);
  for (const Mode mode : modes) EXPECT_TRUE(contains(said, dcgn::to_string(mode)));
  EXPECT_TRUE(contains(said, "us a step"));
}

}  // namespace
}  // namespace dcgn::test
