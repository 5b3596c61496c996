// NCCL's device API: collectives as loads and stores in symmetric windows, between barriers of one CTA of each GPU, all
// called in one kernel. Without NVLink multicast. NCCL 2.28 and later have it; before, there are no rows.
#pragma once

#include "bench/peers/coll_direct_kernel.hpp"
#include "bench/peers/coll_gpus_kernel.hpp"

#include <nccl.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::bench::peer {

inline void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess)
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code) + ": " + ncclGetLastError(nullptr));
}

// What a GPU's calls need: its communicator, and its buffers in symmetric windows.
struct NcclHandles {
  ncclComm_t comm = nullptr;
  ncclWindow_t in = nullptr, out = nullptr;
};

}  // namespace dcgn::bench::peer

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0) && __has_include(<nccl_device.h>)

#include <dcgn/arch/clock.hpp>

#include <cooperative_groups.h>
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <nccl_device.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <cstdio>
#include <utility>

namespace dcgn::bench::peer {

// What a call is; all_reduce has two forms.
enum class DeviceForm { barrier, broadcast, one_shot, two_shot, reduce_scatter, all_gather, all_to_all };

// None where the device API is not asked for it.
inline std::vector<DeviceForm> device_forms(Collective op) {
  switch (op) {
    case Collective::barrier: return {DeviceForm::barrier};
    case Collective::broadcast: return {DeviceForm::broadcast};
    case Collective::all_reduce: return {DeviceForm::one_shot, DeviceForm::two_shot};
    case Collective::reduce_scatter: return {DeviceForm::reduce_scatter};
    case Collective::all_gather: return {DeviceForm::all_gather};
    case Collective::all_to_all: return {DeviceForm::all_to_all};
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
    case Collective::scan: break;
  }
  return {};
}

// How calls are made: a CTA for each barrier of the communicator, and so many threads each.
struct DeviceWay {
  DeviceForm form;
  unsigned blocks, threads;
};

struct DeviceCalls {
  std::int64_t count;  // of floats, as CollRound has it
  std::uint64_t calls;
  ncclWindow_t in, out;
  std::uint64_t* ns;  // what they took here
};

template <DeviceForm form, class Word>
__device__ void move_words(const DirectBuffers& b, std::int64_t floats) {
  const auto words = floats / static_cast<std::int64_t>(sizeof(Word) / sizeof(float));
  switch (form) {
    case DeviceForm::barrier: break;
    case DeviceForm::broadcast: return broadcast<Word>(b, words);
    case DeviceForm::one_shot: return reduce_one_shot<Word>(b, words);
    case DeviceForm::two_shot: return reduce_two_shot<Word>(b, words);
    case DeviceForm::reduce_scatter: return reduce_scatter<Word>(b, words);
    case DeviceForm::all_gather: return all_gather<Word>(b, words);
    case DeviceForm::all_to_all: return all_to_all<Word>(b, words);
  }
}

// A CTA waits for the CTAs of its number on the other GPUs alone. So a call of several CTAs ends with a barrier of the
// grid, after which each of them may read all of the output, and enter the next call, whose input is then ready.
template <DeviceForm form>
__global__ void __launch_bounds__(most_block_threads)
    make_device_calls(const __grid_constant__ DeviceCalls c, const __grid_constant__ ncclDevComm comm) {
  constexpr cuda::memory_order order = cuda::memory_order_acq_rel;
  __shared__ DirectBuffers b;
  for (int r = static_cast<int>(threadIdx.x); r < comm.lsaSize; r += static_cast<int>(blockDim.x)) {
    b.in[r] = static_cast<const float*>(ncclGetLsaPointer(c.in, 0, r));
    b.out[r] = static_cast<float*>(ncclGetLsaPointer(c.out, 0, r));
  }
  if (threadIdx.x == 0) {
    b.ranks = comm.lsaSize;
    b.rank = comm.lsaRank;
  }
  ncclCoopCta cta;
  ncclLsaBarrierSession<ncclCoopCta> barrier(cta, comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(cta, order);  // waits for the others' launches
  const std::uint64_t begin = now_ns();
  for (std::uint64_t i = 0; i < c.calls; ++i) {
    barrier.sync(cta, order);
    if (form == DeviceForm::barrier) continue;
    if (c.count % 4 == 0)
      move_words<form, float4>(b, c.count);
    else
      move_words<form, float>(b, c.count);
    barrier.sync(cta, order);
    if (gridDim.x > 1) cooperative_groups::this_grid().sync();
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *c.ns = now_ns() - begin;
}

using DeviceKernel = void (*)(const DeviceCalls, const ncclDevComm);
inline DeviceKernel kernel_of(DeviceForm form) {
  switch (form) {
    case DeviceForm::barrier: break;
    case DeviceForm::broadcast: return make_device_calls<DeviceForm::broadcast>;
    case DeviceForm::one_shot: return make_device_calls<DeviceForm::one_shot>;
    case DeviceForm::two_shot: return make_device_calls<DeviceForm::two_shot>;
    case DeviceForm::reduce_scatter: return make_device_calls<DeviceForm::reduce_scatter>;
    case DeviceForm::all_gather: return make_device_calls<DeviceForm::all_gather>;
    case DeviceForm::all_to_all: return make_device_calls<DeviceForm::all_to_all>;
  }
  return make_device_calls<DeviceForm::barrier>;
}

// Device communicators of all GPUs. Nothing is released, as with Gpu.
class NcclDevice {
 public:
  NcclDevice(Gpus& gpus, std::vector<NcclHandles> handles) : gpus_(gpus), handles_(std::move(handles)) {
    ncclDevCommRequirements needs =
#ifdef NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER
        NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
#else
        {};
#endif
    needs.lsaMultimem = false;
    needs.lsaBarrierCount = 128;  // as many CTAs as block_counts() has
    comms_.resize(handles_.size());
    check(ncclGroupStart(), "ncclGroupStart");
    gpus_.each(
        [&](const Gpu& gpu) { check(ncclDevCommCreate(of(gpu).comm, &needs, &comm_of(gpu)), "ncclDevCommCreate"); });
    check(ncclGroupEnd(), "ncclGroupEnd");
    for (const ncclDevComm& comm : comms_)
      if (comm.lsaSize != gpus_.count() || comm.lsaSize > most_gpus)
        throw std::runtime_error("NCCL's device API reaches " + std::to_string(comm.lsaSize) + " GPUs: expected all " +
                                 std::to_string(gpus_.count()) + ", and no more than " + std::to_string(most_gpus));
    check(cudaHostAlloc(&ns_, comms_.size() * sizeof *ns_, cudaHostAllocPortable), "cudaHostAlloc");
    gpus_.each([&](const Gpu& gpu) {
      cudaFuncAttributes attributes{};  // their code is there before anything waits
      for (const Collective op : all_collectives)
        for (const DeviceForm form : device_forms(op))
          check(cudaFuncGetAttributes(&attributes, kernel_of(form)), "cudaFuncGetAttributes");
      check(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, gpu.device),
            "cudaDeviceGetAttribute");
    });
  }

  // By the fastest way.
  Row measure(const CollRound& round, double seconds, const std::string& whose) {
    const DeviceWay way = fastest_of(ways_of(round), round.bytes,
                                     [&](const DeviceWay& w, std::uint64_t calls) { return run(round, w, calls); });
    Row row = row_of_gpus(round, seconds, whose, [&](std::uint64_t calls) { return run(round, way, calls); });
    row.blocks = way.blocks;
    row.threads = way.threads;
    row.wrong = gpus_.count_wrong(round, [&] { enqueue(round, way, 1); });
    return row;
  }

 private:
  const NcclHandles& of(const Gpu& gpu) const { return handles_[static_cast<std::size_t>(gpu.device)]; }
  ncclDevComm& comm_of(const Gpu& gpu) { return comms_[static_cast<std::size_t>(gpu.device)]; }

  std::vector<DeviceWay> ways_of(const CollRound& round) const {
    const std::int64_t count = round.count(), words = count % 4 ? count : count / 4;
    std::vector<DeviceWay> ways;
    for (const unsigned blocks : block_counts(words, multiprocessors_)) {
      const unsigned threads = block_threads(words, blocks);
      for (const DeviceForm form : device_forms(round.op)) ways.push_back({form, blocks, threads});
    }
    return ways;
  }

  void enqueue(const CollRound& round, const DeviceWay& way, std::uint64_t calls) {
    gpus_.each([&](const Gpu& gpu) {
      DeviceCalls c{
          .count = round.count(), .calls = calls, .in = of(gpu).in, .out = of(gpu).out, .ns = ns_ + gpu.device};
      void* arguments[] = {&c, &comm_of(gpu)};
      check(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(kernel_of(way.form)), dim3(way.blocks),
                                        dim3(way.threads), arguments, 0, gpu.stream),
            "cudaLaunchCooperativeKernel");
    });
  }

  // Microseconds of the GPU that took longest.
  double run(const CollRound& round, const DeviceWay& way, std::uint64_t calls) {
    enqueue(round, way, calls);
    gpus_.synchronize();
    return static_cast<double>(*std::max_element(ns_, ns_ + comms_.size())) * 1e-3;
  }

  Gpus& gpus_;
  std::vector<NcclHandles> handles_;
  std::vector<ncclDevComm> comms_;
  std::uint64_t* ns_ = nullptr;
  int multiprocessors_ = 0;
};

// Rows of the rounds that are made so. Fewer or none, which stderr says, where NCCL cannot: the others' rows stand. The
// library must be of the headers' version, as what a kernel takes from it differs.
inline std::vector<Row> measure_nccl_device(Gpus& gpus, const std::vector<NcclHandles>& handles, const CollArguments& a,
                                            const std::string& whose) {
  std::vector<Row> rows;
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  if (version != NCCL_VERSION_CODE) {
    std::fprintf(stderr,
                 "NCCL's device API is left out: version %d runs, expected %d, with whose headers it is built\n",
                 version, NCCL_VERSION_CODE);
    return rows;
  }
  try {
    NcclDevice device(gpus, handles);
    for (const CollRound& round : a.rounds)
      if (!device_forms(round.op).empty()) rows.push_back(device.measure(round, a.seconds, whose));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "NCCL's device API is left out: %s\n", e.what());
  }
  return rows;
}

}  // namespace dcgn::bench::peer

#else

namespace dcgn::bench::peer {

inline std::vector<Row> measure_nccl_device(Gpus&, const std::vector<NcclHandles>&, const CollArguments&,
                                            const std::string&) {
  return {};
}

}  // namespace dcgn::bench::peer

#endif
