// Kernels from PTX and source: modules, arguments, variables, placement, streams. On a machine with one GPU the parts
// are all that GPU; without one they are emulated.
#include "corpus.hpp"
#include "kernels_fixture.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace dcgn;
using dcgn::test::error_of, dcgn::test::KernelsOfVirtualGpu, dcgn::test::ptx_module;
using dcgn::virtual_gpu::Kernel, dcgn::virtual_gpu::Module, dcgn::virtual_gpu::Placement, dcgn::virtual_gpu::Whole;

namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* helpers = R"(
struct Pair { const int* table; int factor; };
extern "C" __global__ void look_up(Pair pair, const int* plain, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = pair.table[i] * pair.factor + plain[i];
}
extern "C" __global__ void addresses(const int* given, unsigned long long* out) {
  if (threadIdx.x == 0) out[blockIdx.x] = reinterpret_cast<unsigned long long>(given);
}
extern "C" __global__ void add_one(int* data) { data[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
extern "C" __global__ void reverse_add(int* data) {
  data[(gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x] += 1;
}
extern "C" __global__ void large_shared(int* out) {
  extern __shared__ int words[];
  words[threadIdx.x + 20000] = blockIdx.x;
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = words[(threadIdx.x + 1) % blockDim.x + 20000];
}
extern "C" __global__ void gather(const int* table, const int* index, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[index[i]];
}
extern "C" __global__ void add_to(int** where, int value) { (*where)[blockIdx.x * blockDim.x + threadIdx.x] += value; }
template <typename T, int N> __global__ void fill(T* out, T value) {
  for (int i = 0; i < N; ++i) out[(blockIdx.x * blockDim.x + threadIdx.x) * N + i] = value;
}
template __global__ void fill<float, 2>(float*, float);
template __global__ void fill<int, 3>(int*, int);
)";

}  // namespace

TEST_F(KernelsOfVirtualGpu, blocks_have_the_index_of_the_whole_grid) {
  const Launch shape{.grid = Dim3(5, 7, 3), .block = 32}, one{.grid = Dim3(3, 41, 2), .block = 64};
  std::vector<std::vector<int>> numbers, grids;
  for (const int parts : {1, 2, 5}) {
    VirtualGpu gpu = of_parts(parts);
    numbers.push_back(ints_of(gpu, load(gpu, "device_function.ptx").kernel("numbers"), shape, 5 * 7 * 3 * 32));
    grids.push_back(ints_of(gpu, load(gpu, "finite_difference.ptx").kernel("grid_shape"), one, 3 * 41 * 2));
  }
  for (int i = 0; i < 5 * 7 * 3 * 32; ++i) ASSERT_EQ(numbers[0][static_cast<std::size_t>(i)], i / 32);
  for (const int shape_seen : grids[0]) ASSERT_EQ(shape_seen, 3 * 10000 + 41 * 100 + 2);
  for (std::size_t k = 1; k < numbers.size(); ++k) {
    EXPECT_EQ(numbers[k], numbers[0]);
    EXPECT_EQ(grids[k], grids[0]);
  }
}

TEST_F(KernelsOfVirtualGpu, parts_share_device_variables) {
  VirtualGpu gpu = of_parts(3);
  const Module module = load(gpu, "device_globals.ptx");
  constexpr int threads = 64 * 30;
  const std::vector<int> out = ints_of(gpu, module.kernel("count"), {.grid = 30, .block = 64}, threads);
  // counter goes up by 1, 2, 4, 8 in turn.
  int counter = 0;
  module.read("counter", &counter, sizeof counter);
  EXPECT_EQ(counter, threads / 4 * 15);
  float origin[4] = {};
  module.read("origin", origin, sizeof origin);
  EXPECT_EQ(origin[3], 4.0f);
  EXPECT_EQ(origin[1], static_cast<float>(out[0]));
  // *where is array[2], the shared one, for both parts that run a block.
  const int nine = 9, zero = 0;
  module.write("array", &nine, sizeof nine, 2 * sizeof(int));
  module.write("counter", &zero, sizeof zero);
  const std::vector<int> two = ints_of(gpu, module.kernel("count"), {.grid = 2, .block = 1}, 2);
  // What the counter was: before the other's block, or behind it.
  const int first = two[0] - 1 - 9 - 0 - 7, second = two[1] - 2 - 9 - 1 - 7;
  EXPECT_TRUE((first == 0 && second == 1) || (first == 2 && second == 0)) << first << ' ' << second;
  int seen = 0;
  gpu.copy(&seen, module.address("counter"), sizeof seen);
  EXPECT_EQ(seen, 3);
  EXPECT_TRUE(contains(error_of([&] { module.address("steps"); }), "steps: each part has its own"));
  EXPECT_TRUE(contains(error_of([&] { module.write("nobody", &nine, 4); }), "no variable nobody, expected one of"));
  EXPECT_TRUE(contains(error_of([&] { module.write("counter", &nine, 4, 1); }),
                       "counter: 4 bytes from byte 1, expected them within its 4"));
}

// One of part 0's is launched behind all others, whatever the shape of the grid.
TEST_F(KernelsOfVirtualGpu, last_blocks_see_what_all_have_written) {
  for (const int parts : {1, 2, 3}) {
    VirtualGpu gpu = of_parts(parts);
    const Module module = gpu.load_source("last.cu", R"(
      extern "C" __global__ void add_all(int* of_block, unsigned* done, int* sum) {
        const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
        const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
        if (threadIdx.x != 0) return;
        of_block[block] += block + 1;
        __threadfence();
        if (atomicInc(done, blocks - 1) != blocks - 1) return;
        int all = 0;
        for (unsigned b = 0; b < blocks; ++b) all += of_block[b];
        *sum += all;
      }
    )");
    for (const Dim3 grid : {Dim3(1), Dim3(2), Dim3(37), Dim3(5, 7), Dim3(1, 9), Dim3(3, 2, 4), Dim3(2, 1, 3)}) {
      const int blocks = static_cast<int>(grid.x * grid.y * grid.z);
      auto* const of_block = static_cast<int*>(gpu.allocate(static_cast<std::size_t>(blocks) * sizeof(int)));
      auto* const sum = static_cast<int*>(gpu.allocate(2 * sizeof(int)));
      gpu.fill(of_block, 0, static_cast<std::size_t>(blocks) * sizeof(int));
      gpu.fill(sum, 0, 2 * sizeof(int));
      for (int launch = 0; launch < 3; ++launch)
        gpu.launch(module.kernel("add_all"), {.grid = grid, .block = 32}, of_block, sum + 1, sum);
      int found = 0;
      gpu.copy(&found, sum, sizeof found);
      EXPECT_EQ(found, (1 + 2 + 3) * blocks * (blocks + 1) / 2) << parts << " parts, " << blocks << " blocks";
      gpu.free(of_block);
      gpu.free(sum);
    }
  }
}

TEST_F(KernelsOfVirtualGpu, variables_are_the_same_under_every_schedule) {
  using dcgn::virtual_gpu::Schedule;
  for (const int parts : {1, 2, 3}) {
    VirtualGpu gpu = of_parts(parts);
    const Module module = gpu.load_source("variable.cu", R"(
      __device__ int number;
      __constant__ int step;
      extern "C" __global__ void count() { if (threadIdx.x == 0) atomicAdd(&number, step); }
    )");
    int expected = 0;
    for (const Schedule schedule : {Schedule::fixed, Schedule::measured, Schedule::part_0, Schedule::measured,
                                    Schedule::stealing, Schedule::measured, Schedule::fixed}) {
      gpu.options().schedule = schedule;
      const int step = 1 + expected % 7;
      module.write("step", &step, sizeof step);
      for (int launch = 0; launch < 3; ++launch) gpu.launch(module.kernel("count"), {.grid = 12, .block = 32});
      gpu.synchronize();
      expected += 3 * 12 * step;
      int found = 0;
      module.read("number", &found, sizeof found);
      ASSERT_EQ(found, expected) << parts << " parts";
    }
  }
}

TEST_F(KernelsOfVirtualGpu, what_cannot_be_split_runs_on_one_device_if_asked) {
  VirtualGpu gpu = of_parts(2);
  const Module module = load(gpu, "grid_sync.ptx");
  const Kernel kernel = module.kernel("two_phases");
  EXPECT_FALSE(kernel.info().splittable());
  constexpr int n = 5000;
  auto *a = static_cast<float*>(gpu.allocate(n * 4)), *b = static_cast<float*>(gpu.allocate(n * 4));
  std::vector<float> content(n), found(n);
  std::iota(content.begin(), content.end(), 0.0f);
  gpu.copy(a, content.data(), n * 4);
  const Launch shape{.grid = 8, .block = 128};
  const std::string error = error_of([&] { gpu.launch(kernel, shape, a, b, n); });
  EXPECT_TRUE(contains(error, "two_phases cannot be split: grid synchronisation")) << error;
  gpu.options().whole = Whole::on_part_0;
  gpu.launch(kernel, shape, a, b, n);
  gpu.copy(found.data(), a, n * 4);
  for (int i = 0; i < n; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], 2.0f * static_cast<float>(n - 1 - i));
  EXPECT_EQ(gpu.statistics().whole, 1U);
}

