// The calls of measure_messages.py in C++, beside which they stand: `measure_messages 2`, or
// `mpirun -n 2 --bind-to none measure_messages 1`; with `device` behind it, of memory of the ranks' GPUs.
#include <dcgn/dcgn.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

// Seconds of one of so many acts.
template <class Act>
double best(int rounds, const Act& act) {
  double least = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) act();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    least = std::min(least, took.count() / rounds);
  }
  return least;
}

void measure(dcgn::Comm& comm, int other, void* memory, std::size_t large_bytes) {
  const bool first = comm.rank() == 0;
  if (first)
    std::printf("Send and Recv of 8 bytes by one rank: %.2f us\n", 1e6 * best(50'000, [&] {
                                                                     comm.send_bytes(memory, 8, 0, 0);
                                                                     comm.recv_bytes(memory, 8, 0, 0);
                                                                   }));
  const double half = best(20'000,
                           [&] {
                             if (first) comm.send_bytes(memory, 8, other, 0);
                             comm.recv_bytes(memory, 8, other, 0);
                             if (!first) comm.send_bytes(memory, 8, other, 0);
                           }) /
                      2;
  const double one = best(10, [&] {
    first ? comm.send_bytes(memory, large_bytes, other, 0)
          : static_cast<void>(comm.recv_bytes(memory, large_bytes, other, 0));
  });
  if (!first) return;
  std::printf("half a round trip of 8 bytes: %.2f us\n", 1e6 * half);
  std::printf("%zu MiB: %.1f GB/s\n", large_bytes >> 20, static_cast<double>(large_bytes) / one / 1e9);
}

}  // namespace

int main(int argc, char** argv) {
  const int cpus = argc > 1 ? std::atoi(argv[1]) : 2;
  const bool on_device = argc > 2 && std::string(argv[2]) == "device";
  const std::size_t large_bytes = std::size_t{on_device ? 256u : 16u} << 20;
  try {
    dcgn::Config config;
    const int gpus = on_device ? dcgn::Device::count() : 0;
    config.nodes = {{.cpus = cpus, .gpus = gpus, .slots = 0}};
    dcgn::Job job(config);
    job.cpu([&](dcgn::Comm& comm) {
      if (on_device) {
        const dcgn::DeviceBuffer<char> memory(job.world().device((comm.rank() > 0) % gpus), large_bytes);
        measure(comm, 1 - comm.rank(), memory.data(), large_bytes);
      } else {
        std::vector<char> memory(large_bytes);
        measure(comm, 1 - comm.rank(), memory.data(), large_bytes);
      }
    });
    job.run();
  } catch (const dcgn::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
