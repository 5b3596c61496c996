// NCCL between two GPUs of one process, by ncclSend and ncclRecv. Rounds are captured in CUDA graphs, one a GPU, so
// that a launch from the host is paid once a block and not once a message.
//   dcgn_peer_nccl_p2p --measures latency,bandwidth,bidirectional --seconds S [--window N] SIZE...
#include "bench/json.hpp"
#include "bench/peers/pattern_kernel.hpp"
#include "bench/peers/rounds.hpp"

#include <cuda_runtime.h>
#include <nccl.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

namespace {

using namespace dcgn;
using bench::peer::Measure, bench::peer::Round;

void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

void check(ncclResult_t code, const char* call) {
  if (code != ncclSuccess)
    throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(code) + ": " + ncclGetLastError(nullptr));
}

// What a GPU has for the messages. It and all below are released by the process's end alone: after an error NCCL may
// wait for the other GPU for ever.
struct End {
  int device = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  unsigned char *out = nullptr, *in = nullptr;
  unsigned long long* wrong = nullptr;
  cudaGraphExec_t rounds = nullptr;
};

class Pair {
 public:
  explicit Pair(std::size_t room) {
    int devices = 0;
    check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    if (devices < 2) throw std::runtime_error(std::to_string(devices) + " GPUs: expected 2 or more");
    std::array<ncclComm_t, 2> comms{};
    check(ncclCommInitAll(comms.data(), 2, nullptr), "ncclCommInitAll");
    for (int e = 0; e < 2; ++e) {
      End& end = ends_[static_cast<std::size_t>(e)];
      end.device = e;
      end.comm = comms[static_cast<std::size_t>(e)];
      check(cudaSetDevice(e), "cudaSetDevice");
      check(cudaStreamCreateWithFlags(&end.stream, cudaStreamNonBlocking), "cudaStreamCreate");
      check(cudaEventCreate(&end.begin), "cudaEventCreate");
      check(cudaEventCreate(&end.end), "cudaEventCreate");
      for (unsigned char** memory : {&end.out, &end.in})
        check(ncclMemAlloc(reinterpret_cast<void**>(memory), room), "ncclMemAlloc");
      check(ncclMemAlloc(reinterpret_cast<void**>(&end.wrong), sizeof *end.wrong), "ncclMemAlloc");
    }
  }

  // Does these rounds; gives the microseconds that they took where the last message arrives.
  double run(const Round& round, std::uint64_t rounds) {
    if (round != round_ || rounds != rounds_) capture(round, rounds);
    return launch();
  }

  // One more round, whose messages are compared. How many bytes were wrong at both ends.
  std::uint64_t count_wrong(const Round& round) {
    using bench::peer::pattern_blocks, bench::peer::pattern_threads, bench::peer::write_patterns;
    const std::int64_t all = round.extent();
    for (const End& end : ends_) {
      check(cudaSetDevice(end.device), "cudaSetDevice");
      write_patterns<<<pattern_blocks, pattern_threads, 0, end.stream>>>(end.out, end.in, all,
                                                                         static_cast<unsigned>(end.device));
      check(cudaGetLastError(), "write_patterns");
      check(cudaMemsetAsync(end.wrong, 0, sizeof *end.wrong, end.stream), "cudaMemsetAsync");
    }
    synchronize();
    enqueue(round);
    synchronize();
    std::uint64_t sum = 0;
    for (const End& end : ends_) {
      if (round.measure == Measure::bandwidth && end.device == 0) continue;  // it only sent
      check(cudaSetDevice(end.device), "cudaSetDevice");
      bench::peer::count_wrong<<<pattern_blocks, pattern_threads, 0, end.stream>>>(
          end.in, all, static_cast<unsigned>(end.device), end.wrong);
      check(cudaGetLastError(), "count_wrong");
      unsigned long long wrong = 0;
      check(cudaMemcpyAsync(&wrong, end.wrong, sizeof wrong, cudaMemcpyDeviceToHost, end.stream), "cudaMemcpyAsync");
      check(cudaStreamSynchronize(end.stream), "cudaStreamSynchronize");
      sum += wrong;
    }
    return sum;
  }

