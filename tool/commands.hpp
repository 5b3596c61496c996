// The subcommands of dcgn. Each adds its options to `parent` and, if it is the one that was given, sets `chosen` to
// what is to be done; that returns the exit code.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>

namespace dcgn::tool {

using Action = std::function<int()>;

void add_info(CLI::App& parent, Action& chosen);
void add_doctor(CLI::App& parent, Action& chosen);
void add_demo_mandelbrot(CLI::App& parent, Action& chosen);
void add_demo_cannon(CLI::App& parent, Action& chosen);
void add_demo_nbody(CLI::App& parent, Action& chosen);
void add_demo_pingpong(CLI::App& parent, Action& chosen);
void add_trace(CLI::App& parent, Action& chosen);
void add_completion(CLI::App& parent, Action& chosen);  // of all that the parent has
// Those of modules, where these are built.
void add_demo_stencil(CLI::App& parent, Action& chosen);  // its equations
void add_vgpu(CLI::App& parent, Action& chosen);
void add_wall(CLI::App& parent, Action& chosen);
#if defined(DCGN_HAS_BENCH)
void add_bench_p2p(CLI::App& parent, Action& chosen);
void add_bench_coll(CLI::App& parent, Action& chosen);
void add_bench_apps(CLI::App& parent, Action& chosen);
void add_bench_ddt(CLI::App& parent, Action& chosen);
void add_bench_stencil(CLI::App& parent, Action& chosen);
void add_bench_vgpu(CLI::App& parent, Action& chosen);
void add_bench_sim(CLI::App& parent, Action& chosen);
void add_bench_pixels(CLI::App& parent, Action& chosen);
void add_bench_ablation(CLI::App& parent, Action& chosen);
void add_bench_gates(CLI::App& parent, Action& chosen);
void add_bench_plot(CLI::App& parent, Action& chosen);
void add_sim_run(CLI::App& parent, Action& chosen);
void add_sim_record(CLI::App& parent, Action& chosen);  // where there is a virtual GPU, too
void add_sim_sweep(CLI::App& parent, Action& chosen);
void add_sim_topo(CLI::App& parent, Action& chosen);
void add_sim_figure(CLI::App& parent, Action& chosen);
void add_sim_host(CLI::App& parent, Action& chosen);
void add_sim_keys(CLI::App& parent, Action& chosen);
#endif

}  // namespace dcgn::tool