TEST_F(KernelsOfVirtualGpu, replicated_buffers_are_read_from_each_parts_own_copy) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("helpers.cu", helpers);
  constexpr int n = 3 * 64;
  auto* table = static_cast<int*>(gpu.allocate(n * 4, Placement::replicated()));
  auto *plain = static_cast<int*>(gpu.allocate(n * 4)), *out = static_cast<int*>(gpu.allocate(n * 4));
  std::vector<int> content(n), found(n);
  std::iota(content.begin(), content.end(), 1);
  gpu.copy(table, content.data(), n * 4);
  gpu.copy(plain, content.data(), n * 4);
  struct Pair {
    const int* table;
    int factor;
  };
  gpu.launch(module.kernel("look_up"), {.grid = 3, .block = 64}, Pair{table, 10}, plain, out);
  gpu.copy(found.data(), out, n * 4);
  for (int i = 0; i < n; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], 11 * (i + 1));
  auto* seen = static_cast<std::uint64_t*>(gpu.allocate(3 * 8));
  gpu.launch(module.kernel("addresses"), {.grid = 3, .block = 32}, table, seen);
  std::vector<std::uint64_t> addresses(3);
  gpu.copy(addresses.data(), seen, 3 * 8);
  EXPECT_EQ(addresses[0], reinterpret_cast<std::uint64_t>(table));
  EXPECT_NE(addresses[1], addresses[0]);
  EXPECT_NE(addresses[2], addresses[1]);
}

