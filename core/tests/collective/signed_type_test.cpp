// Every operation on signed numbers.
#include "type_kernels.hpp"

namespace dcgn::test {
namespace {

template <class T>
class SignedType : public ::testing::Test {};
using SignedTypes = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(SignedType, SignedTypes);

TYPED_TEST(SignedType, IsReducedByEveryOperation) { run_in_warps(OfType<TypeParam>{}, elements * 16); }

}  // namespace
}  // namespace dcgn::test
