// dcgn bench stencil
#include "stencil/bench/stencil.hpp"
#include "tool/bench_document.hpp"
#include "tool/bench_options.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/stencil_options.hpp"
#include "tool/values.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <utility>

namespace dcgn::tool {

namespace {

using bench::StencilRow, bench::StencilWork;

struct StencilBenchArguments {
  std::vector<std::string> equations = {"cahn-hilliard", "jacobi"};
  std::string sizes, devices, modes = "all", exchange = "stage", peers = "none";
  std::int64_t steps = 0;
  bool cpus = false, weak = false, largest = false;
  JsonOption json;
};

// What suits a real GPU, and what the CPUs can do in a moment.
std::vector<std::string> usual_sizes(const std::string& equation, bool real) {
  if (equation == "jacobi")
    return real ? std::vector<std::string>{"2048x2048", "20480x20480"} : std::vector<std::string>{"256x256"};
  return real ? std::vector<std::string>{"1024x1024", "16384x16384", "128x128x128", "512x512x512"}
              : std::vector<std::string>{"128x128", "24x24x24"};
}

std::vector<int> device_counts(const StencilBenchArguments& a, int available) {
  std::vector<int> counts;
  if (a.devices.empty()) {
    for (int n = 1; n <= available; n *= 2) counts.push_back(n);
    return counts;
  }
  for (std::string word : split(a.devices, ',')) {
    if (const std::string wrong = whole_number(1, a.cpus ? 1 << 10 : available)(word); !wrong.empty())
      refuse(fmt::format("--devices {}", wrong));
    counts.push_back(std::stoi(word));
  }
  return counts;
}

// What is measured: equations and grids. Jacobi's are planes; others are left to the other equation.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> work_of(const StencilBenchArguments& a, bool real) {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> work;
  for (const std::string& equation : a.equations)
    for (const std::string& text : a.sizes.empty() ? usual_sizes(equation, real) : split(a.sizes, ',')) {
      const std::vector<std::int64_t> size = parse_cells("bench", text);
      if (equation != "jacobi" || size.size() == 2) work.emplace_back(equation, size);
    }
  if (work.empty()) refuse(fmt::format("--size {}: expected a plane for jacobi, as in 1024x1024", a.sizes));
  return work;
}

void head(const std::string& equation, const std::vector<std::int64_t>& size, bool weak) {
  fmt::print("\n# {}, {} cells{}\n", equation, cells_text(size), weak ? " on each device" : "");
  fmt::print("{:>8}  {:<28}  {:<14}  {:>12}  {:>12}  {:>10}  {:>7}  {:>10}  {:>6}\n", "devices", "whose", "mode",
             "p50 us", "p99 us", "GB/s", "of copy", "efficiency", "wrong");
}

void line(const StencilRow& r) {
  const auto percent = [](double share) { return share > 0 ? fmt::format("{:.1f} %", 100 * share) : std::string("-"); };
  fmt::print("{:>8}  {:<28}  {:<14}  {:>12.2f}  {:>12.2f}  {:>10.2f}  {:>7}  {:>10}  {:>6}\n", r.devices, r.whose,
             r.mode, r.p50_us, r.p99_us, r.gb_per_s, percent(r.share), percent(r.efficiency), r.wrong);
}

// One size by all forms over all numbers of devices.
class Comparison {
 public:
  Comparison(const StencilBenchArguments& a, BenchDocument& document, double copy_gb_per_s)
      : a_(a), document_(document), copy_(copy_gb_per_s) {}

  void measure(StencilWork work, const std::vector<std::string>& modes, const std::vector<std::string>& peers) {
    if (a_.weak) work.size.back() *= work.devices;
    for (const std::string& mode : modes) {
      work.mode = mode_of(mode);
      try {
        add(mode, bench::measure_stencil(work));
      } catch (const Error& error) {
        // Not every mode can be had everywhere; what is left out is said.
        if (error.code() != Code::unsupported) throw;
        document_["left_out"].push_back(error.what());
        if (!document_.quiet()) fmt::print("{:>8}  {:<28}  {:<14}  {}\n", work.devices, "dcgn", mode, error.what());
      }
    }
    if (work.equation == "jacobi" && work.size.front() == work.size.back())
      for (const std::string& name : peers) add(name, bench::run_stencil_peer(name, work));
  }

 private:
  void add(const std::string& form, StencilRow row) {
    if (row.devices == 1) alone_[form] = row.p50_us;
    if (alone_.contains(form)) row.efficiency = alone_[form] / row.p50_us / (a_.weak ? 1 : row.devices);
    row.share = row.gb_per_s / (copy_ * (a_.cpus ? 1 : row.devices));
    document_.add(bench::to_json(row), row.wrong);
    if (!document_.quiet()) line(row);
  }

