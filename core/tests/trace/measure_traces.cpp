// What a trace costs in kernels: half a round trip of 8 bytes between two slots, of one GPU and of two, by a thread, a
// warp and a block each, without a trace and with one, the best of three jobs. `measure_traces [ROUNDS]`.
#include <dcgn/dcgn.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

enum class Calls { thread, warp, block };

template <Calls By>
struct PingPong {
  template <class Scope>
  DCGN_HOST_DEVICE void play(const Scope& scope, const dcgn::gpu::Slot& me, int rounds, std::uint64_t* took) const {
    std::uint64_t ball = 0, begin = 0;
    const int rank = me.rank(), other = 1 - rank;
    for (const int count : {200, rounds}) {
      begin = dcgn::now_ns();
      for (int i = 0; i < count; ++i) {
        if (rank == 0) me.send(scope, ball, other);
        me.recv(scope, ball, other);
        if (rank != 0) me.send(scope, ball, other);
      }
    }
    if (scope.leader() && rank == 0) *took = dcgn::now_ns() - begin;
  }

  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int rounds,
                                   std::uint64_t* took) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    if constexpr (By == Calls::thread) {
      if (ctx.thread_rank() == 0) play(dcgn::gpu::this_thread(), me, rounds, took);
    } else if constexpr (By == Calls::warp) {
      play(dcgn::gpu::this_warp(ctx), me, rounds, took);
    } else {
      play(dcgn::gpu::this_block(ctx), me, rounds, took);
    }
  }
};

template <Calls By>
double half_a_round_trip_us(int gpus, int rounds, const std::string& trace) {
  double best = 1e9;
  for (int trial = 0; trial < 3; ++trial) {
    dcgn::Config config;
    config.nodes = {{.gpus = gpus, .slots = 2 / gpus}};
    config.trace = trace;
    config.trace_events = 2 * static_cast<std::uint64_t>(rounds) + 1000;
    dcgn::Job job(config);
    const dcgn::Device device = job.world().device(0);
    auto* const took = static_cast<std::uint64_t*>(device.allocate_host(sizeof(std::uint64_t)));
    job.gpu({.grid = dcgn::one_block_per_slot, .block = By == Calls::block ? 128u : 32u}, PingPong<By>{}, rounds, took);
    job.run();
    best = std::min(best, static_cast<double>(*took) / 2e3 / rounds);
    device.free_host(took);
  }
  return best;
}

template <Calls By>
void measure(int gpus, int rounds, const std::string& file, const char* name) {
  const double without = half_a_round_trip_us<By>(gpus, rounds, ""),
               with = half_a_round_trip_us<By>(gpus, rounds, file);
  std::printf("%4d  %-8s %11.3f %9.3f %9.1f\n", gpus, name, without, with, 100 * (with / without - 1));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 10000;
  if (rounds < 1) {
    std::fprintf(stderr, "usage: measure_traces [ROUNDS], 1 at least\n");
    return 2;
  }
  const std::string file = "/tmp/measure_traces_" + std::to_string(getpid()) + ".json";
  std::printf("gpus  by       without us   with us    more %%\n");
  for (int gpus = 1; gpus <= std::min(2, dcgn::Device::count()); ++gpus) {
    measure<Calls::thread>(gpus, rounds, file, "thread");
    measure<Calls::warp>(gpus, rounds, file, "warp");
    measure<Calls::block>(gpus, rounds, file, "block");
  }
  std::remove(file.c_str());
}
