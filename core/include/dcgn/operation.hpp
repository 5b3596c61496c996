// The operations of reductions. Any other function object does as well whose `T operator()(T, T) const` is marked
// DCGN_HOST_DEVICE and associative:
//
//   struct Further {
//     DCGN_HOST_DEVICE Point operator()(const Point& a, const Point& b) const { return a.r < b.r ? b : a; }
//   };
//
// Reductions keep the order of the ranks: the left operand comes from lower ranks than the right one. So an operation
// need not be commutative. How operands are grouped depends on the number of ranks and elements alone, never on timing.
#pragma once

#include <dcgn/host_device.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace dcgn {

namespace detail {
// Integers wrap around, those that C++ computes with as int, too.
template <class T>
using Wrapping = std::conditional_t<std::is_integral_v<T>, std::uint64_t, T>;
}  // namespace detail

// a + b.
struct Sum {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    using W = detail::Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) + static_cast<W>(b));
  }
};

// a b.
struct Product {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    using W = detail::Wrapping<T>;
    return static_cast<T>(static_cast<W>(a) * static_cast<W>(b));
  }
};

// The left operand where neither is less, as where one is a NaN.
struct Min {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

// The left operand where neither is less, as Min.
struct Max {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};

// Of whether elements differ from zero; the result is 0 or 1.
struct LogicalAnd {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return T(!(a == T()) && !(b == T()));
  }
};

// Likewise.
struct LogicalOr {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return T(!(a == T()) || !(b == T()));
  }
};

// Likewise.
struct LogicalXor {
  template <class T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return T((a == T()) != (b == T()));
  }
};

// Of integers, bit by bit.
struct BitAnd {
  template <std::integral T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a & b);
  }
};

// Likewise.
struct BitOr {
  template <std::integral T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a | b);
  }
};

// Likewise.
struct BitXor {
  template <std::integral T>
  DCGN_HOST_DEVICE constexpr T operator()(const T& a, const T& b) const {
    return static_cast<T>(a ^ b);
  }
};

namespace detail {
// Those above; others may read memory besides.
template <class Op>
inline constexpr bool reads_operands_alone =
    std::is_same_v<Op, Sum> || std::is_same_v<Op, Product> || std::is_same_v<Op, Min> || std::is_same_v<Op, Max> ||
    std::is_same_v<Op, LogicalAnd> || std::is_same_v<Op, LogicalOr> || std::is_same_v<Op, LogicalXor> ||
    std::is_same_v<Op, BitAnd> || std::is_same_v<Op, BitOr> || std::is_same_v<Op, BitXor>;
}  // namespace detail

}  // namespace dcgn
