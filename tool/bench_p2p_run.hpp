// What dcgn bench p2p is to measure, and the measuring.
#pragma once

#include "core/bench/p2p.hpp"
#include "tool/values.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::tool {

struct P2pPlan {
  std::vector<std::string> measures;  // in the order in which they are to come
  std::vector<bench::Path> paths;
  std::vector<bench::Scope> scopes;         // of pairs of ranks
  std::vector<bench::Scope> stream_scopes;  // of many ranks at once: no scope of several blocks
  std::vector<std::int64_t> sizes;          // many ranks take the first
  std::vector<int> senders;
  std::vector<std::string> peers;
  int window = 0, slots = 0;
  bool split = false;
  std::uint64_t messages = 0;
  double seconds = 0;
};

// Prints the tables, writes the document and returns the exit code.
int run_p2p(const P2pPlan& plan, JsonOption& json);

}  // namespace dcgn::tool
