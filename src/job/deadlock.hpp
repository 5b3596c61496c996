// The report of a job that cannot go on: who waits for whom, envelope by envelope.
#pragma once

#include <dcgn/message/endpoint.hpp>

#include <string>
#include <vector>

namespace dcgn::job {

// What the watchdog knows of one rank.
struct RankView {
  std::string place;
  bool is_slot = false;
  bool ended = false;
  bool attached = true;      // for a CPU rank: a thread has attached as it
  bool answered = false;     // the survey: the rank is in a call that waits, and `notice` says for what
  message::Notice notice{};  // `turns` in any case: as far as the rank has told them
};

// Where ranks have made different collectives of the same number, or given different roots, the earliest that is known:
// a line, after a line's end; empty where there is none.
std::string describe_mismatch(const std::vector<RankView>& ranks, int first);

// `headline` says why the job stops; ranks[i] is the rank first + i.
std::string deadlock_report(const std::string& headline, const std::vector<RankView>& ranks, int first);

}  // namespace dcgn::job
