// dcgn bench apps
#include "bench/apps.hpp"
#include "bench/sizes.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>

namespace dcgn::tool {

namespace {

using bench::AppRow, bench::AppWork;

const std::vector<std::string> all_apps = {"mandelbrot", "nbody", "cannon"};

struct AppsArguments {
  std::vector<std::string> apps = all_apps;
  std::string sizes, gpus, peers = "none", exchange = "all-gather";
  int steps = 0, iterations = 0;
  JsonOption json;
};

// What suits a real GPU, and what an emulated one can do in a moment.
struct Usual {
  std::vector<int> sizes;
  int steps, iterations;
};
Usual usual(const std::string& app, bool real) {
  if (app == "nbody") return real ? Usual{{4096, 16384, 32768}, 200, 0} : Usual{{256, 1024}, 5, 0};
  if (app == "cannon") return real ? Usual{{1024, 8192}, 10, 0} : Usual{{128, 256}, 2, 0};
  return real ? Usual{{1536}, 5, 100'000} : Usual{{120}, 2, 300};
}

std::vector<int> numbers(const char* option, const std::string& text, int least, int most) {
  std::vector<int> values;
  for (const std::string& word : split(text, ',')) {
    const std::optional<std::int64_t> value = bench::parse_size(word);
    if (!value || *value < least || *value > most)
      refuse(fmt::format("{} {}: expected whole numbers from {} to {}", option, word, least, most));
    values.push_back(static_cast<int>(*value));
  }
  return values;
}

std::vector<int> gpus_for(const AppsArguments& a, const std::string& app, int available) {
  if (a.gpus.empty()) return bench::gpu_counts(app, available);
  std::vector<int> chosen;
  for (const int n : numbers("--gpus", a.gpus, 1, available)) {
    const std::vector<int> squares = bench::gpu_counts("cannon", available);
    if (app != "cannon" || std::ranges::find(squares, n) != squares.end()) chosen.push_back(n);
  }
  return chosen;
}

void apps_head(const std::string& app) {
  const std::map<std::string, const char*> what = {{"mandelbrot", "a picture, size x 2/3 size pixels"},
                                                   {"nbody", "a step, size bodies"},
                                                   {"cannon", "a product, size x size"}};
  fmt::print("\n# {}: {}\n", app, what.at(app));
  fmt::print("#{:>7} {:>5}  {:<30} {:>7} {:>13} {:>13} {:>12} {:<16} {:>10} {:>7} {:>6}\n", "size", "GPUs", "by",
             "steps", "p50 us", "p99 us", "", "", "efficiency", "wrong", "lines");
  std::fflush(stdout);
}

void apps_line(const AppRow& row) {
  fmt::print("{:>8} {:>5}  {:<30} {:>7} {:>13.2f} {:>13.2f} {:>12.3f} {:<16} {:>10} {:>7} {:>6}\n", row.size, row.gpus,
             row.whose, row.steps, row.p50_us, row.p99_us, row.figure, row.unit,
             row.efficiency > 0 ? fmt::format("{:.1f} %", 100 * row.efficiency) : "-", row.wrong,
             row.lines ? fmt::to_string(row.lines) : "-");
  std::fflush(stdout);
}

int run(AppsArguments& a) {
  const int available = Device::count();
  if (available == 0) refuse("apps: this machine has no GPU; DCGN_EMULATED_GPUS=2 gives it emulated ones");
  const bool real = Device(0).kind() == DeviceKind::cuda;
  std::vector<std::string> peers;
  for (const std::string& name : split(a.peers, ','))
    if (name != "none") peers.push_back(name);
  const std::set<std::string> apps(a.apps.begin(), a.apps.end());
  for (const std::string& app : apps) {
    static_cast<void>(gpus_for(a, app, available));
    for (const std::string& name : peers) bench::find_app_peer(name, app);
  }
  const std::vector<int> sizes = a.sizes.empty() ? std::vector<int>{} : numbers("--size", a.sizes, 1, 1 << 20);

  BenchDocument document("apps", a.json);
  bench::AppBench ours;
  for (const std::string& app : all_apps) {
    if (!apps.contains(app)) continue;
    if (!document.quiet()) apps_head(app);
    const Usual defaults = usual(app, real);
    for (const int size : sizes.empty() ? defaults.sizes : sizes) {
      std::map<std::string, double> alone;  // a step on one GPU, by whose form
      for (const int gpus : gpus_for(a, app, available)) {
        const AppWork work{.app = app,
                           .size = size,
                           .gpus = gpus,
                           .steps = a.steps ? a.steps : defaults.steps,
                           .iterations = a.iterations ? a.iterations : defaults.iterations,
                           .exchange = a.exchange};
        const auto add = [&](const std::string& form, AppRow row) {
          if (gpus == 1) alone[form] = row.p50_us;
          if (alone.contains(form)) row.efficiency = alone[form] / (row.p50_us * gpus);
          document.add(bench::to_json(row), row.wrong);
          if (!document.quiet()) apps_line(row);
        };
        add("", ours.measure(work));
        for (const std::string& name : peers)
          if (bench::app_has_peer(name, app)) add(name, bench::run_app_peer(name, work));
      }
    }
  }
  return document.finish();
}

constexpr const char* apps_description =
    "The applications over one GPU and more, beside what a user would write without Decagon\n\n"
    "Mandelbrot's work queue, N-body and Cannon's matrix product, computed by slots alone (Mandelbrot's master is a "
    "CPU\n"
    "rank): the time of a picture, a step, a product, as the median and p99, and what is done in a second. Efficiency\n"
    "is the speed-up over one GPU in the same form, by the number of GPUs. Results are checked: `wrong` counts "
    "pixels,\n"
    "bodies and rows. `lines` are lines of code of the parallel part, counted in each form in the same way.\n"
    "Peers have the same kernels: mpi is the GPU as slave, a process for each GPU that launches, copies and calls "
    "MPI;\n"
    "nccl is one process with a stream for each GPU, its steps in CUDA graphs; it has no work queue.";

}  // namespace

void add_bench_apps(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<AppsArguments>();
  CLI::App* app = parent.add_subcommand("apps", apps_description);
  app->add_option("APP", a->apps, "Which: mandelbrot, nbody, cannon [all]")
      ->check(word_of({"mandelbrot", "nbody", "cannon"}))
      ->type_name("");
  app->add_option("--size", a->sizes,
                  "Pixels in a row, bodies, rows and columns [1536; 4K,16K,32K; 1K,8K; emulated: 120; 256,1K; 128,256]")
      ->type_name("N,...");
  app->add_option("--gpus", a->gpus, "How many GPUs [powers of two, for cannon squares, up to all]")
      ->type_name("N,...");
  app->add_option("--steps", a->steps, "Pictures, steps or products that are timed [5, 200, 10; emulated: 2, 5, 2]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20));
  app->add_option("--iterations", a->iterations, "Of Mandelbrot, for a pixel at most [100000; emulated: 300]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30));
  app->add_option("--exchange", a->exchange, "Of N-body: as for dcgn demo nbody")
      ->type_name("WORD")
      ->check(word_of({"broadcast", "all-gather"}))
      ->capture_default_str();
  app->add_option("--peers", a->peers, "The same by others, beside ours: mpi, nccl")
      ->check(words_of({"none", "mpi", "nccl"}))
      ->type_name("WORDS")
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(std::string("Examples:\n"
                          "  dcgn bench apps\n"
                          "  dcgn bench apps nbody --peers mpi,nccl --json apps.json\n"
                          "  dcgn bench apps cannon --size 1K,8K --gpus 1,4\n"
                          "  DCGN_EMULATED_GPUS=4 dcgn bench apps --peers mpi\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
