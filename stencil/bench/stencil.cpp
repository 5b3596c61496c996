#include "stencil/bench/stencil.hpp"

#include "apps/cahn_hilliard/update_kernel.hpp"
#include "apps/heat/update_kernel.hpp"
#include "stencil/bench/jacobi.hpp"

#include <dcgn/error.hpp>
#include <dcgn/job.hpp>
#include <dcgn/stencil.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>

namespace dcgn::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int runs = 10;

// How many steps are checked, and how far a cell sees in each.
struct Reach {
  std::int64_t steps, layers;
};

Reach checked(const StencilWork& work) {
  return work.equation == "jacobi" ? Reach{4, 1} : Reach{2, 4};  // two stages of radius two
}

StepperOptions stepper_options(const StencilWork& work) {
  const bool jacobi = work.equation == "jacobi";
  return {.scheme = jacobi ? Scheme::next : Scheme::midpoint,
          .dt = jacobi                  ? 1
                : work.size.size() == 2 ? 0.02
                                        : 0.0095,
          .mode = work.mode,
          .exchange = work.exchange};
}

// Both equations begin with the same numbers, which Cahn-Hilliard takes about zero.
float start_of(const StencilWork& work, const Box::Cell& at) {
  const float value = jacobi_start(at[0] + 31 * at[2], at[1] + 57 * at[2]);
  return work.equation == "jacobi" ? value : (value - 0.5f) / 8;
}

// act(comm, field, stepper) at every rank of so many.
using Act = std::function<void(Comm&, Field<float>&, stencil::AnyStepper&)>;

template <class Update>
void with_update(Comm& comm, const StencilWork& work, Field<float>& field, const Update& update, const Act& act) {
  Stepper<float> stepper(comm, update, stepper_options(work), field);
  act(comm, field, stepper);
}

void on_ranks(const StencilWork& work, const Act& act) {
  NodeShape node{.cpus = work.devices};
  if (work.gpus) {
    node.gpus = work.devices;
    node.slots = 0;
  }
  Job job({.nodes = {node}});
  job.cpu([&](Comm& comm) {
    const Grid grid({.extents = work.size}, comm.size());
    std::optional<Device> device;
    if (work.gpus) device.emplace(comm.rank());
    Field<float> field = device ? Field<float>(grid, comm, *device) : Field<float>(grid, comm);
    if (work.equation == "jacobi")
      with_update(comm, work, field, heat::Jacobi<float, 2>(), act);
    else if (work.size.size() == 2)
      with_update(comm, work, field, cahn_hilliard::Update<float, 2>(), act);
    else
      with_update(comm, work, field, cahn_hilliard::Update<float, 3>(), act);
  });
  job.run();
}

// A few layers of the grid.
struct Band {
  std::int64_t first, count;

  Box box(const Grid& grid) const {
    Box box = grid.all();
    const auto last = static_cast<std::size_t>(grid.dims() - 1);
    box.begin[last] = first;
    box.end[last] = first + count;
    return box;
  }
};

// Those on both sides of each border between parts, and at the grid's ends.
std::vector<Band> bands_of(const StencilWork& work) {
  const Grid grid({.extents = work.size}, work.devices);
  std::vector<Band> bands;
  for (int r = 0; r < work.devices; ++r) {
    const Box part = grid.part(r);
    const auto last = work.size.size() - 1;
    const std::int64_t count = std::min<std::int64_t>(2, part.end[last] - part.begin[last]);
    bands.push_back({part.begin[last], count});
    if (part.end[last] - count > part.begin[last]) bands.push_back({part.end[last] - count, count});
  }
  return bands;
}

// What one CPU rank makes of a band, from a grid of just those layers that it sees.
std::vector<float> reference(const StencilWork& work, const Band& band) {
  const Reach reach = checked(work);
  const std::int64_t layers = work.size.back(), margin = reach.steps * reach.layers;
  StencilWork alone = work;
  alone.devices = 1;
  alone.gpus = false;
  alone.mode = Mode::borders_first;
  alone.exchange = Exchange::each_stage;
  const bool whole = band.count + 2 * margin >= layers;
  const std::int64_t first = whole ? 0 : band.first - margin;
  alone.size.back() = whole ? layers : band.count + 2 * margin;
  std::vector<float> cells;
  on_ranks(alone, [&](Comm& comm, Field<float>& field, stencil::AnyStepper& stepper) {
    field.fill([&](Box::Cell at) {
      auto& layer = at[work.size.size() - 1];
      layer = (first + layer + layers) % layers;
      return start_of(work, at);
    });
    stepper.run(reach.steps);
    const Box box = Band{band.first - first, band.count}.box(field.grid());
    cells.resize(static_cast<std::size_t>(box.cells()));
    field.read(comm, box, cells, 0);
  });
  return cells;
}

}  // namespace

