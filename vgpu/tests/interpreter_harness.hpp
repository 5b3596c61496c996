// What tests of the interpreter share: kernels in PTX that are run at once, and instructions that are compared with an
// oracle for all combinations of operands.
#pragma once

#include "corpus.hpp"
#include "vgpu/src/interpreter/interpreter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace dcgn::test {

using virtual_gpu::interpreter::Code;
using virtual_gpu::interpreter::Fault;

// Parameters as a launch has them: each where its size allows.
template <class... Args>
std::vector<std::byte> pack(const Args&... args) {
  std::vector<std::byte> all;
  const auto add = [&](const auto& value) {
    const std::size_t at = (all.size() + sizeof value - 1) / sizeof value * sizeof value;
    all.resize(at + sizeof value);
    std::memcpy(all.data() + at, &value, sizeof value);
  };
  (add(args), ...);
  return all;
}

// Runs the first kernel of `body`, a module without its head.
template <class... Args>
void run_kernel(const std::string& body, const Launch& launch, const Args&... args) {
  const Code code("test.ptx", ptx_module(body));
  code.run(0, launch, pack(args...).data());
}
// The same, with the address of so many words of 0 as its parameter. Returns the words.
std::vector<std::uint32_t> words_after(const std::string& body, const Launch& launch, std::size_t words);
// A kernel that has so much: `out` in %out, its thread's number in %t (%tid.x) and 4 * %t + %out in %mine; registers
// %r<20>, %rd<20>, %f<10>, %p<10>.
std::string simple_kernel(const std::string& instructions, const std::string& more = "");
// What Fault says, empty where none is thrown.
std::string fault_of(const std::string& body, const Launch& launch, Fault::Kind kind);

// Bits of the registers %d, %a, %b and %c; 16, 32 or 64.
struct Widths {
  std::size_t d, a, b, c;
};
using Operands = std::array<std::uint64_t, 3>;
// What `instructions` leave in %d of each %a, %b, %c. They may use %p, %q, %r<4>, %x<4> (of 64 bits) and %h<4>.
std::vector<std::uint64_t> calculate(const std::string& instructions, const Widths& widths,
                                     std::vector<Operands> operands);  // a copy, which they may change

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
T value_of(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
// Equal bits; any two that are no numbers are alike.
template <class T>
bool alike(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
  return bits_of(x) == bits_of(y);
}
// Numbers where instructions tend to go wrong.
template <class T>
std::vector<T> edges() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    const T one = 1, least = Limits::min();
    return {0,
            -T{0},
            one,
            -one,
            one + Limits::epsilon(),
            one / 3,
            T{0.5},
            T{1.5},
            T{2.5},
            -T{2.5},
            T{1e10},
            -T{3e9},
            least,
            -least,
            least / 3,
            Limits::denorm_min(),
            -Limits::denorm_min(),
            Limits::max(),
            Limits::lowest(),
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN()};
  } else {
    std::vector<T> all;
    for (const std::uint64_t v :
         {0ULL, 1ULL, 2ULL, 7ULL, 31ULL, 32ULL, 33ULL, 64ULL, 255ULL, 0x5555555555555555ULL, 0xaaaaaaaaaaaaaaaaULL,
          0x123456789abcdef0ULL, 0xfedcba98fedcba98ULL, ~0ULL, ~0ULL - 1, ~0ULL - 31})
      all.push_back(static_cast<T>(v));
    for (const T v :
         {Limits::min(), static_cast<T>(Limits::min() + 1), Limits::max(), static_cast<T>(Limits::max() - 1)})
      all.push_back(v);
    return all;
  }
}

// Compares what instructions leave in %d, a D, with oracle(a, b, c).
template <class D, class A, class B, class C, class Oracle>
void expect_all(const std::string& instructions, const std::vector<A>& as, const std::vector<B>& bs,
                const std::vector<C>& cs, const Oracle& oracle) {
  std::vector<Operands> operands;
  for (const A& a : as)
    for (const B& b : bs)
      for (const C& c : cs) operands.push_back({bits_of(a), bits_of(b), bits_of(c)});
  const auto width = [](std::size_t bytes) { return 8 * std::max<std::size_t>(bytes, 2); };
  const auto found =
      calculate(instructions, {width(sizeof(D)), width(sizeof(A)), width(sizeof(B)), width(sizeof(C))}, operands);
  int wrong = 0;
  for (std::size_t i = 0; i < found.size() && wrong < 3; ++i) {
    const auto [a, b, c] = operands[i];
    const D expected = oracle(value_of<A>(a), value_of<B>(b), value_of<C>(c)), value = value_of<D>(found[i]);
    if (alike(value, expected)) continue;
    ++wrong;
    ADD_FAILURE() << instructions << "  a = 0x" << std::hex << a << ", b = 0x" << b << ", c = 0x" << c << ": 0x"
                  << bits_of(value) << ", expected 0x" << bits_of(expected);
  }
}
template <class D, class A, class Oracle>
void expect_unary(const std::string& instructions, const std::vector<A>& as, const Oracle& oracle) {
  expect_all<D>(instructions, as, std::vector<std::uint32_t>{0}, std::vector<std::uint32_t>{0},
                [&](A a, std::uint32_t, std::uint32_t) { return oracle(a); });
}
template <class D, class A, class B, class Oracle>
void expect_binary(const std::string& instructions, const std::vector<A>& as, const std::vector<B>& bs,
                   const Oracle& oracle) {
  expect_all<D>(instructions, as, bs, std::vector<std::uint32_t>{0},
                [&](A a, B b, std::uint32_t) { return oracle(a, b); });
}

// Numbers of 16 bits by enumeration of all that there are.
class SmallFloats {
 public:
  explicit SmallFloats(bool bfloat);
  double value(std::uint16_t bits) const;
  // The nearest one, of two as near the even one; `direction` else: 0 towards zero, 1 up, -1 down.
  std::uint16_t nearest(double value) const;
  std::uint16_t directed(double value, int direction) const;

 private:
  std::vector<double> values_;  // that are not negative and finite; the one with these bits
  double end_;                  // the first that would be too large
};

}  // namespace dcgn::test
