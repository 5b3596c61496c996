// Which buffers calls take.
#include <dcgn/device.hpp>
#include <dcgn/span.hpp>

#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <span>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

template <class Buffer>
constexpr bool is_taken = MessageBuffer<Buffer>;
template <class Buffer>
constexpr bool is_taken_to_last = LastingBuffer<Buffer>;

TEST(Buffers, OfCallsAreWhatCanBeCopiedAsBytes) {
  EXPECT_TRUE(is_taken<int>);
  EXPECT_TRUE(is_taken<std::complex<double>>);
  EXPECT_TRUE((is_taken<std::array<float, 3>>));
  EXPECT_TRUE(is_taken<const std::vector<double>>);
  EXPECT_TRUE(is_taken<Span<const int>>);
  EXPECT_TRUE(is_taken<DeviceBuffer<int>>);
  EXPECT_FALSE(is_taken<int*>);
  EXPECT_FALSE(is_taken<std::vector<std::string>>);
}

TEST(Buffers, OfCallsThatReturnBeforeTheyAreDoneAreNoTemporaries) {
  EXPECT_TRUE(is_taken_to_last<int&>);
  EXPECT_TRUE(is_taken_to_last<const int&>);
  EXPECT_TRUE(is_taken_to_last<int(&)[4]>);
  EXPECT_TRUE(is_taken_to_last<std::vector<int>&>);
  EXPECT_TRUE(is_taken_to_last<const std::vector<int>&>);
  EXPECT_TRUE(is_taken_to_last<DeviceBuffer<int>&>);
  EXPECT_TRUE(is_taken_to_last<Span<int>>);
  EXPECT_TRUE(is_taken_to_last<Span<const int>>);
  EXPECT_TRUE(is_taken_to_last<std::span<const int>>);
  EXPECT_FALSE(is_taken_to_last<int>);
  EXPECT_FALSE(is_taken_to_last<int[4]>);
  EXPECT_FALSE((is_taken_to_last<std::array<int, 4>>));
  EXPECT_FALSE(is_taken_to_last<std::vector<int>>);
  EXPECT_FALSE(is_taken_to_last<DeviceBuffer<int>>);
}

}  // namespace
}  // namespace dcgn::test
