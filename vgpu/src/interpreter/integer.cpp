// Whole numbers.
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

template <class T>
using Unsigned = std::make_unsigned_t<T>;
// Of twice the bits.
template <class T>
using Wide = std::conditional_t<
    sizeof(T) == 8, std::conditional_t<std::is_signed_v<T>, Int128, UnsignedInt128>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>>>;

template <class T>
T low(Wide<T> value) {
  return static_cast<T>(static_cast<Unsigned<T>>(value));
}
template <class T>
T high(Wide<T> value) {
  return static_cast<T>(value >> (8 * sizeof(T)));
}

template <class T>
struct Add {
  static T of(T a, T b) { return low<T>(Wide<T>{a} + b); }
};
template <class T>
struct Sub {
  static T of(T a, T b) { return low<T>(Wide<T>{a} - b); }
};
template <class T>
T clamped(Wide<T> value) {
  return static_cast<T>(
      std::clamp(value, Wide<T>{std::numeric_limits<T>::min()}, Wide<T>{std::numeric_limits<T>::max()}));
}
template <class T>
struct AddSaturating {
  static T of(T a, T b) { return clamped<T>(Wide<T>{a} + b); }
};
template <class T>
struct SubSaturating {
  static T of(T a, T b) { return clamped<T>(Wide<T>{a} - b); }
};
template <class T>
Wide<T> product(T a, T b) {
  if constexpr (sizeof(T) == 8) {
    // Of two numbers of 64 bits none overflows 128.
    return Wide<T>{a} * b;
  } else {
    return static_cast<Wide<T>>(Wide<T>{a} * Wide<T>{b});
  }
}
template <class T>
struct MulLow {
  static T of(T a, T b) { return low<T>(product(a, b)); }
};
template <class T>
struct MulHigh {
  static T of(T a, T b) { return high<T>(product(a, b)); }
};
template <class T>
struct MulWide {
  static Wide<T> of(T a, T b) { return product(a, b); }
};
template <class T>
struct MadLow {
  static T of(T a, T b, T c) { return low<T>(static_cast<Wide<T>>(low<T>(product(a, b))) + c); }
};
template <class T>
struct MadHigh {
  static T of(T a, T b, T c) { return low<T>(Wide<T>{high<T>(product(a, b))} + c); }
};
struct MadHighSaturating {
  static std::int32_t of(std::int32_t a, std::int32_t b, std::int32_t c) {
    return clamped<std::int32_t>(std::int64_t{high<std::int32_t>(product(a, b))} + c);
  }
};
template <class T>
struct Div {
  static T of(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return Sub<T>::of(0, a);
    return static_cast<T>(a / b);
  }
};
template <class T>
struct Rem {
  static T of(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
      if (b == -1) return 0;
    return static_cast<T>(a % b);
  }
};
template <class T>
struct Min {
  static T of(T a, T b) { return std::min(a, b); }
};
template <class T>
struct Max {
  static T of(T a, T b) { return std::max(a, b); }
};
// No less than 0.
template <class F>
struct Relu {
  template <class T>
  static T of(T a, T b) {
    return std::max(F::of(a, b), T{0});
  }
};
// Of both halves.
template <class T, class F>
struct Pair {
  static std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    const auto half = [&](int shift) {
      return std::uint32_t{static_cast<std::uint16_t>(F::of(static_cast<T>(a >> shift), static_cast<T>(b >> shift)))}
             << shift;
    };
    return half(0) | half(16);
  }
};
template <class T>
struct Abs {
  static T of(T a) { return a < 0 ? Sub<T>::of(0, a) : a; }
};
template <class T>
struct Neg {
  static T of(T a) { return Sub<T>::of(0, a); }
};
template <class T>
struct Sad {
  static T of(T a, T b, T c) { return low<T>(Wide<T>{c} + (a < b ? Sub<T>::of(b, a) : Sub<T>::of(a, b))); }
};

// The low 24 bits of each.
template <class T>
T of_24_bits(T value) {
  return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(value) << 8) >> 8);
}
template <class T>
Wide<T> product_24(T a, T b) {
  return product(of_24_bits(a), of_24_bits(b));
}
template <class T>
struct Mul24Low {
  static T of(T a, T b) { return low<T>(product_24(a, b)); }
};
template <class T>
struct Mul24High {
  static T of(T a, T b) { return low<T>(product_24(a, b) >> 16); }
};
template <class T>
struct Mad24Low {
  static T of(T a, T b, T c) { return Add<T>::of(Mul24Low<T>::of(a, b), c); }
};
template <class T>
struct Mad24High {
  static T of(T a, T b, T c) { return Add<T>::of(Mul24High<T>::of(a, b), c); }
};

// c has twice the bits.
template <class T>
void mad_wide(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    using W = Wide<T>;
    d[lane] = put(Add<W>::of(static_cast<W>(product(get<T>(a[lane]), get<T>(b[lane]))), get<W>(c[lane])));
  });
}

// add.cc, addc and so on: a + b, or a - b, or a * b + c, with the carry of before and after. A difference is a + ~b +
// 1, so that its carry is what a borrow is not: compilers look at it by addc.
constexpr std::int64_t takes_carry = 1, gives_carry = 2, subtracts = 4, multiplies_low = 8, multiplies_high = 16,
                       multiplies_high_signed = 32,
                       multiplies = multiplies_low | multiplies_high | multiplies_high_signed;
