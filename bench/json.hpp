// Measurements as JSON: what bench/results/ holds, and what peers print.
#pragma once

#include "bench/row.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace dcgn::bench {

inline nlohmann::ordered_json to_json(const Row& r) {
  return {{"whose", r.whose}, {"path", r.path},  {"scope", r.scope}, {"bytes", r.bytes},   {"rounds", r.rounds},
          {"p50", r.p50_us},  {"p99", r.p99_us}, {"unit", "us"},     {"GBps", r.gb_per_s}, {"wrong", r.wrong}};
}

inline Row row_from(const nlohmann::ordered_json& j) {
  return {j.at("whose"), j.at("path"), j.at("scope"), j.at("bytes"), j.at("rounds"),
          j.at("p50"),   j.at("p99"),  j.at("GBps"),  j.at("wrong")};
}

}  // namespace dcgn::bench
