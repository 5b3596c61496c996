// A trace in words.
#pragma once

#include "trace/analysis.hpp"

#include <string>

namespace dcgn::trace {

// "GPU 0 slot 1", "CPU 0"; before it the node where there are several.
std::string name_of(const Rank& rank, bool with_node = false);
bool has_several_nodes(const Document& document);

// 850 ns, 12.3 us, 1.5 ms, 2 s.
std::string time_text(double nanoseconds);
std::string bytes_text(double bytes);
// 41 %, 0.3 %.
std::string share_text(double part, double whole);

// The path's time by rank and kind, the longest first.
struct PathShare {
  int rank = 0;
  Step::Kind kind = Step::Kind::computing;
  std::uint64_t ns = 0;
};
std::vector<PathShare> path_shares(const Analysis& analysis);
const char* to_string(Step::Kind kind);

// What happened, in one or two sentences, for people who have not seen a trace before.
std::string summary_of(const Document& document, const Analysis& analysis);

}  // namespace dcgn::trace
