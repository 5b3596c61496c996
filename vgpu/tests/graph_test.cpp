// Work that is recorded and given again: with the results of the same calls, whatever is done in between.
#include "kernels_fixture.hpp"

#include <dcgn/error.hpp>

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

using namespace dcgn;
using dcgn::virtual_gpu::Graph, dcgn::virtual_gpu::Kernel, dcgn::virtual_gpu::Module, dcgn::virtual_gpu::Placement,
    dcgn::virtual_gpu::Schedule;

namespace {

using GpuStream = VirtualGpu::Stream;

constexpr const char* steps_source = R"(
extern "C" __global__ void gather(const int* table, const int* index, int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] += table[index[i]];
}
extern "C" __global__ void count(const int* x, unsigned* bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(bins + (x[i] & 15), 1u);
}
extern "C" __global__ void shift(const int* x, const unsigned* bins, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  y[i] = x[(i + n / 2 + 1) % n] + static_cast<int>(bins[i & 15]);
}
)";

// A loop's body that reads, reduces and writes buffers, over so many parts; and the same done by calls on one.
class Steps {
 public:
  static constexpr int blocks = 1024, threads = 8, n = blocks * threads;

  explicit Steps(VirtualGpu& gpu)
      : gpu_(gpu),
        module_(gpu.load_source("steps.cu", steps_source)),
        gather_(module_.kernel("gather")),
        count_(module_.kernel("count")),
        shift_(module_.kernel("shift")) {
    std::vector<int> index(n), x(n);
    std::iota(x.begin(), x.end(), 0);
    for (int i = 0; i < n; ++i) index[static_cast<std::size_t>(i)] = (i * 97 + 5) % n;
    for (int** one : {&table, &index_, &x_, &y_}) *one = static_cast<int*>(gpu.allocate(n * sizeof(int)));
    bins_ = static_cast<unsigned*>(gpu.allocate(16 * sizeof(unsigned)));
    gpu.copy(table, x.data(), n * sizeof(int));
    gpu.copy(index_, index.data(), n * sizeof(int));
    gpu.copy(x_, x.data(), n * sizeof(int));
  }
  void give(GpuStream& stream) const {
    gpu_.fill(stream, bins_, 0, 16 * sizeof(unsigned));
    for (int step = 0; step < 3; ++step) {
      gpu_.launch(stream, gather_, {.grid = blocks, .block = threads}, table, index_, x_);
      gpu_.launch(stream, count_, {.grid = blocks, .block = threads}, x_, bins_);
      gpu_.launch(stream, shift_, {.grid = blocks, .block = threads}, x_, bins_, y_);
      gpu_.copy(stream, x_, y_, n * sizeof(int));
    }
  }
  std::vector<int> result() const {
    std::vector<int> found(n + 16);
    gpu_.copy(found.data(), x_, n * sizeof(int));
    gpu_.copy(found.data() + n, bins_, 16 * sizeof(unsigned));
    return found;
  }
  // What other work does to the buffers between two rounds.
  void disturb(int round) const {
    const int value = round * 1000;
    gpu_.copy(table + round, &value, sizeof value);
    if (round == 3) gpu_.launch(gather_, {.grid = blocks, .block = threads}, index_, index_, table);
    gpu_.synchronize();
  }

  int* table = nullptr;

 private:
  VirtualGpu& gpu_;
  Module module_;
  Kernel gather_, count_, shift_;
  int *index_ = nullptr, *x_ = nullptr, *y_ = nullptr;
  unsigned* bins_ = nullptr;
};

class GraphsOfVirtualGpu : public test::KernelsOfVirtualGpu {
 protected:
  void expect_same(VirtualGpu& gpu, const std::function<void(int round, void* table)>& between) {
    VirtualGpu one = of_parts(1);
    const Steps expected(one), found(gpu);
    const Graph graph = gpu.record([&](GpuStream& its) { found.give(its); });
    GpuStream stream(gpu), plain(one);
    for (int round = 0; round < 9; ++round) {
      expected.give(plain);
      plain.synchronize();
      gpu.launch(stream, graph);
      stream.synchronize();
      ASSERT_EQ(found.result(), expected.result()) << "round " << round;
      if (round % 3 == 0) expected.disturb(round), found.disturb(round);
      between(round, found.table);
    }
  }
};

void nothing(int, void*) {}

}  // namespace

