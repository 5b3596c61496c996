// The tables of dcgn bench p2p and coll: a `#` header, then a line a row as it is measured.
#pragma once

#include "core/bench/ablation.hpp"
#include "core/bench/coll.hpp"
#include "core/bench/p2p.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::tool {

// "latency 4 KiB, warp", "any-source 8 B, warp, 32 senders".
std::string title_of(const bench::Row& row);
// The figure by which a row of this measure is judged: GB/s, a median time, or millions of messages a second.
bool has_bandwidth(const bench::Row& row);
const char* unit_of(const bench::Row& row);
double value_of(const bench::Row& row);
std::string figure_of(const bench::Row& row);        // with its unit
std::string name_of_limit(const bench::Row& limit);  // "peer stores"

// One measure on one path at one scope: ours by size, limits and the peer beside it where there are any.
class PairTable {
 public:
  explicit PairTable(bool quiet) : quiet_(quiet) {}

  // `limits` and `peer` are of the first line; `flag` is the limit of what is small. Each line has as many limits, and
  // ours as a share of the first.
  void head(const bench::Row& ours, const std::vector<bench::Row>& limits, const bench::Row* flag,
            const bench::Row* peer);
  void line(const bench::Row& ours, const std::vector<bench::Row>& limits, const bench::Row* peer) const;

 private:
  bool quiet_;
  bool with_peer_ = false;
};

// Many streams, a line a scope.
void rate_head(const bench::Row& row);
void rate_line(const bench::Row& row);

// Any source, a line a number of senders.
void any_source_head(const bench::Row& row, const bench::Row* flag);
void any_source_line(const bench::Row& row);

// A collective, a line a size, a scope and a peer: the columns of nccl-tests.
void coll_head(bench::Collective op, const bench::CollRanks& ranks);
void coll_line(const bench::Row& row);

// What ideas are worth, a line for each with each row.
void ablation_head(bench::Path path, int repetitions);
void ablation_line(const bench::Effect& effect);

// What is to be reached, and what is.
struct GateLine {
  std::string what{}, reach{}, measured{}, limit{}, peers{};
  std::uint64_t wrong = 0;
  bool met = false;
};
void gates_head();
void gates_line(const GateLine& line);

// All at once.
void print_soak(const bench::Row& row, const bench::Soak& soak);

}  // namespace dcgn::tool
