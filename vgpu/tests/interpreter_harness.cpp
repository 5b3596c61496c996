#include "interpreter_harness.hpp"

#include <algorithm>

namespace dcgn::test {

std::vector<std::uint32_t> words_after(const std::string& body, const Launch& launch, std::size_t words) {
  std::vector<std::uint32_t> out(words);
  run_kernel(body, launch, out.data());
  return out;
}

std::string simple_kernel(const std::string& instructions, const std::string& more) {
  return more + R"(
.visible .entry kernel(.param .u64 kernel_out) {
  .reg .pred %p<10>;
  .reg .b32 %r<20>, %t;
  .reg .b64 %rd<20>, %out, %mine;
  .reg .f32 %f<10>;
  ld.param.u64 %out, [kernel_out];
  mov.u32 %t, %tid.x;
  mad.wide.u32 %mine, %t, 4, %out;
)" + instructions +
         "\n  ret;\n}\n";
}

std::string fault_of(const std::string& body, const Launch& launch, Fault::Kind kind) {
  std::vector<std::uint32_t> out(1024);
  try {
    run_kernel(body, launch, out.data());
  } catch (const Fault& fault) {
    EXPECT_EQ(static_cast<int>(fault.kind()), static_cast<int>(kind)) << fault.what();
    return fault.what();
  }
  return {};
}

std::vector<std::uint64_t> calculate(const std::string& instructions, const Widths& widths,
                                     std::vector<Operands> operands) {
  const auto declare = [](const char* name, std::size_t bits) {
    return "  .reg .b" + std::to_string(bits) + " " + name + ";\n";
  };
  const auto load = [](const char* name, std::size_t bits, int offset) {
    return "  ld.global.b" + std::to_string(bits) + " " + name + ", [%in+" + std::to_string(offset) + "];\n";
  };
  const std::string kernel = R"(
.visible .entry calculate(.param .u64 operands, .param .u64 results, .param .u32 count) {
  .reg .b64 %in, %to, %x<4>;
  .reg .b32 %i, %n, %r<4>;
  .reg .b16 %h<4>;
  .reg .pred %p, %q, %out;
)" + declare("%a", widths.a) +
                             declare("%b", widths.b) + declare("%c", widths.c) + declare("%d", widths.d) + R"(
  mov.u32 %i, %ctaid.x;
  mad.lo.u32 %i, %i, 256, 0;
  mov.u32 %n, %tid.x;
  add.u32 %i, %i, %n;
  ld.param.u32 %n, [count];
  setp.ge.u32 %out, %i, %n;
  @%out ret;
  ld.param.u64 %in, [operands];
  ld.param.u64 %to, [results];
  mad.wide.u32 %in, %i, 24, %in;
  mad.wide.u32 %to, %i, 8, %to;
)" + load("%a", widths.a, 0) +
                             load("%b", widths.b, 8) + load("%c", widths.c, 16) + instructions + "\n  st.global.b" +
                             std::to_string(widths.d) + " [%to], %d;\n  ret;\n}\n";
  std::vector<std::uint64_t> results(operands.size());
  const auto count = static_cast<std::uint32_t>(operands.size());
  run_kernel(kernel, Launch{.grid = (count + 255) / 256, .block = 256}, operands.data(), results.data(), count);
  return results;
}

SmallFloats::SmallFloats(bool bfloat) {
  const int fraction_bits = bfloat ? 7 : 10, bias = bfloat ? 127 : 15;
  const std::uint16_t infinity = bfloat ? 0x7f80 : 0x7c00;
  for (std::uint16_t bits = 0; bits < infinity; ++bits) {
    const int exponent = bits >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
    values_.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                    : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits));
  }
  end_ = std::ldexp(1.0, bias + 1);
}

double SmallFloats::value(std::uint16_t bits) const {
  const std::size_t size = bits & 0x7fff;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (size > values_.size()) return std::numeric_limits<double>::quiet_NaN();
  return sign * (size == values_.size() ? std::numeric_limits<double>::infinity() : values_[size]);
}

std::uint16_t SmallFloats::directed(double value, int direction) const {
  if (std::isnan(value)) return 0x7fff;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  const auto infinity = static_cast<std::uint16_t>(values_.size());
  if (std::isinf(value)) return sign | infinity;
  const auto above = std::upper_bound(values_.begin(), values_.end(), size);
  const auto below = static_cast<std::uint16_t>(above - values_.begin() - 1);
  if (values_[below] == size) return sign | below;
  const bool away = direction != 0 && (direction > 0) == (sign == 0);
  return static_cast<std::uint16_t>(sign | (below + (away ? 1 : 0)));
}

std::uint16_t SmallFloats::nearest(double value) const {
  if (std::isnan(value) || std::isinf(value)) return directed(value, 0);
  const std::uint16_t low = directed(value, 0), sign = low & 0x8000;
  const std::size_t below = low & 0x7fff;
  const double size = std::fabs(value), next = below + 1 < values_.size() ? values_[below + 1] : end_,
               down = size - values_[below], up = next - size;
  const bool rises = down > up || (down == up && below % 2 != 0);
  return static_cast<std::uint16_t>(sign | (below + (rises ? 1 : 0)));
}

}  // namespace dcgn::test
