// dcgn demo nbody
#include "apps/nbody/nbody.hpp"
#include "apps/nbody/picture.hpp"
#include "base/output_file.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/processes.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* nbody_help =
    "Bodies under their own gravity: one-to-all communication\n\n"
    "Every body attracts all others. Each rank, a CPU thread or a slot of a GPU, knows all of them and advances its\n"
    "part; after each step the new positions go to all ranks, while the kernels run. Afterwards: the change of the\n"
    "total energy, which shows how good the sum of it all is, and pictures of the run.";

constexpr const char* nbody_examples =
    "Examples:\n"
    "  dcgn demo nbody                                       two discs meet: pictures in the current directory\n"
    "  dcgn demo nbody --start plummer --bodies 1000 --steps 50 --check\n"
    "  dcgn demo nbody --cpus 0 --slots 1 --exchange broadcast      the paper's way\n"
    "  dcgn demo nbody --cpus 0 --bodies 32768 --frames 0 --json    no pictures\n";

// How far a body may be from where double precision has it, after a short run: what float loses, and no more.
constexpr double tolerance = 2e-3;

struct NbodyArguments {
  nbody::Options options;
  ShapeOptions shape;
  JsonOption json;
  std::string start = "discs", exchange = "all-gather", balance = "equal", size = "960x640", output = "nbody";
  int frames = 6;
  double reach = 2.2;
  bool check = false;
};

void set_options(NbodyArguments& a, int processes) {
  nbody::Options& o = a.options;
  o.exchange = a.exchange == "broadcast" ? nbody::Exchange::broadcast : nbody::Exchange::all_gather;
  o.start = a.start == "plummer" ? nbody::Start::plummer : nbody::Start::discs;
  o.balance = a.balance == "measured" ? nbody::Balance::measured : nbody::Balance::equal;
  o.every = a.frames > 1 ? std::max(1, o.steps / (a.frames - 1)) : o.steps;
  // A real GPU is a rank.
  if (a.shape.slots < 0 && Device::count() > 0 && Device(0).kind() == DeviceKind::cuda) a.shape.slots = 1;
  o.nodes = a.shape.shape_of_each(processes);
  nbody::validate(o);
}

// The records that are shown, as alike apart as may be.
std::vector<std::size_t> shown(std::size_t records, int frames) {
  std::vector<std::size_t> indices;
  indices.reserve(static_cast<std::size_t>(frames));
  for (int f = 0; f < frames; ++f)
    indices.push_back(frames == 1 ? records - 1
                                  : (records - 1) * static_cast<std::size_t>(f) / static_cast<std::size_t>(frames - 1));
  return indices;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Json document_of(const NbodyArguments& a, const nbody::Outcome& outcome, const std::vector<std::string>& files,
                 std::optional<std::int64_t> wrong) {
  const nbody::Options& o = a.options;
  Json ranks = Json::array(), energies = Json::array();
  for (const nbody::RankWork& w : outcome.ranks) {
    const RankReport& r = w.report;
    ranks.push_back({{"rank", r.rank},
                     {"place", to_string(r.place)},
                     {"bodies", w.bodies},
                     {"compute_s", w.compute_s},
                     {"sent_messages", r.sent_messages},
                     {"sent_bytes", r.sent_bytes},
                     {"received_messages", r.received_messages},
                     {"received_bytes", r.received_bytes},
                     {"wait_s", r.wait_s}});
  }
  for (std::size_t i = 0; i < outcome.energies.size(); ++i)
    energies.push_back({{"step", outcome.film_steps[i]},
                        {"kinetic", outcome.energies[i].kinetic},
                        {"potential", outcome.energies[i].potential}});
  const double step = median(outcome.step_s);
  Json document = {
      {"what", "nbody"},
      {"bodies", o.bodies},
      {"steps", o.steps},
      {"start", name_of(o.start)},
      {"dt", o.dt},
      {"softening", o.softening},
      {"exchange", name_of(o.exchange)},
      {"balance", a.balance},
      {"blocks", outcome.blocks},
      {"threads", outcome.threads},
      {"nodes", {{"cpus", o.nodes.cpus}, {"gpus", o.nodes.gpus}, {"slots", o.nodes.slots}, {"count", o.nodes.count}}},
      {"elapsed_s", outcome.elapsed_s},
      {"step_s", step},
      {"interactions_per_s", static_cast<double>(o.bodies) * o.bodies / step},
      {"energies", energies},
      {"drift", outcome.drift()},
      {"ranks", ranks},
      {"output", files}};
  if (wrong) document["wrong"] = *wrong;
  return document;
}

void print_report(const NbodyArguments& a, const nbody::Outcome& outcome) {
  using enum Table::Align;
  Table table({{"rank"}, {"place", left}, {"bodies"}, {"computing"}, {"sent"}, {"bytes"}, {"received"}, {"waiting"}});
  constexpr std::size_t most = 40;
  for (const nbody::RankWork& w : outcome.ranks) {
    const RankReport& r = w.report;
    if (static_cast<std::size_t>(r.rank) == most) break;
    table.add({fmt::to_string(r.rank), to_string(r.place), fmt::to_string(w.bodies),
               fmt::format("{:.3f} s", w.compute_s), fmt::to_string(r.sent_messages),
               bytes_text(static_cast<double>(r.sent_bytes)), fmt::to_string(r.received_messages),
               fmt::format("{:.3f} s", r.wait_s)});
  }
  fmt::print("{}", table.text());
  if (outcome.ranks.size() > most) fmt::print("and {} more\n", outcome.ranks.size() - most);
  const nbody::Options& o = a.options;
  const double step = median(outcome.step_s);
  const nbody::Energy &first = outcome.energies.front(), &last = outcome.energies.back();
  fmt::print("\n{} bodies, {} steps of {} by {} ranks, {}: {:.3f} s, {:.1f} us a step, {:.3f} G interactions/s\n",
             o.bodies, o.steps, o.dt, outcome.ranks.size(), name_of(o.exchange), outcome.elapsed_s, step * 1e6,
             static_cast<double>(o.bodies) * o.bodies / step * 1e-9);
  fmt::print("energy: {:.6f} at step {}, {:.6f} at step {}; drift at most {:.2e}\n", first.total(),
             outcome.film_steps.front(), last.total(), outcome.film_steps.back(), outcome.drift());
}

int run(NbodyArguments& a) {
  const Process here = this_process();
  Extent extent{};
  std::vector<std::string> files;
  std::deque<base::OutputFile> pictures;
  const int began = begin_together([&] {
    set_options(a, here.count);
    extent = parse_extent("nbody", a.size);
    if (here.first()) {
      std::vector<std::pair<std::string, std::string>> all{{"--trace", trace_file()}};
      for (int f = 0; f < a.frames; ++f)
        all.emplace_back("--output", files.emplace_back(fmt::format("{}_{:03}.png", a.output, f)));
      all.emplace_back("--json", a.json.path());
      expect_different("nbody", all);
      for (const std::string& file : files) pictures.emplace_back(file);
      a.json.open();
    }
    return a.options.nodes;
  });
  if (began != exit_ok) return began;

  const nbody::Options& o = a.options;
  const nbody::Outcome outcome = nbody::run(o);
  if (!here.first()) return exit_ok;
  const std::vector<std::size_t> records = shown(outcome.film.size(), a.frames);
  for (std::size_t f = 0; f < records.size(); ++f) {
    const int step = outcome.film_steps[records[f]];
    write_png(pictures[f], nbody::picture(outcome.film[records[f]], extent.width, extent.height, a.reach,
                                          fmt::format("{} bodies, step {}", o.bodies, step)));
  }
  std::optional<std::int64_t> wrong;
  if (a.check) wrong = count_wrong(outcome.film.back(), nbody::reference(o), tolerance) + outcome.stale;

  a.json.write(document_of(a, outcome, files, wrong).dump(2));
  if (!a.json.on_stdout()) {
    print_report(a, outcome);
    if (!files.empty()) fmt::print("{}{}: the bodies\n", files.front(), files.size() > 1 ? " to " + files.back() : "");
    if (wrong)
      fmt::print(
          "check: {} of {} bodies are more than {} from where double precision has them, or differ between ranks\n",
          *wrong, o.bodies, tolerance);
  }
  return wrong.value_or(0) ? exit_job_failed : exit_ok;
}

}  // namespace

