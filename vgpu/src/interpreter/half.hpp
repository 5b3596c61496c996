// Numbers of 16 bits with a point.
#pragma once

#include <cstdint>

namespace dcgn::virtual_gpu::interpreter {

enum class Small : std::uint8_t { half, bfloat };

double from_small(Small kind, std::uint16_t bits);
// `rounding` as <cfenv> has it.
// Zero in place of what is subnormal.
double without_subnormals(Small kind, double value);
std::uint16_t to_small(Small kind, double value, int rounding);

}  // namespace dcgn::virtual_gpu::interpreter
