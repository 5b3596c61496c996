// dcgn demo cahn-hilliard, ginzburg-landau, heat: one command, whose equations differ.
#include "tool/demo_stencil.hpp"
#include "apps/image/field.hpp"
#include "apps/image/surface.hpp"
#include "apps/simulation/simulation.hpp"
#include "base/output_file.hpp"
#include "stencil/src/output/history.hpp"
#include "stencil/src/output/vti.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/processes.hpp"
#include "tool/progress.hpp"
#include "tool/table.hpp"
#if defined(DCGN_HAS_BENCH)
#include "tool/bench_python.hpp"
#endif

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;
using simulation::Equation, simulation::Moment, simulation::Outcome, stencil::Record;

constexpr std::int64_t most_cells_of_structure = std::int64_t{1} << 27;  // a gigabyte in double precision

// What the run leaves, at process 0.
class Recorder {
 public:
  Recorder(StencilArguments& a, std::int64_t start) : a_(a), start_(start), total_(a.options.steps - start) {
    if (a.from) {
      std::ifstream older(a.csv_name());
      if (older)
        records_ = stencil::records_from_csv(std::string(std::istreambuf_iterator<char>(older), {}), a.csv_name());
      std::erase_if(records_, [start](const Record& r) { return r.step >= start; });
      check_older();
    }
    expect_different("demo", all_files());
    // What cannot be written is known before the work.
    for (const Frames* frames : {&a.png, &a.vti, &a.surface})
      if (frames->every > 0) base::OutputFile(frame_name(*frames, start));
    if (a.checkpoint.every > 0) base::OutputFile(a.checkpoint_name());
    csv_.emplace(a.csv_name());
  }

  void look(const Moment& m) {
    const bool last = m.step == a_.options.steps;
    if (a_.record_every > 0 && (m.step % a_.record_every == 0 || last)) record(m);
    if (due(a_.png, m.step))
      write_frame(a_.png, m.step, [&](base::OutputFile& output) {
        image::write_png(output, image::picture(m.field, palette(), {0, greatest_}, a_.pixels));
      });
    if (due(a_.surface, m.step))
      write_frame(a_.surface, m.step, [&](base::OutputFile& output) {
        // Of complex fields the cores of vortices, tubes where the magnitude is small.
        const bool pairs = is_complex(m.field.shape.type);
        image::write_png(output, image::surface(m.field, {.width = a_.pixels,
                                                          .height = a_.pixels,
                                                          .value = pairs ? 0.5 * greatest_ : surface_value(),
                                                          .below = pairs}));
      });
    if (due(a_.vti, m.step))
      write_frame(a_.vti, m.step, [&](base::OutputFile& output) { write_vti(output, std::span(&m.field, 1), m.time); });
    if (a_.checkpoint.every > 0 && m.step > start_ && (m.step % a_.checkpoint.every == 0 || last)) checkpoint(m);
    tell_progress(m.step);
  }

