// Who sends to whom in open-loop runs.
#pragma once

#include "memnet/src/topology.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::memnet {

// Over the terminals that take part, numbered 0 .. n - 1 in the topology's order.
enum class Pattern : std::uint8_t {
  uniform,         // any terminal, oneself included
  transpose,       // (x, y) to (y, x): n is a square
  bit_complement,  // i to n - 1 - i
  tornado,         // half way round each dimension, less one: of the grid, or of the ring 0 .. n - 1
  neighbour,       // one on in each dimension
  hotspot,         // with hotspot_fraction to the hotspots, else uniform
  matrix,          // by weights
};
std::string_view to_string(Pattern pattern) noexcept;

struct Traffic {
  Pattern pattern = Pattern::uniform;
  std::vector<int> sources;       // terminals; empty: all that have someone to talk to
  std::vector<int> destinations;  // for uniform and hotspot; empty: all that the source may talk to
  std::vector<int> hotspots;
  double hotspot_fraction = 0;
  std::vector<double> weights;  // matrix: n x n, by rows of sources; a row of zeros sends nothing
  int message_class = 0;
  int flits = 1;  // of a packet
};

// A 64-bit generator (SplitMix64): same seed, same numbers, on any machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  int below(int bound) {  // 0 .. bound - 1, bound at least 1
    return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(bound)) >> 32);
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }  // [0, 1)

 private:
  std::uint64_t state_;
};

// The destinations of a topology's terminals under a pattern.
class Destinations {
 public:
  // Throws Error(configuration) where the pattern does not fit: not a square, a hotspot that is not there, a weight
  // below zero, a pair that may not talk.
  Destinations(const Topology& topology, const Traffic& traffic);

  const std::vector<int>& sources() const { return sources_; }
  // A terminal for the i-th source's next packet; -1: it sends nothing.
  int draw(int source_index, Random& random) const;
  // The share of the i-th source's packets that goes to a terminal.
  double share(int source_index, int terminal) const;

 private:
  Traffic traffic_;
  std::vector<int> sources_;
  std::vector<std::vector<int>> targets_;        // shared by sources that may talk to the same terminals
  std::vector<int> target_set_;                  // of each source
  std::vector<std::vector<double>> cumulative_;  // matrix: by source, over all terminals
  std::vector<int> fixed_;                       // permutations: of each source
};

}  // namespace dcgn::memnet
