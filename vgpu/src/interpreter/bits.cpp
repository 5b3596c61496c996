// Logic, shifts and fields of bits.
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

template <class T>
struct And {
  static T of(T a, T b) { return static_cast<T>(a & b); }
};
template <class T>
struct Or {
  static T of(T a, T b) { return static_cast<T>(a | b); }
};
template <class T>
struct Xor {
  static T of(T a, T b) { return static_cast<T>(a ^ b); }
};
template <class T>
struct Not {
  static T of(T a) { return static_cast<T>(~a); }
};
struct NotPredicate {
  static Word of(Word a) { return ~a & 1; }
};
template <class T>
struct CNot {
  static T of(T a) { return a == 0 ? 1 : 0; }
};
template <class T>
struct PopulationCount {
  static std::uint32_t of(T a) { return static_cast<std::uint32_t>(__builtin_popcountll(a)); }
};
template <class T>
struct LeadingZeros {
  static std::uint32_t of(T a) {
    constexpr std::uint32_t bits = 8 * sizeof(T);
    return a == 0 ? bits : static_cast<std::uint32_t>(__builtin_clzll(a)) - (64 - bits);
  }
};
template <class T>
struct Reverse {
  static T of(T a) {
    T result = 0;
    for (unsigned i = 0; i < 8 * sizeof(T); ++i) result = static_cast<T>(result << 1 | (a >> i & 1));
    return result;
  }
};
// The highest bit that is not the sign.
template <class T, bool AsShift>
struct FindHighest {
  static std::uint32_t of(T a) {
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(std::is_signed_v<T> && a < 0 ? ~a : a);
    if (bits == 0) return ~std::uint32_t{0};
    const auto highest = static_cast<std::uint32_t>(63 - __builtin_clzll(bits));
    return AsShift ? static_cast<std::uint32_t>(8 * sizeof(T) - 1) - highest : highest;
  }
};

// By a number of 32 bits.
template <class T, bool Left>
void shift(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    const auto by = static_cast<std::uint32_t>(b[lane]);
    const T value = get<T>(a[lane]);
    constexpr std::uint32_t bits = 8 * sizeof(T);
    if constexpr (Left)
      d[lane] =
          put(static_cast<T>(by < bits ? static_cast<T>(static_cast<std::make_unsigned_t<T>>(value) << by) : T{0}));
    else
      d[lane] = put(static_cast<T>(by < bits ? value >> by : value < 0 ? T(-1) : T{0}));
  });
}

template <bool Left, bool Wraps>
void funnel_shift(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    const std::uint64_t both =
        static_cast<std::uint32_t>(a[lane]) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(b[lane])) << 32;
    const auto given = static_cast<std::uint32_t>(c[lane]);
    const std::uint32_t by = Wraps ? given & 31 : std::min<std::uint32_t>(given, 32);
    d[lane] = static_cast<std::uint32_t>(Left ? both << by >> 32 : both >> by);
  });
}

template <class T>
void extract_field(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    using U = std::make_unsigned_t<T>;
    constexpr std::uint32_t last = 8 * sizeof(T) - 1;
    const auto value = get<U>(a[lane]);
    const std::uint32_t begin = b[lane] & 0xff, length = c[lane] & 0xff;
    const bool sign = std::is_signed_v<T> && length != 0 && (value >> std::min(begin + length - 1, last) & 1) != 0;
    U result = 0;
    for (std::uint32_t i = 0; i <= last; ++i) {
      const bool bit = i < length && begin + i <= last ? (value >> (begin + i) & 1) != 0 : sign;
      result |= static_cast<U>(U{bit} << i);
    }
    d[lane] = put(result);
  });
}

template <class T>
void insert_field(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c), *const e = warp.row(op.e);
  for_lanes(mask, [&](int lane) {
    const std::uint32_t begin = c[lane] & 0xff, length = e[lane] & 0xff;
    constexpr std::uint32_t bits = 8 * sizeof(T);
    const T ones =
        begin >= bits ? T{0} : static_cast<T>((length >= bits ? T(-1) : static_cast<T>((T{1} << length) - 1)) << begin);
    const T from = begin >= bits ? T{0} : static_cast<T>(get<T>(a[lane]) << begin);
    d[lane] = put(static_cast<T>((get<T>(b[lane]) & ~ones) | (from & ones)));
  });
}

