// Measurements as JSON: what bench/results/ holds, and what peers print.
#pragma once

#include "bench/row.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace dcgn::bench {

// Microseconds, or messages a second in millions: each is the other's inverse.
inline double in_unit(const Row& row, double us) { return row.unit == "us" || us <= 0 ? us : 1 / us; }

inline nlohmann::ordered_json to_json(const Row& r) {
  nlohmann::ordered_json j = {{"whose", r.whose},
                              {"measure", r.measure},
                              {"path", r.path},
                              {"scope", r.scope},
                              {"bytes", r.bytes},
                              {"rounds", r.rounds},
                              {"p50", in_unit(r, r.p50_us)},
                              {"p99", in_unit(r, r.p99_us)},
                              {"unit", r.unit},
                              {"GBps", r.gb_per_s},
                              {"wrong", r.wrong}};
  if (r.blocks) j.update({{"blocks", r.blocks}, {"threads", r.threads}});
  if (r.window) j["window"] = r.window;
  if (r.slots) j["slots"] = r.slots;
  if (r.senders) j["senders"] = r.senders;
  if (r.ranks) j.update({{"ranks", r.ranks}, {"busGBps", bus_gb_per_s(r)}});
  if (!r.without.empty()) j["without"] = r.without;
  return j;
}

// Older documents and simpler programs have no measure: theirs is latency.
inline Row row_from(const nlohmann::ordered_json& j) {
  Row r{.whose = j.at("whose"),
        .measure = j.value("measure", "latency"),
        .path = j.at("path"),
        .scope = j.at("scope"),
        .bytes = j.at("bytes"),
        .rounds = j.at("rounds"),
        .unit = j.value("unit", "us"),
        .gb_per_s = j.at("GBps"),
        .wrong = j.at("wrong")};
  r.p50_us = in_unit(r, j.at("p50"));
  r.p99_us = in_unit(r, j.at("p99"));
  r.blocks = j.value("blocks", 0u);
  r.threads = j.value("threads", 0u);
  r.window = j.value("window", 0);
  r.slots = j.value("slots", 0);
  r.senders = j.value("senders", 0);
  r.ranks = j.value("ranks", 0);
  r.without = j.value("without", "");
  return r;
}

}  // namespace dcgn::bench
