// What the peers' programs for collectives have in common: their arguments, and how a row is made.
#pragma once

#include "bench/collective.hpp"
#include "bench/peers/rounds.hpp"

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace dcgn::bench::peer {

// A collective of a size that sizes_of() gives.
struct CollRound {
  Collective op = Collective::all_reduce;
  std::int64_t bytes = 0;
  int ranks = 0;

  std::int64_t count() const { return count_of(op, bytes, ranks); }
  // Elements of a rank's buffers; `in` of a broadcast is as long as `out`, for who has two.
  std::int64_t gives() const { return given_count(op, count(), ranks); }
  std::int64_t gets() const { return got_count(op, count(), ranks); }
  bool operator==(const CollRound&) const = default;
};

struct CollArguments {
  int ranks = 0;
  double seconds = 0;  // that a row should take
  std::vector<CollRound> rounds;

  // Elements that the largest buffer has, and one at least.
  std::size_t room() const {
    std::int64_t most = 1;
    for (const CollRound& round : rounds) most = std::max({most, round.gives(), round.gets()});
    return static_cast<std::size_t>(most);
  }
};

inline constexpr const char* coll_usage = "--ranks N --seconds S OP:SIZE..., as in all_reduce:8192";

// Throws std::runtime_error, one line.
inline CollArguments parse_coll(int argc, char** argv) {
  CollArguments a;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if ((word == "--ranks" || word == "--seconds") && i + 1 == words.size())
      throw std::runtime_error(word + ": expected a value after it");
    if (word == "--ranks") {
      const std::optional<std::int64_t> ranks = parse_size(words[++i]);
      if (!ranks || *ranks < 1 || *ranks > most_collective_ranks)
        throw std::runtime_error("--ranks " + words[i] + ": expected a number from 1 to " +
                                 std::to_string(most_collective_ranks));
      a.ranks = static_cast<int>(*ranks);
    } else if (word == "--seconds") {
      char* end = nullptr;
      a.seconds = std::strtod(words[++i].c_str(), &end);
      if (*end || !(a.seconds > 0) || !std::isfinite(a.seconds))
        throw std::runtime_error("--seconds " + words[i] + ": expected a number above 0");
    } else {
      const std::size_t colon = word.find(':');
      const std::optional<Collective> op = parse_collective(word.substr(0, colon));
      const std::optional<std::int64_t> bytes =
          colon == std::string::npos ? std::nullopt : parse_size(word.substr(colon + 1));
      if (!op || !bytes) throw std::runtime_error(word + ": expected a collective and its size, as in all_reduce:8192");
      a.rounds.push_back({*op, *bytes});
    }
  }
  if (!a.ranks || a.seconds <= 0 || a.rounds.empty()) throw std::runtime_error(std::string("expected ") + coll_usage);
  for (CollRound& round : a.rounds) round.ranks = a.ranks;
  return a;
}

// block(n) does n calls and says how many microseconds they took the rank that took longest; agree() as for
// time_blocks().
template <class Block, class Agree>
Row time_collective(const CollRound& round, double seconds, const Block& block, const Agree& agree) {
  const Timed timed = time_blocks(round.bytes, seconds, block, agree);
  Row row;
  row.measure = name_of(round.op);
  row.scope = "-";
  row.bytes = round.bytes;
  row.ranks = round.ranks;
  set_figures(row, timed.us, timed.rounds);
  return row;
}

// "8 GPUs", as ours have it.
inline std::string path_of(int ranks, const char* what) {
  return std::to_string(ranks) + " " + what + (ranks == 1 ? "" : "s");
}

}  // namespace dcgn::bench::peer