void make_field(Warp& warp, const Op& op, Mask mask) {  // bmsk
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    auto begin = static_cast<std::uint32_t>(a[lane]), length = static_cast<std::uint32_t>(b[lane]);
    if (op.offset != 0) begin &= 31, length &= 31;
    const std::uint64_t ones = length >= 32 ? ~std::uint32_t{0} : (std::uint64_t{1} << length) - 1;
    d[lane] = begin >= 32 ? 0 : static_cast<std::uint32_t>(ones << begin);
  });
}

void logic_of_three(Warp& warp, const Op& op, Mask mask) {  // lop3
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c), *const e = warp.row(op.e);
  for_lanes(mask, [&](int lane) {
    const auto x = static_cast<std::uint32_t>(a[lane]), y = static_cast<std::uint32_t>(b[lane]),
               z = static_cast<std::uint32_t>(c[lane]);
    std::uint32_t result = 0;
    for (unsigned row = 0; row < 8; ++row)
      if ((e[lane] >> row & 1) != 0)
        result |= ((row & 4) != 0 ? x : ~x) & ((row & 2) != 0 ? y : ~y) & ((row & 1) != 0 ? z : ~z);
    d[lane] = result;
  });
}

// prmt: which of eight bytes become the four of the result, by `mode`.
std::uint32_t selector_of(std::int64_t mode, std::uint32_t c) {
  const std::uint32_t n = c & 3;
  switch (mode) {
    case 1: return n | (n + 1) << 4 | (n + 2) << 8 | (n + 3) << 12;                           // f4e
    case 2: return n | ((n + 7) & 7) << 4 | ((n + 6) & 7) << 8 | ((n + 5) & 7) << 12;         // b4e
    case 3: return n | n << 4 | n << 8 | n << 12;                                             // rc8
    case 4: return std::max(n, 0u) | std::max(n, 1u) << 4 | std::max(n, 2u) << 8 | 3u << 12;  // ecl
    case 5: return 0 | std::min(n, 1u) << 4 | std::min(n, 2u) << 8 | std::min(n, 3u) << 12;   // ecr
    case 6: return (n & 1) * 0x2222 + 0x1010;                                                 // rc16
    default: return c;
  }
}
void permute(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    const std::uint64_t both =
        static_cast<std::uint32_t>(a[lane]) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(b[lane])) << 32;
    const std::uint32_t selector = selector_of(op.offset, static_cast<std::uint32_t>(c[lane]));
    std::uint32_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint32_t choice = selector >> (4 * i);
      auto byte = static_cast<std::uint32_t>(both >> (8 * (choice & 7)) & 0xff);
      if (op.offset == 0 && (choice & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    d[lane] = result;
  });
}

Op::Run find_permutation(const Qualified& q, Op& op) {
  constexpr std::string_view modes[] = {"", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"};
  op.offset = 0;
  for (std::int64_t mode = 1; mode < 7; ++mode)
    if (q.has(modes[mode])) op.offset = mode;
  return &permute;
}

// dp4a and dp2a: bit 0 and 1, whether a and b are signed; 2, two products of 16 and 8 bits; 3, the upper two bytes.
void dot(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  const auto part = [](Word word, unsigned bits, unsigned number, bool is_signed) {
    const auto raw = static_cast<std::int64_t>(word >> (bits * number) & ((1U << bits) - 1));
    return is_signed && (raw >> (bits - 1)) != 0 ? raw - (std::int64_t{1} << bits) : raw;
  };
  const bool signed_a = (op.offset & 1) != 0, signed_b = (op.offset & 2) != 0, two = (op.offset & 4) != 0;
  for_lanes(mask, [&](int lane) {
    auto sum = static_cast<std::int64_t>(static_cast<std::uint32_t>(c[lane]));
    for (unsigned i = 0; i < (two ? 2u : 4u); ++i)
      sum += part(a[lane], two ? 16 : 8, i, signed_a) * part(b[lane], 8, i + ((op.offset & 8) != 0 ? 2 : 0), signed_b);
    d[lane] = static_cast<std::uint32_t>(sum);
  });
}

// vabsdiff4: of bytes, how far they are apart; or the sum of that, and c.
template <class T, bool Adds>
void differ(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    auto result = Adds ? static_cast<std::uint32_t>(c[lane]) : 0;
    for (int shift = 0; shift < 32; shift += 8) {
      const int apart = std::abs(static_cast<T>(a[lane] >> shift) - static_cast<T>(b[lane] >> shift));
      result += static_cast<std::uint32_t>(apart) << (Adds ? 0 : shift);
    }
    d[lane] = result;
  });
}
Op::Run find_difference(const Qualified& q) {
  const bool is_signed = q.type(1) == Type::s32;
  if (q.types.size() != 3 || q.type(1) != q.type(2) || q.has(".sat") || q.instruction.operands.size() != 4)
    return nullptr;
  if (q.has(".add")) return is_signed ? &differ<std::int8_t, true> : &differ<std::uint8_t, true>;
  return is_signed ? &differ<std::int8_t, false> : &differ<std::uint8_t, false>;
}

