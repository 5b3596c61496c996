#include <dcgn/stencil/stepper.hpp>

#include "finite_kernel.hpp"
#include "runner.hpp"
#include "storage.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/error.hpp>
#include <dcgn/operation.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace dcgn {

std::string to_string(Scheme scheme) {
  switch (scheme) {
    case Scheme::euler: return "euler";
    case Scheme::midpoint: return "midpoint";
    case Scheme::rk4: return "rk4";
    case Scheme::next: return "next";
  }
  return {};
}

std::string to_string(Mode mode) {
  switch (mode) {
    case Mode::automatic: return "automatic";
    case Mode::borders_first: return "borders_first";
    case Mode::shift: return "shift";
    case Mode::graph: return "graph";
    case Mode::persistent: return "persistent";
  }
  return {};
}

std::string to_string(Exchange exchange) {
  switch (exchange) {
    case Exchange::each_stage: return "each_stage";
    case Exchange::each_step: return "each_step";
  }
  return {};
}

namespace stencil {

namespace {

std::string in_digits(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number, std::chars_format::general, 6).ptr};
}

[[noreturn]] void refuse_stepper(const std::string& why) { throw Error(Code::configuration, "Stepper", why); }

// Acts, and where that fails at some rank, fails at all of them as at the lowest of these.
void together(Comm& comm, const std::function<void()>& act) {
  struct Failure {
    int rank;
    Code code;
    char text[400];
  } failure{comm.size(), Code::ok, {}};
  try {
    act();
  } catch (const Error& error) {
    failure.rank = comm.rank();
    failure.code = error.code();
    const std::string text = error.what();
    const std::string prefix = "dcgn: " + error.operation() + ": ";
    const std::string said = text.rfind(prefix, 0) == 0 ? text.substr(prefix.size()) : text;
    said.copy(failure.text, sizeof failure.text - 1);
  }
  int lowest = failure.rank;
  comm.all_reduce(lowest, Min{});
  if (lowest == comm.size()) return;
  comm.broadcast(failure, lowest);
  throw Error(failure.code, "Stepper", failure.text);
}

void check_fields(const Comm& comm, const UpdateCode& code, const std::vector<AnyField*>& fields) {
  const AnyField& first = *fields.front();
  const Grid& grid = first.grid();
  if (grid.dims() != code.dims)
    refuse_stepper("an update of " + std::to_string(code.dims) + " dimensions for a grid of " +
                   std::to_string(grid.dims()));
  if (grid.ranks() != comm.size() || first.part() != grid.part(comm.rank()))
    refuse_stepper("a field of rank " + std::to_string(first.storage().rank()) + " of " + std::to_string(grid.ranks()) +
                   " at rank " + std::to_string(comm.rank()) + " of " + std::to_string(comm.size()));
  for (std::size_t f = 1; f < fields.size(); ++f) {
    if (!(fields[f]->grid() == grid) || fields[f]->part() != first.part())
      refuse_stepper("field " + std::to_string(f) + " is of another grid than field 0");
    const auto place = [](const AnyField& field) { return field.device() ? field.device()->index() : -1; };
    if (place(*fields[f]) != place(first))
      refuse_stepper("field " + std::to_string(f) + " is on another device than field 0");
    if (std::find(fields.begin(), fields.begin() + static_cast<std::ptrdiff_t>(f), fields[f]) !=
        fields.begin() + static_cast<std::ptrdiff_t>(f))
      refuse_stepper("field " + std::to_string(f) + " is there twice");
  }
}

void check_time_step(const UpdateCode& code, const StepperOptions& options) {
  if (!(options.dt > 0) || !std::isfinite(options.dt))
    refuse_stepper("a time step of " + in_digits(options.dt) + ", expected a positive number");
  if (options.scheme == Scheme::next) return;
  if (!code.has_rate) refuse_stepper("cells of integers have no rate of change, expected the scheme next");
  const double most = rules_of(options.scheme, true).stability;
  if (code.fastest_rate && options.dt * *code.fastest_rate > most)
    throw Error(Code::unstable, "Stepper",
                "a time step of " + in_digits(options.dt) + " is too long for " + to_string(options.scheme) +
                    ", expected at most " + in_digits(most / *code.fastest_rate));
}

std::vector<Storage*> storages(const std::vector<AnyField*>& fields) {
  std::vector<Storage*> all;
  all.reserve(fields.size());
  for (const AnyField* field : fields) all.push_back(&field->storage());
  return all;
}

}  // namespace

class AnyStepper::State {
 public:
  State(Comm& comm, UpdateCode code, const StepperOptions& options, const std::vector<AnyField*>& fields)
      : options_(options), runner_(comm.dup(), std::move(code), options, storages(fields)) {
    if (real_bytes()) together(runner_.comm(), [&] { search_.emplace(runner_.fields().front()->device()); });
    if (options.mode != Mode::automatic) {
      use(options.mode);
      return;
    }
    for (const Mode mode : {Mode::borders_first, Mode::shift, Mode::graph, Mode::persistent}) {
      try {
        runner_.arrange(mode);
        trials_.push_back({mode, 0});
      } catch (const Error& error) {
        if (mode == Mode::borders_first) throw;
        if (!said_.empty()) said_ += "; ";
        said_ += "not " + to_string(mode) + ": " + error.what();
      }
    }
    mode_ = trials_.front().mode;
  }

  void run(std::int64_t steps) {
    if (steps < 0)
      throw Error(Code::configuration, "Stepper::run", std::to_string(steps) + " steps, expected 0 or more");
    const std::int64_t each = options_.check_every > 0 ? options_.check_every : steps;
    while (steps > 0) {
      const std::int64_t now = std::min(steps, each);
      advance(now);
      meet();
      steps -= now;
    }
  }

