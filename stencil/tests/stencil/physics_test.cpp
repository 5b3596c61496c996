// What the equations say, and the steps must show.
#include "apps/cahn_hilliard/update_kernel.hpp"
#include "apps/ginzburg_landau/update_kernel.hpp"
#include "apps/heat/update_kernel.hpp"
#include "ranks.hpp"
#include "tests/sanitized.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <vector>

namespace dcgn::test {
namespace {

using numbers_of_grid = std::vector<std::int64_t>;
constexpr double two_pi = 2 * std::numbers::pi;

template <class T>
Array<T> cells_of(const numbers_of_grid& extents, const std::function<T(const Box::Cell&)>& value) {
  const Grid grid({.extents = extents}, 1);
  Array<T> cells(static_cast<std::size_t>(grid.cells()));
  for (std::int64_t i = 0; i < grid.cells(); ++i) {
    const std::int64_t x = grid.extent(0), y = grid.extent(1);
    cells[static_cast<std::size_t>(i)] = value({i % x, i / x % y, i / x / y, 0});
  }
  return cells;
}

double sum(const Array<double>& cells) {
  long double all = 0;
  for (const double u : cells) all += u;
  return static_cast<double>(all);
}

// Of Cahn-Hilliard in 2-D with all parameters 1, in units of a cell.
double free_energy(const Array<double>& u, std::int64_t nx, std::int64_t ny, double spacing) {
  long double all = 0;
  for (std::int64_t y = 0; y < ny; ++y)
    for (std::int64_t x = 0; x < nx; ++x) {
      const auto at = [&](std::int64_t i, std::int64_t j) { return u[static_cast<std::size_t>(i % nx + j % ny * nx)]; };
      const double here = at(x, y), dx = (at(x + 1, y) - here) / spacing, dy = (at(x, y + 1) - here) / spacing;
      all += -here * here / 2 + here * here * here * here / 4 + (dx * dx + dy * dy) / 2;
    }
  return static_cast<double>(all);
}

// Steps u by layers on so many ranks, and shows it to `look` after each run.
void watch(const numbers_of_grid& extents, int ranks, const cahn_hilliard::Update<double, 2>& update, double dt,
           Array<double> u, std::int64_t runs, std::int64_t steps_each,
           const std::function<void(const Array<double>&)>& look) {
  on_ranks(ranks, Where::host, [&](Comm& comm, const std::optional<Device>& device) {
    const Grid grid({.extents = extents}, comm.size());
    auto field = make_field<double>(grid, comm, device);
    field.write(comm, grid.all(), u, 0);
    Stepper stepper(comm, update, {.dt = dt, .mode = Mode::persistent}, field);
    for (std::int64_t r = 0; r < runs; ++r) {
      stepper.run(steps_each);
      field.read(comm, grid.all(), u, 0);
      if (comm.rank() == 0) look(u);
    }
    comm.barrier();
  });
}

// By the laplacian's eigenvalue -q of the mode, Cahn-Hilliard has z = dt (q - q^2), and midpoint RK2 1 + z + z^2 / 2.
TEST(Physics, EverySmallModeGrowsAsTheSchemeSays) {
  constexpr int n = 12;
  constexpr double amplitude = 1e-5, dt = 0.02;
  const cahn_hilliard::Update<double, 2> update;
  on_ranks(2, Where::host, [&](Comm& comm, const std::optional<Device>& device) {
    const Grid grid({.extents = {n, n}}, comm.size());
    auto field = make_field<double>(grid, comm, device);
    Stepper stepper(comm, update, {.dt = dt, .mode = Mode::borders_first}, field);
    for (int kx = 0; kx <= n / 2; ++kx)
      for (int ky = 0; ky <= n / 2; ++ky) {
        const auto mode = [&](const Box::Cell& at) {
          return std::cos(two_pi * kx * static_cast<double>(at[0]) / n) *
                 std::cos(two_pi * ky * static_cast<double>(at[1]) / n);
        };
        field.fill([&](const Box::Cell& at) { return amplitude * mode(at); });
        stepper.run(1);
        Array<double> u(n * n);
        field.read(comm, grid.all(), u, 0);
        if (comm.rank() != 0) continue;
        const Array<double> shape = cells_of<double>({n, n}, mode);
        long double with = 0, square = 0;
        for (std::size_t i = 0; i < u.size(); ++i) {
          with += static_cast<long double>(u[i]) * shape[i];
          square += static_cast<long double>(shape[i]) * shape[i];
        }
        const auto q_of = [&](int k) { return 2 - 2 * std::cos(two_pi * k / n); };
        const double q = q_of(kx) + q_of(ky), z = dt * (q - q * q), expected = 1 + z + z * z / 2;
        const auto growth = static_cast<double>(with / square / amplitude);
        EXPECT_NEAR(growth, expected, 1e-9 * std::abs(expected)) << kx << ", " << ky;
      }
  });
}

TEST(Physics, MassStays) {
  constexpr std::int64_t nx = 32, ny = 24;
  Array<double> u = random_cells<double>(nx * ny, 3);
  for (double& cell : u) cell = 0.3 + 0.1 * cell;
  const double before = sum(u);
  watch({nx, ny}, 3, cahn_hilliard::Update<double, 2>(), 0.02, u, 4, 1000 / fewer, [&](const Array<double>& now) {
    EXPECT_NE(now, u);
    EXPECT_LE(std::abs(sum(now) - before), 1e-13 * before);
  });
}

TEST(Physics, FreeEnergyNeverRises) {
  constexpr std::int64_t nx = 32, ny = 32;
  const cahn_hilliard::Update<double, 2> update;
  Array<double> u = random_cells<double>(nx * ny, 4);
  for (double& cell : u) cell *= 0.5;
  const double longest = 2 / update.fastest_rate();
  double before = free_energy(u, nx, ny, 1);
  const double at_first = before;
  watch({nx, ny}, 2, update, 0.95 * longest, u, 600 / fewer, 1, [&](const Array<double>& now) {
    const double energy = free_energy(now, nx, ny, 1);
    EXPECT_LE(energy, before + 1e-12 * std::abs(before));
    before = energy;
  });
  EXPECT_LT(before, at_first - 10);
}

// Between the two phases lies an interface whose energy is (2 sqrt 2 / 3) sqrt K for each length of it.
TEST(Physics, AFlatStripeHasTheEnergyOfItsTwoInterfaces) {
  if (sanitized) GTEST_SKIP() << "one rank's arithmetic, and much of it";
  constexpr std::int64_t nx = 48, ny = 2;
  constexpr double spacing = 0.5;
  const cahn_hilliard::Update<double, 2> update({}, spacing);
  const Array<double> u = cells_of<double>({nx, ny}, [](const Box::Cell& at) {
    const double x = static_cast<double>(at[0]);
    return x < nx / 4 || x >= 3 * nx / 4 ? -1.0 : 1.0;  // steps: the profile is for the equation to find
  });
  double energy = 0;
  watch({nx, ny}, 1, update, 1.9 / update.fastest_rate(), u, 1, 12000, [&](const Array<double>& now) {
    const double bulk = -0.25 * nx * ny;  // of u = 1 or -1 everywhere
    energy = (free_energy(now, nx, ny, spacing) - bulk) * spacing * spacing / (2 * ny * spacing);
  });
  EXPECT_NEAR(energy, 2 * std::sqrt(2.0) / 3, 0.01 * 2 * std::sqrt(2.0) / 3);
}

// A plane wave of amplitude sqrt(1 - q) goes round with the frequency (b - c) q + c, where -q is the laplacian's
// eigenvalue.
TEST(Physics, APlaneWaveOfGinzburgLandauGoesRound) {
  constexpr int n = 32, k = 2, steps = 200 / fewer;
  constexpr double b = 0.5, c = -0.3, dt = 0.01;
  using Cell = complex<double>;
  const double q = 2 - 2 * std::cos(two_pi * k / n), amplitude = std::sqrt(1 - q);
  const auto wave = [&](const Box::Cell& at, double time) {
    const double angle = two_pi * k * static_cast<double>(at[0]) / n - (b * q + c * (1 - q)) * time;
    return Cell(amplitude * std::cos(angle), amplitude * std::sin(angle));
  };
  const Array<Cell> first = cells_of<Cell>({n, 8}, [&](const Box::Cell& at) { return wave(at, 0); });
  const How how{.shape = {.extents = {n, 8}},
                .ranks = 2,
                .where = Where::device,
                .options = {.scheme = Scheme::rk4, .dt = dt, .mode = Mode::borders_first},
                .steps = steps};
  const ginzburg_landau::Update<double, 2> update({.b = b, .c = c});
  const Array<Cell> last = stepped(how, update, first);
  const Array<Cell> expected = cells_of<Cell>({n, 8}, [&](const Box::Cell& at) { return wave(at, steps * dt); });
  for (std::size_t i = 0; i < last.size(); ++i) {
    EXPECT_NEAR(last[i].real(), expected[i].real(), 1e-8);
    EXPECT_NEAR(last[i].imag(), expected[i].imag(), 1e-8);
  }
}

// Between walls of two temperatures the iteration comes to rest on a straight line.
TEST(Physics, JacobiComesToRestOnAStraightLine) {
  constexpr int n = 20;
  const Boundary low = Boundary::dirichlet(-0.5), high = Boundary::dirichlet(n - 0.5 + 1), none = Boundary::neumann();
  const How how{.shape = {.extents = {n, 6}, .sides = {low, high, none, none}},
                .ranks = 2,
                .options = {.scheme = Scheme::next, .mode = Mode::borders_first},
                .steps = 3000};
  const Array<double> last = stepped(how, heat::Jacobi<double, 2>(), Array<double>(n * 6));
  // The walls are the centres of the cells beyond.
  for (int i = 0; i < n * 6; ++i) EXPECT_NEAR(last[static_cast<std::size_t>(i)], -0.5 + (i % n + 1), 1e-6);
}

}  // namespace
}  // namespace dcgn::test
