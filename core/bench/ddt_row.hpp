// A line of `dcgn bench ddt`: the same for ours, a peer's and the limit.
#pragma once

#include "bench/statistics.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::bench {

struct DdtRow {
  std::string whose{};     // "dcgn 0.1.0", "limit: memcpy", "CUDA 13.0, cudaMemcpy2DAsync"
  std::string shape{};     // as ddt_shape.hpp has it
  std::string action{};    // "copy", "pack", "unpack"; "launch", an empty kernel's; "message", half a round trip
  std::string place{};     // "device", "host"; of messages "one-gpu" and its kin (ddt_messages.hpp)
  std::string other{};     // of messages, the shape at the other end
  std::int64_t about = 0;  // bytes that were asked for
  std::int64_t bytes = 0;  // that the shape has then
  std::int64_t moved = 0;  // between a GPU's memory and its cache; 0: not known
  std::uint64_t rounds = 0;
  double p50_us = 0, p99_us = 0;
  double gb_per_s = 0;  // payload, 1e9 bytes, at the median
  std::uint64_t wrong = 0;
};

// `us` has what one round took, in each of some blocks of `rounds`.
inline void set_figures(DdtRow& row, const std::vector<double>& us, std::uint64_t rounds) {
  row.rounds = us.size() * rounds;
  row.p50_us = percentile(us, 50);
  row.p99_us = percentile(us, 99);
  row.gb_per_s = row.p50_us > 0 ? static_cast<double>(row.bytes) * 1e-3 / row.p50_us : 0;
}

inline nlohmann::ordered_json to_json(const DdtRow& r) {
  nlohmann::ordered_json j = {{"whose", r.whose}, {"shape", r.shape}, {"action", r.action}, {"place", r.place},
                              {"about", r.about}, {"bytes", r.bytes}, {"moved", r.moved},   {"rounds", r.rounds},
                              {"p50", r.p50_us},  {"p99", r.p99_us},  {"unit", "us"},       {"GBps", r.gb_per_s},
                              {"wrong", r.wrong}};
  if (!r.other.empty()) j["other"] = r.other;
  return j;
}

inline DdtRow ddt_row_from(const nlohmann::ordered_json& j) {
  return {.whose = j.at("whose"),
          .shape = j.at("shape"),
          .action = j.at("action"),
          .place = j.at("place"),
          .other = j.value("other", std::string()),
          .about = j.at("about"),
          .bytes = j.at("bytes"),
          .moved = j.value("moved", std::int64_t{0}),
          .rounds = j.at("rounds"),
          .p50_us = j.at("p50"),
          .p99_us = j.at("p99"),
          .gb_per_s = j.at("GBps"),
          .wrong = j.at("wrong")};
}

}  // namespace dcgn::bench
