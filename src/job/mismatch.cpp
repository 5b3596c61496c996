// The collectives that the ranks say they have made, held against each other.
#include "job/deadlock.hpp"
#include "message/describe.hpp"

#include <dcgn/collective/tag.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>

namespace dcgn::job {

namespace {

using collective::Begun;

constexpr std::uint32_t context_of_world = 1;

struct Made {
  int rank;
  Begun call;

  int number() const { return collective::turn_of_tag(call.tag); }
  bool differs(const Made& other) const { return call.tag != other.call.tag || call.root != other.call.root; }
  std::string name() const { return "rank " + std::to_string(rank); }
  std::string what() const { return message::describe_collective({rank, call.tag, call.context, 0, 0}); }
};

std::string describe(const Made& one, const Made& other) {
  if (one.call.tag != other.call.tag)
    return "\nmismatch: " + one.name() + " was or is in " + one.what() + ", but " + other.name() + " was or is in " +
           other.what();
  return "\nmismatch: " + one.name() + " gave root " + std::to_string(one.call.root) + " in " + one.what() + ", but " +
         other.name() + " gave root " + std::to_string(other.call.root);
}

// The rank's call of that communicator and number, where it is one of those that it has told.
std::optional<Made> find_call(const RankView& v, int rank, std::uint32_t context, int number) {
  const Made made{rank, Begun(v.notice.turns[static_cast<std::size_t>(number) % message::Turns::kept])};
  return made.call.context == context && made.number() == number ? std::optional(made) : std::nullopt;
}

}  // namespace

std::string describe_mismatch(const std::vector<RankView>& ranks, int first) {
  std::map<int, std::pair<Made, Made>> found;  // by number
  const auto compare = [&](const Made& one, const Made& other) {
    if (one.differs(other)) found.try_emplace(one.number(), one, other);
  };
  std::map<int, Made> first_of;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (const std::uint64_t word : ranks[r].notice.turns) {
      const Made made{first + static_cast<int>(r), Begun(word)};
      if (made.call.context == context_of_world) compare(first_of.try_emplace(made.number(), made).first->second, made);
    }
  // Communicators that have no rank in common may have the same number: one who waits for a rank has it in common.
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const message::Envelope& waits_for = ranks[r].notice.waits_for;
    const int peer = waits_for.peer - first, number = collective::turn_of_tag(waits_for.tag);
    if (!ranks[r].answered || !message::is_collective(waits_for.context) || peer < 0 ||
        static_cast<std::size_t>(peer) >= ranks.size())
      continue;
    const auto mine = find_call(ranks[r], first + static_cast<int>(r), waits_for.context, number);
    const auto its = find_call(ranks[static_cast<std::size_t>(peer)], first + peer, waits_for.context, number);
    if (mine && its) compare(*mine, *its);
  }
  return found.empty() ? std::string() : describe(found.begin()->second.first, found.begin()->second.second);
}

}  // namespace dcgn::job
