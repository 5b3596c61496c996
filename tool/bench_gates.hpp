// What dcgn bench gates measures, each in a file of its own, and what that takes.
#pragma once

#include "tool/bench_document.hpp"
#include "tool/bench_table.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>

namespace dcgn::tool {

inline constexpr std::int64_t kb = 1 << 10, mb = 1 << 20;

struct GatesPlan {
  std::int64_t largest = 0;  // bytes; rows of larger ones are left out
  double seconds = 0;        // that a row should take
};

// Prints the table and adds rows and table to the document; whether all could be measured that this machine can.
bool measure_collective_gates(const GatesPlan& plan, BenchDocument& document);

inline nlohmann::ordered_json to_json(const GateLine& line) {
  return {{"what", line.what},   {"reach", line.reach}, {"measured", line.measured},
          {"limit", line.limit}, {"peers", line.peers}, {"met", line.met}};
}

// One that fails does not take the others with it; it sets `failed`, unless it cannot be asked of this machine.
template <class Work>
void attempt(const std::string& what, bool& failed, const Work& work) {
  try {
    work();
  } catch (const Error& e) {
    const bool refused = e.code() == Code::too_many_blocks || e.code() == Code::configuration;
    failed = failed || !refused;
    fmt::print(stderr, "dcgn: bench: {} is {}: {}\n", what, refused ? "left out" : "not measured", e.what());
  }
}

}  // namespace dcgn::tool
