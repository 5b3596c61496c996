// The handle way in, as only CUDA has it: __global__ functions, <<<>>> and streams of the program's own, and graphs.
#include "handle_kernels.hpp"

#include <dcgn/gpu/launch.hpp>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

#if !defined(__CUDACC__)

TEST(HandleOnCuda, GlobalFunctionsAndGraphs) {
  GTEST_SKIP()
      << "only nvcc compiles __global__ functions, and emulated GPUs have no graphs: CUDA is off in this build";
}

#else

class HandleOnCuda : public OnGpus {
 protected:
  void SetUp() override {
    if (Device::count() == 0 || Device(0).kind() != DeviceKind::cuda)
      GTEST_SKIP() << "emulated GPUs have neither <<<>>> nor graphs, and there is no CUDA device";
    OnGpus::SetUp();
  }
};
INSTANTIATE_TEST_SUITE_P(Gpus, HandleOnCuda, ::testing::Values(1, 2), name_of_gpus);

void check(cudaError_t result) {
  if (result != cudaSuccess) throw std::runtime_error(cudaGetErrorString(result));
}

__global__ void converse(const Converse kernel, gpu::Comm comm, Notes notes) {
  const gpu::Context context;
  kernel(context, comm, notes);
}

// A stream that the library knows nothing of.
class OwnStream {
 public:
  explicit OwnStream(int device) : device_(device) {
    use_device();
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  OwnStream(OwnStream&& other) noexcept : device_(other.device_), stream_(std::exchange(other.stream_, nullptr)) {}
  OwnStream& operator=(OwnStream&&) = delete;
  ~OwnStream() {
    if (stream_) static_cast<void>(cudaStreamDestroy(stream_));  // what failed was seen by synchronize()
  }
  void use_device() const { check(cudaSetDevice(device_)); }
  cudaStream_t get() const { return stream_; }
  void synchronize() const { check(cudaStreamSynchronize(stream_)); }

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
};

void launch(const OwnStream& own, unsigned blocks, const Converse& what, const gpu::Comm& comm, const Notes& notes) {
  own.use_device();
  const cudaStream_t stream = own.get();
  // The formatter would take the brackets apart.
  // clang-format off
  converse<<<blocks, 64, 0, stream>>>(what, comm, notes);
  // clang-format on
  check(cudaGetLastError());
}

// What `launches()` gives to the stream, captured, instead of run.
class Replay {
 public:
  template <class Launches>
  Replay(cudaStream_t stream, Launches&& launches) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launches();
    check(cudaStreamEndCapture(stream, &graph));
    const cudaError_t made = cudaGraphInstantiate(&replay_, graph, 0);
    check(cudaGraphDestroy(graph));
    check(made);
    // Now, for once other kernels wait for its own it may be too late.
    check(cudaGraphUpload(replay_, stream));
    check(cudaStreamSynchronize(stream));
  }
  Replay(Replay&& other) noexcept : replay_(std::exchange(other.replay_, nullptr)) {}
  Replay& operator=(Replay&&) = delete;
  ~Replay() {
    if (replay_) static_cast<void>(cudaGraphExecDestroy(replay_));
  }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(replay_, stream)); }

 private:
  cudaGraphExec_t replay_ = nullptr;
};

TEST_P(HandleOnCuda, GlobalFunctionsOnStreamsOfTheProgramsOwnTalk) {
  constexpr int rounds = 60;
  Conversation c(GetParam(), 2);
  auto cpu = converse_on_the_cpu(c.world, rounds);
  std::vector<OwnStream> streams;
  for (const int rank : {1, 2}) streams.emplace_back(c.world.device(c.world.placement().place(rank).device).index());
  for (const int rank : {1, 2}) {
    const Place place = c.world.placement().place(rank);
    launch(streams[static_cast<std::size_t>(rank - 1)], 1,
           {.first_slot = static_cast<unsigned>(place.slot), .slots = 2, .rounds = rounds},
           c.world.handle(place.device), c.notes(place.device));
  }
  EXPECT_EQ(cpu.get(), 0u);
  for (const OwnStream& stream : streams) stream.synchronize();
  c.expect_rounds(rounds);
}

