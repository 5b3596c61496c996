// What the peers' programs have in common: their arguments, what a round is, and how many of them make a figure.
#pragma once

#include "bench/measure.hpp"
#include "bench/row.hpp"
#include "bench/sizes.hpp"
#include "bench/window.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::bench::peer {

using bench::Measure, bench::name_of;

// What is repeated.
struct Round {
  Measure measure = Measure::latency;
  std::int64_t bytes = 0;     // of a message
  std::int64_t messages = 1;  // each way, each in memory of its own

  std::int64_t extent() const { return messages * bytes; }
  bool operator==(const Round&) const = default;
};

struct Arguments {
  std::vector<Measure> measures;
  double seconds = 0;         // that a row should take
  int window = usual_window;  // messages, where they fit
  std::vector<std::int64_t> sizes;

  Round round(Measure measure, std::int64_t bytes) const {
    return {measure, bytes, measure == Measure::latency ? 1 : window_of(bytes, window)};
  }
};

inline constexpr const char* usage = "--measures latency,bandwidth,bidirectional --seconds S [--window N] SIZE...";

// Throws std::runtime_error, one line.
inline Arguments parse(int argc, char** argv) {
  Arguments a;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool named = word == "--measures" || word == "--seconds" || word == "--window";
    if (named && i + 1 == words.size()) throw std::runtime_error(word + ": expected a value after it");
    if (word == "--measures") {
      const std::string list = words[++i] + ",";
      for (std::size_t begin = 0, end; (end = list.find(',', begin)) != std::string::npos; begin = end + 1) {
        const std::string name = list.substr(begin, end - begin);
        const std::optional<Measure> found = parse_measure(name);
        if (!found) throw std::runtime_error("--measures " + name + ": expected latency, bandwidth or bidirectional");
        a.measures.push_back(*found);
      }
    } else if (word == "--seconds") {
      char* end = nullptr;
      a.seconds = std::strtod(words[++i].c_str(), &end);
      if (*end || !(a.seconds > 0) || !std::isfinite(a.seconds))
        throw std::runtime_error("--seconds " + words[i] + ": expected a number above 0");
    } else if (word == "--window") {
      const std::optional<std::int64_t> window = parse_size(words[++i]);
      if (!window || *window < 1 || *window > most_window)
        throw std::runtime_error("--window " + words[i] + ": expected a number from 1 to " +
                                 std::to_string(most_window));
      a.window = static_cast<int>(*window);
    } else {
      const std::optional<std::int64_t> bytes = parse_size(word);
      if (!bytes || *bytes < 1 || *bytes > 1 << 30)
        throw std::runtime_error(word + ": expected a size from 1 to 1G, as in 8, 4K, 1M");
      a.sizes.push_back(*bytes);
    }
  }
  if (a.measures.empty() || a.seconds <= 0 || a.sizes.empty())
    throw std::runtime_error(std::string("expected ") + usage);
  return a;
}

// The memory that the largest round needs, each way.
inline std::size_t room(const Arguments& a) {
  std::int64_t most = 0;
  for (const Measure measure : a.measures)
    for (const std::int64_t bytes : a.sizes) most = std::max(most, a.round(measure, bytes).extent());
  return static_cast<std::size_t>(most);
}

// What blocks of rounds took: microseconds for a round in each of them.
struct Timed {
  std::vector<double> us;
  std::uint64_t rounds;  // of each block
};

// Times blocks of rounds that move messages of so many bytes. block(n) does n rounds and says how many microseconds
// they took; agree(x) is the first process's x in all of them, who must all do the same number of rounds.
template <class Block, class Agree>
Timed time_blocks(std::int64_t bytes, double seconds, const Block& block, const Agree& agree) {
  constexpr double least = 10'000, least_large = 50, patience_us = 1e6, block_us = 2000;
  constexpr std::int64_t large = 128 << 10;
  const std::uint64_t warm = bytes <= 4096 ? 200 : bytes <= large ? 20 : 2;
  block(warm);
  const double round_us = agree(block(warm)) / static_cast<double>(warm);
  double total = seconds * 1e6 / round_us;
  if (bytes <= large) total = std::max(total, std::min(least, patience_us / round_us));
  total = std::ceil(std::max(total, least_large));
  // Long enough each for a start to be lost in it, and enough of them for percentiles.
  const double blocks = std::min(total, std::clamp(std::ceil(total * round_us / block_us), 50.0, 5000.0));
  Timed timed{.us = {}, .rounds = static_cast<std::uint64_t>(std::ceil(total / blocks))};
  for (double k = 0; k < blocks; ++k) timed.us.push_back(block(timed.rounds) / static_cast<double>(timed.rounds));
  return timed;
}

// The same for rounds of messages between two ends. The figures are of a message, and of the bytes of one direction.
template <class Block, class Agree>
Row time_rounds(const Round& round, double seconds, const Block& block, const Agree& agree) {
  Timed timed = time_blocks(round.bytes, seconds, block, agree);
  const bool windows = round.measure != Measure::latency;
  for (double& us : timed.us) us /= windows ? static_cast<double>(round.messages) : 2;
  Row row;
  row.measure = name_of(round.measure);
  row.bytes = round.bytes;
  if (windows) row.window = static_cast<int>(round.messages);
  set_figures(row, timed.us, timed.rounds);
  return row;
}

}  // namespace dcgn::bench::peer
