// Arithmetic of 64 bits that says where it does not fit.
#pragma once

#include <dcgn/error.hpp>

#include <cstdint>
#include <string>

namespace dcgn {

// What is computed for one call; throws Error of its code and name.
class Checked {
 public:
  Checked(const char* operation, Code code) : operation_(operation), code_(code) {}

  std::int64_t add(std::int64_t a, std::int64_t b) const {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) fail(a, "+", b);
    return sum;
  }
  std::int64_t subtract(std::int64_t a, std::int64_t b) const {
    std::int64_t difference = 0;
    if (__builtin_sub_overflow(a, b, &difference)) fail(a, "-", b);
    return difference;
  }
  std::int64_t multiply(std::int64_t a, std::int64_t b) const {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product)) fail(a, "*", b);
    return product;
  }

 private:
  [[noreturn]] void fail(std::int64_t a, const char* sign, std::int64_t b) const {
    throw Error(code_, operation_,
                std::to_string(a) + " " + sign + " " + std::to_string(b) + " does not fit into 64 bits");
  }

  const char* operation_;
  Code code_;
};

}  // namespace dcgn
