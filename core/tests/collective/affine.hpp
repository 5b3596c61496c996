// Elements of 16 bytes and an operation whose operands must not change places.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::test {

// x -> factor * x + summand, modulo 2^64.
struct Affine {
  std::uint64_t factor, summand;
  DCGN_HOST_DEVICE bool operator==(const Affine& other) const {
    return factor == other.factor && summand == other.summand;
  }
};

// First the left one, then the right one: associative, not commutative.
struct Then {
  DCGN_HOST_DEVICE Affine operator()(const Affine& a, const Affine& b) const {
    return {a.factor * b.factor, a.summand * b.factor + b.summand};
  }
};

DCGN_HOST_DEVICE inline Affine value(int number, int rank, std::int64_t i) {
  const auto seed = static_cast<std::uint64_t>(i * 1000003 + number * 97 + rank * 7 + 1);
  return {seed * 0x9e3779b97f4a7c15u | 1, seed * 0xd1b54a32d192ed03u};
}

// Of the ranks from `first` up to and without `last`, in order.
struct InOrder {
  int number, first, last;
  std::int64_t offset = 0;
  DCGN_HOST_DEVICE Affine operator()(std::int64_t i) const {
    Affine sum = value(number, first, i + offset);
    for (int r = first + 1; r < last; ++r) sum = Then{}(sum, value(number, r, i + offset));
    return sum;
  }
};

}  // namespace dcgn::test
