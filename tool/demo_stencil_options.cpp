// The options of dcgn demo cahn-hilliard, ginzburg-landau and heat.
#include "tool/commands.hpp"
#include "tool/demo_stencil.hpp"
#include "tool/exit_code.hpp"
#include "tool/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace dcgn::tool {

namespace {

using simulation::Equation;

constexpr const char* stencil_examples =
    "Examples:\n"
    "  dcgn demo {0} --steps 2000 --png every=500\n"
    "  dcgn demo {0} --size 96x96x96 --steps 1000 --surface every=500 --vti every=500\n"
    "  dcgn demo {0} --ranks 4 --parts 2x2 --checkpoint every=1000\n"
    "  dcgn demo {0} --restart {1}.h5 --ranks 3 --steps 4000     goes on, on other ranks\n";

// every=K, or K alone.
CLI::Validator interval() {
  return CLI::Validator(
      [](std::string& text) {
        const std::string number = text.substr(text.starts_with("every=") ? 6 : 0);
        std::string left = number;
        if (!whole_number(1, std::int64_t{1} << 40)(left).empty())
          return fmt::format("'{}': expected every=STEPS, as in every=100", text);
        text = number;
        return std::string();
      },
      "");
}

void add_frames(CLI::App& app, const char* option, std::int64_t& every, const std::string& help) {
  app.add_option(option, every, help)->type_name("every=STEPS")->transform(interval());
}

void add_parameters(CLI::App& app, simulation::Options& options,
                    const std::vector<std::pair<std::string, const char*>>& helps) {
  options.parameters = simulation::default_parameters(options.equation);
  for (const auto& [name, help] : helps)
    app.add_option("--" + name, options.parameters[name], help)
        ->type_name("X")
        ->check(finite_number())
        ->capture_default_str();
}

void add(CLI::App& parent, Action& chosen, Equation equation, const char* help,
         const std::vector<std::pair<std::string, const char*>>& parameters) {
  const auto a = std::make_shared<StencilArguments>();
  simulation::Options& o = a->options;
  o.equation = equation;
  o.steps = 2000;
  a->size = "512x512";
  a->output = std::string(name_of(equation));
  std::ranges::replace(a->output, '-', '_');
  CLI::App* app = parent.add_subcommand(std::string(name_of(equation)), help);
  app->add_option("--size", a->size, "Cells along x, y and, in three dimensions, z; the sides are periodic")
      ->type_name("NxN[xN]")
      ->capture_default_str();
  app->add_option("--steps", o.steps, "To this step, from the beginning or from a checkpoint's")
      ->type_name("N")
      ->check(whole_number(0, std::int64_t{1} << 40))
      ->capture_default_str();
  add_parameters(*app, o, parameters);
  app->add_option("--spacing", o.spacing, "From one cell to the next")
      ->type_name("L")
      ->check(positive_number())
      ->capture_default_str();
  app->add_option("--dt", o.stepper.dt, "Time of a step [four fifths of what is stable]")
      ->type_name("T")
      ->check(positive_number());
  app->add_flag("--double", o.double_precision, "Cells in double precision");
  app->add_option("--seed", o.seed, "Of the random start")->type_name("N")->capture_default_str();
  app->add_option("--ranks", a->ranks,
                  "Ranks of each process [one for each GPU; without GPUs one for each processor, up to 4]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 16));
  app->add_option("--gpus", a->gpus,
                  "GPUs of each process, which its ranks share out [all real ones; no emulated ones]")
      ->type_name("N")
      ->check(whole_number(0, 1 << 16));
  app->add_option("--parts", a->parts, "Ranks along each dimension, as in 2x2 [layers]")->type_name("NxN[xN]");
  a->words.add_scheme(*app);
  a->words.add_mode(*app);
  a->words.add_exchange(*app);
  add_frames(*app, "--png", a->png.every,
             "A picture each so many steps, of the middle plane where there are three dimensions");
  add_frames(*app, "--surface", a->surface.every,
             "A picture of the surfaces between the phases, or of vortices, in three dimensions");
  add_frames(*app, "--vti", a->vti.every, "The field as a VTK image file, which ParaView opens");
  add_frames(*app, "--checkpoint", a->checkpoint.every,
             "The field and what it takes to go on, in NAME.h5, the last one");
  add_frames(*app, "--record", a->record_every,
             "Free energy, mass and domain length, in NAME.csv [a hundredth of all steps]");
  app->add_option("--restart", a->restart, "Go on from this checkpoint, on whatever ranks")->type_name("FILE.h5");
  app->add_option(
         "--plot", a->plot,
         "What NAME.csv has as a picture; the ending says which kind. Needs matplotlib in the first python3 of "
         "PATH")
      ->type_name("FILE.png|svg|...");
  app->add_option("--pixels", a->pixels, "Width and height of pictures, at most")
      ->type_name("N")
      ->check(whole_number(16, 1 << 14))
      ->capture_default_str();
  app->add_option("--output", a->output, "What the files' names begin with")->type_name("NAME")->capture_default_str();
  a->json.add_to(*app, "The records, what was written and the totals");
  add_trace_option(*app);
  app->footer(fmt::format("{}\n{}\n{}", fmt::format(fmt::runtime(stencil_examples), name_of(equation), a->output),
                          processes_help, exit_codes_help));
  app->callback([a, &chosen] { chosen = [a] { return run_demo_stencil(*a); }; });
}

}  // namespace

void add_demo_stencil(CLI::App& parent, Action& chosen) {
  add(parent, chosen, Equation::cahn_hilliard,
      "Two phases that separate: du/dt = M laplace(-B u + U u^3 - K laplace u)\n\n"
      "A quenched mixture (Playne and Hawick 2011) on a grid that ranks share out, CPU threads or GPUs, whose halos\n"
      "travel while the cells within are computed. Its free energy falls, its mass stays, its domains grow as t^(1/3).",
      {{"M", "Mobility"},
       {"B", "How deep the quench is"},
       {"U", "The other phase's pull; phases are at +-sqrt(B / U)"},
       {"K", "What an interface costs"},
       {"mean", "Of the start"},
       {"noise", "About the mean, uniformly"}});
  add(parent, chosen, Equation::ginzburg_landau,
      "Vortices of a complex field: dA/dt = A + (1 + i b) laplace A - (1 + i c) |A|^2 A\n\n"
      "The time-dependent Ginzburg-Landau equation on a grid that ranks share out. Pictures have the phase as hue:\n"
      "vortices are the dark points. The free energy is that with b = c = 0, the mass the integral of |A|^2.",
      {{"b", "Linear dispersion"}, {"c", "Of the frequency with the amplitude"}, {"noise", "Of the start, uniformly"}});
  add(parent, chosen, Equation::heat,
      "Heat that spreads: du/dt = k laplace u\n\n"
      "Hot balls in the cold, on a grid that ranks share out. The free energy is half the integral of |grad u|^2.",
      {{"k", "Conductivity"}});
}

}  // namespace dcgn::tool
