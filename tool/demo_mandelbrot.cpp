// dcgn demo mandelbrot
#include "apps/mandelbrot/mandelbrot.hpp"
#include "apps/mandelbrot/picture.hpp"
#include "base/output_file.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/processes.hpp"
#include "tool/progress.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <optional>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* mandelbrot_help =
    "The main job: a fractal by a dynamic work queue of CPU ranks and GPU slots\n\n"
    "The Mandelbrot set by a dynamic work queue. Rank 0, a CPU rank, is the master: it takes whoever asks next, by\n"
    "any-source receives, and hands out strips; slots of GPUs (a block each) and the other CPU ranks compute them and\n"
    "send the pixels back. Kernels send and receive while they run. Two runs rarely share the work in the same way:\n"
    "the second picture shows who computed what.";

constexpr const char* mandelbrot_examples =
    "Examples:\n"
    "  dcgn demo mandelbrot                                  two pictures in the current directory\n"
    "  dcgn demo mandelbrot --cpus 1 --gpus 1 --slots 4      slots alone compute\n"
    "  dcgn demo mandelbrot --center -0.7436447860 0.1318252536 --width 3e-5 --iterations 8000\n"
    "  dcgn demo mandelbrot --size 640x480 --strip 1 --check --json\n"
    "  DCGN_SEED=7 dcgn demo mandelbrot --size 96x64         one interleaving, again and again\n";

struct MandelbrotArguments {
  mandelbrot::Options options;
  ShapeOptions shape;
  JsonOption json;
  std::string size = "1200x800";
  std::vector<double> center{-0.65, 0.0}, region;
  double width = 3.3;
  std::string output = "mandelbrot.png", owners = "mandelbrot_ranks.png";
  bool check = false;
};

void set_region(const MandelbrotArguments& a, mandelbrot::Task& task) {
  if (!a.region.empty()) {
    task.region = {a.region[0], a.region[1], a.region[2], a.region[3]};
    return;
  }
  const double half_width = a.width / 2, half_height = half_width * task.height / task.width;
  task.region = {a.center[0] - half_width, a.center[0] + half_width, a.center[1] - half_height,
                 a.center[1] + half_height};
}

Json document_of(const mandelbrot::Options& o, const mandelbrot::Outcome& outcome, const MandelbrotArguments& a,
                 std::optional<std::int64_t> wrong) {
  const mandelbrot::Task& t = o.task;
  const double pixels = static_cast<double>(t.width) * t.height;
  Json ranks = Json::array();
  for (const mandelbrot::RankWork& w : outcome.ranks) {
    const RankReport& r = w.report;
    ranks.push_back({{"rank", r.rank},
                     {"place", to_string(r.place)},
                     {"strips", w.strips},
                     {"rows", w.pixels / t.width},
                     {"share", w.pixels / pixels},
                     {"sent_messages", r.sent_messages},
                     {"sent_bytes", r.sent_bytes},
                     {"received_messages", r.received_messages},
                     {"received_bytes", r.received_bytes},
                     {"wait_s", r.wait_s}});
  }
  Json document = {
      {"what", "mandelbrot"},
      {"size", {t.width, t.height}},
      {"region", {t.region.xmin, t.region.xmax, t.region.ymin, t.region.ymax}},
      {"iterations", t.iterations},
      {"strip", o.strip},
      {"threads", o.threads},
      {"nodes", {{"cpus", o.nodes.cpus}, {"gpus", o.nodes.gpus}, {"slots", o.nodes.slots}, {"count", o.nodes.count}}},
      {"elapsed_s", outcome.elapsed_s},
      {"pixels_per_s", pixels / outcome.elapsed_s},
      {"owners", outcome.owners},
      {"ranks", ranks},
      {"output", a.output},
      {"output_owners", a.owners}};
  if (wrong) document["wrong"] = *wrong;
  return document;
}

void print_report(const mandelbrot::Options& o, const mandelbrot::Outcome& outcome) {
  using enum Table::Align;
  Table table({{"rank"},
               {"place", left},
               {"strips"},
               {"rows"},
               {"share"},
               {"sent"},
               {"bytes"},
               {"received"},
               {"bytes"},
               {"waiting"}});
  const double pixels = static_cast<double>(o.task.width) * o.task.height;
  std::uint64_t messages = 0, bytes = 0;
  for (const mandelbrot::RankWork& w : outcome.ranks) {
    const RankReport& r = w.report;
    messages += r.sent_messages;
    bytes += r.sent_bytes;
    const bool is_master = r.rank == 0;
    table.add({fmt::to_string(r.rank), to_string(r.place) + (is_master ? " (master)" : ""),
               is_master ? "-" : fmt::to_string(w.strips), is_master ? "-" : fmt::to_string(w.pixels / o.task.width),
               is_master ? "-" : fmt::format("{:.1f} %", 100.0 * w.pixels / pixels), fmt::to_string(r.sent_messages),
               bytes_text(static_cast<double>(r.sent_bytes)), fmt::to_string(r.received_messages),
               bytes_text(static_cast<double>(r.received_bytes)), fmt::format("{:.3f} s", r.wait_s)});
  }
  fmt::print("{}\n{} x {} pixels in {} strips by {} ranks: {:.3f} s, {:.2f} million pixels/s, {} messages, {}\n",
             table.text(), o.task.width, o.task.height, outcome.owners.size(), outcome.ranks.size(), outcome.elapsed_s,
             pixels / outcome.elapsed_s * 1e-6, messages, bytes_text(static_cast<double>(bytes)));
}

