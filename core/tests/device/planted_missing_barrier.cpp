// The test of the ThreadSanitizer build: a kernel that lacks a barrier must be reported, the same kernel with its
// barrier must not be. `correct` exits 0 in every build; `broken` must be made to fail by ThreadSanitizer alone.
//
//   planted_missing_barrier correct|broken [block|warp|schedule]
#include "device_kernels.hpp"

#include "device/emulated/schedule.hpp"

#include <dcgn/device.hpp>
#include <dcgn/gpu/launch.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr unsigned threads = 64;

template <bool Barrier>
void run(const std::string& where) {
  const dcgn::Device device(0);
  const dcgn::DeviceBuffer<unsigned> out(device, 2 * threads);
  const dcgn::DeviceBuffer<unsigned> values(device, threads);
  const auto launch = [&] {
    dcgn::Stream stream(device);
    if (where == "warp")
      device.launch(stream, {.grid = 1, .block = threads}, dcgn::test::ReadLane<Barrier>{}, values.data(), out.data());
    else
      device.launch(stream, {.grid = 2, .block = threads, .shared_bytes = threads * sizeof(unsigned)},
                    dcgn::test::ReadNeighbour<Barrier>{}, out.data());
    stream.synchronize();
  };
  if (where == "schedule") {
    dcgn::device::Schedule schedule(1);
    schedule.add("rank 0", launch);
    schedule.run();
  } else {
    launch();
  }
  std::vector<unsigned> host(out.size());
  out.download(host.data());
  std::printf("neighbour of thread 1: %u\n", host[1]);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("DCGN_EMULATED_GPUS", "1", 1);
  const std::string kernel = argc > 1 ? argv[1] : "";
  const std::string where = argc > 2 ? argv[2] : "block";
  if ((kernel != "broken" && kernel != "correct") || (where != "block" && where != "warp" && where != "schedule")) {
    std::fprintf(stderr, "usage: %s correct|broken [block|warp|schedule]\n", argv[0]);
    return 2;
  }
  if (kernel == "broken")
    run<false>(where);
  else
    run<true>(where);
}