TEST_F(KernelsOfVirtualGpu, what_launches_only_read_is_copied_by_itself_and_never_out_of_date) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("helpers.cu", helpers);
  const Kernel gather = module.kernel("gather");
  const Launch shape{.grid = 30, .block = 64};
  constexpr int n = 30 * 64;
  // What is written comes right behind the table, but for the page between them.
  auto *table = static_cast<int*>(gpu.allocate(n * 4)), *out = static_cast<int*>(gpu.allocate(n * 4)),
       *index = static_cast<int*>(gpu.allocate(n * 4));
  std::vector<int> content(n), order(n), found(n);
  std::iota(content.begin(), content.end(), 0);
  for (int i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i * 7 % n;
  gpu.copy(table, content.data(), n * 4);
  gpu.copy(index, order.data(), n * 4);
  VirtualGpu::Stream other(gpu);
  const auto expect = [&](int more) {
    for (int round = 0; round < 5; ++round) {
      VirtualGpu::Stream& stream = round % 2 == 0 ? gpu.own_stream() : other;
      gpu.fill(stream, out, 0xff, n * 4);
      gpu.launch(stream, gather, shape, table, index, out);
      gpu.copy(stream, found.data(), out, n * 4);
      stream.synchronize();
      for (int i = 0; i < n; ++i) ASSERT_EQ(found[static_cast<std::size_t>(i)], i * 7 % n + more) << more;
    }
  };
  expect(0);
  EXPECT_EQ(gpu.statistics().copies, 1U) << "the table; a part reads its own of the index";
  gpu.launch(module.kernel("add_one"), shape, table);
  expect(1);
  // By a pointer that lies in memory.
  auto* where = static_cast<int**>(gpu.allocate(sizeof(int*)));
  gpu.copy(where, &table, sizeof table);
  gpu.launch(module.kernel("add_to"), shape, where, 10);
  expect(11);
  for (int& value : content) value += 100;
  gpu.copy(table, content.data(), n * 4);
  expect(100);
  gpu.place(table, Placement::interleaved());
  expect(100);
  EXPECT_GE(gpu.statistics().copies, 2U);
  // In place: the table and what is written are one.
  gpu.launch(gather, shape, table, index, table);
  gpu.options().copies = 0;
  const auto copies = gpu.statistics().copies;
  gpu.copy(table, content.data(), n * 4);
  expect(100);
  EXPECT_EQ(gpu.statistics().copies, copies);
}

