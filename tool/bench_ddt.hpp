// What the parts of `dcgn bench ddt` share: its arguments, and what they mean.
#pragma once

#include "core/bench/ddt.hpp"
#include "tool/values.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::tool {

struct DdtArguments {
  std::string shapes, sizes, places = "device", peers = "none", units, blocks, messages, other, occupied = "0";
  double seconds = 0;  // 0: as suits what is measured
  int sweep = 0;
  JsonOption json;
};

// Throw Error(configuration), naming the word and what was expected.
std::vector<bench::DdtShape> ddt_shapes_of(const std::string& option, const std::string& text);
// Sizes in bytes; where none are given, 256M on a GPU, 1M where it is `slow`.
std::vector<std::int64_t> ddt_sizes_of(const DdtArguments& a, bool slow);

// Messages with the shapes at both ends; a sweep of shapes beside peers. Return the exit code.
int run_ddt_messages(DdtArguments& a);
int run_ddt_sweep(DdtArguments& a);

}  // namespace dcgn::tool
