// C = A B by Cannon's algorithm: the paper's test of simultaneous communication (Stuart and Owens 2009, section 4). Any
// square number of ranks, CPU threads as well as slots.
#pragma once

#include <dcgn/job.hpp>
#include <dcgn/placement.hpp>

#include <cstdint>
#include <vector>

namespace dcgn::cannon {

struct Options {
  int size = 768;   // of the matrices; where the grid does not divide it, tiles at the border are filled up with zeros
  int repeats = 3;  // products, one after the other
  // `count` of them, all alike, in several processes as many as these; the largest square number of their ranks take
  // part.
  NodeShape nodes;
  int blocks = 0;  // of a slot; 0: what the GPU holds, on emulated ones 1
};

// In several processes that of process 0; the others have the ranks alone.
struct Outcome {
  std::vector<float> c;           // size x size, row by row
  int across = 0;                 // the grid's ranks in a row
  std::vector<double> product_s;  // by rank 0's clock
  std::vector<RankReport> ranks;
  double elapsed_s = 0;

  // At the median: two for each multiplication and addition.
  double flop_per_s(int size) const;
};

// How many ranks a row and a column of the grid have: as many as there may be.
int grid_of(const NodeShape& nodes);

// Throws Error(configuration), naming the value, where the options make no sense.
void validate(const Options& options);

// Runs the job, in all its processes. Throws what Job does.
Outcome run(const Options& options);

// How many rows of C are wrong: C x is compared to A (B x) for two vectors of whole numbers, without rounding
// (Freivalds). A wrong row escapes with a chance of less than one in a thousand.
std::int64_t count_wrong(int size, const std::vector<float>& c);

}  // namespace dcgn::cannon