  const StencilBenchArguments& a_;
  BenchDocument& document_;
  double copy_;
  std::map<std::string, double> alone_;  // a step on one device, by form
};

void tell_largest(const StencilBenchArguments& a, const std::vector<int>& counts, BenchDocument& document) {
  nlohmann::ordered_json table = nlohmann::ordered_json::array();
  for (const int devices : counts)
    for (const int dims : {2, 3}) {
      const StencilWork work{.equation = "cahn-hilliard",
                             .size = std::vector<std::int64_t>(static_cast<std::size_t>(dims), 1),
                             .devices = devices,
                             .gpus = !a.cpus,
                             .mode = Mode::borders_first};
      const std::int64_t size = bench::largest_size(work, dims == 2 ? 1024 : 64);
      table.push_back({{"devices", devices}, {"dimensions", dims}, {"extent", size}});
      if (!document.quiet()) fmt::print("{:>8}  largest field of {} dimensions: {} along each\n", devices, dims, size);
    }
  document["largest"] = table;
}

int run(StencilBenchArguments& a) {
  const bool real = !a.cpus && Device::count() > 0 && Device(0).kind() == DeviceKind::cuda;
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const std::vector<int> counts = device_counts(a, a.cpus ? processors : Device::count());
  if (counts.empty()) refuse("no GPU is here: expected --cpus, or DCGN_EMULATED_GPUS=2 for emulated ones");
  std::vector<std::string> peers, modes = split(a.modes, ',');
  if (a.peers != "none") peers = split(a.peers, ',');
  for (const std::string& name : peers) bench::find_stencil_peer(name);
  // All, and those that are named besides, each once.
  if (std::ranges::find(modes, "all") != modes.end()) {
    const bool automatic = std::ranges::find(modes, "auto") != modes.end();
    modes.assign(mode_words().begin(), mode_words().end() - !automatic);
  }
  if (a.largest && !real) refuse("--largest: the largest size of a host's memory: expected real GPUs");
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> work = work_of(a, real);
  BenchDocument document("stencil", a.json);
  const double copy = bench::copy_gb_per_s(!a.cpus);
  document["copy_GBps"] = copy;
  document["devices_are"] = a.cpus ? "CPU ranks" : "GPUs";
  document["weak"] = a.weak;
  if (!document.quiet())
    fmt::print("# a copy in memory: {:.1f} GB/s read and written, {}\n", copy,
               a.cpus ? "by one thread; shares are of that" : "on one device; shares are of that on each");
  for (const auto& [equation, size] : work) {
    if (!document.quiet()) head(equation, size, a.weak);
    Comparison comparison(a, document, copy);
    for (const int devices : counts)
      comparison.measure({.equation = equation,
                          .size = size,
                          .devices = devices,
                          .gpus = !a.cpus,
                          .exchange = a.exchange == "step" ? Exchange::each_step : Exchange::each_stage,
                          .steps = a.steps ? a.steps
                                   : real  ? 2000
                                           : 20},
                         modes, peers);
  }
  if (a.largest) tell_largest(a, counts, document);
  return document.finish();
}

constexpr const char* stencil_description =
    "Stencils over one device and more, by each mode, beside what a user would write without Decagon\n\n"
    "Midpoint steps of the Cahn-Hilliard equation and Jacobi's iteration, of floats on periodic grids in layers: the\n"
    "time of a step, as the median and p99 over ten runs, each of which ends with a look for what is not finite. GB/s\n"
    "are of the bytes that a step must read and write at least: 20 a cell, and 8 of Jacobi's; 'of copy' is the share "
    "of\n"
    "what plain copies on all the devices reach, measured in the same run. Efficiency is the speed-up over one device\n"
    "in the same form, by the number of devices; with --weak the time on one device by that on all. `wrong` counts\n"
    "cells near the parts' borders that are not those of one CPU rank, bit by bit. Peers compute Jacobi's iteration:\n"
    "mpi and nvshmem are a process for each GPU, nccl is one for all, whose steps are in CUDA graphs.";

}  // namespace

void add_bench_stencil(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<StencilBenchArguments>();
  CLI::App* app = parent.add_subcommand("stencil", stencil_description);
  app->add_option("EQUATION", a->equations, "Which: cahn-hilliard, jacobi [both]")
      ->check(word_of({"cahn-hilliard", "jacobi"}))
      ->type_name("");
  app->add_option(
         "--size", a->sizes,
         "Grids; Jacobi's are planes [1024x1024, 16384x16384, 128x128x128, 512x512x512; 2048x2048, 20480x20480;\n"
         "without real GPUs 128x128, 24x24x24; 256x256]")
      ->type_name("NxN[xN],...");
  app->add_option("--devices", a->devices, "How many GPUs or CPU ranks [powers of two, up to all]")->type_name("N,...");
  app->add_option("--mode", a->modes, "Which modes: all, or words as for dcgn demo cahn-hilliard")
      ->type_name("WORD,...")
      ->check(words_of({"all", "borders-first", "shift", "graph", "persistent", "auto"}))
      ->capture_default_str();
  app->add_option("--exchange", a->exchange, "Halos once a stage of the scheme, or wider ones once a step")
      ->type_name("WORD")
      ->check(word_of({"stage", "step"}))
      ->capture_default_str();
  app->add_option("--steps", a->steps, "That are timed [2000; without real GPUs 20]")
      ->type_name("N")
      ->check(whole_number(1, 1 << 30));
  app->add_flag("--cpus", a->cpus, "CPU ranks in place of GPUs");
  app->add_flag("--weak", a->weak, "Each device has a grid of that size: the last extent grows with them");
  app->add_flag("--largest", a->largest, "Also the largest fields that so many GPUs step (the paper's table 1)");
  app->add_option("--peers", a->peers, "The same by others, beside ours: mpi, nccl, nvshmem")
      ->check(words_of({"none", "mpi", "nccl", "nvshmem"}))
      ->type_name("WORDS")
      ->capture_default_str();
  a->json.add_to(*app, "All rows, with machine, commit, date and command,");
  app->footer(
      std::string("Examples:\n"
                  "  dcgn bench stencil                                    figures 4 to 6 of the 2011 paper anew\n"
                  "  dcgn bench stencil jacobi --peers mpi,nccl,nvshmem --json jacobi.json\n"
                  "  dcgn bench stencil cahn-hilliard --size 4096x4096 --weak --largest\n"
                  "  dcgn bench stencil --cpus --mode borders-first        without a GPU\n\n") +
      exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace dcgn::tool
