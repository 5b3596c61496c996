// dcgn: what the library can do, shown and measured.
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/help.hpp"
#include "tool/processes.hpp"

#include <dcgn/error.hpp>
#include <dcgn/version.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>

namespace dcgn::tool {

namespace {

// The library's errors begin with its name already. Where stderr cannot be written, the exit code says all.
void print_error(std::string text) {
  if (text.rfind("dcgn: ", 0) != 0) text.insert(0, "dcgn: ");
  if (text.back() != '\n') text += '\n';
  static_cast<void>(std::fputs(text.c_str(), stderr));
}

int stdout_failed() {
  print_error("standard output could not be written");
  return exit_io;
}

#if defined(DCGN_HAS_BENCH)
int alone(const Action& measure) {
  const int refused = expect_one("bench",
                                 "without mpirun or with DCGN_MPI=off, which starts those that it needs; "
                                 "dcgn_bench_processes measures between processes");
  return refused == exit_ok ? measure() : refused;
}
#endif

// A command that this build does not have, and the setting with which one has it.
[[maybe_unused]] void add_missing(CLI::App& parent, const std::string& name, const std::string& setting,
                                  Action& chosen) {
  const std::string words = parent.get_name() == "dcgn" ? "dcgn " + name : "dcgn " + parent.get_name() + " " + name;
  parent.add_subcommand(name, "Not in this build: `make test` builds all, or cmake -D" + setting)
      ->allow_extras()
      ->callback([words, setting, &chosen] {
        chosen = [words, setting] {
          print_error("this build has no `" + words + "`: expected one with " + setting +
                      ", as `make test` and `make bench` make it");
          return exit_usage;
        };
      });
}

int run(int argc, char** argv) {
  CLI::App app("Message passing in which GPUs are ranks: a kernel that is still running sends and receives.");
  app.name("dcgn");
  app.set_version_flag("--version", "dcgn " + std::string(version), "The version, and nothing else");
  app.formatter(std::make_shared<HelpFormatter>());
  app.require_subcommand(1);
  app.footer(std::string("Examples:\n"
                         "  dcgn info                       what is here: devices, links, ranks, settings\n"
                         "  dcgn doctor                     whether it all works, and what to do where not\n"
                         "  dcgn demo mandelbrot            the main job, and two pictures of it\n"
                         "  dcgn demo pingpong --between cpu,slot\n"
#if defined(DCGN_HAS_BENCH)
                         "  dcgn bench p2p --peers mpi      latency and bandwidth beside MPI\n"
#endif
#if defined(DCGN_HAS_BENCH) && defined(DCGN_HAS_MEMNET)
                         "  dcgn sim topo sFBFLY:4          a network of memory cubes, which sim run simulates\n"
#endif
                         "  dcgn trace job.json -o job.html what a job did, which DCGN_TRACE=job.json recorded\n"
                         "  dcgn demo mandelbrot --help     every level explains itself\n\n") +
             exit_codes_help);
  Action chosen;
  add_info(app, chosen);
  add_doctor(app, chosen);
  CLI::App* demo = app.add_subcommand(
      "demo", "Demonstrations: mandelbrot, nbody, cannon, pingpong, cahn-hilliard, ginzburg-landau, heat");
  demo->require_subcommand(1);
  demo->footer(
      "Examples:\n"
      "  dcgn demo mandelbrot --cpus 2 --gpus 1 --slots 4\n"
      "  dcgn demo nbody --bodies 1000 --steps 50 --check\n"
      "  dcgn demo cannon --size 512 --check\n"
      "  dcgn demo pingpong --between slot,slot --sizes 4,1M\n"
      "  dcgn demo cahn-hilliard --steps 2000 --png every=500\n"
      "  mpirun -n 2 dcgn demo nbody --check          all ranks of both processes in one job\n");
  add_demo_mandelbrot(*demo, chosen);
  add_demo_nbody(*demo, chosen);
  add_demo_cannon(*demo, chosen);
  add_demo_pingpong(*demo, chosen);
#if defined(DCGN_HAS_STENCIL)
  add_demo_stencil(*demo, chosen);
#else
  for (const char* const name : {"cahn-hilliard", "ginzburg-landau", "heat"})
    add_missing(*demo, name, "DCGN_BUILD_STENCIL=ON", chosen);
#endif
#if defined(DCGN_HAS_BENCH)
  CLI::App* bench = app.add_subcommand(
      "bench",
      "Measurements: p2p, coll, apps, ddt, stencil, vgpu, sim, pixels, ablation, gates; pictures of them: plot");
  bench->require_subcommand(1);
  bench->footer(
      "Examples:\n"
      "  dcgn bench p2p -b 8 -e 1M -f 4 --pairs cpu-cpu --peers mpi\n"
      "  dcgn bench coll --op all_reduce --cpus 4 --peers mpi\n");
  add_bench_p2p(*bench, chosen);
  add_bench_coll(*bench, chosen);
  add_bench_apps(*bench, chosen);
  add_bench_ddt(*bench, chosen);
#if defined(DCGN_HAS_STENCIL)
  add_bench_stencil(*bench, chosen);
#else
  add_missing(*bench, "stencil", "DCGN_BUILD_STENCIL=ON", chosen);
#endif
#if defined(DCGN_HAS_VGPU)
  add_bench_vgpu(*bench, chosen);
#else
  add_missing(*bench, "vgpu", "DCGN_BUILD_VGPU=ON", chosen);
#endif
#if defined(DCGN_HAS_MEMNET)
  add_bench_sim(*bench, chosen);
#else
  add_missing(*bench, "sim", "DCGN_BUILD_MEMNET=ON", chosen);
#endif
  add_bench_pixels(*bench, chosen);
  add_bench_ablation(*bench, chosen);
  add_bench_gates(*bench, chosen);
  add_bench_plot(*bench, chosen);
  bench->callback([bench, &chosen] {
    if (!bench->got_subcommand("plot")) chosen = [measure = chosen] { return alone(measure); };
  });
#else
  add_missing(app, "bench", "DCGN_BUILD_BENCH=ON", chosen);
#endif
#if defined(DCGN_HAS_BENCH) && defined(DCGN_HAS_MEMNET)
  CLI::App* sim =
      app.add_subcommand("sim", "The memory-network simulator: run, record, sweep, topo, figure, host, keys");
  sim->require_subcommand(1);
  sim->footer(
      "Examples:\n"
      "  dcgn sim run examples/sim/mesh_8x8.toml              latency, throughput, energy of one run\n"
      "  dcgn sim sweep examples/sim/mesh_8x8.toml --load 0.05:0.45:0.05 --plot sweep.png\n"
      "  dcgn sim record k-means k-means.kernels              what a kernel does to memory, for run\n"
      "  dcgn sim topo sFBFLY:4 --svg sfbfly.svg              a topology's numbers, and a picture of it\n"
      "  dcgn sim figure 12                                   a figure of the 2014 paper, ours beside the paper's\n"
      "  dcgn sim host                                        8 GPUs on NVLink: the model beside the measurements\n"
      "  dcgn sim keys router                                 what a configuration may say\n");
  add_sim_run(*sim, chosen);
#if defined(DCGN_HAS_VGPU)
  add_sim_record(*sim, chosen);
#endif
  add_sim_sweep(*sim, chosen);
  add_sim_topo(*sim, chosen);
  add_sim_figure(*sim, chosen);
  add_sim_host(*sim, chosen);
  add_sim_keys(*sim, chosen);
#elif defined(DCGN_HAS_MEMNET)
  add_missing(app, "sim", "DCGN_BUILD_BENCH=ON", chosen);
#else
  add_missing(app, "sim", "DCGN_BUILD_MEMNET=ON", chosen);
#endif
#if defined(DCGN_HAS_VGPU)
  add_vgpu(app, chosen);
#else
  add_missing(app, "vgpu", "DCGN_BUILD_VGPU=ON", chosen);
#endif
  add_trace(app, chosen);
#if defined(DCGN_HAS_WALL)
  add_wall(app, chosen);
#else
  add_missing(app, "wall", "DCGN_WALL=ON", chosen);
#endif
  add_completion(app, chosen);
  const auto any = [](const CLI::App*) { return true; };
  for (CLI::App* group : app.get_subcommands(any))
    if (!group->get_subcommands(any).empty()) group->footer(group->get_footer() + "\n" + exit_codes_help);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    const bool tells = tells_usage();
    if (const std::string word = unknown_word(app, argc, argv); e.get_exit_code() == 0 && !word.empty()) {
      if (!tells) return after_the_first(exit_usage);
      print_error(word + ": no command of dcgn's (see dcgn --help)");
      return exit_usage;
    }
    if (e.get_exit_code() != 0) {
      if (!tells) return after_the_first(exit_usage);
      print_error(describe(app, e));
      return exit_usage;
    }
    const int result = tells ? app.exit(e) : exit_ok;  // prints --help or --version
    chosen = [result] { return result; };
  }
  const int result = chosen();
  return std::fflush(stdout) != 0 || std::ferror(stdout) ? stdout_failed() : result;
}

}  // namespace

}  // namespace dcgn::tool

int main(int argc, char** argv) {
  using namespace dcgn::tool;
  try {
    return run(argc, argv);
  } catch (const dcgn::Error& e) {
    print_error(e.what());
    return exit_code_of(e);
  } catch (const std::bad_alloc&) {
    print_error("memory ran out: expected a smaller job, by its size or its ranks");
    return exit_job_failed;
  } catch (const std::exception& e) {
    if (std::ferror(stdout)) return stdout_failed();  // fmt throws where it cannot print
    print_error(e.what());
    return exit_job_failed;
  }
}
