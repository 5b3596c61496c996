// Kernels from PTX and source: modules, arguments, variables, placement, streams. On a machine with one GPU the parts
// are all that GPU; without one they are emulated.
#include "corpus.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace dcgn;
using dcgn::test::corpus_text, dcgn::test::error_of, dcgn::test::ptx_module;
using dcgn::virtual_gpu::Kernel, dcgn::virtual_gpu::Module, dcgn::virtual_gpu::Placement, dcgn::virtual_gpu::Whole;

namespace {

class KernelsOfVirtualGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      of_parts(1).load_source("empty.cu", "");
    } catch (const Error& error) {
      if (error.code() == Code::unsupported) GTEST_SKIP() << error.what();
    }
  }
  static VirtualGpu of_parts(int parts) {
    std::vector<Device> devices;
    devices.reserve(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) devices.emplace_back(part % Device::count());
    return VirtualGpu(devices);
  }
  static Module load(VirtualGpu& gpu, const std::string& name) { return gpu.load_ptx(name, corpus_text(name)); }
  // The ints that one launch of a kernel, which writes them at its only argument, leaves there.
  static std::vector<int> ints_of(VirtualGpu& gpu, const Kernel& kernel, const Launch& launch, std::size_t count) {
    auto* out = static_cast<int*>(gpu.allocate(count * sizeof(int)));
    gpu.fill(out, 0xff, count * sizeof(int));
    gpu.launch(kernel, launch, out);
    std::vector<int> found(count);
    gpu.copy(found.data(), out, count * sizeof(int));
    gpu.free(out);
    return found;
  }
};

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
extern "C" __global__ void reduce(int* sum, float* floats, int* least, unsigned long long* most, unsigned* bits,
                                  double* doubles) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(sum + i % 3, i);
  atomicAdd(floats + i % 3, 0.5f);
  atomicMin(least + i % 3, -i);
  atomicMax(most + i % 3, 10ull * i);
  atomicOr(bits, 1u << i % 32);
  atomicAdd(doubles, -0.25);
}
__device__ unsigned total[4];
__device__ unsigned blocks_done, seen;
extern "C" __global__ void add_and_look(unsigned* its_total) {
  if (threadIdx.x != 0) return;
  atomicAdd(its_total, 1u);
  __threadfence();
  if (atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1) seen = *(volatile unsigned*)&total[0];
}
extern "C" __global__ void add_long(unsigned long long* maybe, const unsigned* c) {
  if (*c > 1000) atomicAdd(maybe, 1ull);
}
extern "C" __global__ void count_but(unsigned* count, int bad) {
  atomicAdd(count, 1u);
  if (blockIdx.x == bad) *static_cast<volatile int*>(nullptr) = 1;
}
extern "C" __global__ void count_and_read(unsigned* count, const unsigned* seen, unsigned* out) {
  atomicAdd(count, 1u);
  out[blockIdx.x * blockDim.x + threadIdx.x] = *seen;
}
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

