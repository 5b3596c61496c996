// ld, st, atom and red.
#include "vgpu/src/interpreter/half.hpp"
#include "vgpu/src/interpreter/operations.hpp"

#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

namespace {

// Whole, so that threads of two launches never see a half of it.
template <class T>
T load_value(const std::byte* at) {
  return __atomic_load_n(reinterpret_cast<const T*>(at), __ATOMIC_RELAXED);
}
template <class T>
Word word_of(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<Word>(std::int64_t{value});
  else
    return value;
}

template <class T>
void load(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) { d[lane] = word_of(load_value<T>(warp.at(op, lane, a, sizeof(T)))); });
}
template <class T>
void load_vector(Warp& warp, const Op& op, Mask mask) {
  const Word* const a = warp.row(op.a);
  const Row* const rows = warp.block.grid.program.rows.data() + op.list;
  for_lanes(mask, [&](int lane) {
    const std::byte* const from = warp.at(op, lane, a, sizeof(T) * op.count);
    std::array<Word, 8> words{};
    for (std::size_t i = 0; i < op.count; ++i) words[i] = word_of(load_value<T>(from + i * sizeof(T)));
    for (std::size_t i = 0; i < op.count; ++i) warp.row(rows[i])[lane] = words[i];  // a may be one of them
  });
}
template <class T>
void store(Warp& warp, const Op& op, Mask mask) {
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) {
    __atomic_store_n(reinterpret_cast<T*>(warp.at(op, lane, a, sizeof(T))), static_cast<T>(b[lane]), __ATOMIC_RELAXED);
  });
}
template <class T>
void store_vector(Warp& warp, const Op& op, Mask mask) {
  const Word* const a = warp.row(op.a);
  const Row* const rows = warp.block.grid.program.rows.data() + op.list;
  for_lanes(mask, [&](int lane) {
    std::byte* const to = warp.at(op, lane, a, sizeof(T) * op.count);
    for (std::size_t i = 0; i < op.count; ++i)
      __atomic_store_n(reinterpret_cast<T*>(to + i * sizeof(T)), static_cast<T>(warp.row(rows[i])[lane]),
                       __ATOMIC_RELAXED);
  });
}

template <class T>
Op::Run find_transfer_of(const Qualified& q, const Op& op) {
  using U = std::make_unsigned_t<T>;
  if (q.is("st")) return op.count == 1 ? &store<U> : &store_vector<U>;
  return op.count == 1 ? &load<T> : &load_vector<T>;
}
Op::Run find_transfer(const Qualified& q, const Op& op) {
  switch (q.type()) {
    case Type::s8: return find_transfer_of<std::int8_t>(q, op);
    case Type::s16: return find_transfer_of<std::int16_t>(q, op);
    case Type::s32: return find_transfer_of<std::int32_t>(q, op);
    case Type::b8:
    case Type::u8: return find_transfer_of<std::uint8_t>(q, op);
    case Type::b16:
    case Type::u16:
    case Type::f16:
    case Type::bf16: return find_transfer_of<std::uint16_t>(q, op);
    case Type::b32:
    case Type::u32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2: return find_transfer_of<std::uint32_t>(q, op);
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64: return find_transfer_of<std::uint64_t>(q, op);
    case Type::none:
    case Type::pred: break;
  }
  return nullptr;
}

template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 8, std::uint64_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;

// `change` gives what is written over what was there.
template <class T, class Change>
T exchange(std::byte* at, const Change& change) {
  auto* const word = reinterpret_cast<Bits<T>*>(at);
  Bits<T> old = __atomic_load_n(word, __ATOMIC_RELAXED), next = 0;
  T value;
  do {
    std::memcpy(&value, &old, sizeof value);
    const T changed = change(value);
    std::memcpy(&next, &changed, sizeof next);
  } while (!__atomic_compare_exchange_n(word, &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
  return value;
}

template <class T, class F>
void atomic(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) {
    const T x = get<T>(b[lane]), y = get<T>(c[lane]);
    d[lane] = put(exchange<T>(warp.at(op, lane, a, sizeof(T)), [&](T old) { return F::of(old, x, y); }));
  });
}
// .v2.f32 and the like: each element by itself.
template <class T, class F>
void atomic_vector(Warp& warp, const Op& op, Mask mask) {
  const Word* const a = warp.row(op.a);
  const Row* const values = warp.block.grid.program.rows.data() + op.list;
  const Row* const results = values + op.count;
  for_lanes(mask, [&](int lane) {
    std::byte* const at = warp.at(op, lane, a, sizeof(T) * op.count);
    for (std::size_t i = 0; i < op.count; ++i) {
      const T x = get<T>(warp.row(values[i])[lane]);
      const T old = exchange<T>(at + i * sizeof(T), [&](T value) { return F::of(value, x, T{}); });
      warp.row(results[i])[lane] = put(old);
    }
  });
}

