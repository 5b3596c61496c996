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

// Compares what several ways of stepping give with the oracle's.
template <class T, int Fields, class Update>
class Expectation {
 public:
  Expectation(const GridShape& shape, const Update& update, Scheme scheme, double dt, std::int64_t steps)
      : shape_(shape), update_(update), scheme_(scheme), dt_(dt), steps_(steps) {
    GridShape whole = shape;
    whole.parts.clear();
    const Grid grid(whole, 1);
    for (int f = 0; f < Fields; ++f) first_.push_back(random_cells<T>(grid.cells(), cells_seed + static_cast<unsigned>(f)));
    Reference<T, Fields> reference(grid, first_);
    for (std::int64_t s = 0; s < steps; ++s) reference.step(update, scheme, dt);
    for (std::size_t f = 0; f < Fields; ++f) expected_.push_back(reference.field(f));
  }

  void hold(const std::vector<int>& parts, Where where, Mode mode, Exchange exchange = Exchange::each_stage) const {
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

TEST(Bitwise, LayersOfCahnHilliard) {
  const Expectation<float, 1, CahnHilliard> expected({.extents = {21, 70}}, CahnHilliard(), Scheme::midpoint, 0.01,
                                                     1000 / fewer);
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const Where where : places) expected.hold({1, ranks}, where, Mode::borders_first);
}

}  // namespace
}  // namespace dcgn::test