TEST_F(KernelsOfVirtualGpu, parts_reduce_into_copies_and_join_them) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("helpers.cu", helpers);
  const Kernel reduce = module.kernel("reduce");
  constexpr int blocks = 40, threads = 64, all = blocks * threads;
  // What is there before counts, and so does what a thread behind another reduces.
  std::vector<int> sum{100, 200, 300}, least{5, -100000, 5};
  std::vector<float> floats{1, 2, 3};
  std::vector<unsigned long long> most{1, 2, 1ull << 60};
  unsigned bits = 0;
  double double_sum = 1000;
  const auto upload = [&](const auto& values) {
    auto* to = gpu.allocate(values.size() * sizeof values[0]);
    gpu.copy(to, values.data(), values.size() * sizeof values[0]);
    return to;
  };
  auto* const its_sum = static_cast<int*>(upload(sum));
  auto* const its_floats = static_cast<float*>(upload(floats));
  auto* const its_least = static_cast<int*>(upload(least));
  auto* const its_most = static_cast<unsigned long long*>(upload(most));
  auto* const its_bits = static_cast<unsigned*>(upload(std::vector<unsigned>{0}));
  auto* const its_doubles = static_cast<double*>(upload(std::vector<double>{double_sum}));
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round)
    gpu.launch(reduce, {.grid = blocks, .block = threads}, its_sum, its_floats, its_least, its_most, its_bits,
               its_doubles);
  EXPECT_EQ(gpu.statistics().reductions, 6u * rounds);
  for (int i = 0; i < all; ++i) {
    const auto at = static_cast<std::size_t>(i % 3);
    sum[at] += rounds * i;
    floats[at] += rounds * 0.5f;
    least[at] = std::min(least[at], -i);
    most[at] = std::max(most[at], 10ull * static_cast<unsigned>(i));
    bits |= 1u << i % 32;
    double_sum -= rounds * 0.25;
  }
  const auto expect = [&](const auto* found, const auto& expected) {
    auto values = expected;
    gpu.copy(values.data(), found, values.size() * sizeof values[0]);
    EXPECT_EQ(values, expected);
  };
  expect(its_sum, sum);
  expect(its_floats, floats);
  expect(its_least, least);
  expect(its_most, most);
  expect(its_bits, std::vector<unsigned>{bits});
  expect(its_doubles, std::vector<double>{double_sum});

  // Pages that move to another part take no copies with them, and so does other use of the copies.
  gpu.place(its_sum, Placement::owner(2));
  gpu.launch(reduce, {.grid = blocks, .block = threads}, its_sum, its_floats, its_least, its_most, its_bits,
             its_doubles);
  for (int i = 0; i < all; ++i) sum[static_cast<std::size_t>(i % 3)] += i;
  expect(its_sum, sum);
  // Who reads the buffer besides reads all that was added.
  const std::uint64_t before = gpu.statistics().reductions;
  auto* const out = static_cast<unsigned*>(gpu.allocate(all * sizeof(unsigned)));
  gpu.launch(module.kernel("count_and_read"), {.grid = blocks, .block = threads}, its_bits, its_bits, out);
  EXPECT_EQ(gpu.statistics().reductions, before);
  gpu.launch(module.kernel("count_and_read"), {.grid = blocks, .block = threads}, its_bits, its_least, out);
  EXPECT_EQ(gpu.statistics().reductions, before + 1);
  expect(its_bits, std::vector<unsigned>{bits + 2u * all});
}

// A variable that an argument leads to is reached by its name as well.
TEST_F(KernelsOfVirtualGpu, variables_are_not_reduced_apart) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("helpers.cu", helpers);
  for (unsigned round = 1; round <= 4; ++round) {
    gpu.launch(module.kernel("add_and_look"), {.grid = 64, .block = 32},
               static_cast<unsigned*>(const_cast<void*>(module.address("total"))));
    gpu.synchronize();
    unsigned seen = 0;
    module.read("seen", &seen, sizeof seen);
    ASSERT_EQ(seen, 64 * round);
  }
}

TEST_F(KernelsOfVirtualGpu, buffers_smaller_than_what_is_reduced_are_left) {
  VirtualGpu gpu = of_parts(3);
  auto* const small = static_cast<unsigned long long*>(gpu.allocate(4));
  auto* const none = static_cast<unsigned*>(gpu.allocate(4));
  gpu.fill(none, 0, 4);
  gpu.launch(gpu.load_source("helpers.cu", helpers).kernel("add_long"), {.grid = 30, .block = 32}, small, none);
  gpu.synchronize();
  EXPECT_EQ(gpu.statistics().reductions, 0U);
}

TEST_F(KernelsOfVirtualGpu, what_a_failed_kernel_reduced_is_not_added_later) {
  if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "a GPU's context ends with such a fault";
  VirtualGpu gpu = of_parts(3);
  const Kernel count_but = gpu.load_source("helpers.cu", helpers).kernel("count_but");
  auto* const count = static_cast<unsigned*>(gpu.allocate(4));
  unsigned found = 0;
  for (const int bad : {-1, 29, -1}) {
    gpu.fill(count, 0, 4);
    gpu.launch(count_but, {.grid = 30, .block = 32}, count, bad);
    if (bad >= 0) {
      EXPECT_THROW(gpu.synchronize(), Error);
      continue;
    }
    gpu.copy(&found, count, 4);
    EXPECT_EQ(found, 30U * 32);
  }
  // Streams end all the same where copies were made, too.
  auto *const table = static_cast<int*>(gpu.allocate(40 * 4)), *out = static_cast<int*>(gpu.allocate(960 * 4));
  auto* const index = static_cast<int*>(gpu.allocate(960 * 4));
  gpu.fill(table, 0, 40 * 4);
  gpu.fill(index, 0, 960 * 4);
  const Kernel gather = gpu.load_source("helpers.cu", helpers).kernel("gather");
  for (int i = 0; i < 3; ++i) gpu.launch(gather, {.grid = 30, .block = 32}, table, index, out);
  gpu.launch(count_but, {.grid = 30, .block = 32}, count, 29);
  EXPECT_THROW(gpu.synchronize(), Error);
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
