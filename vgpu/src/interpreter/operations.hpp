// What instructions do, chosen once by opcode and types.
#pragma once

#include "vgpu/src/interpreter/types.hpp"
#include "vgpu/src/interpreter/warp.hpp"

#include <bit>
#include <cstdint>
#include <type_traits>

namespace dcgn::virtual_gpu::interpreter {

__extension__ using Int128 = __int128;
__extension__ using UnsignedInt128 = unsigned __int128;

// Each returns null where the instruction is not of its kind, or not interpreted; `op` has operands already.
Op::Run find_integer(const Qualified& q, Op& op);
Op::Run find_bits(const Qualified& q, Op& op);
Op::Run find_float(const Qualified& q, Op& op);
Op::Run find_half(const Qualified& q, Op& op);
Op::Run find_conversion(const Qualified& q, Op& op);
Op::Run find_eight(const Qualified& q, Op& op);  // conversions of 8 bits with a point
Op::Run find_comparison(const Qualified& q, Op& op);
Op::Run find_warp_wide(const Qualified& q, Op& op);
Op::Run find_access(const Qualified& q, Op& op);  // ld, st, atom, red: op has its address

// A value as it stands in a register that is wider: with its sign, if it has one.
template <class T>
Word extended(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<Word>(std::int64_t{value});
  else
    return value;
}

// What arithmetic gives for no number, as GPUs have it: of 32 bits always the same. Of 64 it keeps the operand's bits.
template <class T>
T one_nan(T value) {
  if constexpr (std::is_same_v<T, float>) return value != value ? std::bit_cast<float>(0x7fffffffU) : value;
  return value;
}

template <class T, class F>
void unary(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word* const a = warp.row(op.a);
  for_lanes(mask, [&](int lane) { d[lane] = put(F::of(get<T>(a[lane]))); });
}

template <class T, class F>
void binary(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b);
  for_lanes(mask, [&](int lane) { d[lane] = put(F::of(get<T>(a[lane]), get<T>(b[lane]))); });
}

template <class T, class F>
void ternary(Warp& warp, const Op& op, Mask mask) {
  Word* const d = warp.row(op.d);
  const Word *const a = warp.row(op.a), *const b = warp.row(op.b), *const c = warp.row(op.c);
  for_lanes(mask, [&](int lane) { d[lane] = put(F::of(get<T>(a[lane]), get<T>(b[lane]), get<T>(c[lane]))); });
}

// Calls `use` with a value of the type that the host has for it; null for types that are no integers.
template <class Use>
Op::Run with_integer(Type type, const Use& use) {
  if (type == Type::u16 || type == Type::b16) return use(std::uint16_t{});
  if (type == Type::s16) return use(std::int16_t{});
  if (type == Type::u32 || type == Type::b32) return use(std::uint32_t{});
  if (type == Type::s32) return use(std::int32_t{});
  if (type == Type::u64 || type == Type::b64) return use(std::uint64_t{});
  if (type == Type::s64) return use(std::int64_t{});
  return nullptr;
}
template <class Use>
Op::Run with_bits(Type type, const Use& use) {
  switch (bytes_of(type)) {
    case 2: return use(std::uint16_t{});
    case 4: return use(std::uint32_t{});
    case 8: return use(std::uint64_t{});
    default: return nullptr;
  }
}
template <class Use>
Op::Run with_float(Type type, const Use& use) {
  if (type == Type::f32) return use(float{});
  if (type == Type::f64) return use(double{});
  return nullptr;
}

}  // namespace dcgn::virtual_gpu::interpreter
