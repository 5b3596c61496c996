// Many different layouts that others can say as well, picked at random, the same every time: rows of all lengths and
// steps, of elements of 1 to 16 bytes, and transposes.
#pragma once

#include "core/bench/ddt_shape.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace dcgn::bench {

inline std::vector<DdtShape> ddt_sweep(int count) {
  std::mt19937_64 random(1);
  // Each power of two is as likely as any other.
  const auto any = [&](double least, double most) {
    const double share = static_cast<double>(random() >> 11) * 0x1p-53;
    return static_cast<std::int64_t>(std::llround(least * std::pow(most / least, share)));
  };
  std::vector<DdtShape> shapes;
  std::set<std::string> names;
  for (int i = 0; static_cast<int>(shapes.size()) < count; ++i) {
    std::string name = i == 0 ? "transpose:8" : "transpose:4";
    if (i > 1) {
      const auto element = std::int64_t{1} << (random() % 5);
      const std::int64_t elements = any(1, 65536.0 / static_cast<double>(element)),
                         gap = any(1, 3.0 * static_cast<double>(elements) + 1);
      name = "rows:" + std::to_string(elements * element) + "/" + std::to_string((elements + gap) * element);
    }
    if (names.insert(name).second) shapes.push_back(*parse_ddt_shape(name));
  }
  return shapes;
}

}  // namespace dcgn::bench