void add_demo_nbody(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<NbodyArguments>();
  nbody::Options& o = a->options;
  CLI::App* app = parent.add_subcommand("nbody", nbody_help);
  app->add_option("--bodies", o.bodies, "How many")
      ->type_name("N")
      ->check(whole_number(1, 1 << 24))
      ->capture_default_str();
  app->add_option("--steps", o.steps, "Steps in time")
      ->type_name("N")
      ->check(whole_number(1, 1 << 24))
      ->capture_default_str();
  app->add_option("--start", a->start, "How it begins: discs, two that meet, or plummer, a sphere in equilibrium")
      ->type_name("WORD")
      ->check(word_of({"discs", "plummer"}))
      ->capture_default_str();
  app->add_option("--dt", o.dt, "Time of a step")->type_name("T")->check(positive_number())->capture_default_str();
  app->add_option("--softening", o.softening, "Length within which gravity is weaker")
      ->type_name("L")
      ->check(positive_number())
      ->capture_default_str();
  a->shape.add_to(*app);
  app->get_option("--slots")->description("Slots, which are ranks, of each GPU [3; on CUDA 1]");
  app->add_option("--exchange", a->exchange,
                  "How positions reach all ranks: all-gather, or broadcast, one from each rank, as in the paper")
      ->type_name("WORD")
      ->check(word_of({"broadcast", "all-gather"}))
      ->capture_default_str();
  app->add_option("--balance", a->balance,
                  "How bodies are divided: equal, or measured, by what each rank did in two steps before")
      ->type_name("WORD")
      ->check(word_of({"equal", "measured"}))
      ->capture_default_str();
  app->add_option("--blocks", o.blocks, "Blocks of each slot [what its GPU holds]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 16));
  app->add_option("--threads", o.threads, "Threads of a block, a power of two from 32 to 512 [512; emulated 64]")
      ->type_name("N")
      ->check(whole_number(32, 512));
  app->add_option("--frames", a->frames, "Pictures, evenly from the first step to the end")
      ->type_name("N")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  app->add_option("--size", a->size, "Width and height of a picture in pixels")
      ->type_name("WIDTHxHEIGHT")
      ->capture_default_str();
  app->add_option("--reach", a->reach, "From a picture's middle to its nearer border")
      ->type_name("L")
      ->check(positive_number())
      ->capture_default_str();
  app->add_option("--output", a->output, "What the pictures' names begin with")
      ->type_name("NAME")
      ->capture_default_str();
  app->add_flag("--check", a->check, "Compute all again on the CPU in double precision and compare positions");
  a->json.add_to(*app, "The table, the energies and the totals");
  add_trace_option(*app);
  app->footer(fmt::format("{}\n{}\n{}", nbody_examples, processes_help, exit_codes_help));
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
