// The report of a job that cannot go on: who waits for whom, envelope by envelope.
#pragma once

#include <dcgn/collective/tag.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>
#include <optional>
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
  message::Notice notice{};  // `turns`, their numbers and `beside` in any case: as far as the rank has told them
};

// The whole number of a collective, of which a message's tag has the rest modulo 2048, where what is known of the rank
// leaves one possibility: of the one that the rank waits in, and of one that it has begun some time and sent the
// message for.
std::optional<std::uint32_t> number_of_wait(const RankView& rank);
std::optional<std::uint32_t> number_of_message(const RankView& sender, const message::Envelope& message);

// A collective that a rank has begun, in a communicator as message::Turns tells it from all others.
struct Made {
  int rank;
  collective::Begun call;
  std::uint64_t communicator;
  std::uint32_t number;  // of which the call's tag has the rest modulo 2048
};

// What ranks have told of theirs; ranks[i] is the rank first + i.
std::vector<Made> calls_of(const std::vector<RankView>& ranks, int first);

// Where ranks have made different collectives of the same number, or given different roots or sizes, the earliest that
// is known: a line, after a line's end; empty where there is none.
std::string describe_mismatch(const std::vector<Made>& calls);

// What came, for a call that is not the one in which ranks[r] waits for the sender: a line; empty where nothing did, or
// where the ranks may be right.
std::string describe_stray(const std::vector<RankView>& ranks, int first, std::size_t r);

// `headline` says why the job stops; ranks[i] is the rank first + i, `elsewhere` what those of other processes made.
std::string deadlock_report(const std::string& headline, const std::vector<RankView>& ranks, int first,
                            const std::vector<Made>& elsewhere = {});

}  // namespace dcgn::job