  void finish() {
    progress_.reset();  // its bar is gone before what is printed next
    csv_->write(stencil::to_csv(records_));
  }
  const std::vector<Record>& records() const { return records_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  // Records of another run are not gone on with, as far as their times tell.
  void check_older() const {
    for (const Record& r : records_) {
      const double time = static_cast<double>(r.step) * simulation::time_step(a_.options);
      if (r.time != time)
        throw Error(
            Code::configuration, "demo",
            fmt::format("{}: step {} is at {}, expected {}: records of another run; expected --output of this one",
                        a_.csv_name(), r.step, r.time, time));
    }
  }
  std::string frame_name(const Frames& frames, std::int64_t step) const {
    return fmt::format("{}{}_{:08}.{}", a_.output, frames.suffix, step, frames.ending);
  }
  // With their options: all that the run reads and writes. It may go on in the checkpoint that it has begun with.
  std::vector<std::pair<std::string, std::string>> all_files() const {
    std::vector<std::pair<std::string, std::string>> all{
        {"--trace", trace_file()}, {"--plot", a_.plot}, {"--output", a_.csv_name()}};
    std::error_code none;
    const bool same = std::filesystem::equivalent(a_.restart, a_.checkpoint_name(), none);
    if (!same) all.emplace_back("--restart", a_.restart);
    if (same || a_.checkpoint.every > 0) all.emplace_back("--output", a_.checkpoint_name());
    for (const Frames* frames : {&a_.png, &a_.vti, &a_.surface})
      for (std::int64_t step = start_; frames->every > 0 && step <= a_.options.steps; ++step)
        if (due(*frames, step)) all.emplace_back("--output", frame_name(*frames, step));
    all.emplace_back("--json", a_.json.path());
    return all;
  }
  bool due(const Frames& frames, std::int64_t step) const {
    return frames.every > 0 && (step % frames.every == 0 || step == a_.options.steps);
  }

  template <class Write>
  void write_frame(const Frames& frames, std::int64_t step, const Write& write) {
    base::OutputFile output(frame_name(frames, step));
    write(output);
    files_.push_back(output.path());
  }

  // What has been recorded so far comes with it: a run that goes on from here has the older records too.
  void checkpoint(const Moment& m) {
    base::OutputFile(a_.csv_name()).write(stencil::to_csv(records_));
    base::OutputFile output(a_.checkpoint_name());
    stencil::CheckpointState state{std::string(name_of(a_.options.equation)), m.step, m.time, a_.options.parameters};
    state.parameters["dt"] = simulation::time_step(a_.options);
    write_checkpoint(output, state, std::span(&m.field, 1));
    if (std::ranges::find(files_, output.path()) == files_.end()) files_.push_back(output.path());
  }

  void record(const Moment& m) {
    const stencil::Statistics s = statistics_of(m.field, energy_of(a_.options));
    double length = std::numeric_limits<double>::quiet_NaN();
    if (stencil::has_structure_factor() && m.field.shape.cells() <= most_cells_of_structure)
      length = structure_factor(m.field).domain_length();
    records_.push_back({m.step, m.time, s.free_energy, s.mass, length});
  }

  // What gets a palette's end: the phases that are in equilibrium.
  image::Palette palette() const {
    switch (a_.options.equation) {
      case Equation::cahn_hilliard: return image::Palette::diverging;
      case Equation::ginzburg_landau: return image::Palette::phase;
      case Equation::heat: return image::Palette::heat;
    }
    return image::Palette::heat;
  }
  double surface_value() const { return a_.options.equation == Equation::cahn_hilliard ? 0 : 0.25; }

  void tell_progress(std::int64_t step) {
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    const auto done = static_cast<double>(step - start_), left = static_cast<double>(a_.options.steps - step);
    const std::string note =
        done > 0 ? fmt::format("{:.1f} steps/s, {:.0f} s left", done / s, left * s / done) : std::string();
    progress_->update(static_cast<int>(done * 1000 / static_cast<double>(std::max<std::int64_t>(1, total_))), 1000,
                      note);
  }

  StencilArguments& a_;
  std::int64_t start_, total_;
  double greatest_ = a_.options.equation == Equation::cahn_hilliard && a_.options.parameters.at("B") > 0
                         ? std::sqrt(a_.options.parameters.at("B") / a_.options.parameters.at("U"))
                         : 1;
  std::optional<base::OutputFile> csv_;
  std::vector<Record> records_;
  std::vector<std::string> files_;
  std::optional<Progress> progress_{std::in_place, "stepping"};
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

Json document_of(const StencilArguments& a, const Outcome& outcome, const Recorder& recorder) {
  const simulation::Options& o = a.options;
  const double steps_per_s = static_cast<double>(outcome.steps) / outcome.stepping_s;
  Json records = Json::array();
  for (const Record& r : recorder.records())
    records.push_back({{"step", r.step},
                       {"time", r.time},
                       {"free_energy", r.free_energy},
                       {"mass", r.mass},
                       {"domain_length", std::isnan(r.domain_length) ? Json() : Json(r.domain_length)}});
  return {{"what", name_of(o.equation)},
          {"size", o.extents},
          {"spacing", o.spacing},
          {"parameters", o.parameters},
          {"precision", o.double_precision ? "double" : "float"},
          {"dt", simulation::time_step(o)},
          {"scheme", to_string(o.stepper.scheme)},
          {"mode", word_of_mode(outcome.mode)},
          {"chosen", outcome.chosen},
          {"exchange", a.words.exchange},
          {"ranks", outcome.ranks},
          {"gpus", o.nodes.gpus},
          {"steps", outcome.steps},
          {"stepping_s", outcome.stepping_s},
          {"elapsed_s", outcome.elapsed_s},
          {"steps_per_s", outcome.steps > 0 ? Json(steps_per_s) : Json()},
          {"records", records},
          {"csv", a.csv_name()},
          {"output", recorder.files()}};
}

std::string unless_nan(double value) { return std::isnan(value) ? "-" : fmt::format("{:.4f}", value); }

void print_report(const StencilArguments& a, const Outcome& outcome, const Recorder& recorder) {
  const simulation::Options& o = a.options;
  const std::vector<Record>& records = recorder.records();
  Table table({{"step"}, {"time"}, {"free energy"}, {"mass"}, {"domain length"}});
  constexpr std::size_t most = 12;
  const std::size_t shown = std::min(most, records.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const Record& r = records[shown == 1 ? records.size() - 1 : i * (records.size() - 1) / (shown - 1)];
    table.add({fmt::to_string(r.step), fmt::format("{:.4f}", r.time), fmt::format("{:.6g}", r.free_energy),
               fmt::format("{:.6g}", r.mass), unless_nan(r.domain_length)});
  }
  if (!records.empty()) fmt::print("{}\n", table.text());
  if (!recorder.files().empty())
    fmt::print("{} files, {} to {}\n", recorder.files().size(), recorder.files().front(), recorder.files().back());
  fmt::print("{}: all {} records\n", a.csv_name(), records.size());
  fmt::print("{} cells, {} steps of {:.4g} by {} ranks, {}: {:.3f} s", cells_text(o.extents), outcome.steps,
             simulation::time_step(o), outcome.ranks,
             outcome.chosen.empty() ? word_of_mode(outcome.mode) : outcome.chosen, outcome.stepping_s);
  if (outcome.steps > 0) {
    const double rate = static_cast<double>(outcome.steps) / outcome.stepping_s;
    const auto cells = static_cast<double>(simulation::field_shape(o).cells());
    fmt::print(", {:.1f} steps/s, {:.1f} M cells/s", rate, rate * cells * 1e-6);
  }
  fmt::print("\n");
}

// The demonstrations may be built without what measures and draws.
int plot(const std::vector<std::string>& words) {
#if defined(DCGN_HAS_BENCH)
  return run_python("demo: plot", "dcgn.field", words, "");
#else
  throw Error(Code::unsupported, "demo: plot",
              fmt::format("{}: this build has no measurements, with which pictures come; expected one with "
                          "-DDCGN_BUILD_BENCH=ON",
                          words.back()));
#endif
}

void set_nodes(StencilArguments& a, int processes) {
  const bool real = Device::count() > 0 && Device(0).kind() == DeviceKind::cuda;
  NodeShape& nodes = a.options.nodes;
  nodes.gpus = a.gpus >= 0 ? a.gpus : real ? std::max(1, Device::count() / processes) : 0;
  const int processors = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
  nodes.cpus = a.ranks > 0 ? a.ranks : nodes.gpus > 0 ? nodes.gpus : processors;
  nodes.slots = nodes.gpus > 0 ? 0 : 1;
  nodes.count = processes;
}

void set_options(StencilArguments& a, int processes) {
  simulation::Options& o = a.options;
  o.extents = parse_cells("demo", a.size);
  a.words.set(o.stepper);
  o.parts.clear();
  if (!a.parts.empty())
    for (const std::int64_t part : parse_cells("demo", a.parts, "--parts")) o.parts.push_back(static_cast<int>(part));
  if (a.surface.every > 0 && o.extents.size() != 3)
    throw Error(Code::configuration, "demo",
                fmt::format("--surface of {} cells: expected a field of three dimensions", a.size));
  if (a.record_every < 0) a.record_every = std::max<std::int64_t>(1, o.steps / 100);
  std::set<std::int64_t> intervals{std::max<std::int64_t>(1, o.steps / 100)};  // the progress bar's
  for (const std::int64_t every : {a.png.every, a.vti.every, a.surface.every, a.checkpoint.every, a.record_every})
    if (every > 0) intervals.insert(every);
  o.intervals.assign(intervals.begin(), intervals.end());
  set_nodes(a, processes);
}

}  // namespace

int run_demo_stencil(StencilArguments& a) {
  const Process here = this_process();
  // What cannot be drawn is known before the work; python3 has said why.
  const int drawable = here.first() && !a.plot.empty() ? plot({"--check", "--output=" + a.plot}) : exit_ok;
  if (drawable != exit_ok && here.count == 1) return drawable;
  std::optional<Recorder> recorder;
  const int began = begin_together([&] {
    set_options(a, here.count);
    if (here.first()) {
      if (drawable != exit_ok) throw Error(Code::io, "demo", fmt::format("--plot {}: cannot be drawn", a.plot));
      if (!a.restart.empty()) a.from.emplace(a.restart);
      simulation::validate(a.options, a.from ? &*a.from : nullptr);
      recorder.emplace(a, a.from ? a.from->state().step : 0);
      a.json.open();
    }
    return a.options.nodes;
  });
  if (began != exit_ok) return began;

  const Outcome outcome =
      simulation::run(a.options, a.from ? &*a.from : nullptr, [&](const Moment& moment) { recorder->look(moment); });
  if (!here.first()) return exit_ok;
  recorder->finish();
  const int plotted = a.plot.empty() ? exit_ok : plot({"--output=" + a.plot, a.csv_name()});
  a.json.write(document_of(a, outcome, *recorder).dump(2));
  if (!a.json.on_stdout()) print_report(a, outcome, *recorder);
  return plotted;
}

}  // namespace dcgn::tool
