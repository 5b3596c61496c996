// Steps of fields in time, by an update that is written for one cell.
//
//   struct Heat {
//     static constexpr int dims = 2, radius = 1;    // the stencil reads up to one cell away, in each dimension
//     float rate;                                   // conductivity over the square of the cells' distance
//     template <class Cells>
//     DCGN_HOST_DEVICE float operator()(const Cells& u) const {   // du/dt
//       return rate * (u(-1, 0) + u(1, 0) + u(0, -1) + u(0, 1) - 4 * u(0, 0));
//     }
//     double fastest_rate() const { return 8 * rate; }            // optional
//   };
//   dcgn::Stepper stepper(comm, Heat{0.1f}, {.scheme = dcgn::Scheme::midpoint, .dt = 0.5}, u);
//   stepper.run(1000);
//
// The update takes a neighbourhood for each field, all of one type of cells, and returns a cell's value or, for several
// fields, Values<T, fields>. u(dx), u(dx, dy), ... is the value so many cells on, at most `radius` in each dimension.
// One update serves borders and bulk, all ranks and devices: any number of ranks computes the same bits, provided that
// the compiler makes them from the source alone: no contraction to fused operations (-ffp-contract=off, nvcc's
// -fmad=false), nor -ffast-math. The file is compiled by nvcc where fields are on CUDA devices. An update that reads
// cells of |dx| + |dy| + |dz| <= radius only may say so: `static constexpr bool diamond = true;` spares registers in
// 3-D.
//
// Source: Playne and Hawick, "Asynchronous Communication for Finite-Difference Simulations on GPU Clusters using CUDA
// and MPI", 2011: modes A (section 4.1) and B (4.2).
#pragma once

#include <dcgn/comm.hpp>
#include <dcgn/stencil/field.hpp>
#include <dcgn/stencil/sweep.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace dcgn {

enum class Scheme {
  euler,     // u += dt f(u)
  midpoint,  // Runge-Kutta of second order, with a half step
  rk4,       // the classical Runge-Kutta of fourth order
  next,      // u = f(u): the update gives the next value itself, as Jacobi's; dt only counts time
};

enum class Mode {
  automatic,      // measures the others that can be used while it steps, and goes on with the fastest
  borders_first,  // A: the border, then its exchange both ways while the bulk is computed
  shift,          // B: each rank sends to one neighbour only, and its part moves through the field; periodic layers
  graph,          // kernels that exchange halos themselves, one a stage; a CUDA graph of them on real GPUs
  persistent,     // the same in one kernel for all steps of a run
};

enum class Exchange {
  each_stage,
  each_step,  // of halos as wide as all stages need, which then compute cells of the neighbours too
};

// As they are spelt above.
std::string to_string(Scheme scheme);
std::string to_string(Mode mode);
std::string to_string(Exchange exchange);

// How to step. All ranks give the same.
struct StepperOptions {
  Scheme scheme = Scheme::midpoint;
  double dt = 1;
  Mode mode = Mode::automatic;
  Exchange exchange = Exchange::each_stage;
  // Steps after which fields are searched for what is not finite; 0: at the end of each run() only.
  std::int64_t check_every = 0;
};

namespace stencil {

// A stepper whose update is known by what it can be asked to do.
class AnyStepper {
 public:
  // What Stepper makes of its update.
  AnyStepper(Comm& comm, UpdateCode code, const StepperOptions& options, std::vector<AnyField*> fields);
  AnyStepper(AnyStepper&&) noexcept;
  AnyStepper& operator=(AnyStepper&&) noexcept;
  // Its memory beyond the fields' own goes.
  ~AnyStepper();

  // By all ranks of the grid, none of which returns before all have made their steps. Then this rank's part of the
  // fields is there to read and write, and nobody stores into its halos, so that both may go. Throws, at
  // all ranks, Error(unstable) where a field is not finite any more, naming the first such cell; else what messages and
  // kernels throw.
  void run(std::int64_t steps);

  std::int64_t steps() const noexcept;  // done so far
  double time() const noexcept;         // steps() times dt

  // What runs, or would run next; Mode::automatic until it has measured.
  Mode mode() const noexcept;
  // In a line: the mode, and for automatic what each candidate took.
  std::string chosen() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace stencil

// Of fields of cells of T.
template <CellValue T>
class Stepper : public stencil::AnyStepper {
 public:
  // By all ranks of the grid, which are all of `comm`; the fields must last as long, and other steppers may take turns
  // with this one. Throws Error(configuration), at all ranks, where
  // - dt is not positive, or too long for the scheme: update.fastest_rate(), if there is one, is how fast the fastest
  //   decaying mode of the (linear) update decays, in 1/time; times dt it may be at most 2, or 2.785 with rk4;
  // - the grid has other dimensions than the update;
  // - fields are of different grids, of other ranks than `comm`, some on devices and some not, or one is there twice;
  // - a halo is wider than a part;
  // and Error(unsupported) where the mode cannot be had: shift, of a grid that is not periodic layers; graph and
  // persistent, of ranks in several processes or on devices that do not reach each other, or with each_step.
  template <class Update, std::same_as<Field<T>>... Fields>
    requires(sizeof...(Fields) < stencil::most_fields)
  Stepper(Comm& comm, const Update& update, const StepperOptions& options, Field<T>& field, Fields&... more)
      : AnyStepper(comm, stencil::code_of<T, 1 + static_cast<int>(sizeof...(Fields))>(update), options,
                   {&field, &more...}) {}
};

}  // namespace dcgn