TEST_F(KernelsOfVirtualGpu, pages_move_and_keep_address_and_content) {
  VirtualGpu gpu = of_parts(4);
  const std::size_t page = gpu.page_bytes(), words = 9 * page / 4;
  auto* buffer = static_cast<int*>(gpu.allocate(words * 4));
  std::vector<int> content(words), found(words);
  std::iota(content.begin(), content.end(), 5);
  gpu.copy(buffer, content.data(), words * 4);
  for (const Placement& placement :
       {Placement::owner(3), Placement::interleaved(2), Placement::replicated(), Placement::chunked()}) {
    const auto cost = gpu.place(buffer, placement);
    EXPECT_GT(cost.bytes_moved, 0U);
    EXPECT_GT(cost.seconds, 0.0);
    found.assign(words, 0);
    gpu.copy(found.data(), buffer, words * 4);
    ASSERT_EQ(found, content);
  }
  const std::vector<std::size_t> bytes = gpu.bytes_on_parts(buffer);
  EXPECT_EQ(std::accumulate(bytes.begin(), bytes.end(), std::size_t{0}), 9 * page);
}

TEST_F(KernelsOfVirtualGpu, streams_keep_order_over_parts_and_events_between_streams) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("helpers.cu", helpers);
  const Kernel add_one = module.kernel("add_one");
  const std::size_t words = 4 * gpu.page_bytes() / 4;
  auto *a = static_cast<int*>(gpu.allocate(words * 4)), *b = static_cast<int*>(gpu.allocate(words * 4));
  VirtualGpu::Stream first(gpu), second(gpu);
  virtual_gpu::Event begin(gpu), end(gpu);
  begin.record(first);
  gpu.fill(first, a, 0, words * 4);
  const Launch shape{.grid = static_cast<unsigned>(words / 256), .block = 256};
  for (int i = 0; i < 50; ++i) {
    gpu.launch(first, add_one, shape, a);
    // Another placement: what other parts have written is read.
    gpu.copy(first, b, a + words / 2, words * 2);
    gpu.copy(first, b + words / 2, a, words * 2);
    std::swap(a, b);
  }
  end.record(first);
  second.wait(end);
  std::vector<int> found(words);
  gpu.copy(second, found.data(), a, words * 4);
  second.synchronize();
  EXPECT_TRUE(end.done());
  EXPECT_GT(end.seconds_since(begin), 0.0);
  for (const int value : found) ASSERT_EQ(value, 50);
  first.synchronize();
  EXPECT_TRUE(first.idle());
}