// fns: the n-th bit that is set, from a base on, upwards or downwards.
void find_nth_set(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    const auto bits = static_cast<std::uint32_t>(a[lane]);
    auto position = static_cast<std::int32_t>(b[lane] & 31);
    auto count = static_cast<std::int32_t>(c[lane]);
    const auto is_set = [&] { return (bits >> position & 1) != 0; };
    std::uint32_t found = ~std::uint32_t{0};
    if (count == 0) {
      if (is_set()) found = static_cast<std::uint32_t>(position);
    } else {
      const int step = count > 0 ? 1 : -1;
      for (count = std::abs(count); position >= 0 && position < 32; position += step)
        if (is_set() && --count == 0) {
          found = static_cast<std::uint32_t>(position);
          break;
        }
    }
    d[lane] = found;
  });
}

template <class T>
Op::Run find_logic(const Qualified& q) {
  if (q.is("and")) return &binary<T, And<T>>;
  if (q.is("or")) return &binary<T, Or<T>>;
  if (q.is("xor")) return &binary<T, Xor<T>>;
  if (q.is("not")) return &unary<T, Not<T>>;
  if (q.is("cnot")) return &unary<T, CNot<T>>;
  return nullptr;
}

}  // namespace

Op::Run find_bits(const Qualified& q, Op& op) {
  if (q.type() == Type::pred) return q.is("not") ? &unary<Word, NotPredicate> : find_logic<Word>(q);
  if (q.is("lop3")) return q.has(".and") || q.has(".or") ? nullptr : &logic_of_three;
  if (q.is("prmt")) return find_permutation(q, op);
  if (q.is("fns")) return &find_nth_set;
  if (q.is("vabsdiff4")) return find_difference(q);
  if (q.is("bmsk")) return op.offset = q.has(".wrap"), &make_field;
  if (q.is("dp4a") || q.is("dp2a")) {
    op.offset = (q.type(0) == Type::s32 ? 1 : 0) | (q.type(1) == Type::s32 ? 2 : 0) | (q.is("dp2a") ? 4 : 0) |
                (q.has(".hi") ? 8 : 0);
    return &dot;
  }
  if (q.is("shf")) {
    const bool wraps = q.has(".wrap");
    if (q.has(".l")) return wraps ? &funnel_shift<true, true> : &funnel_shift<true, false>;
    return wraps ? &funnel_shift<false, true> : &funnel_shift<false, false>;
  }
  if (q.is("shr") || q.is("bfe") || q.is("bfind"))
    return with_integer(q.type(), [&](auto type) -> Op::Run {
      using T = decltype(type);
      if (q.is("shr")) return &shift<T, false>;
      if constexpr (sizeof(T) > 2) {
        if (q.is("bfe")) return &extract_field<T>;
        return q.has(".shiftamt") ? &unary<T, FindHighest<T, true>> : &unary<T, FindHighest<T, false>>;
      }
      return nullptr;
    });
  return with_bits(q.type(), [&](auto type) -> Op::Run {
    using T = decltype(type);
    if (q.is("shl")) return &shift<T, true>;
    if constexpr (sizeof(T) > 2) {
      if (q.is("popc")) return &unary<T, PopulationCount<T>>;
      if (q.is("clz")) return &unary<T, LeadingZeros<T>>;
      if (q.is("brev")) return &unary<T, Reverse<T>>;
      if (q.is("bfi")) return &insert_field<T>;
    }
    return find_logic<T>(q);
  });
}

}  // namespace dcgn::virtual_gpu::interpreter
