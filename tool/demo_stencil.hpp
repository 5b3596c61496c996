// What dcgn demo cahn-hilliard, ginzburg-landau and heat are told, and their run.
#pragma once

#include "apps/simulation/simulation.hpp"
#include "stencil/src/output/checkpoint.hpp"
#include "tool/stencil_options.hpp"
#include "tool/values.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace dcgn::tool {

// Files of one kind, each of a moment.
struct Frames {
  std::int64_t every = 0;  // steps; 0: none
  std::string suffix, ending;
};

struct StencilArguments {
  simulation::Options options;
  StepperWords words;
  std::string size, parts, output, restart, plot;
  int ranks = 0, gpus = -1, pixels = 1024;
  std::int64_t record_every = -1;
  Frames png{0, "", "png"}, vti{0, "", "vti"}, surface{0, "_surface", "png"}, checkpoint{0, "", "h5"};
  JsonOption json;
  std::optional<stencil::CheckpointFile> from;  // what `restart` names, once it is open

  std::string csv_name() const { return output + ".csv"; }
  std::string checkpoint_name() const { return output + ".h5"; }
};

int run_demo_stencil(StencilArguments& arguments);

}  // namespace dcgn::tool