void open_files(MandelbrotArguments& a, std::optional<base::OutputFile>& output,
                std::optional<base::OutputFile>& owners) {
  expect_different(
      "mandelbrot",
      {{"--output", a.output}, {"--owners", a.owners}, {"--trace", trace_file()}, {"--json", a.json.path()}});
  expect_ending("mandelbrot", "--output", a.output, ".png");
  expect_ending("mandelbrot", "--owners", a.owners, ".png");
  output.emplace(a.output);
  owners.emplace(a.owners);
  a.json.open();
}

void set_options(MandelbrotArguments& a, int processes) {
  mandelbrot::Options& o = a.options;
  const auto [width, height] = parse_extent("mandelbrot", a.size);
  o.task.width = width;
  o.task.height = height;
  set_region(a, o.task);
  o.nodes = a.shape.shape_of_each(processes);
  mandelbrot::validate(o);
}

int run(MandelbrotArguments& a) {
  const Process here = this_process();
  std::optional<base::OutputFile> output, owners;
  const int began = begin_together([&] {
    set_options(a, here.count);
    if (here.first()) open_files(a, output, owners);
    return a.options.nodes;
  });
  if (began != exit_ok) return began;

  const mandelbrot::Options& o = a.options;
  mandelbrot::Outcome outcome;
  {
    Progress progress("mandelbrot");
    outcome = mandelbrot::run(o, [&](int done, int rows) { progress.update(done, rows); });
  }
  if (!here.first()) return exit_ok;
  image::write_png(*output, fractal_picture(o, outcome));
  image::write_png(*owners, ranks_picture(o, outcome));
  std::optional<std::int64_t> wrong;
  if (a.check) wrong = mandelbrot::count_wrong(o.task, outcome.pixels);

  a.json.write(document_of(o, outcome, a, wrong).dump(2));
  if (!a.json.on_stdout()) {
    print_report(o, outcome);
    fmt::print("{}: the set\n{}: who computed which strip\n", a.output, a.owners);
    if (wrong) fmt::print("check: {} of {} pixels are wrong\n", *wrong, outcome.pixels.size());
  }
  return wrong.value_or(0) ? exit_job_failed : exit_ok;
}

}  // namespace

void add_demo_mandelbrot(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<MandelbrotArguments>();
  mandelbrot::Options& o = a->options;
  CLI::App* app = parent.add_subcommand("mandelbrot", mandelbrot_help);
  app->add_option("--size", a->size, "Width and height of the picture in pixels")
      ->type_name("WIDTHxHEIGHT")
      ->capture_default_str();
  CLI::Option* center = app->add_option("--center", a->center, "The middle of the region")
                            ->expected(2)
                            ->type_name("X Y")
                            ->check(finite_number())
                            ->default_str("-0.65 0");
  CLI::Option* width = app->add_option("--width", a->width, "The region's width; its height follows from the size")
                           ->type_name("W")
                           ->check(positive_number())
                           ->capture_default_str();
  app->add_option("--region", a->region, "The region by its borders, instead of the above")
      ->expected(4)
      ->type_name("XMIN XMAX YMIN YMAX")
      ->check(finite_number())
      ->excludes(center)
      ->excludes(width);
  app->add_option("--iterations", o.task.iterations, "Iterations at most for a pixel")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30))
      ->capture_default_str();
  app->add_option("--strip", o.strip, "Rows that are handed out at a time")
      ->type_name("N")
      ->check(whole_number(1, 1 << 15))
      ->capture_default_str();
  a->shape.add_to(*app);
  app->add_option("--threads", o.threads, "Threads of each slot's block")
      ->type_name("N")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  app->add_option("--output", a->output, "The fractal")->type_name("PNG")->capture_default_str();
  app->add_option("--owners", a->owners, "Who computed which strip")->type_name("PNG")->capture_default_str();
  app->add_flag("--check", a->check, "Compute all again on this thread and compare every pixel");
  a->json.add_to(*app, "The table and the totals");
  add_trace_option(*app);
  app->footer(fmt::format("{}\n{}\n{}", mandelbrot_examples, processes_help, exit_codes_help));
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
