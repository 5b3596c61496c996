#include "bench/apps.hpp"

#include "apps/cannon/cannon.hpp"
#include "apps/mandelbrot/mandelbrot.hpp"
#include "apps/nbody/nbody.hpp"
#include "bench/program.hpp"

#include "dcgn_lines.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>
#include <dcgn/version.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace dcgn::bench {

namespace {

constexpr int checked_steps = 3, warm_steps = 3;

bool real() { return Device::count() > 0 && Device(0).kind() == DeviceKind::cuda; }

AppRow row_for(const AppWork& work) {
  return {.whose = "dcgn " + std::string(version), .app = work.app, .size = work.size, .gpus = work.gpus};
}

std::vector<double> us_of(const std::vector<double>& seconds, std::size_t from) {
  std::vector<double> us;
  for (std::size_t i = from; i < seconds.size(); ++i) us.push_back(seconds[i] * 1e6);
  return us;
}

nbody::Options nbody_options(const AppWork& work) {
  nbody::Options o;
  o.bodies = work.size;
  o.start = nbody::Start::plummer;
  if (work.exchange == name_of(nbody::Exchange::broadcast)) o.exchange = nbody::Exchange::broadcast;
  o.nodes = {.cpus = 0, .gpus = work.gpus, .slots = 1};
  if (!real()) o.blocks = 2;
  return o;
}

AppRow measure_cannon(const AppWork& work) {
  const cannon::Outcome outcome = cannon::run(
      {.size = work.size, .repeats = 1 + work.steps, .nodes = {.cpus = 0, .gpus = work.gpus, .slots = 1}, .blocks = 0});
  AppRow row = row_for(work);
  row.wrong = static_cast<std::uint64_t>(cannon::count_wrong(work.size, outcome.c));
  set_figures(row, us_of(outcome.product_s, 1), flop(work.size), flop_unit);
  return row;
}

AppRow measure_mandelbrot(const AppWork& work) {
  mandelbrot::Options o;
  o.task.width = work.size;
  o.task.height = height_of(work);
  o.task.iterations = static_cast<std::uint32_t>(work.iterations);
  // A pixel for each thread of a block: the last strips take no longer than one pixel does.
  o.strip = 1;
  o.threads = real() ? 1024 : 32;
  o.pieces = std::min(o.task.width, std::max(1, o.task.width / o.threads));
  o.nodes = {.cpus = 1, .gpus = work.gpus, .slots = real() ? Device(0).properties().multiprocessors : 3};
  AppRow row = row_for(work);
  std::vector<double> seconds;
  for (int k = 0; k < 1 + work.steps; ++k) {
    const mandelbrot::Outcome outcome = mandelbrot::run(o);
    seconds.push_back(outcome.work_s);
    if (k == work.steps) row.wrong = static_cast<std::uint64_t>(count_wrong(o.task, outcome.pixels));
  }
  set_figures(row, us_of(seconds, 1), pixels(o.task.width, o.task.height), pixels_unit);
  return row;
}

std::string program_of(const std::string& name, const std::string& app) {
  return beside_this("dcgn_peer_" + name + "_" + app);
}

}  // namespace

std::vector<int> gpu_counts(const std::string& app, int available) {
  std::vector<int> counts;
  for (int n = 1; n <= available; ++n) {
    const int root = static_cast<int>(std::lround(std::sqrt(n)));
    const bool square = root * root == n, power = (n & (n - 1)) == 0;
    if (app == "cannon" ? square : power) counts.push_back(n);
  }
  return counts;
}

AppRow AppBench::measure(const AppWork& work) {
  AppRow row = work.app == "nbody"    ? measure_nbody(work)
               : work.app == "cannon" ? measure_cannon(work)
                                      : measure_mandelbrot(work);
  row.lines = lines_of(work.app, "dcgn");
  return row;
}

AppRow AppBench::measure_nbody(const AppWork& work) {
  nbody::Options o = nbody_options(work);
  AppRow row = row_for(work);
  if (work.exchange == name_of(nbody::Exchange::broadcast)) row.whose += ", broadcast";
  o.steps = checked_steps;
  const nbody::Outcome first = nbody::run(o);
  row.wrong = static_cast<std::uint64_t>(
      first.stale + count_wrong(first.film.back(), reference(work.size), nbody::short_run_tolerance));
  o.steps = warm_steps + work.steps;
  const nbody::Outcome outcome = nbody::run(o);
  row.wrong += static_cast<std::uint64_t>(outcome.stale);
  set_figures(row, us_of(outcome.step_s, warm_steps), interactions(work.size), interactions_unit);
  return row;
}

const std::vector<nbody::Body>& AppBench::reference(int bodies) {
  const auto [found, made] = references_.try_emplace(bodies);
  if (made) {
    nbody::Options o;
    o.bodies = bodies;
    o.start = nbody::Start::plummer;
    o.steps = checked_steps;
    found->second = nbody::reference(o);
  }
  return found->second;
}

bool app_has_peer(const std::string& name, const std::string& app) {
  if (name != "mpi" && name != "nccl")
    throw Error(Code::configuration, "bench", "--peers " + name + ": expected mpi or nccl");
  return name == "mpi" || app != "mandelbrot";
}

void find_app_peer(const std::string& name, const std::string& app) {
  if (!app_has_peer(name, app) || ::access(program_of(name, app).c_str(), X_OK) == 0) return;
  throw Error(Code::io, "bench",
              fmt::format("--peers {}: there is no {}; it is built where {}, then configure and build again", name,
                          program_of(name, app),
                          name == "mpi" ? "MPI is found: scripts/install-packages mpi"
                                        : "CUDA is on and NCCL is found: in NCCL_ROOT or python3's package "
                                          "nvidia-nccl-cu13"));
}

AppRow run_app_peer(const std::string& name, const AppWork& work) {
  find_app_peer(name, work.app);
  const bool mandelbrot = work.app == "mandelbrot", by_mpi = name == "mpi";
  std::string command = by_mpi ? mpirun(work.gpus + mandelbrot) : "env NCCL_NVLS_ENABLE=0 ";  // multicast: see peer.cpp
  command += fmt::format("{} --size {} --steps {}", quoted(program_of(name, work.app)), work.size, work.steps);
  // Strips that fill a GPU, and enough of them to share.
  if (mandelbrot)
    command += fmt::format(" --height {} --iterations {} --strip {}", height_of(work), work.iterations,
                           std::max(1, height_of(work) / (16 * work.gpus)));
  if (!by_mpi) command += fmt::format(" --gpus {}", work.gpus);
  const std::string who = "--peers " + name + ": ";
  try {
    AppRow row = app_row_from(rows_of(command, 600, who).at(0));
    if (row.app != work.app || row.size != work.size || row.gpus != work.gpus)
      throw Error(Code::io, "bench",
                  fmt::format("{}a row of {} {} on {} GPUs, which was not asked for, from: {}", who, row.app, row.size,
                              row.gpus, command));
    row.lines = lines_of(work.app, name);
    return row;
  } catch (const nlohmann::json::exception& e) {
    throw Error(Code::io, "bench", who + command + " printed no row: " + e.what());
  }
}

int lines_of(const std::string& app, const std::string& whose) {
  for (const CountedLines& form : counted_lines)
    if (app == form.app && whose == form.whose) return form.lines;
  return 0;
}

}  // namespace dcgn::bench
