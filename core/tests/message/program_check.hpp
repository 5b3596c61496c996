// The oracle of random programs: what every rank's memory and results must be, computed without running anything.
//
// A receive with one source gets the message that it was made for. The receives of a group get the messages of the
// group, each one once, and those of one source in the order in which they were sent (non-overtaking): so the source
// that a receive reports says which message it must have got.
#pragma once

#include "program.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace dcgn::test {

// What a rank has after the run.
struct RankOutcome {
  std::vector<unsigned char> memory;
  std::vector<Result> results;
  Progress progress;
};

inline unsigned char canary(int rank, std::int64_t offset) {
  return static_cast<unsigned char>(0x5b + 17 * rank + 131 * offset);
}

inline void fill_message(const Program& p, const Message& m, unsigned char* to, std::int64_t bytes) {
  for (std::int64_t i = 0; i < bytes; ++i) to[i] = content(p.seed, m.src, m.dst, m.sequence, i);
}

inline void fill_broadcast(const Program& p, std::size_t index, unsigned char* to) {
  const Broadcast& b = p.broadcasts[index];
  for (std::int64_t i = 0; i < b.bytes; ++i) to[i] = content(p.seed, b.root, 255, static_cast<int>(index), i);
}

// A rank's memory before the run.
inline std::vector<unsigned char> initial_memory(const Program& p, int rank) {
  std::vector<unsigned char> memory(static_cast<std::size_t>(p.ranks[static_cast<std::size_t>(rank)].memory));
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = canary(rank, static_cast<std::int64_t>(i));
  for (std::size_t m = 0; m < p.messages.size(); ++m)
    if (p.messages[m].src == rank)
      fill_message(p, p.messages[m], &memory[static_cast<std::size_t>(p.sent_from[m])], p.messages[m].bytes);
  for (std::size_t b = 0; b < p.broadcasts.size(); ++b)
    if (p.broadcasts[b].root == rank)
      fill_broadcast(p, b, &memory[static_cast<std::size_t>(p.broadcasts[b].offsets[static_cast<std::size_t>(rank)])]);
  return memory;
}

class Checker {
 public:
  Checker(const Program& program, const std::vector<RankOutcome>& outcomes) : p_(program), outcomes_(outcomes) {}

  // The first thing that is not as it must be; empty if all is.
  std::string check() {
    for (std::size_t r = 0; r < outcomes_.size() && fault_.empty(); ++r) check_progress(r);
    if (!fault_.empty()) return fault_;
    match_groups();
    for (std::size_t r = 0; r < outcomes_.size() && fault_.empty(); ++r) check_results(r);
    for (std::size_t r = 0; r < outcomes_.size() && fault_.empty(); ++r) check_memory(r);
    return fault_;
  }

  // Where each rank stands: for a program that was stopped.
  std::string where() const {
    std::string text;
    for (std::size_t r = 0; r < outcomes_.size(); ++r) {
      const RankProgram& rank = p_.ranks[r];
      const auto at = static_cast<std::size_t>(outcomes_[r].progress.executed);
      text += "\n  rank " + std::to_string(r) + ": " + std::to_string(at) + " of " + std::to_string(rank.ops.size()) +
              " done";
      if (at < rank.ops.size())
        text += ", then " + describe(rank, rank.ops[at]) + ": " + std::string(to_string(outcomes_[r].progress.code));
    }
    return text;
  }

 private:
  void fault(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }

  std::string operation(std::size_t r, std::size_t at) const {
    const RankProgram& rank = p_.ranks[r];
    return "rank " + std::to_string(r) + ", operation " + std::to_string(at) + " (" + describe(rank, rank.ops[at]) +
           ")";
  }

