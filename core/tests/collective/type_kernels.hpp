// Every operation on every type that it is for, by slots that call in warps and by CPU ranks.
#pragma once

#include "collective_kernels.hpp"

#include <dcgn/element.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/operation.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

namespace dcgn::test {

// Small numbers, zero among them: exact in every type, products too.
template <class T>
DCGN_HOST_DEVICE T element(int rank, std::int64_t i) {
  const int n = static_cast<int>((i * 7 + rank * 5) % 4) - (i % 3 == 0 && !std::is_unsigned_v<T> ? 2 : 0);
  if constexpr (std::is_same_v<T, complex<float>>)
    return {static_cast<float>(n), static_cast<float>(rank % 2)};
  else if constexpr (std::is_same_v<T, complex<double>>)
    return {static_cast<double>(n), static_cast<double>(rank % 2)};
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(n);
  else
    return T(static_cast<float>(n));
}

constexpr std::int64_t elements = 61;

// One of the operations, by its number: the collective is compiled once for each type, not once for each operation.
template <class T>
struct Chosen {
  static constexpr bool is_complex = std::is_same_v<T, complex<float>> || std::is_same_v<T, complex<double>>;
  static constexpr int count = is_complex ? 5 : std::is_integral_v<T> ? 10 : 7;
  int number;

  DCGN_HOST_DEVICE T operator()(const T& a, const T& b) const {
    switch (number) {
      case 0: return Sum{}(a, b);
      case 1: return Product{}(a, b);
      case 2: return LogicalAnd{}(a, b);
      case 3: return LogicalOr{}(a, b);
      case 4: return LogicalXor{}(a, b);
    }
    if constexpr (!is_complex) switch (number) {
        case 5: return Min{}(a, b);
        case 6: return Max{}(a, b);
      }
    if constexpr (std::is_integral_v<T>) switch (number) {
        case 7: return BitAnd{}(a, b);
        case 8: return BitOr{}(a, b);
        case 9: return BitXor{}(a, b);
      }
    return T();
  }
};

template <class T>
struct OfType {
  struct Result {
    int ranks;
    Chosen<T> op;
    DCGN_HOST_DEVICE T operator()(std::int64_t i) const {
      T sum = element<T>(0, i);
      for (int r = 1; r < ranks; ++r) sum = op(sum, element<T>(r, i));
      return sum;
    }
  };

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    T* const x = reinterpret_cast<T*>(m.bytes);
    const int r = m.role;
    for (int number = 0; number < Chosen<T>::count; ++number) {
      const Chosen<T> op{number};
      b.fill(x, elements, [=](std::int64_t i) { return element<T>(r, i); });
      b.call([&](auto& rank, const auto&... scope) { return rank.all_reduce(scope..., span_of(x, elements), op); });
      b.check(x, elements, Result{m.roles, op});
    }
  }
};

// One kind of scope is enough here, and compiles faster.
template <class Script>
struct InWarps {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, Script script, const Memory* memories) const {
    const gpu::Slot slot = comm.slot(context.block_rank());
    const gpu::WarpScope warp = gpu::this_warp(context);
    script(SlotPort<gpu::WarpScope>(slot, warp), memories[context.block_rank()]);
  }
};

constexpr int cpus = 2, gpus = 2, slots_each = 2;

template <class Script>
void run_in_warps_job(Conditions& c, const Script& script, std::vector<std::unique_ptr<ScriptMemory>>& memories) {
  c.config.nodes = spread(c.config.nodes);
  if (processes() > 1) c.config.seed.reset();
  Job job(c.config);
  std::vector<std::vector<Memory>> slots(static_cast<std::size_t>(job.world().gpus()));
  std::vector<DeviceBuffer<Memory>> images;
  std::size_t gpu = 0;
  for (int r = 0; r < job.world().size(); ++r) {
    memories.emplace_back();
    if (!job.world().is_here(r)) continue;
    const Place place = job.placement().place(r);
    std::optional<Device> device;
    if (place.is_slot()) device = job.world().device(static_cast<int>(gpu));
    memories.back() = std::make_unique<ScriptMemory>(c, r, job.world().size(), device);
    if (!place.is_slot()) continue;
    slots[gpu].push_back(memories.back()->memory());
    if (place.slot + 1 == slots_each) ++gpu;
  }
  job.cpu([&](Comm& comm) { script(CpuPort(comm), memories[static_cast<std::size_t>(comm.rank())]->memory()); });
  for (std::size_t g = 0; g < slots.size(); ++g) {
    images.emplace_back(job.world().device(static_cast<int>(g)), slots[g].size());
    images.back().upload(slots[g].data());
    const Memory* image = images.back().data();
    job.gpu_on(static_cast<int>(g), {.grid = slots_each, .block = 32}, InWarps<Script>{}, script, image);
  }
  job.run();
}

// The bytes of each rank's memory at the end, where all calls succeeded and all elements were right.
template <class Script>
std::vector<std::vector<unsigned char>> run_in_warps(const Script& script, std::int64_t bytes,
                                                     std::optional<std::uint64_t> seed = {}) {
  Conditions c;
  c.config.nodes = {{.cpus = cpus, .gpus = std::min(gpus, Device::count()), .slots = slots_each}};
  c.config.deadline_s = 20 * fewer;
  c.config.seed = seed;
  c.bytes = bytes;
  std::vector<std::unique_ptr<ScriptMemory>> memories;  // of the ranks of this process
  run_in_warps_job(c, script, memories);
  std::vector<std::vector<unsigned char>> result;
  for (auto& memory : memories) {
    result.emplace_back();
    if (!memory) continue;
    const Outcome::Rank rank = memory->outcome();
    EXPECT_EQ(rank.values[0], 0) << "failed calls";
    EXPECT_EQ(rank.values[1], 0) << "wrong elements";
    EXPECT_GT(rank.values[2], 0) << "calls";
    result.back() = rank.bytes;
  }
  share(result);
  return result;
}

}  // namespace dcgn::test
