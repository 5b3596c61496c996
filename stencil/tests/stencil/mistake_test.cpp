// Steppers that cannot be, and steps that go wrong, say why: at all ranks.
#include "apps/cahn_hilliard/update_kernel.hpp"
#include "apps/heat/update_kernel.hpp"
#include "ranks.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

using Heat = heat::Update<double, 2>;
using CahnHilliard = cahn_hilliard::Update<double, 2>;

template <class T>
struct Same {
  static constexpr int dims = 2, radius = 0;
  template <class Cells>
  DCGN_HOST_DEVICE Values<T, 2> operator()(const Cells& u, const Cells& v) const {
    return {{u(0), v(0)}};
  }
};
struct Moved {
  static constexpr int dims = 2, radius = 1;
  template <class Cells>
  DCGN_HOST_DEVICE int operator()(const Cells& u) const {
    return u(1, 0);
  }
};

// That a stepper of a field of 16 x 16 cells on so many ranks is refused, or its first steps fail.
template <class Update>
void refused(const Update& update, const StepperOptions& options, const GridShape& shape, int ranks, Code code,
             const std::string& said, double value = 0) {
  on_ranks(ranks, Where::host, [&](Comm& comm, const std::optional<Device>&) {
    const Grid grid(shape, comm.size());
    Field<double> field(grid, comm);
    field.fill([&](const Box::Cell& at) { return at[0] == 3 && at[1] == 13 ? value : 0; });
    const Error error = error_of([&] {
      Stepper stepper(comm, update, options, field);
      stepper.run(10);
    });
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_TRUE(contains(error.what(), said));
    comm.barrier();
  });
}
const GridShape square{.extents = {16, 16}};

TEST(Mistake, ATimeStepThatIsTooLong) {
  refused(Heat(), {.scheme = Scheme::euler, .dt = 0.26}, square, 2, Code::unstable,
          "a time step of 0.26 is too long for euler, expected at most 0.25");
  refused(Heat(), {.scheme = Scheme::rk4, .dt = 0.35}, square, 2, Code::unstable, "too long for rk4");
  refused(Heat(), {.scheme = Scheme::euler, .dt = 0}, square, 1, Code::configuration, "a time step of 0,");
  refused(Heat(), {.dt = -1}, square, 1, Code::configuration, "a time step of -1");
  refused(CahnHilliard(), {.dt = 0.026}, square, 2, Code::unstable, "expected at most 0.025");
}

TEST(Mistake, AFieldThatIsNotFiniteAnyMore) {
  for (const int ranks : {1, 3})
    refused(Heat(), {.dt = 0.1}, square, ranks, Code::unstable, "field 0 is not finite any more in cell (",
            std::numeric_limits<double>::infinity());
  // Before any step has spread it.
  on_ranks(2, Where::device, [&](Comm& comm, const std::optional<Device>& device) {
    const Grid grid(square, comm.size());
    auto one = make_field<float>(grid, comm, device), two = make_field<float>(grid, comm, device);
    two.fill([](const Box::Cell& at) {
      return at[1] * 16 + at[0] >= 13 * 16 + 3 ? std::numeric_limits<float>::quiet_NaN() : 1;
    });
    Stepper stepper(comm, Same<float>{}, {.scheme = Scheme::next, .mode = Mode::borders_first}, one, two);
    const Error error = error_of([&] { stepper.run(1); });
    EXPECT_EQ(error.code(), Code::unstable);
    EXPECT_TRUE(contains(error.what(), "field 1 is not finite any more in cell (3, 13) after 1 steps of 1"));
  });
}

TEST(Mistake, AHaloThatIsWiderThanAPart) {
  refused(CahnHilliard(), {.dt = 0.01}, square, 9, Code::configuration,
          "a halo of 2 layers is wider than a part of 1 cells along y");
  refused(CahnHilliard(), {.dt = 0.01, .mode = Mode::shift}, square, 3, Code::configuration,
          "a halo of 8 layers is wider than a part of 5 cells along y");
  refused(CahnHilliard(), {.dt = 0.01, .mode = Mode::borders_first, .exchange = Exchange::each_step}, square, 8,
          Code::configuration, "a halo of 4 layers is wider than a part of 2 cells along y");
}

TEST(Mistake, AModeThatCannotBeHad) {
  GridShape shape = square;
  shape.parts = {2, 1};
  refused(Heat(), {.dt = 0.1, .mode = Mode::shift}, shape, 2, Code::unsupported,
          "2 parts along x, expected layers for the mode shift");
  shape = square;
  shape.sides = {Boundary::neumann()};
  refused(Heat(), {.dt = 0.1, .mode = Mode::shift}, shape, 2, Code::unsupported, "not periodic along its layers");
  refused(Heat(), {.dt = 0.1, .mode = Mode::persistent, .exchange = Exchange::each_step}, square, 2, Code::unsupported,
          "the mode persistent exchanges halos each stage");
}

