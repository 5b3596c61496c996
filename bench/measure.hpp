// What is measured between two ranks: the same words for ours, for limits and for peers.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace dcgn::bench {

// Latency is half a round trip. Else windows of messages: one way, which the other end answers where nothing else keeps
// the ends together, or each way at the same time.
enum class Measure { latency, bandwidth, bidirectional };

inline constexpr Measure all_measures[] = {Measure::latency, Measure::bandwidth, Measure::bidirectional};

constexpr const char* name_of(Measure measure) {
  switch (measure) {
    case Measure::latency: return "latency";
    case Measure::bandwidth: return "bandwidth";
    case Measure::bidirectional: return "bidirectional";
  }
  return "";
}

inline std::optional<Measure> parse_measure(std::string_view name) {
  const auto found =
      std::find_if(std::begin(all_measures), std::end(all_measures), [&](Measure m) { return name == name_of(m); });
  return found == std::end(all_measures) ? std::nullopt : std::optional(*found);
}

}  // namespace dcgn::bench