TEST_P(HandleOnCuda, GlobalFunctionsServeTheSlotsOfOneGpuAtOnce) {
  constexpr int rounds = 30;
  constexpr int slots = 8;
  Conversation c(GetParam(), slots);
  auto cpu = converse_on_the_cpu(c.world, rounds);
  const auto half = static_cast<unsigned>(c.slots_of_each() / 2);
  std::vector<OwnStream> streams;
  for (int g = 0; g < c.world.gpus(); ++g)
    for (int k = 0; k < 2; ++k) streams.emplace_back(c.world.device(g).index());
  for (unsigned k = 0; k < streams.size(); ++k) {
    const int g = static_cast<int>(k / 2);
    launch(streams[k], half, {.first_slot = k % 2 * half, .slots = slots, .rounds = rounds}, c.world.handle(g),
           c.notes(g));
  }
  EXPECT_EQ(cpu.get(), 0u);
  for (const OwnStream& stream : streams) stream.synchronize();
  c.expect_rounds(rounds);
}

// Two graphs on each GPU, each of two launches one after the other, replayed side by side. Every slot's exchanges are
// numbered through all of it.
TEST_P(HandleOnCuda, GraphsGoOnFromReplayToReplay) {
  constexpr int replays = 100;
  constexpr int launches = 2;
  constexpr int rounds = 2;
  constexpr int slots = 8;
  Conversation c(GetParam(), slots);
  const auto half = static_cast<unsigned>(c.slots_of_each() / 2);
  std::vector<OwnStream> streams;
  std::vector<Replay> graphs;
  for (int g = 0; g < c.world.gpus(); ++g)
    for (const unsigned first : {0u, half}) {
      const OwnStream& stream = streams.emplace_back(c.world.device(g).index());
      graphs.emplace_back(stream.get(), [&] {
        for (int i = 0; i < launches; ++i)
          launch(stream, half, {.first_slot = first, .slots = slots, .rounds = rounds}, c.world.handle(g), c.notes(g));
      });
    }
  auto cpu = converse_on_the_cpu(c.world, replays * launches * rounds);
  for (int i = 0; i < replays; ++i)
    for (std::size_t k = 0; k < graphs.size(); ++k) {
      streams[k].use_device();
      graphs[k].launch(streams[k].get());
    }
  EXPECT_EQ(cpu.get(), 0u);
  for (const OwnStream& stream : streams) stream.synchronize();
  c.expect_rounds(replays * launches * rounds);
}

TEST_P(HandleOnCuda, DeviceLaunchIsCapturedLikeAnyOther) {
  constexpr int replays = 50;
  constexpr int rounds = 3;
  Conversation c(GetParam(), 2);
  std::vector<Stream> streams;  // rank 1's, rank 2's
  std::vector<Replay> graphs;
  for (const int rank : {1, 2}) {
    const Place place = c.world.placement().place(rank);
    const Device device = c.world.device(place.device);
    Stream& stream = streams.emplace_back(device);
    check(cudaSetDevice(device.index()));
    graphs.emplace_back(static_cast<cudaStream_t>(stream.native()), [&] {
      device.launch(stream, {.grid = 1, .block = 32},
                    Converse{.first_slot = static_cast<unsigned>(place.slot), .slots = 2, .rounds = rounds},
                    c.world.handle(place.device), c.notes(place.device));
    });
  }
  auto cpu = converse_on_the_cpu(c.world, replays * rounds);
  for (int i = 0; i < replays; ++i)
    for (std::size_t k = 0; k < graphs.size(); ++k) {
      check(cudaSetDevice(c.world.device(c.world.placement().place(static_cast<int>(k) + 1).device).index()));
      graphs[k].launch(static_cast<cudaStream_t>(streams[k].native()));
    }
  EXPECT_EQ(cpu.get(), 0u);
  for (Stream& stream : streams) stream.synchronize();
  c.expect_rounds(replays * rounds);
}

#endif

}  // namespace
}  // namespace dcgn::test