 private:
  // A message from one GPU to the other, in its place of the window.
  void pass(std::size_t from, std::int64_t bytes, std::int64_t i) {
    const End &sender = ends_[from], &receiver = ends_[1 - from];
    const auto count = static_cast<std::size_t>(bytes);
    check(ncclSend(sender.out + i * bytes, count, ncclUint8, receiver.device, sender.comm, sender.stream), "ncclSend");
    check(ncclRecv(receiver.in + i * bytes, count, ncclUint8, sender.device, receiver.comm, receiver.stream),
          "ncclRecv");
  }

  // A group is a kernel on each GPU: a window is one group.
  void enqueue(const Round& round) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (std::int64_t i = 0; i < round.messages; ++i) {
      pass(0, round.bytes, i);
      if (round.measure == Measure::bidirectional) pass(1, round.bytes, i);
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    if (round.measure != Measure::latency) return;
    check(ncclGroupStart(), "ncclGroupStart");
    pass(1, round.bytes, 0);
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  void synchronize() {
    for (const End& end : ends_) check(cudaStreamSynchronize(end.stream), "cudaStreamSynchronize");
  }

  void capture(const Round& round, std::uint64_t rounds) {
    enqueue(round);  // what NCCL does once, it does now
    synchronize();
    for (End& end : ends_) {
      if (end.rounds) check(cudaGraphExecDestroy(end.rounds), "cudaGraphExecDestroy");
      end.rounds = nullptr;
      check(cudaSetDevice(end.device), "cudaSetDevice");
      check(cudaStreamBeginCapture(end.stream, cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    }
    for (std::uint64_t i = 0; i < rounds; ++i) enqueue(round);
    for (End& end : ends_) {
      check(cudaSetDevice(end.device), "cudaSetDevice");
      cudaGraph_t graph = nullptr;
      check(cudaStreamEndCapture(end.stream, &graph), "cudaStreamEndCapture");
      check(cudaGraphInstantiate(&end.rounds, graph, 0), "cudaGraphInstantiate");
      check(cudaGraphDestroy(graph), "cudaGraphDestroy");
    }
    round_ = round;
    rounds_ = rounds;
    launch();  // a graph's first launch costs more
  }

  double launch() {
    // Round trips end at GPU 0, windows at GPU 1.
    const std::size_t timed = round_.measure == Measure::latency ? 0 : 1;
    const End& last = ends_[timed];
    check(cudaSetDevice(last.device), "cudaSetDevice");
    check(cudaEventRecord(last.begin, last.stream), "cudaEventRecord");
    check(cudaGraphLaunch(last.rounds, last.stream), "cudaGraphLaunch");
    check(cudaEventRecord(last.end, last.stream), "cudaEventRecord");
    const End& other = ends_[1 - timed];
    check(cudaSetDevice(other.device), "cudaSetDevice");
    check(cudaGraphLaunch(other.rounds, other.stream), "cudaGraphLaunch");
    synchronize();
    float ms = 0;
    check(cudaEventElapsedTime(&ms, last.begin, last.end), "cudaEventElapsedTime");
    return static_cast<double>(ms) * 1e3;
  }

  std::array<End, 2> ends_{};
  Round round_;  // what the graphs hold
  std::uint64_t rounds_ = 0;
};

std::string library() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void measure_all(const bench::peer::Arguments& a) {
  Pair pair(bench::peer::room(a));
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Measure measure : a.measures)
    for (const std::int64_t bytes : a.sizes) {
      const Round round = a.round(measure, bytes);
      bench::Row row = bench::peer::time_rounds(
          round, a.seconds, [&](std::uint64_t rounds) { return pair.run(round, rounds); },
          [](double value) { return value; });
      row.whose = library();
      row.path = "device-device";
      row.scope = "-";
      row.wrong = pair.count_wrong(round);
      rows.push_back(bench::to_json(row));
    }
  if (std::puts(rows.dump().c_str()) < 0) throw std::runtime_error("the rows could not be printed");
}

}  // namespace

int main(int argc, char** argv) {
  // NVLink multicast can put the GPUs of a shared machine out of service.
  if (::setenv("NCCL_NVLS_ENABLE", "0", 1) != 0) return 1;
  int code = 0;
  try {
    measure_all(bench::peer::parse(argc, argv));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dcgn_peer_nccl_p2p: %s\n", e.what());
    code = 1;
  }
  std::fflush(stdout);
  std::_Exit(code);  // see End
}
