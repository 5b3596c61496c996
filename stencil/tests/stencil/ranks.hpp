// Ranks that step fields: threads of the host, each with its part there or on a device.
#pragma once

#include "core/tests/job/support.hpp"
#include "core/tests/message/emulated_gpus.hpp"
#include "reference.hpp"
#include "tests/expect.hpp"
#include "tests/processes.hpp"

#include <dcgn/dcgn.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace dcgn::test {

enum class Where { host, device };

// kernel(comm, device of the rank) on each of so many, spread over the processes that there are.
template <class Kernel>
void on_ranks(int ranks, Where where, const Kernel& kernel) {
  NodeShape shape{.cpus = ranks, .slots = 0};
  if (where == Where::device) shape.gpus = std::max(std::min(Device::count(), 3), processes());
  std::vector<NodeShape> nodes = spread({shape});
  for (NodeShape& node : nodes) node.slots = 0;  // devices have memory and kernels here, no ranks
  Job job(config_of(nodes, 60));
  job.cpu([&](Comm& comm) {
    std::optional<Device> device;
    if (const int gpus = job.world().gpus()) device.emplace(job.world().device(comm.rank() % gpus));
    kernel(comm, device);
  });
  job.run();
}

template <CellValue T>
Field<T> make_field(const Grid& grid, const Comm& comm, const std::optional<Device>& device) {
  return device ? Field<T>(grid, comm, *device) : Field<T>(grid, comm);
}

template <class T>
Array<T> random_cells(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  Array<T> cells(static_cast<std::size_t>(count));
  using Real = typename stencil::RealOf<T>::type;
  const auto number = [&] { return static_cast<Real>(static_cast<double>(random()) / 0x1p31 - 1); };
  for (T& cell : cells) {
    if constexpr (std::is_integral_v<T>)
      cell = static_cast<T>(random() % 2);
    else if constexpr (std::is_same_v<T, Real>)
      cell = number();
    else
      cell = T(number(), number());
  }
  return cells;
}

// How a field is stepped.
struct How {
  GridShape shape;
  int ranks = 1;
  Where where = Where::host;
  StepperOptions options;
  std::int64_t steps = 0;
};

inline std::string to_string(const How& how) {
  std::string text =
      std::to_string(how.ranks) + " ranks on the " + (how.where == Where::host ? "host" : "device") + ",";
  for (const int p : how.shape.parts) text += " " + std::to_string(p);
  return text + " parts, " + dcgn::to_string(how.options.scheme) + ", " + dcgn::to_string(how.options.mode) + ", " +
         dcgn::to_string(how.options.exchange);
}

// One or two fields of the whole grid, after so many steps; `said`, where given, is told what the stepper has chosen.
template <int Fields, class T, class Update>
std::vector<Array<T>> stepped(const How& how, const Update& update, const std::vector<Array<T>>& fields,
                              std::string* said = nullptr) {
  std::vector<Array<T>> last(fields.size());  // of the process of rank 0
  on_ranks(how.ranks, how.where, [&](Comm& comm, const std::optional<Device>& device) {
    const Grid grid(how.shape, comm.size());
    std::vector<Field<T>> mine;
    for (std::size_t f = 0; f < Fields; ++f) {
      mine.push_back(make_field<T>(grid, comm, device));
      mine[f].write(comm, grid.all(), fields[f], 0);
    }
    const auto run = [&](auto&... each) {
      Stepper<T> stepper(comm, update, how.options, each...);
      // In two runs: what lies between them is for the user to read.
      stepper.run(how.steps / 3);
      stepper.run(how.steps - how.steps / 3);
      if (comm.rank() == 0 && said) *said = stepper.chosen();
    };
    if constexpr (Fields == 1)
      run(mine[0]);
    else
      run(mine[0], mine[1]);
    for (std::size_t f = 0; f < Fields; ++f) {
      if (comm.rank() == 0) last[f].resize(fields[f].size());
      mine[f].read(comm, grid.all(), comm.rank() == 0 ? Span<T>(last[f]) : Span<T>(), 0);
    }
  });
  share(last);
  return last;
}

// One field.
template <class T, class Update>
Array<T> stepped(const How& how, const Update& update, const Array<T>& field, std::string* said = nullptr) {
  return stepped<1>(how, update, std::vector<Array<T>>(1, field), said)[0];
}

}  // namespace dcgn::test