template <class T>
struct Add {
  static T of(T old, T x, T) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(x));
    else
      return one_nan<T>(old + x);
  }
};
// Of 32 bits in global memory: without subnormals, which shared memory has.
float add_flushed(float old, float x) {
  const auto flushed = [](float value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.F, value) : value;
  };
  return flushed(one_nan(flushed(old) + flushed(x)));
}
struct AddFlushed {
  static float of(float old, float x, float) { return add_flushed(old, x); }
};
// Where an address may be of either, it says which.
void add_float(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  const std::byte* const shared = warp.block.shared();
  for_lanes(mask, [&](int lane) {
    std::byte* const at = warp.at(op, lane, a, sizeof(float));
    const bool is_shared = at >= shared && at < shared + warp.block.shared_bytes;
    const auto x = get<float>(b[lane]);
    d[lane] = put(
        exchange<float>(at, [&](float old) { return is_shared ? Add<float>::of(old, x, x) : add_flushed(old, x); }));
  });
}
template <class T>
struct Exchange {
  static T of(T, T x, T) { return x; }
};
template <class T>
struct Compare {
  static T of(T old, T x, T y) { return old == x ? y : old; }
};
template <class T>
struct Min {
  static T of(T old, T x, T) { return std::min(old, x); }
};
template <class T>
struct Max {
  static T of(T old, T x, T) { return std::max(old, x); }
};
template <class T>
struct And {
  static T of(T old, T x, T) { return static_cast<T>(old & x); }
};
template <class T>
struct Or {
  static T of(T old, T x, T) { return static_cast<T>(old | x); }
};
template <class T>
struct Xor {
  static T of(T old, T x, T) { return static_cast<T>(old ^ x); }
};
template <class T>
struct Increment {
  static T of(T old, T x, T) { return old >= x ? T{0} : static_cast<T>(old + 1); }
};
template <class T>
struct Decrement {
  static T of(T old, T x, T) { return old == 0 || old > x ? x : static_cast<T>(old - 1); }
};
template <Small Kind>
std::uint16_t add_small(std::uint16_t a, std::uint16_t b) {
  return to_small(Kind, from_small(Kind, a) + from_small(Kind, b), FE_TONEAREST);
}
template <Small Kind>
struct AddSmall {
  static std::uint16_t of(std::uint16_t old, std::uint16_t x, std::uint16_t) { return add_small<Kind>(old, x); }
};
template <Small Kind>
struct AddTwoSmall {
  static std::uint32_t of(std::uint32_t old, std::uint32_t x, std::uint32_t) {
    const auto low = add_small<Kind>(static_cast<std::uint16_t>(old), static_cast<std::uint16_t>(x));
    const auto high = add_small<Kind>(static_cast<std::uint16_t>(old >> 16), static_cast<std::uint16_t>(x >> 16));
    return low | static_cast<std::uint32_t>(high) << 16;
  }
};

template <class T, class F>
Op::Run atomic_of(const Op& op) {
  return op.count == 1 ? &atomic<T, F> : &atomic_vector<T, F>;
}

Op::Run find_atomic(const Qualified& q, const Op& op) {
  const Type type = q.type();
  if (q.has(".add")) {
    if (type == Type::f16) return atomic_of<std::uint16_t, AddSmall<Small::half>>(op);
    if (type == Type::bf16) return atomic_of<std::uint16_t, AddSmall<Small::bfloat>>(op);
    if (type == Type::f16x2) return atomic_of<std::uint32_t, AddTwoSmall<Small::half>>(op);
    if (type == Type::bf16x2) return atomic_of<std::uint32_t, AddTwoSmall<Small::bfloat>>(op);
    if (type == Type::f32) return op.count == 1 ? &add_float : &atomic_vector<float, AddFlushed>;
    if (const Op::Run found =
            with_float(type, [&](auto t) -> Op::Run { return atomic_of<decltype(t), Add<decltype(t)>>(op); }))
      return found;
  }
  if (op.count != 1) return nullptr;
  return with_integer(type, [&](auto t) -> Op::Run {
    using T = decltype(t);
    if (q.has(".cas")) return &atomic<T, Compare<T>>;
    if (q.has(".exch")) return &atomic<T, Exchange<T>>;
    if constexpr (sizeof(T) > 2) {
      if (q.has(".add")) return &atomic<T, Add<T>>;
      if (q.has(".min")) return &atomic<T, Min<T>>;
      if (q.has(".max")) return &atomic<T, Max<T>>;
      if (q.has(".and")) return &atomic<T, And<T>>;
      if (q.has(".or")) return &atomic<T, Or<T>>;
      if (q.has(".xor")) return &atomic<T, Xor<T>>;
      if (q.has(".inc")) return &atomic<T, Increment<T>>;
      if (q.has(".dec")) return &atomic<T, Decrement<T>>;
    }
    return nullptr;
  });
}

}  // namespace

Op::Run find_access(const Qualified& q, Op& op) {
  return q.is("atom") || q.is("red") ? find_atomic(q, op) : find_transfer(q, op);
}

}  // namespace dcgn::virtual_gpu::interpreter
