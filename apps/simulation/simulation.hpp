// A field in time, from a random start or from a checkpoint, and what one sees of it on the way: the equations of
// apps/cahn_hilliard, apps/ginzburg_landau and apps/heat, by the paper's algorithms (Playne and Hawick 2011).
#pragma once

#include "stencil/src/output/checkpoint.hpp"
#include "stencil/src/output/field_source.hpp"
#include "stencil/src/output/statistics.hpp"

#include <dcgn/placement.hpp>
#include <dcgn/stencil/stepper.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::simulation {

enum class Equation { cahn_hilliard, ginzburg_landau, heat };

std::string_view name_of(Equation equation);

struct Options {
  Equation equation = Equation::cahn_hilliard;
  std::vector<std::int64_t> extents;  // x first, 2 or 3 of them
  double spacing = 1;
  std::vector<int> parts;                    // ranks along each dimension; not given: layers
  std::map<std::string, double> parameters;  // all those of default_parameters(), and no others
  bool double_precision = false;
  std::uint64_t seed = 1;           // of the start
  std::int64_t steps = 0;           // to this one, from the start's
  StepperOptions stepper{.dt = 0};  // dt 0: four fifths of what is stable
  NodeShape nodes;                  // CPU ranks, each with a GPU (or its share of one) where there are GPUs; no slots
  std::vector<std::int64_t> intervals;  // look() is called where a multiple of one of these has been done
};

// What the equation takes, and what it is without being told.
std::map<std::string, double> default_parameters(Equation equation);
// The field's name in files.
std::string field_name(Equation equation);
stencil::FieldShape field_shape(const Options& options);
// The free energy that the equation lets fall.
stencil::Landau energy_of(const Options& options);
// options.stepper.dt, or what stands for 0.
double time_step(const Options& options);

// The field at a moment, for rank 0 alone: its cells are read from all ranks as they are asked for.
struct Moment {
  std::int64_t step = 0;
  double time = 0;
  double stepping_s = 0;  // of that, since the beginning, what the steps took
  stencil::FieldSource field;
};

struct Outcome {
  std::int64_t steps = 0;  // in this run
  double stepping_s = 0;
  double elapsed_s = 0;
  Mode mode = Mode::automatic;
  std::string chosen;  // how the mode came about
  int ranks = 0;
};

// Throws Error(configuration) where the options make no sense, or the checkpoint (null: none) is another run's.
void validate(const Options& options, const stencil::CheckpointFile* from);

// In several processes, by all of them; `look` and `from`, null without one, are process 0's: what the others have of
// them is not looked at. look() is called before the first step, at the intervals and after the last step. Throws what
// validate(), a checkpoint, look(), Grid, Stepper and Job throw.
Outcome run(const Options& options, const stencil::CheckpointFile* from,
            const std::function<void(const Moment&)>& look);

}  // namespace dcgn::simulation