TEST_F(GraphsOfVirtualGpu, compute_what_their_calls_do) {
  for (const int parts : {1, 2, 3})
    for (const Schedule schedule : {Schedule::fixed, Schedule::measured, Schedule::part_0, Schedule::stealing}) {
      VirtualGpu gpu = of_parts(parts);
      gpu.options().schedule = schedule;
      expect_same(gpu, nothing);
    }
}

TEST_F(GraphsOfVirtualGpu, follow_buffers_that_are_moved) {
  VirtualGpu gpu = of_parts(2);
  expect_same(gpu, [&](int round, void* table) {
    if (round == 4) gpu.place(table, Placement::owner(1));
    if (round == 6) gpu.place(table, Placement::replicated());
  });
}

TEST_F(GraphsOfVirtualGpu, need_no_copies_of_their_own) {
  VirtualGpu gpu = of_parts(2);
  gpu.options().copies = 0;
  expect_same(gpu, nothing);
}

TEST_F(GraphsOfVirtualGpu, count_what_they_launch) {
  VirtualGpu gpu = of_parts(2);
  const Steps steps(gpu);
  const Graph graph = gpu.record([&](GpuStream& its) { steps.give(its); });
  EXPECT_EQ(gpu.statistics().launches, 0U);
  for (int round = 1; round <= 5; ++round) {
    gpu.launch(gpu.own_stream(), graph);
    EXPECT_EQ(gpu.statistics().launches, 9U * static_cast<unsigned>(round));
  }
  EXPECT_EQ(gpu.statistics().whole, 0U);
  gpu.synchronize();
}

// Of a kernel that stores through pointers, which might write any buffer.
TEST_F(GraphsOfVirtualGpu, live_on_when_other_buffers_are_freed) {
  VirtualGpu gpu = of_parts(2);
  const Module module = gpu.load_source("behind.cu", R"(
    extern "C" __global__ void add_behind(int** at) { at[0][blockIdx.x * blockDim.x + threadIdx.x] += 1; }
  )");
  constexpr int blocks = 64, threads = 32, n = blocks * threads;
  auto* const numbers = static_cast<int*>(gpu.allocate(n * sizeof(int)));
  auto** const at = static_cast<int**>(gpu.allocate(sizeof(int*)));
  void* const other = gpu.allocate(n * sizeof(int));
  gpu.fill(numbers, 0, n * sizeof(int));
  gpu.copy(at, &numbers, sizeof numbers);
  const Kernel kernel = module.kernel("add_behind");
  const Graph graph =
      gpu.record([&](GpuStream& its) { gpu.launch(its, kernel, {.grid = blocks, .block = threads}, at); });
  for (int round = 0; round < 8; ++round) {
    if (round == 4) gpu.free(other);
    gpu.launch(gpu.own_stream(), graph);
  }
  std::vector<int> found(n);
  gpu.copy(found.data(), numbers, n * sizeof(int));
  EXPECT_EQ(found, std::vector<int>(n, 8));
}

TEST_F(GraphsOfVirtualGpu, refuse_what_cannot_be_given_again) {
  VirtualGpu gpu = of_parts(2);
  virtual_gpu::Event event(gpu);
  const auto message_of = [&](const std::function<void(GpuStream&)>& work) {
    try {
      gpu.record(work);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::configuration);
      return std::string(error.what());
    }
    return std::string("none");
  };
  for (const auto& [text, work] : std::vector<std::pair<std::string, std::function<void(GpuStream&)>>>{
           {"a wait for the stream within record()", [](GpuStream& its) { its.synchronize(); }},
           {"an event within record()", [&](GpuStream& its) { event.record(its); }},
           {"a wait for an event within record()", [&](GpuStream& its) { its.wait(event); }},
           {"within record(), expected one at a time",
            [&](GpuStream&) { static_cast<void>(gpu.record([](GpuStream&) {})); }}})
    EXPECT_NE(message_of(work).find(text), std::string::npos) << message_of(work);
  const Steps steps(gpu);  // and goes on
  const Graph graph = gpu.record([&](GpuStream& its) { steps.give(its); });
  gpu.launch(gpu.own_stream(), graph);
  gpu.synchronize();
  VirtualGpu other = of_parts(2);
  EXPECT_THROW(other.launch(other.own_stream(), graph), Error);
  EXPECT_THROW(gpu.launch(other.own_stream(), graph), Error);
  EXPECT_THROW(steps.give(other.own_stream()), Error);
}