  std::int64_t steps() const { return steps_; }
  double time() const { return static_cast<double>(steps_) * options_.dt; }
  Mode mode() const { return is_measuring() ? Mode::automatic : mode_; }
  std::string chosen() const { return said_; }

 private:
  struct Trial {
    Mode mode;
    double step_ns;
  };
  // Steps before a measurement, and of it.
  static constexpr std::int64_t warm_up = 2, measured = 10;

  bool is_measuring() const { return trial_ < trials_.size(); }

  void use(Mode mode) {
    together(runner_.comm(), [&] { runner_.arrange(mode); });
    mode_ = mode;
    said_ = to_string(mode) + ", as asked for";
  }

  void advance(std::int64_t steps) {
    // The steps of measurements count as any other: all modes give the same.
    while (is_measuring() && steps >= warm_up + measured) {
      measure(trials_[trial_++]);
      steps -= warm_up + measured;
      if (!is_measuring()) choose();
    }
    step(steps);
  }

  void step(std::int64_t steps) {
    if (!runner_.is_arranged(mode_)) runner_.arrange(mode_);
    runner_.advance(steps);
    steps_ += steps;
  }

  void measure(Trial& trial) {
    mode_ = trial.mode;
    step(warm_up);
    runner_.comm().barrier();
    const std::uint64_t begin = now_ns();
    step(measured);
    double took = static_cast<double>(now_ns() - begin) / measured;
    runner_.comm().all_reduce(took, Max{});
    trial.step_ns = took;
  }

  void choose() {
    std::stable_sort(trials_.begin(), trials_.end(),
                     [](const Trial& a, const Trial& b) { return a.step_ns < b.step_ns; });
    mode_ = trials_.front().mode;
    std::string all;
    for (const Trial& t : trials_)
      all += (all.empty()                 ? ""
              : t.mode == trials_[1].mode ? "; others took: "
                                          : ", ") +
             to_string(t.mode) + " " + in_digits(t.step_ns * 1e-3) + " us a step";
    said_ = all + (said_.empty() ? "" : "; " + said_);
    trial_ = trials_.size();
  }

  // All ranks, whose kernels have ended: nobody stores into another's halos any more, which may go.
  void meet() {
    if (search_)
      check_finite();
    else
      runner_.comm().barrier();
  }

  // Of what a cell consists of; 0 for integers.
  int real_bytes() const {
    const Datatype& element = runner_.fields().front()->element();
    if (element == Datatype::of<double>() || element == Datatype::of<complex<double>>()) return 8;
    return element == Datatype::of<float>() || element == Datatype::of<complex<float>>() ? 4 : 0;
  }

  void check_finite() {
    const Storage& first = *runner_.fields().front();
    // The first of the grid, fields one after the other.
    std::uint64_t at = UINT64_MAX;
    const Grid& grid = first.grid();
    for (std::size_t f = 0; f < runner_.fields().size() && at == UINT64_MAX; ++f) {
      Storage& field = *runner_.fields()[f];
      std::int64_t found = search_->first(field.part(), field.cell_0(field.current()), real_bytes(),
                                          static_cast<int>(first.element().size()) / real_bytes());
      if (found < 0) continue;
      std::int64_t cell = 0, stride = 1;
      for (int d = 0; d < Box::most_dims; ++d) {
        cell += (first.box().begin[d] + found % first.box().extent(d)) * stride;
        found /= first.box().extent(d);
        stride *= grid.extent(d);
      }
      at = f * static_cast<std::uint64_t>(grid.cells()) + static_cast<std::uint64_t>(cell);
    }
    runner_.comm().all_reduce(at, Min{});
    if (at == UINT64_MAX) return;
    const std::uint64_t field = at / static_cast<std::uint64_t>(grid.cells());
    auto cell = static_cast<std::int64_t>(at % static_cast<std::uint64_t>(grid.cells()));
    std::string where;
    for (int d = 0; d < grid.dims(); ++d) {
      where += (d ? ", " : "") + std::to_string(cell % grid.extent(d));
      cell /= grid.extent(d);
    }
    throw Error(Code::unstable, "Stepper::run",
                "field " + std::to_string(field) + " is not finite any more in cell (" + where + ") after " +
                    std::to_string(steps_) + " steps of " + in_digits(options_.dt) + ", expected a shorter time step");
  }

  StepperOptions options_;
  Runner runner_;
  std::optional<FiniteSearch> search_;  // of cells that may not be finite
  Mode mode_ = Mode::borders_first;
  std::vector<Trial> trials_;
  std::size_t trial_ = 0;
  std::string said_;
  std::int64_t steps_ = 0;
};

AnyStepper::AnyStepper(Comm& comm, UpdateCode code, const StepperOptions& options, std::vector<AnyField*> fields) {
  together(comm, [&] {
    check_fields(comm, code, fields);
    check_time_step(code, options);
  });
  state_ = std::make_unique<State>(comm, std::move(code), options, fields);
}
AnyStepper::AnyStepper(AnyStepper&&) noexcept = default;
AnyStepper& AnyStepper::operator=(AnyStepper&&) noexcept = default;
AnyStepper::~AnyStepper() = default;

void AnyStepper::run(std::int64_t steps) { state_->run(steps); }
std::int64_t AnyStepper::steps() const noexcept { return state_->steps(); }
double AnyStepper::time() const noexcept { return state_->time(); }
Mode AnyStepper::mode() const noexcept { return state_->mode(); }
std::string AnyStepper::chosen() const { return state_->chosen(); }

}  // namespace stencil
}  // namespace dcgn