TEST(Mistake, FieldsThatDoNotFit) {
  refused(heat::Update<double, 3>(), {.dt = 0.1}, square, 1, Code::configuration,
          "an update of 3 dimensions for a grid of 2");
  on_ranks(2, Where::device, [](Comm& comm, const std::optional<Device>& device) {
    const Grid grid(square, 2), other({.extents = {16, 18}}, 2);
    Field<double> a(grid, comm), b(other, comm), c(grid, comm, *device);
    Field<int> n(grid, comm);
    const auto said = [&](const auto& make, const std::string& what) {
      const Error error = error_of(make);
      EXPECT_EQ(error.code(), Code::configuration);
      EXPECT_TRUE(contains(error.what(), what));
    };
    const StepperOptions options{.dt = 0.1};
    said([&] { Stepper(comm, Same<double>{}, options, a, b); }, "field 1 is of another grid than field 0");
    said([&] { Stepper(comm, Same<double>{}, options, a, c); }, "field 1 is on another device than field 0");
    said([&] { Stepper(comm, Same<double>{}, options, a, a); }, "field 1 is there twice");
    said([&] { Stepper(comm, Moved{}, options, n); }, "cells of integers have no rate of change");
    Comm half = comm.split(comm.rank(), 0);
    said([&] { Stepper(half, Heat{}, options, a); }, "of 2 at rank 0 of 1");
  });
}

TEST(Mistake, ANegativeNumberOfSteps) {
  on_ranks(1, Where::host, [](Comm& comm, const std::optional<Device>&) {
    Field<double> field(Grid(square, 1), comm);
    Stepper stepper(comm, Heat{}, {.dt = 0.1}, field);
    EXPECT_TRUE(contains(error_of([&] { stepper.run(-3); }).what(), "-3 steps, expected 0 or more"));
  });
}

// Two steppers of one field take turns.
TEST(Stepper, TakesTurnsWithAnother) {
  const Array<double> first = random_cells<double>(16 * 16, 5);
  Reference<double, 1> expected(Grid(square, 1), {first});
  for (int i = 0; i < 3; ++i) {
    for (int s = 0; s < 3; ++s) expected.step(Heat(), Scheme::euler, 0.1);
    for (int s = 0; s < 2; ++s) expected.step(CahnHilliard(), Scheme::midpoint, 0.01);
  }
  on_ranks(2, Where::host, [&](Comm& comm, const std::optional<Device>&) {
    const Grid grid(square, comm.size());
    Field<double> field(grid, comm);
    field.write(comm, grid.all(), first, 0);
    Stepper one(comm, Heat(), {.scheme = Scheme::euler, .dt = 0.1, .mode = Mode::persistent}, field);
    Stepper two(comm, CahnHilliard(), {.dt = 0.01, .mode = Mode::shift}, field);
    for (int i = 0; i < 3; ++i) {
      one.run(3);
      two.run(2);
    }
    EXPECT_EQ(one.steps(), 9);
    EXPECT_DOUBLE_EQ(two.time(), 0.06);
    Array<double> last(16 * 16);
    field.read(comm, grid.all(), last, 0);
    if (comm.rank() == 0) {
      EXPECT_EQ(last, expected.field(0));
    }
  });
}

// Halos that the last run has left are used again, unless some rank has changed its part meanwhile, be it alone.
TEST(Stepper, SeesWhatARankWritesBetweenRuns) {
  constexpr std::int64_t steps = 3;
  constexpr int writes = 3;  // none, by rank 1 alone, of a box by all
  const Grid whole(square, 1), grid(square, 2);
  const Array<double> first = random_cells<double>(16 * 16, 5);
  const Box mine = grid.part(1);
  const Box box{.begin = {3, 6, 0, 0}, .end = {9, 10, 1, 1}};  // on both sides of the border
  const auto new_cells = [](const Box& of, int write) {
    return random_cells<double>(of.cells(), static_cast<unsigned>(100 + write));
  };
  Array<double> expected = first;
  for (int write = 0; write < writes; ++write) {
    const Box& changed = write == 1 ? mine : box;
    const Array<double> cells = new_cells(changed, write);
    for (std::int64_t y = changed.begin[1], i = 0; write > 0 && y < changed.end[1]; ++y)
      for (std::int64_t x = changed.begin[0]; x < changed.end[0]; ++x)
        expected[static_cast<std::size_t>(y * 16 + x)] = cells[static_cast<std::size_t>(i++)];
    Reference<double, 1> reference(whole, {expected});
    for (std::int64_t s = 0; s < 2 * steps; ++s) reference.step(Heat(), Scheme::euler, 0.1);
    expected = reference.field(0);
  }
  for (const Where where : {Where::host, Where::device})
    for (const Mode mode : {Mode::borders_first, Mode::shift, Mode::graph, Mode::persistent})
      on_ranks(2, where, [&](Comm& comm, const std::optional<Device>& device) {
        Field<double> field = make_field<double>(grid, comm, device);
        field.write(comm, grid.all(), first, 0);
        Stepper stepper(comm, Heat(), {.scheme = Scheme::euler, .dt = 0.1, .mode = mode}, field);
        for (int write = 0; write < writes; ++write) {
          if (write == 1 && comm.rank() == 1) field.write(new_cells(mine, write));
          if (write == 2) field.write(comm, box, new_cells(box, write), 0);
          stepper.run(steps);
          stepper.run(steps);
        }
        Array<double> last(16 * 16);
        field.read(comm, grid.all(), last, 0);
        if (comm.rank() == 0) {
          EXPECT_EQ(last, expected) << to_string(mode);
        }
      });
}

}  // namespace
}  // namespace dcgn::test