TEST_F(KernelsOfVirtualGpu, sampling_finds_who_uses_which_page_and_changes_nothing) {
  VirtualGpu gpu = of_parts(2);
  const Module module = gpu.load_source("helpers.cu", helpers);
  const std::size_t page = gpu.page_bytes(), words = 8 * page / 4;
  auto* data = static_cast<int*>(gpu.allocate(words * 4));
  gpu.fill(data, 0, words * 4);
  const Launch shape{.grid = static_cast<unsigned>(words / 256), .block = 256};
  // Blocks in reverse order use the other end of it.
  const Placement placement = gpu.sample({data}, 64, module.kernel("reverse_add"), shape, data).front();
  EXPECT_EQ(placement.parts, (std::vector<int>{1, 1, 1, 1, 0, 0, 0, 0}));
  std::vector<int> found(words);
  gpu.copy(found.data(), data, words * 4);
  EXPECT_EQ(found, std::vector<int>(words)) << "what the sampled blocks wrote was put back";
  gpu.place(data, placement);
  gpu.launch(module.kernel("reverse_add"), shape, data);
  gpu.copy(found.data(), data, words * 4);
  EXPECT_EQ(found, std::vector<int>(words, 1));
}

TEST_F(KernelsOfVirtualGpu, kernels_are_found_as_cpp_spells_them) {
  VirtualGpu gpu = of_parts(2);
  const Module module = gpu.load_source("helpers.cu", helpers);
  auto* out = static_cast<float*>(gpu.allocate(4 * 64 * 2 * 4));
  gpu.launch(module.kernel("fill<float, 2>"), {.grid = 4, .block = 64}, out, 2.5f);
  std::vector<float> found(4 * 64 * 2);
  gpu.copy(found.data(), out, found.size() * 4);
  EXPECT_EQ(found, std::vector<float>(found.size(), 2.5f));
  EXPECT_EQ(error_of([&] {
              module.kernel("nobody");
            }).rfind("dcgn: kernel: helpers.cu: no kernel nobody, expected one of", 0),
            0U);
}

TEST_F(KernelsOfVirtualGpu, kernels_get_more_shared_memory_than_48_kib) {
  VirtualGpu gpu = of_parts(2);
  const Kernel kernel = gpu.load_source("helpers.cu", helpers).kernel("large_shared");
  const std::vector<int> found = ints_of(gpu, kernel, {.grid = 6, .block = 64, .shared_bytes = 100'000}, 6 * 64);
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], static_cast<int>(i / 64));
}

TEST_F(KernelsOfVirtualGpu, bad_input_is_named) {
  VirtualGpu gpu = of_parts(2);
  const Kernel kernel = load(gpu, "vector_add.ptx").kernel("vector_add");
  const Launch shape{.grid = 1, .block = 32};
  const float* a = nullptr;
  EXPECT_EQ(error_of([&] { gpu.launch(kernel, shape, a, a); }), "dcgn: launch: vector_add: 2 arguments, expected 4");
  EXPECT_EQ(error_of([&] { gpu.launch(kernel, shape, a, a, a, std::int64_t{1}); }),
            "dcgn: launch: vector_add: argument 4 of 8 bytes, expected 4");
  EXPECT_TRUE(contains(error_of([&] { gpu.launch(kernel, {.grid = Dim3(0), .block = 32}, a, a, a, 1); }),
                       "a grid of 0 x 1 x 1 blocks"));
  EXPECT_TRUE(
      contains(error_of([&] { gpu.load_ptx("x.ptx", ".version 99.0\n.target sm_90\n.address_size 64\n"); }), "99.0"));
  EXPECT_TRUE(
      contains(error_of([&] { gpu.load_ptx("x.ptx", ptx_module(".entry k() { mov.u32 %r1, 0; ret; }")); }), "x.ptx:"));
  EXPECT_TRUE(contains(error_of([&] { gpu.load_source("x.cu", "__global__ void k() { nobody(); }"); }), "x.cu(1)"));
  VirtualGpu other = of_parts(1);
  EXPECT_TRUE(contains(error_of([&] { other.launch(kernel, shape, a, a, a, 1); }), "loaded by another virtual GPU"));
}
