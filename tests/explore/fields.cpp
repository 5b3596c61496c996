// Datatypes: matrices of which columns, blocks and rows go to the next rank. Stencils: the halos of fields in parts.
#include "apps/heat/update_kernel.hpp"
#include "tests/stencil/reference.hpp"
#include "trial.hpp"

#include <dcgn/dcgn.hpp>

#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {

void run_datatypes(const Trial& t) {
  constexpr std::int64_t rows = 24, columns = 17;
  Config config = config_of(t);
  const int gpus = draw(t.seed, -1, 10, 2) ? std::min(Device::count(), 2) : 0;
  config.nodes = {{.cpus = t.ranks, .gpus = gpus, .slots = 0}};  // GPUs have memory here, and no ranks
  Job job(config);
  job.cpu([&](Comm& comm) {
    const int to = (comm.rank() + 1) % t.ranks, from = (comm.rank() + t.ranks - 1) % t.ranks;
    const auto cell = [](int round, int rank, std::int64_t i) {
      return 1e6 * round + 1e3 * rank + static_cast<double>(i);
    };
    for (int round = 0; round < t.rounds; ++round) {
      const auto of = [&](int number, std::uint32_t bound) {
        return static_cast<std::int64_t>(draw(t.seed, round, number, bound));
      };
      // A block of a matrix, which is a column, a row or both.
      const std::int64_t height = 1 + of(0, rows), width = 1 + of(1, columns);
      const std::int64_t first = of(2, static_cast<std::uint32_t>(rows - height + 1)) * columns +
                                 of(3, static_cast<std::uint32_t>(columns - width + 1));
      const Datatype block = Datatype::vector(height, width, columns, Datatype::of<double>());
      std::vector<double> out(rows * columns), in(rows * columns, -1);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = cell(round, comm.rank(), static_cast<std::int64_t>(i));
      std::optional<DeviceBuffer<double>> there;
      const bool on_gpu = gpus && draw(t.seed, round, 10 + comm.rank(), 2);
      if (on_gpu) {
        there.emplace(job.world().device(comm.rank() % gpus), out.size());
        there->upload(out.data());
      }
      const Request sent =
          comm.isend(ConstTypedBuffer((on_gpu ? there->data() : out.data()) + first, block), to, round);
      const bool packed = of(4, 2);
      Status s;
      if (packed)
        s = comm.recv(Span<double>(in.data(), static_cast<std::size_t>(height * width)), from, round);
      else
        s = comm.recv(TypedBuffer(in.data() + first, block), from, round);
      comm.wait(sent);
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        double expected = -1;
        if (packed) {
          if (i < height * width) expected = cell(round, from, first + i / width * columns + i % width);
        } else {
          const std::int64_t y = (i - first) / columns, x = (i - first) % columns;
          if (i >= first && y < height && x < width) expected = cell(round, from, i);
        }
        if (in[static_cast<std::size_t>(i)] != expected)
          throw Wrong("round " + std::to_string(round) + ", rank " + std::to_string(comm.rank()) + ": element " +
                      std::to_string(i) + " is " + std::to_string(in[static_cast<std::size_t>(i)]) + ", expected " +
                      std::to_string(expected));
      }
      if (s.source != from || s.bytes != height * width * 8)
        throw Wrong("round " + std::to_string(round) + ": " + std::to_string(s.bytes) + " bytes from rank " +
                    std::to_string(s.source) + ", expected " + std::to_string(height * width * 8) + " from rank " +
                    std::to_string(from));
    }
  });
  job.run();
}

void run_stencils(const Trial& t) {
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

}  // namespace dcgn::test
