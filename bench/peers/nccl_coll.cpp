// NCCL between GPUs of one process, a rank each: once as it is, once with its buffers in symmetric windows, and by its
// device API in a kernel. Calls of the first two are captured in CUDA graphs, one a GPU, so that a launch from the host
// is paid once a block of calls.
//   dcgn_peer_nccl_coll --ranks N --seconds S OP:SIZE...
#include "bench/peers/coll_gpus_kernel.hpp"
#include "bench/peers/nccl_device_kernel.hpp"

#include <cuda_runtime.h>
#include <nccl.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace dcgn;
using bench::Collective, bench::Row, bench::peer::check, bench::peer::CollRound, bench::peer::Gpu,
    bench::peer::NcclHandles;

// The calls that NCCL has on the host.
bool has(Collective op) { return op != Collective::barrier && op != Collective::scan; }

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(ncclMemAlloc(&memory, bytes), "ncclMemAlloc");
  return memory;
}

// Communicators, whose buffers have no windows yet.
std::vector<NcclHandles> handles_of(int count) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(count));
  check(ncclCommInitAll(comms.data(), count, nullptr), "ncclCommInitAll");
  std::vector<NcclHandles> handles;
  for (const ncclComm_t comm : comms) handles.push_back({.comm = comm});
  return handles;
}

class Ranks {
 public:
  Ranks(int count, std::size_t room)
      : handles_(handles_of(count)), gpus_(count, room, allocate), bytes_(room * sizeof(float)) {}

  void register_windows() {
    for (const bool outs : {false, true}) {
      check(ncclGroupStart(), "ncclGroupStart");
      gpus_.each([&](const Gpu& gpu) {
        NcclHandles& h = of(gpu);
        check(ncclCommWindowRegister(h.comm, outs ? gpu.out : gpu.in, bytes_, outs ? &h.out : &h.in,
                                     NCCL_WIN_COLL_SYMMETRIC),
              "ncclCommWindowRegister");
      });
      check(ncclGroupEnd(), "ncclGroupEnd");
    }
  }

  // By calls on the host.
  Row measure(const CollRound& round, double seconds, const std::string& whose) {
    const auto enqueue_round = [&] { enqueue(round); };
    bench::peer::GraphedCalls calls(gpus_, enqueue_round);
    Row row = bench::peer::row_of_gpus(round, seconds, whose, [&](std::uint64_t count) { return calls.run(count); });
    row.wrong = gpus_.count_wrong(round, enqueue_round);
    return row;
  }

  // By calls in a kernel.
  std::vector<Row> measure_device(const bench::peer::CollArguments& a, const std::string& whose) {
    return bench::peer::measure_nccl_device(gpus_, handles_, a, whose);
  }

 private:
  NcclHandles& of(const Gpu& gpu) { return handles_[static_cast<std::size_t>(gpu.device)]; }

  static void call(const CollRound& round, const Gpu& g, ncclComm_t comm) {
    const auto count = static_cast<std::size_t>(round.count());
    switch (round.op) {
      case Collective::broadcast:
        return check(ncclBroadcast(g.out, g.out, count, ncclFloat, 0, comm, g.stream), "ncclBroadcast");
      case Collective::reduce:
        return check(ncclReduce(g.in, g.out, count, ncclFloat, ncclSum, 0, comm, g.stream), "ncclReduce");
      case Collective::all_reduce:
        return check(ncclAllReduce(g.in, g.out, count, ncclFloat, ncclSum, comm, g.stream), "ncclAllReduce");
      case Collective::reduce_scatter:
        return check(ncclReduceScatter(g.in, g.out, count, ncclFloat, ncclSum, comm, g.stream), "ncclReduceScatter");
      case Collective::all_gather:
        return check(ncclAllGather(g.in, g.out, count, ncclFloat, comm, g.stream), "ncclAllGather");
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
      case Collective::gather: return check(ncclGather(g.in, g.out, count, ncclFloat, 0, comm, g.stream), "ncclGather");
      case Collective::scatter:
        return check(ncclScatter(g.in, g.out, count, ncclFloat, 0, comm, g.stream), "ncclScatter");
      case Collective::all_to_all:
        return check(ncclAlltoAll(g.in, g.out, count, ncclFloat, comm, g.stream), "ncclAlltoAll");
#else
      case Collective::gather:
      case Collective::scatter:
      case Collective::all_to_all: {
        // Each part is a message.
        const bool scatters = round.op == Collective::scatter, gathers = round.op == Collective::gather;
        for (int r = 0; r < round.ranks; ++r) {
          const std::size_t there = count * static_cast<std::size_t>(r);
          if (g.device == 0 || !scatters) {
            if (r == 0 || !gathers)
              check(ncclSend(g.in + (gathers ? 0 : there), count, ncclFloat, r, comm, g.stream), "ncclSend");
          }
          if (g.device == 0 || !gathers) {
            if (r == 0 || !scatters)
              check(ncclRecv(g.out + (scatters ? 0 : there), count, ncclFloat, r, comm, g.stream), "ncclRecv");
          }
        }
        return;
      }
#endif
      case Collective::barrier:
      case Collective::scan: break;
    }
    throw std::runtime_error(std::string(bench::name_of(round.op)) + ": expected a collective that NCCL has");
  }

  void enqueue(const CollRound& round) {
    check(ncclGroupStart(), "ncclGroupStart");
    gpus_.each([&](const Gpu& gpu) { call(round, gpu, of(gpu).comm); });
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  std::vector<NcclHandles> handles_;
  bench::peer::Gpus gpus_;
  std::size_t bytes_;  // of a buffer
};

std::string library() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::vector<Row> measure_all(const bench::peer::CollArguments& a) {
  Ranks ranks(a.ranks, a.room());
  std::vector<Row> rows;
  for (const char* form : {"", ", symmetric windows"}) {
    if (*form) ranks.register_windows();
    for (const CollRound& round : a.rounds)
      if (has(round.op)) rows.push_back(ranks.measure(round, a.seconds, library() + form));
  }
  const std::vector<Row> device = ranks.measure_device(a, library() + ", device API");
  rows.insert(rows.end(), device.begin(), device.end());
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  // NVLink multicast can put the GPUs of a shared machine out of service.
  if (::setenv("NCCL_NVLS_ENABLE", "0", 1) != 0) return 1;
  bench::peer::run_coll_program("dcgn_peer_nccl_coll", argc, argv, measure_all);
}
