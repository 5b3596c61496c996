// What each idea of the protocol is worth: the same measurement with all of them and without one.
#pragma once

#include "core/bench/p2p.hpp"

#include <vector>

namespace dcgn::bench {

using Measurement = Row (*)(const Workload&);

struct Effect {
  Row with, without;  // the medians of the repetitions
  // Time without the idea by time with it, in each repetition: above 1, the idea makes messages faster.
  double factor = 1, least = 1, most = 1;  // the median, and the ends
};

// Measures with everything, without each of the ideas, and with everything again; so many times, every second time the
// ideas the other way round. What an idea changes is told from the line between the two with everything, so that a
// machine which grows slower does not pass for an idea.
std::vector<Effect> ablate(Measurement measure, const Workload& work, const std::vector<Idea>& ideas, int repetitions);

}  // namespace dcgn::bench
