// Stencils, for `explore`: the halos of fields in parts.
#include "apps/heat/update_kernel.hpp"
#include "core/tests/explore/trial.hpp"
#include "stencil/tests/stencil/reference.hpp"

#include <dcgn/dcgn.hpp>

#include <string>
#include <vector>

namespace dcgn::test {
namespace {

void step_fields(const Trial& t) {
  using Update = heat::Update<double, 2>;
  const auto of = [&](int number, std::uint32_t bound) { return static_cast<int>(draw(t.seed, -1, number, bound)); };
  Config config = config_of(t);
  config.nodes = {{.cpus = t.ranks}};
  GridShape shape{.extents = {5 + of(20, 9), 4 * t.ranks + of(21, 9)}};
  if (of(22, 2))
    shape.sides = {Boundary::neumann(), Boundary::dirichlet(0.5), Boundary::periodic(), Boundary::periodic()};
  GridShape whole = shape;
  shape.parts = {1, t.ranks};
  if (t.ranks % 2 == 0 && of(23, 2)) shape.parts = {2, t.ranks / 2};
  StepperOptions options{.scheme = of(24, 2) ? Scheme::midpoint : Scheme::euler, .dt = 0.05};
  options.exchange = of(25, 2) ? Exchange::each_stage : Exchange::each_step;
  constexpr Mode modes[] = {Mode::borders_first, Mode::persistent};
  options.mode = modes[options.exchange == Exchange::each_step ? 0 : of(26, 2)];

  const Grid all(whole, 1);
  Array<double> first(static_cast<std::size_t>(all.cells())), last(first.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    first[i] = static_cast<double>(draw(t.seed, 0, static_cast<int>(i), 1000));
  Reference<double, 1> reference(all, {first});
  for (int step = 0; step < t.rounds; ++step) reference.step(Update(), options.scheme, options.dt);

  Job job(config);
  job.cpu([&](Comm& comm) {
    const Grid grid(shape, comm.size());
    Field<double> field(grid, comm);
    field.write(comm, grid.all(), first, 0);
    Stepper<double> stepper(comm, Update(), options, field);
    stepper.run(t.rounds);
    field.read(comm, grid.all(), comm.rank() == 0 ? Span<double>(last) : Span<double>(), 0);
  });
  job.run();
  for (std::size_t i = 0; i < last.size(); ++i)
    if (last[i] != reference.field(0)[i])
      throw Wrong("after " + std::to_string(t.rounds) + " steps cell " + std::to_string(i) + " is " +
                  std::to_string(last[i]) + ", expected " + std::to_string(reference.field(0)[i]));
}

const bool is_linked = (run_stencils = step_fields) != nullptr;

}  // namespace
}  // namespace dcgn::test
