// A ping-pong between two ranks of any kinds (Stuart and Owens 2009, figures 1 and 3).
#pragma once

#include <cstdint>

namespace dcgn::pingpong {

enum class Between { cpu_cpu, cpu_slot, slot_slot };

struct Result {
  double half_round_us = 0;  // the mean over all rounds
  std::int64_t wrong = 0;    // numbers that are not what they must be at the end, on either side
};

// `bytes` is a multiple of 4, at least 4: messages are numbers. Of two processes, which both run this, each has a rank;
// the result is process 0's. Throws what Job does.
Result run(Between between, std::int64_t bytes, int rounds, int threads, int processes = 1);

}  // namespace dcgn::pingpong
