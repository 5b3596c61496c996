// Bodies under their own gravity, every one attracted by all others: the paper's test of one-to-all communication
// (Stuart and Owens 2009, section 4). Every rank knows all bodies, a CPU thread as well as a slot; each advances its
// part by a leapfrog, and after each step all learn all new positions.
#pragma once

#include "apps/nbody/body.hpp"
#include "apps/nbody/initial.hpp"
#include "apps/nbody/records.hpp"

#include <dcgn/job.hpp>
#include <dcgn/placement.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::nbody {

enum class Balance { equal, measured };

const char* name_of(Exchange exchange);

struct Options {
  int bodies = 2048;
  int steps = 250;
  int every = 0;  // steps from one record to the next; 0: one record, at the end
  Start start = Start::discs;
  float dt = 0.01f, softening = 0.03f;
  Exchange exchange = Exchange::all_gather;
  // How bodies are divided: the same number to each rank, or as many as suit what it did in two steps before.
  Balance balance = Balance::equal;
  NodeShape nodes;  // `count` of them, all alike; in several processes as many as these
  int blocks = 0;   // of a slot; 0: as many as its GPU has room for, one on an emulated GPU
  int threads = 0;  // in each of them, a power of two from 32 to 512; 0: 512, on emulated GPUs 64
};

// What one rank did.
struct RankWork {
  RankReport report;
  int bodies = 0;
  double compute_s = 0;
};

// In several processes that of process 0; the others have the ranks alone.
struct Outcome {
  std::vector<std::vector<Body>> film;  // the bodies of each record; the last one is the end
  std::vector<Velocity> velocities;     // at the end
  std::vector<int> film_steps;          // at the beginning of which step each record was made
  std::vector<Energy> energies;         // of each record
  std::vector<double> step_s;           // by rank 0's clock
  std::vector<RankWork> ranks;
  std::int64_t stale = 0;  // bodies of other copies than rank 0's that differ from it in the end: none
  double elapsed_s = 0;
  int blocks = 0, threads = 0;  // of a slot, of a block; 0: no GPU takes part

  // The largest change of the total energy since the first record, by that.
  double drift() const;
};

// Throws Error(configuration), naming the value, where the options make no sense.
void validate(const Options& options);

// Runs the job, in all its processes. Throws what Job does.
Outcome run(const Options& options);

// The same in double precision, from the definition, by all cores of this host.
std::vector<Body> reference(const Options& options);

// How far a body may be from where double precision has it after a few steps: what float loses, and no more.
inline constexpr double short_run_tolerance = 1e-5;

// How many bodies are further from where the reference has them than `tolerance`.
std::int64_t count_wrong(const std::vector<Body>& bodies, const std::vector<Body>& reference, double tolerance);

}  // namespace dcgn::nbody
