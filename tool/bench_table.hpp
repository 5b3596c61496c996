// The tables of dcgn bench p2p: a `#` header, then a line a row as it is measured.
#pragma once

#include "bench/ablation.hpp"
#include "bench/p2p.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dcgn::tool {

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

// What ideas are worth, a line for each with each row.
void ablation_head(bench::Path path, int repetitions);
void ablation_line(const bench::Effect& effect);

// All at once.
void print_soak(const bench::Row& row, const bench::Soak& soak);

}  // namespace dcgn::tool
