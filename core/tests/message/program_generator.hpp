// The generator of random programs. Every program ends whatever the interleaving, even if no send were buffered:
//
// - All that happens is given an event number. A message is sent and received at its event: where one side blocks, it
//   blocks there; where it does not, it begins at that event or before and is waited for at that event or after, and
//   begins before anything blocks at the same event. By induction over event numbers every rank gets past each:
//   whatever a rank waits for at event e, the other side has begun at e or before.
// - The messages of a group are received by as many wildcard receives, begun in the order of events, so that at each
//   event at least as many messages as receives have begun. Which one a send meets is open, so a sender blocks (or
//   waits) for one of a group only when the receives of all of the group have begun.
// - A group with a tag of its own is received with any_source, while other receives go on. Receives with any_source and
//   any_tag would catch anything: where a rank has such, they receive all that it gets in that phase, and a barrier
//   ends the phase.
// - All other receives have one source, with a tag or any_tag. Begun early, such a receive or send could meet another
//   one than was meant; a simulation of the matching finds that, and the two ranks then begin nothing early.
#pragma once

#include "program.hpp"
#include "program_random.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace dcgn::test {

class ProgramGenerator {
 public:
  ProgramGenerator(std::uint64_t seed, int most_gpus, int processes)
      : random_(seed), most_gpus_(most_gpus), processes_(processes) {
    p_.seed = seed;
  }

  Program generate();

 private:
  enum class Side { blocking, request, probing, iprobing, buffered, exchange };
  static constexpr std::int64_t most_buffered = 64 << 10;

  // One message, and how its two sides go about it.
  struct Plan {
    int message = 0;
    Side send = Side::blocking, receive = Side::blocking;
    bool synchronous = false;
    bool any_tag = false;
    std::int64_t capacity = 0;
    int send_done = 0, receive_done = 0;  // events
    int ring = -1;
  };
  // Ranks that each send to the next at one event.
  struct Ring {
    int event = 0;
    std::vector<int> plans;  // plans[i]: from ranks[i] to ranks[i + 1]
    std::vector<int> modes;  // of ranks[i]
  };
  struct Collective {
    int event = 0;
    int broadcast = -1;  // -1: a barrier
  };
  struct Phase {
    int first = 0, last = 0;
    bool ends_with_barrier = false;
  };
  // An operation and when: (event, order within it, number).
  struct Timed {
    int event, order;
    Op op;
    int sends, receives;  // messages; -1: none
  };
  struct Pending {
    int request;
    int begun, done;   // events
    bool in_wait_any;  // may be waited for together with others by wait_any
  };

  void choose_shape();
  void choose_config();
  std::int64_t random_bytes();
  void make_phase(int event);
  int make_message(int event, int src, int dst, int tag, int group);
  void make_ring(int event, const std::vector<int>& tags);
  void choose_sides(Plan& plan, const Phase& phase);
  void finish_groups();
  void emit();
  void emit_send(const Plan& plan);
  void emit_receive(const Plan& plan);
  void emit_ring(const Ring& ring);
  void emit_completions(int rank);
  bool matching_is_as_meant();
  void finish_config();
  void count_coverage();

  int ranks() const { return static_cast<int>(p_.ranks.size()); }
  bool is_cpu(int rank) const { return cpu_[static_cast<std::size_t>(rank)]; }
  Message& message_of(const Plan& plan) { return p_.messages[static_cast<std::size_t>(plan.message)]; }
  RankProgram& rank_of(int rank) { return p_.ranks[static_cast<std::size_t>(rank)]; }
  std::int64_t take_memory(int rank, std::int64_t bytes);
  int new_request(int rank, int result, int begun, int done, bool in_wait_any);
  int new_result(const Plan& plan, std::int64_t offset, std::int64_t capacity);
  void add(int rank, int event, int order, const Op& op, int sends = -1, int receives = -1) {
    timed_[static_cast<std::size_t>(rank)].push_back({event, order, op, sends, receives});
  }

  Program p_;
  Random random_;
  int most_gpus_;
  int processes_;  // each a node of its own, where there are several
  std::vector<bool> cpu_;
  std::vector<int> gpu_of_;
  std::int64_t largest_ = 0, budget_ = 0, eager_limit_ = 0, piece_ = 0, longest_eager_ = 0;
  std::vector<Plan> plans_;
  std::vector<Ring> rings_;
  std::vector<Collective> collectives_;
  std::vector<Phase> phases_;
  std::vector<int> cut_after_;  // [gpu]: phase, -1: none
  std::map<std::pair<int, int>, int> sequences_;
  std::vector<std::vector<Timed>> timed_;
  std::vector<std::vector<Pending>> pending_;
  std::vector<int> group_end_;  // [group]: the last event
};

inline Program generate_program(std::uint64_t seed, int most_gpus, int processes = 1) {
  return ProgramGenerator(seed, most_gpus, processes).generate();
}

}  // namespace dcgn::test

#include "program_generator_events.hpp"
#include "program_generator_operations.hpp"
