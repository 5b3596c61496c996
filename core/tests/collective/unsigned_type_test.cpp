// Every operation on unsigned numbers.
#include "type_kernels.hpp"

namespace dcgn::test {
namespace {

template <class T>
class UnsignedType : public ::testing::Test {};
using UnsignedTypes = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(UnsignedType, UnsignedTypes);

TYPED_TEST(UnsignedType, IsReducedByEveryOperation) { run_in_warps(OfType<TypeParam>{}, elements * 16); }

}  // namespace
}  // namespace dcgn::test
