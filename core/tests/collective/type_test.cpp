// Every operation on every type that it is for, and what floating point makes of a sum: the same bits at all ranks,
// every time.
#include "collective_kernels.hpp"

#include <dcgn/element.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/operation.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <type_traits>

namespace dcgn::test {
namespace {

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

template <class T>
struct OfType {
  template <class Op>
  struct Result {
    int ranks;
    Op op;
    DCGN_HOST_DEVICE T operator()(std::int64_t i) const {
      T sum = element<T>(0, i);
      for (int r = 1; r < ranks; ++r) sum = op(sum, element<T>(r, i));
      return sum;
    }
  };

  DCGN_TEST_ON_PORT
  template <class Port, class Op>
  DCGN_HOST_DEVICE void reduce(const Port& me, const Memory& m, Op op) const {
    const Buffers b(me, m);
    T* const x = reinterpret_cast<T*>(m.bytes);
    const int r = m.role;
    b.fill(x, elements, [=](std::int64_t i) { return element<T>(r, i); });
    b.call([&](auto& rank, const auto&... scope) { return rank.all_reduce(scope..., span_of(x, elements), op); });
    b.check(x, elements, Result<Op>{m.roles, op});
  }

  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    reduce(me, m, Sum{});
    reduce(me, m, Product{});
    reduce(me, m, LogicalXor{});
    if constexpr (!std::is_same_v<T, complex<float>> && !std::is_same_v<T, complex<double>>) {
      reduce(me, m, Min{});
      reduce(me, m, Max{});
    } else {
      reduce(me, m, LogicalAnd{});
      reduce(me, m, LogicalOr{});
    }
    if constexpr (std::is_integral_v<T>) {
      reduce(me, m, BitAnd{});
      reduce(me, m, BitOr{});
      reduce(me, m, BitXor{});
    }
    if constexpr (std::is_same_v<T, std::int32_t> || std::is_same_v<T, half>) {
      reduce(me, m, LogicalAnd{});
      reduce(me, m, LogicalOr{});
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

template <class T>
class Type : public ::testing::Test {};
using Types =
    ::testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                     std::uint64_t, float, double, half, bfloat16, complex<float>, complex<double>>;
TYPED_TEST_SUITE(Type, Types);

TYPED_TEST(Type, IsReducedByEveryOperation) { run_in_warps(OfType<TypeParam>{}, elements * 16); }

// Sums of numbers of many magnitudes, which depend on how they are grouped.
struct UnevenSums {
  std::int64_t n;
  DCGN_TEST_ON_PORT
  template <class Port>
  DCGN_HOST_DEVICE void operator()(const Port& me, const Memory& m) const {
    const Buffers b(me, m);
    float* const x = reinterpret_cast<float*>(m.bytes);
    const int r = m.role;
    b.fill(x, n, [=](std::int64_t i) {
      const auto bits = static_cast<std::uint32_t>((i * 31 + r * 17 + 5) * 2654435761u);
      return static_cast<float>(bits >> 8) * (bits & 1 ? 1e-6f : bits & 2 ? -1e3f : 1.0f);
    });
    b.call([&](auto& rank, const auto&... scope) { return rank.all_reduce(scope..., span_of(x, n), Sum{}); });
  }
};

TEST(FloatingPoint, SumsHaveTheSameBitsAtAllRanksAndEveryTime) {
  for (const std::int64_t n : {100, 20011}) {
    const auto first = run_in_warps(UnevenSums{n}, n * 4);
    for (const auto& rank : first) EXPECT_EQ(rank, first.front());
    const auto again = emulated() ? run_in_warps(UnevenSums{n}, n * 4, 3) : run_in_warps(UnevenSums{n}, n * 4);
    EXPECT_EQ(again, first);
  }
}

}  // namespace
}  // namespace dcgn::test
