// Every operation on floating point, and what it makes of a sum: the same bits at all ranks, every time.
#include "type_kernels.hpp"

namespace dcgn::test {
namespace {

template <class T>
class FloatingType : public ::testing::Test {};
using FloatingTypes = ::testing::Types<float, double, half, bfloat16, complex<float>, complex<double>>;
TYPED_TEST_SUITE(FloatingType, FloatingTypes);

TYPED_TEST(FloatingType, IsReducedByEveryOperation) { run_in_warps(OfType<TypeParam>{}, elements * 16); }

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