  std::string receive(std::size_t r, std::size_t result) const {
    const std::vector<Op>& ops = p_.ranks[r].ops;
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].result == static_cast<int>(result)) return operation(r, i);
    return "rank " + std::to_string(r) + ", result " + std::to_string(result);
  }

  void check_progress(std::size_t r) {
    const Progress& progress = outcomes_[r].progress;
    if (progress.executed != static_cast<int>(p_.ranks[r].ops.size()))
      fault(operation(r, static_cast<std::size_t>(progress.executed)) + ": " + std::string(to_string(progress.code)));
    if (progress.anomalies)
      fault(operation(r, static_cast<std::size_t>(progress.anomaly_at)) + ": said what cannot be");
  }

  void match_groups() {
    for (std::size_t g = 0; g < p_.groups.size(); ++g) {
      if (p_.groups[g].empty()) continue;
      std::map<int, std::vector<int>> from;  // reversed, so that the next one is at the back
      for (const int m : p_.groups[g])
        from[p_.messages[static_cast<std::size_t>(m)].src].insert(
            from[p_.messages[static_cast<std::size_t>(m)].src].begin(), m);
      const auto rank = static_cast<std::size_t>(p_.messages[static_cast<std::size_t>(p_.groups[g].front())].dst);
      for (const int result : p_.group_receives[g]) {
        const Result& got = outcomes_[rank].results[static_cast<std::size_t>(result)];
        std::vector<int>& candidates = from[got.source];
        if (got.times != 1)
          return fault(receive(rank, static_cast<std::size_t>(result)) + ": completed " + std::to_string(got.times) +
                       " times");
        if (candidates.empty())
          return fault(receive(rank, static_cast<std::size_t>(result)) + ": a message from rank " +
                       std::to_string(got.source) + ", which has none left for it");
        matched_[{rank, static_cast<std::size_t>(result)}] = candidates.back();
        candidates.pop_back();
      }
    }
  }

  const Message& message_for(std::size_t r, std::size_t result) const {
    const Receive& receive = p_.ranks[r].receives[result];
    return p_.messages[static_cast<std::size_t>(receive.message >= 0 ? receive.message : matched_.at({r, result}))];
  }

  void check_results(std::size_t r) {
    for (std::size_t i = 0; i < outcomes_[r].results.size(); ++i) {
      const Result& got = outcomes_[r].results[i];
      const Message& m = message_for(r, i);
      const Code code = m.bytes > p_.ranks[r].receives[i].capacity ? Code::truncated : Code::ok;
      if (got.times != 1) return fault(receive(r, i) + ": completed " + std::to_string(got.times) + " times");
      // Where the library throws, there is no status.
      const bool thrown = code == Code::truncated && got.source == any_source;
      const bool right =
          got.code == code && (thrown || (got.source == m.src && got.tag == m.tag && got.bytes == m.bytes));
      if (!right)
        return fault(receive(r, i) + ": got source " + std::to_string(got.source) + ", tag " + std::to_string(got.tag) +
                     ", bytes " + std::to_string(got.bytes) + ", " + std::string(to_string(got.code)) +
                     "; expected source " + std::to_string(m.src) + ", tag " + std::to_string(m.tag) + ", bytes " +
                     std::to_string(m.bytes) + ", " + std::string(to_string(code)));
    }
  }

  void check_memory(std::size_t r) {
    std::vector<unsigned char> expected = initial_memory(p_, static_cast<int>(r));
    for (std::size_t i = 0; i < outcomes_[r].results.size(); ++i) {
      const Receive& receive = p_.ranks[r].receives[i];
      const Message& m = message_for(r, i);
      fill_message(p_, m, &expected[static_cast<std::size_t>(receive.offset)], std::min(m.bytes, receive.capacity));
    }
    for (std::size_t b = 0; b < p_.broadcasts.size(); ++b)
      fill_broadcast(p_, b, &expected[static_cast<std::size_t>(p_.broadcasts[b].offsets[r])]);
    const std::vector<unsigned char>& memory = outcomes_[r].memory;
    const auto [got, want] = std::mismatch(memory.begin(), memory.end(), expected.begin());
    if (got == memory.end()) return;
    const std::int64_t offset = got - memory.begin();
    std::string owner = "a byte that belongs to no buffer";
    for (std::size_t i = 0; i < p_.ranks[r].ops.size(); ++i) {
      const Op& op = p_.ranks[r].ops[i];
      if ((offset >= op.offset && offset < op.offset + op.bytes) ||
          (offset >= op.recv_offset && offset < op.recv_offset + op.recv_bytes)) {
        owner = operation(r, i);
        break;
      }
    }
    fault(owner + ": byte " + std::to_string(offset) + " of rank " + std::to_string(r) + "'s memory is " +
          std::to_string(*got) + ", expected " + std::to_string(*want));
  }

  const Program& p_;
  const std::vector<RankOutcome>& outcomes_;
  std::map<std::pair<std::size_t, std::size_t>, int> matched_;
  std::string fault_;
};

}  // namespace dcgn::test
