// Copies that launches make by themselves, and what each part reduces apart: values, and what is not to be copied.
#include "kernels_fixture.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using namespace dcgn;
using dcgn::virtual_gpu::Kernel, dcgn::virtual_gpu::Module, dcgn::virtual_gpu::Placement;

namespace {

class CopiesOfVirtualGpu : public test::KernelsOfVirtualGpu {};

constexpr const char* reducing = R"(
extern "C" __global__ void gather(const int* table, const int* index, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = table[index[i]];
}
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
)";

}  // namespace

TEST_F(CopiesOfVirtualGpu, parts_reduce_into_copies_and_join_them) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("reducing.cu", reducing);
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

// Each launch by as many blocks copies it anew where it was written since.
TEST_F(CopiesOfVirtualGpu, small_buffers_are_copied_for_the_first_launch_of_many_blocks) {
  VirtualGpu gpu = of_parts(3);
  const Kernel gather = gpu.load_source("reducing.cu", reducing).kernel("gather");
  constexpr std::size_t table_size = 100, all = 1024 * 32;
  auto* const table = static_cast<int*>(gpu.allocate(table_size * 4));
  auto *const index = static_cast<int*>(gpu.allocate(all * 4)), *const out = static_cast<int*>(gpu.allocate(all * 4));
  std::vector<int> content(table_size), order(all), found(all);
  for (std::size_t i = 0; i < all; ++i) order[i] = static_cast<int>(i * 7 % table_size);
  gpu.copy(index, order.data(), all * 4);
  VirtualGpu::Stream other(gpu);
  for (int round = 0; round < 4; ++round) {
    std::iota(content.begin(), content.end(), 1000 * round);
    gpu.copy(table, content.data(), table_size * 4);
    for (const int launch : {0, 1, 2}) {
      VirtualGpu::Stream& stream = launch == 1 ? other : gpu.own_stream();
      gpu.fill(stream, out, 0xff, all * 4);
      gpu.launch(stream, gather, {.grid = 1024, .block = 32}, table, index, out);
      gpu.copy(stream, found.data(), out, all * 4);
      stream.synchronize();
      for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(found[i], order[i] + 1000 * round) << round;
      EXPECT_GE(gpu.statistics().copies, static_cast<std::uint64_t>(round + 1));
    }
  }
}

// A variable that an argument leads to is reached by its name as well.
TEST_F(CopiesOfVirtualGpu, variables_are_not_reduced_apart) {
  VirtualGpu gpu = of_parts(3);
  const Module module = gpu.load_source("reducing.cu", reducing);
  for (unsigned round = 1; round <= 4; ++round) {
    gpu.launch(module.kernel("add_and_look"), {.grid = 64, .block = 32},
               static_cast<unsigned*>(const_cast<void*>(module.address("total"))));
    gpu.synchronize();
    unsigned seen = 0;
    module.read("seen", &seen, sizeof seen);
    ASSERT_EQ(seen, 64 * round);
  }
}

TEST_F(CopiesOfVirtualGpu, buffers_smaller_than_what_is_reduced_are_left) {
  VirtualGpu gpu = of_parts(3);
  auto* const small = static_cast<unsigned long long*>(gpu.allocate(4));
  auto* const none = static_cast<unsigned*>(gpu.allocate(4));
  gpu.fill(none, 0, 4);
  gpu.launch(gpu.load_source("reducing.cu", reducing).kernel("add_long"), {.grid = 30, .block = 32}, small, none);
  gpu.synchronize();
  EXPECT_EQ(gpu.statistics().reductions, 0U);
}

TEST_F(CopiesOfVirtualGpu, what_a_failed_kernel_reduced_is_not_added_later) {
  if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "a GPU's context ends with such a fault";
  VirtualGpu gpu = of_parts(3);
  const Kernel count_but = gpu.load_source("reducing.cu", reducing).kernel("count_but");
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
  const Kernel gather = gpu.load_source("reducing.cu", reducing).kernel("gather");
  for (int i = 0; i < 3; ++i) gpu.launch(gather, {.grid = 30, .block = 32}, table, index, out);
  gpu.launch(count_but, {.grid = 30, .block = 32}, count, 29);
  EXPECT_THROW(gpu.synchronize(), Error);
}