StencilRow measure_stencil(const StencilWork& work) {
  StencilRow row{
      .whose = "dcgn " + std::string(version), .equation = work.equation, .size = work.size, .devices = work.devices};
  const std::vector<Band> bands = bands_of(work);
  std::vector<std::vector<float>> found(bands.size());
  const std::int64_t each = std::max<std::int64_t>(1, work.steps / runs);
  std::vector<double> us;
  on_ranks(work, [&](Comm& comm, Field<float>& field, stencil::AnyStepper& stepper) {
    const bool first = comm.rank() == 0;
    field.fill([&](const Box::Cell& at) { return start_of(work, at); });
    stepper.run(checked(work).steps);
    for (std::size_t b = 0; b < bands.size(); ++b) {
      const Box box = bands[b].box(field.grid());
      std::vector<float> cells(first ? static_cast<std::size_t>(box.cells()) : 0);
      field.read(comm, box, cells, 0);
      if (first) found[b] = std::move(cells);
    }
    stepper.run(each);  // where auto has not measured yet, it does
    std::vector<double> mine;
    for (int run = 0; run < runs; ++run) {
      comm.barrier();
      const auto began = Clock::now();
      stepper.run(each);
      comm.barrier();
      mine.push_back(std::chrono::duration<double, std::micro>(Clock::now() - began).count() /
                     static_cast<double>(each));
    }
    if (!first) return;
    us = mine;
    row.mode = to_string(stepper.mode());
    row.note = stepper.chosen();
  });
  std::ranges::replace(row.mode, '_', '-');
  set_figures(row, us, static_cast<std::uint64_t>(each * runs));
  for (std::size_t b = 0; b < bands.size(); ++b) {
    const std::vector<float> expected = reference(work, bands[b]);
    for (std::size_t i = 0; i < expected.size(); ++i) row.wrong += !(found[b][i] == expected[i]);
  }
  return row;
}

double copy_gb_per_s(bool gpus) {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  constexpr int copies = 7;
  std::vector<double> gb_per_s;
  const auto measure = [&](const auto& copy) {
    for (int i = 0; i < copies; ++i) {
      const auto began = Clock::now();
      copy();
      gb_per_s.push_back(2.0 * bytes / std::chrono::duration<double, std::nano>(Clock::now() - began).count());
    }
  };
  if (gpus) {
    const Device device(0);
    const DeviceBuffer<std::byte> from(device, bytes), to(device, bytes);
    Stream stream(device);
    measure([&] {
      device.copy(stream, to.data(), from.data(), bytes);
      stream.synchronize();
    });
  } else {
    const std::vector<std::byte> from(bytes, std::byte{1});
    std::vector<std::byte> to(bytes);
    measure([&] { std::copy(from.begin(), from.end(), to.begin()); });
  }
  return percentile(gb_per_s, 50);
}

std::int64_t largest_size(const StencilWork& work, std::int64_t unit) {
  if (!work.gpus || Device(0).kind() != DeviceKind::cuda)
    throw Error(Code::unsupported, "bench", "the largest size of a host's memory: expected real GPUs");
  const auto fits = [&](std::int64_t units) {
    StencilWork tried = work;
    std::ranges::fill(tried.size, units * unit);
    try {
      on_ranks(tried, [](Comm&, Field<float>&, stencil::AnyStepper& stepper) { stepper.run(1); });
      return true;
    } catch (const Error& error) {
      if (error.code() == Code::device || error.code() == Code::out_of_resources) return false;
      throw;
    }
  };
  std::int64_t fit = 0, too_many = 1;
  while (fits(too_many)) {
    fit = too_many;
    too_many *= 2;
  }
  while (too_many - fit > 1) {
    const std::int64_t between = (fit + too_many) / 2;
    (fits(between) ? fit : too_many) = between;
  }
  return fit * unit;
}

}  // namespace dcgn::bench
