// Element types that C++20 lacks, the same on the host and in kernels: half, bfloat16 and complex.
//
// half and bfloat16 are for storage: they are computed with as float. Conversion to float is exact, conversion from
// float rounds to the nearest, to even where two are as near; what is too large becomes infinite, a NaN stays one.
#pragma once

#include <dcgn/host_device.hpp>

#include <concepts>
#include <cstdint>

namespace dcgn {

namespace detail {

DCGN_HOST_DEVICE constexpr std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
DCGN_HOST_DEVICE constexpr float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

// Without the lowest `count` bits (1 to 24), rounded to the nearest, or to even.
DCGN_HOST_DEVICE constexpr std::uint32_t round_off(std::uint32_t bits, std::uint32_t count) {
  const std::uint32_t kept = bits >> count, rest = bits & ((1u << count) - 1), middle = 1u << (count - 1);
  return kept + (rest > middle || (rest == middle && (kept & 1)));
}

DCGN_HOST_DEVICE constexpr std::uint16_t half_bits(float value) {
  const std::uint32_t sign = bits_of(value) >> 16 & 0x8000, magnitude = bits_of(value) & 0x7fffffff;
  std::uint32_t result = 0;
  if (magnitude > 0x7f800000) {
    result = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude >= 0x477ff000) {  // 65520, half way to what would come after the largest
    result = 0x7c00;
  } else if (magnitude >= 0x38800000) {  // 2^-14, the least normal number
    result = round_off(magnitude - 0x38000000, 13);
  } else if (magnitude >= 0x33000000) {  // 2^-25, half of the least number
    result = round_off((magnitude & 0x7fffff) | 0x800000, 126 - (magnitude >> 23));
  }
  return static_cast<std::uint16_t>(sign | result);
}

DCGN_HOST_DEVICE constexpr float from_half_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400) return float_of(sign | ((magnitude << 13) + 0x38000000));
  return float_of(sign | bits_of(static_cast<float>(magnitude) * 0x1p-24f));
}

DCGN_HOST_DEVICE constexpr std::uint16_t bfloat16_bits(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>(round_off(bits, 16));
}

DCGN_HOST_DEVICE constexpr float from_bfloat16_bits(std::uint16_t bits) {
  return float_of(static_cast<std::uint32_t>(bits) << 16);
}

// A 16-bit float that is computed with as float.
template <std::uint16_t (*ToBits)(float), float (*FromBits)(std::uint16_t)>
class StoredFloat {
 public:
  StoredFloat() = default;
  DCGN_HOST_DEVICE constexpr explicit StoredFloat(float value) : bits_(ToBits(value)) {}
  DCGN_HOST_DEVICE static constexpr StoredFloat from(std::uint16_t bits) {
    StoredFloat result;
    result.bits_ = bits;
    return result;
  }

  DCGN_HOST_DEVICE constexpr explicit operator float() const { return FromBits(bits_); }
  DCGN_HOST_DEVICE constexpr std::uint16_t bits() const { return bits_; }

  DCGN_HOST_DEVICE friend constexpr StoredFloat operator+(StoredFloat a, StoredFloat b) {
    return StoredFloat(static_cast<float>(a) + static_cast<float>(b));
  }
  DCGN_HOST_DEVICE friend constexpr StoredFloat operator-(StoredFloat a, StoredFloat b) {
    return StoredFloat(static_cast<float>(a) - static_cast<float>(b));
  }
  DCGN_HOST_DEVICE friend constexpr StoredFloat operator*(StoredFloat a, StoredFloat b) {
    return StoredFloat(static_cast<float>(a) * static_cast<float>(b));
  }
  DCGN_HOST_DEVICE friend constexpr StoredFloat operator/(StoredFloat a, StoredFloat b) {
    return StoredFloat(static_cast<float>(a) / static_cast<float>(b));
  }
  DCGN_HOST_DEVICE friend constexpr bool operator==(StoredFloat a, StoredFloat b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }
  DCGN_HOST_DEVICE friend constexpr bool operator<(StoredFloat a, StoredFloat b) {
    return static_cast<float>(a) < static_cast<float>(b);
  }

 private:
  std::uint16_t bits_ = 0;
};

// A product and a sum are rounded each: nvcc would make one operation of them, and a GPU's bits differ from a CPU's.
template <class T>
DCGN_HOST_DEVICE constexpr T times(T a, T b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::same_as<T, float>) return __fmul_rn(a, b);
  if constexpr (std::same_as<T, double>) return __dmul_rn(a, b);
#endif
  return a * b;
}

}  // namespace detail

// IEEE 754 binary16: 11 significant bits, up to 65504.
using half = detail::StoredFloat<detail::half_bits, detail::from_half_bits>;
// The upper half of a float: 8 significant bits, the range of float.
using bfloat16 =  // NOLINT(readability-identifier-naming): the field's name
    detail::StoredFloat<detail::bfloat16_bits, detail::from_bfloat16_bits>;

// Laid out as std::complex<T>, for T float or double, but usable in kernels.
template <class T>
class complex {  // NOLINT(readability-identifier-naming): the name that it has in std
 public:
  complex() = default;
  // real + i imag.
  DCGN_HOST_DEVICE constexpr complex(T real, T imag = T()) : real_(real), imag_(imag) {}
  // From std::complex and its kin; the way back is std::complex<T>(z.real(), z.imag()).
  template <class Other>
    requires requires(const Other& z) {
      { z.real() } -> std::same_as<T>;
      { z.imag() } -> std::same_as<T>;
    }
  constexpr complex(const Other& z) : real_(z.real()), imag_(z.imag()) {}

  DCGN_HOST_DEVICE constexpr T real() const { return real_; }
  DCGN_HOST_DEVICE constexpr T imag() const { return imag_; }

  // Part by part.
  DCGN_HOST_DEVICE friend constexpr complex operator+(complex a, complex b) {
    return {a.real_ + b.real_, a.imag_ + b.imag_};
  }
  DCGN_HOST_DEVICE friend constexpr complex operator-(complex a, complex b) {
    return {a.real_ - b.real_, a.imag_ - b.imag_};
  }
  // By the schoolbook formula, each operation rounded.
  DCGN_HOST_DEVICE friend constexpr complex operator*(complex a, complex b) {
    using detail::times;
    return {times(a.real_, b.real_) - times(a.imag_, b.imag_), times(a.real_, b.imag_) + times(a.imag_, b.real_)};
  }
  DCGN_HOST_DEVICE friend constexpr bool operator==(complex a, complex b) {
    return a.real_ == b.real_ && a.imag_ == b.imag_;
  }

 private:
  T real_ = T();
  T imag_ = T();
};

}  // namespace dcgn
