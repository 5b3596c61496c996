// What a part's steps consist of: arithmetic over its grid, which all ranks make the same of.
#pragma once

#include "storage.hpp"

#include <dcgn/stencil/grid.hpp>
#include <dcgn/stencil/stage.hpp>
#include <dcgn/stencil/stepper.hpp>

#include <vector>

namespace dcgn::stencil {

// A stage by its arrays; -1: none. Factors are of dt.
struct StageRule {
  int in, base, out;
  double out_factor;
  int sum_base = -1, sum = -1;
  double sum_factor = 0;
};

struct SchemeRules {
  std::vector<StageRule> stages;  // of one step, or of two, after which arrays are used as at first
  int stages_each;                // of a step
  int arrays;
  double stability;  // dt times the rate of decay may be at most this: where the real axis leaves the stable region
};
// `in_place`: whether the last stage may write the cells of a step's begin.
SchemeRules rules_of(Scheme scheme, bool in_place);

// A box of cells that a neighbour sends or gets. Directions count -1, 0, 1 in each dimension, x fastest.
struct Transfer {
  int direction;
  int rank;
  Cells cells;
};
int opposite(int direction);

// What one stage computes, counted as its input counts cells.
struct StageCells {
  Boxes border;  // what neighbours get of it; none where they get nothing after this stage
  Boxes bulk;
};

struct Plan {
  Halo halo;
  SchemeRules rules;
  std::vector<Transfer> sends, receives;
  std::vector<StageCells> stages;  // of a step
  int shift = 0;                   // layers along the last dimension by which a step moves the part

  bool exchanges_after(int stage) const { return stages[static_cast<std::size_t>(stage)].border.count > 0; }
};

// Throws Error(configuration) where a halo is wider than a part, Error(unsupported) for the shift of what are not
// periodic layers.
Plan plan_of(const Grid& grid, int rank, int radius, Scheme scheme, bool shifting, Exchange exchange);

}  // namespace dcgn::stencil