template <class T>
void with_carry(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    std::uint8_t& carry = warp.carry[static_cast<std::size_t>(lane)];
    T x = get<T>(a[lane]), y = get<T>(b[lane]);
    if ((op.offset & multiplies) != 0) {
      using S = std::make_signed_t<T>;
      if ((op.offset & multiplies_low) != 0)
        x = low<T>(product(x, y));
      else if ((op.offset & multiplies_high) != 0)
        x = high<T>(product(x, y));
      else
        x = static_cast<T>(high<S>(product(static_cast<S>(x), static_cast<S>(y))));
      y = get<T>(c[lane]);
    }
    const bool difference = (op.offset & subtracts) != 0;
    if (difference) y = static_cast<T>(~y);
    const T in = (op.offset & takes_carry) != 0 ? carry : difference ? 1 : 0;
    const Wide<T> wide = Wide<T>{x} + y + in;
    if ((op.offset & gives_carry) != 0) carry = static_cast<std::uint8_t>(wide >> (8 * sizeof(T)) & 1);
    d[lane] = put(low<T>(wide));
  });
}

Op::Run find_carry(const Qualified& q, Op& op) {
  const bool takes = q.is("addc") || q.is("subc") || q.is("madc");
  if (!takes && !q.has(".cc")) return nullptr;
  op.offset =
      (takes ? takes_carry : 0) | (q.has(".cc") ? gives_carry : 0) | (q.is("sub") || q.is("subc") ? subtracts : 0);
  if (q.is("mad") || q.is("madc")) {
    const bool is_signed = q.type() == Type::s32 || q.type() == Type::s64;
    op.offset |= !q.has(".hi") ? multiplies_low : is_signed ? multiplies_high_signed : multiplies_high;
  }
  return with_bits(q.type(), [](auto type) -> Op::Run { return &with_carry<decltype(type)>; });
}

Op::Run find_product(const Qualified& q) {
  const bool mad = q.is("mad");
  if (q.has(".sat"))
    return mad && q.has(".hi") && q.type() == Type::s32 ? &ternary<std::int32_t, MadHighSaturating> : nullptr;
  return with_integer(q.type(), [&](auto type) -> Op::Run {
    using T = decltype(type);
    if (q.has(".wide")) {
      if constexpr (sizeof(T) < 8) return mad ? &mad_wide<T> : &binary<T, MulWide<T>>;
      return nullptr;
    }
    if (q.has(".hi")) return mad ? &ternary<T, MadHigh<T>> : &binary<T, MulHigh<T>>;
    return mad ? &ternary<T, MadLow<T>> : &binary<T, MulLow<T>>;
  });
}

template <class T>
Op::Run find_24(const Qualified& q) {
  if (q.has(".sat")) return nullptr;
  if (q.is("mul24")) return q.has(".hi") ? &binary<T, Mul24High<T>> : &binary<T, Mul24Low<T>>;
  return q.has(".hi") ? &ternary<T, Mad24High<T>> : &ternary<T, Mad24Low<T>>;
}

// .u16x2 and .s16x2
template <class T>
Op::Run find_pair(const Qualified& q) {
  const bool relu = q.has(".relu");
  if (q.is("add") && !relu) return &binary<std::uint32_t, Pair<T, Add<T>>>;
  if (q.is("min"))
    return relu ? &binary<std::uint32_t, Pair<T, Relu<Min<T>>>> : &binary<std::uint32_t, Pair<T, Min<T>>>;
  if (q.is("max"))
    return relu ? &binary<std::uint32_t, Pair<T, Relu<Max<T>>>> : &binary<std::uint32_t, Pair<T, Max<T>>>;
  return nullptr;
}

}  // namespace

Op::Run find_integer(const Qualified& q, Op& op) {
  if (const Op::Run carry = find_carry(q, op)) return carry;
  if (q.is("mul") || q.is("mad")) return find_product(q);
  if (q.has(".u16x2")) return find_pair<std::uint16_t>(q);
  if (q.has(".s16x2")) return find_pair<std::int16_t>(q);
  if (q.is("mul24") || q.is("mad24"))
    return q.type() == Type::s32   ? find_24<std::int32_t>(q)
           : q.type() == Type::u32 ? find_24<std::uint32_t>(q)
                                   : nullptr;
  return with_integer(q.type(), [&](auto type) -> Op::Run {
    using T = decltype(type);
    const bool saturates = q.has(".sat");
    if (q.is("add")) return saturates ? &binary<T, AddSaturating<T>> : &binary<T, Add<T>>;
    if (q.is("sub")) return saturates ? &binary<T, SubSaturating<T>> : &binary<T, Sub<T>>;
    if (q.is("div")) return &binary<T, Div<T>>;
    if (q.is("rem")) return &binary<T, Rem<T>>;
    const bool relu = q.has(".relu");
    if (q.is("min")) return relu ? &binary<T, Relu<Min<T>>> : &binary<T, Min<T>>;
    if (q.is("max")) return relu ? &binary<T, Relu<Max<T>>> : &binary<T, Max<T>>;
    if (relu) return nullptr;
    if (q.is("abs")) return &unary<T, Abs<T>>;
    if (q.is("neg")) return &unary<T, Neg<T>>;
    if (q.is("sad")) return &ternary<T, Sad<T>>;
    return nullptr;
  });
}

}  // namespace dcgn::virtual_gpu::interpreter
