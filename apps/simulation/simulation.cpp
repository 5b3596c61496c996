#include "apps/simulation/simulation.hpp"

#include "apps/simulation/rank.hpp"

#include <dcgn/error.hpp>
#include <dcgn/job.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dcgn::simulation {

namespace {

[[noreturn]] void refuse(const std::string& what) { throw Error(Code::configuration, "simulation", what); }

void check_options(const Options& o) {
  if (o.extents.size() != 2 && o.extents.size() != 3)
    refuse(fmt::format("a field of {} dimensions: expected 2 or 3", o.extents.size()));
  for (const std::int64_t interval : o.intervals)
    if (interval < 1) refuse(fmt::format("every {} steps: expected 1 or more", interval));
  for (const auto& [name, value] : o.parameters)
    if (!std::isfinite(value)) refuse(fmt::format("parameter {} is {}: expected a finite number", name, value));
  if (!(o.spacing > 0) || !std::isfinite(o.spacing))
    refuse(fmt::format("cells are {} apart: expected a positive number", o.spacing));
  if (o.nodes.cpus < 1) refuse(fmt::format("{} ranks: expected 1 or more", o.nodes.cpus));
}

double rate_of(const Options& o) {
  switch (o.equation) {
    case Equation::cahn_hilliard: return cahn_hilliard_rate(o);
    case Equation::ginzburg_landau: return ginzburg_landau_rate(o);
    case Equation::heat: return heat_rate(o);
  }
  return 0;
}

// With some parameters nothing decays, and no time step follows from how fast.
void check_time_step(const Options& o) {
  const double dt = time_step(o);
  if (dt > 0 && std::isfinite(dt)) return;
  std::string parameters;
  for (const auto& [name, value] : o.parameters)
    parameters += fmt::format("{}{} {}", parameters.empty() ? "" : ", ", name, value);
  refuse(fmt::format("a time step of {} follows from {}, cells {} apart: expected other parameters, or a dt", dt,
                     parameters, o.spacing));
}

// A run goes on as it began: another equation, grid or parameter would be another run.
void check_checkpoint(const Options& o, const stencil::CheckpointFile& from) {
  from.expect(std::string(name_of(o.equation)), {{field_name(o.equation), field_shape(o)}});
  const auto refuse_it = [&](const std::string& what) {
    throw Error(Code::configuration, "checkpoint", from.path() + ": " + what);
  };
  std::map<std::string, double> expected = o.parameters;
  expected["dt"] = time_step(o);
  for (const auto& [name, value] : expected) {
    const auto found = from.state().parameters.find(name);
    if (found == from.state().parameters.end()) refuse_it(fmt::format("there is no parameter {}", name));
    if (found->second != value) refuse_it(fmt::format("parameter {} is {}, expected {}", name, found->second, value));
  }
  if (from.state().step > o.steps)
    refuse_it(fmt::format("it is at step {}, expected one before step {}", from.state().step, o.steps));
}

}  // namespace

std::string_view name_of(Equation equation) {
  switch (equation) {
    case Equation::cahn_hilliard: return "cahn-hilliard";
    case Equation::ginzburg_landau: return "ginzburg-landau";
    case Equation::heat: return "heat";
  }
  return "no equation";
}

std::map<std::string, double> default_parameters(Equation equation) {
  switch (equation) {
    case Equation::cahn_hilliard: return {{"M", 1}, {"B", 1}, {"U", 1}, {"K", 1}, {"mean", 0}, {"noise", 0.1}};
    case Equation::ginzburg_landau: return {{"b", 0}, {"c", 0}, {"noise", 0.1}};
    case Equation::heat: return {{"k", 1}};
  }
  return {};
}

std::string field_name(Equation equation) { return equation == Equation::ginzburg_landau ? "A" : "u"; }

stencil::FieldShape field_shape(const Options& o) {
  using enum stencil::CellType;
  const bool pairs = o.equation == Equation::ginzburg_landau;
  return {o.extents, o.double_precision ? (pairs ? complex128 : float64) : (pairs ? complex64 : float32),
          std::vector<double>(o.extents.size(), o.spacing)};
}

stencil::Landau energy_of(const Options& o) {
  switch (o.equation) {
    case Equation::cahn_hilliard: return {-o.parameters.at("B"), o.parameters.at("U"), o.parameters.at("K")};
    case Equation::ginzburg_landau: return {-1, 1, 1};  // with b = c = 0
    case Equation::heat: return {0, 0, 1};
  }
  return {};
}

double time_step(const Options& o) {
  if (o.stepper.dt != 0) return o.stepper.dt;
  return 1.6 / rate_of(o);
}

void validate(const Options& options, const stencil::CheckpointFile* from) {
  check_options(options);
  check_time_step(options);
  if (from) check_checkpoint(options, *from);
}

Outcome run(const Options& options, const stencil::CheckpointFile* from,
            const std::function<void(const Moment&)>& look) {
  validate(options, from);
  Config config{.nodes = {options.nodes}};
  // The others wait while rank 0 writes files and draws.
  if (detail::setting_origin("DCGN_DEADLINE") == "default") config.deadline_s = 3600;
  Job job(config);
  Outcome outcome;
  std::vector<Device> gpus;
  gpus.reserve(static_cast<std::size_t>(job.world().gpus()));
  for (int g = 0; g < job.world().gpus(); ++g) gpus.push_back(job.world().device(g));
  const Run all{options, gpus, from, look, outcome};
  job.cpu([&all](Comm& comm) {
    switch (all.options.equation) {
      case Equation::cahn_hilliard: return cahn_hilliard_rank(comm, all);
      case Equation::ginzburg_landau: return ginzburg_landau_rank(comm, all);
      case Equation::heat: return heat_rank(comm, all);
    }
  });
  outcome.elapsed_s = job.run().elapsed_s;
  return outcome;
}

}  // namespace dcgn::simulation
