// What each rank of a simulation does: the same for all equations, whose updates and starts it is given.
#pragma once

#include "apps/simulation/simulation.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/stencil/field.hpp>
#include <dcgn/stencil/stepper.hpp>

#include <algorithm>
#include <array>
#include <chrono>

namespace dcgn::simulation {

// What the ranks of a process share.
struct Run {
  const Options& options;
  const std::vector<Device>& gpus;  // this process's
  const stencil::CheckpointFile* from;
  const std::function<void(const Moment&)>& look;
  Outcome& outcome;  // rank 0's to fill in
};

// Layers of a field in rank 0's memory, one request after the other: rank 0 asks, all others serve.
template <class T>
class Layers {
 public:
  Layers(Comm& comm, Field<T>& field) : comm_(comm), field_(field) {}

  // At rank 0.
  void read(std::int64_t first, std::int64_t count, void* cells) {
    Request request{first, count};
    comm_.broadcast(request, 0);
    const Box box = box_of(request);
    field_.read(comm_, box, Span<T>(static_cast<T*>(cells), static_cast<std::size_t>(box.cells())), 0);
  }
  void end() {
    Request request;
    comm_.broadcast(request, 0);
  }
  // At all others.
  void serve() {
    for (;;) {
      Request request;
      comm_.broadcast(request, 0);
      if (request.count == 0) return;
      field_.read(comm_, box_of(request), Span<T>(), 0);
    }
  }

  // At all ranks: the field becomes the checkpoint's, which rank 0 alone has.
  void restore(const stencil::CheckpointFile* from, const std::string& name) {
    const Grid& grid = field_.grid();
    const std::int64_t layers = grid.extent(grid.dims() - 1), layer = grid.cells() / layers;
    const std::int64_t most = std::max<std::int64_t>(1, (4 << 20) / layer);
    std::vector<T> cells;
    for (std::int64_t first = 0; first < layers; first += most) {
      const Request request{first, std::min(most, layers - first)};
      if (comm_.rank() == 0) {
        cells.resize(static_cast<std::size_t>(request.count * layer));
        from->read(name, request.first, request.count, cells.data());
      }
      field_.write(comm_, box_of(request), Span<const T>(cells.data(), cells.size()), 0);
    }
  }

 private:
  struct Request {
    std::int64_t first = 0, count = 0;
  };
  Box box_of(const Request& request) const {
    Box box = field_.grid().all();
    const auto last = static_cast<std::size_t>(field_.grid().dims() - 1);
    box.begin[last] = request.first;
    box.end[last] = request.first + request.count;
    return box;
  }

  Comm& comm_;
  Field<T>& field_;
};

inline std::int64_t next_stop(const Options& options, std::int64_t step) {
  std::int64_t stop = options.steps;
  for (const std::int64_t interval : options.intervals) stop = std::min(stop, (step / interval + 1) * interval);
  return stop;
}

// start(cell) is the value that a cell has at step 0.
template <class T, class Update, class Start>
void rank_of(Comm& comm, const Run& run, const Update& update, const Start& start) {
  using Clock = std::chrono::steady_clock;
  const Options& o = run.options;
  const Grid grid({.extents = o.extents, .spacing = {o.spacing}, .parts = o.parts}, comm.size());
  const auto in_process = static_cast<std::size_t>(comm.rank() % o.nodes.cpus);
  Field<T> field =
      run.gpus.empty() ? Field<T>(grid, comm) : Field<T>(grid, comm, run.gpus[in_process % run.gpus.size()]);
  StepperOptions stepping = o.stepper;
  stepping.dt = time_step(o);
  Stepper<T> stepper(comm, update, stepping, field);
  Layers<T> layers(comm, field);
  const bool first = comm.rank() == 0;

  struct {
    std::int64_t step = 0;
    bool restored = false;
  } begin;
  if (first && run.from) begin = {run.from->state().step, true};
  comm.broadcast(begin, 0);
  if (begin.restored)
    layers.restore(run.from, field_name(o.equation));
  else
    field.fill(start);

  double stepping_s = 0;
  const auto look = [&](std::int64_t step) {
    if (!first) return layers.serve();
    const auto read = [&](std::int64_t from, std::int64_t count, void* cells) { layers.read(from, count, cells); };
    run.look(
        {step, static_cast<double>(step) * stepping.dt, stepping_s, {field_name(o.equation), field_shape(o), read}});
    layers.end();
  };
  std::int64_t step = begin.step;
  look(step);
  while (step < o.steps) {
    const std::int64_t stop = next_stop(o, step);
    const auto began = Clock::now();
    stepper.run(stop - step);
    stepping_s += std::chrono::duration<double>(Clock::now() - began).count();
    step = stop;
    look(step);
  }
  if (!first) return;
  run.outcome.steps = step - begin.step;
  run.outcome.stepping_s = stepping_s;
  run.outcome.mode = stepper.mode();
  run.outcome.chosen = stepper.chosen();
  run.outcome.ranks = comm.size();
}

// One of the equations, each in a file of its own.
void cahn_hilliard_rank(Comm& comm, const Run& run);
void ginzburg_landau_rank(Comm& comm, const Run& run);
void heat_rank(Comm& comm, const Run& run);
// And how fast the fastest mode of it decays.
double cahn_hilliard_rate(const Options& options);
double ginzburg_landau_rate(const Options& options);
double heat_rate(const Options& options);

// Calls act.operator()<T, Dims>() for the options' precision and dimensions.
template <class Act>
auto with_type(const Options& options, const Act& act) {
  if (options.extents.size() == 2)
    return options.double_precision ? act.template operator()<double, 2>() : act.template operator()<float, 2>();
  return options.double_precision ? act.template operator()<double, 3>() : act.template operator()<float, 3>();
}

// Random numbers by a cell's place in the grid, so that no rank needs to know of others: from -1 to 1. SplitMix64's
// mixing (Steele, Lea and Flood 2014).
class Noise {
 public:
  explicit Noise(const Options& options) : seed_(options.seed) {
    std::int64_t stride = 1;
    for (std::size_t d = 0; d < options.extents.size(); stride *= options.extents[d++]) stride_[d] = stride;
  }
  double operator()(const Box::Cell& at, std::uint64_t which = 0) const {
    std::uint64_t x = seed_ * 0x9e3779b97f4a7c15ull + which;
    for (std::size_t d = 0; d < at.size(); ++d) x += static_cast<std::uint64_t>(at[d] * stride_[d]) * 2;
    x = mixed(mixed(x + 0x9e3779b97f4a7c15ull));
    return static_cast<double>(x >> 11) * 0x1p-52 - 1;
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  std::uint64_t seed_;
  std::array<std::int64_t, Box::most_dims> stride_{};
};

}  // namespace dcgn::simulation
