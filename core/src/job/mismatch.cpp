// The collectives that the ranks say they have made, held against each other.
#include "job/deadlock.hpp"
#include "message/describe.hpp"

#include <dcgn/collective/tag.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace dcgn::job {

namespace {

using collective::Begun;
using message::Envelope;
using message::Turns;

constexpr std::uint32_t context_of_world = 1;
constexpr std::uint32_t turns = 1u << collective::turn_bits;
static_assert(Turns::pair_of(collective::turn_word(2 * 77 + 1, 65535, -1)) == 77);

bool differ(const Made& one, const Made& other) {
  const bool sizes = one.call.bytes != other.call.bytes && one.call.bytes >= 0 && other.call.bytes >= 0;
  return one.call.tag != other.call.tag || one.call.root != other.call.root || sizes;
}

std::string name(const Made& made) { return "rank " + std::to_string(made.rank); }
std::string what(const Made& made) {
  return message::describe_collective({made.rank, made.call.tag, made.call.context, 0, 0}, made.number);
}

std::string describe(const Made& one, const Made& other) {
  if (one.call.tag != other.call.tag)
    return "\nmismatch: " + name(one) + " was or is in " + what(one) + ", but " + name(other) + " was or is in " +
           what(other);
  const auto gave = [&](const std::string& its, const std::string& others) {
    return "\nmismatch: " + name(one) + " gave " + its + " in " + what(one) + ", but " + name(other) + " gave " +
           others;
  };
  if (one.call.root == other.call.root)
    return gave(std::to_string(one.call.bytes) + " bytes", std::to_string(other.call.bytes));
  return gave("root " + std::to_string(one.call.root), "root " + std::to_string(other.call.root));
}

// The rank's i-th word, where there is one. It may be written meanwhile, by a rank that does not wait: then what
// belongs to it does not fit it.
std::optional<Made> made_at(const RankView& v, int rank, std::size_t i) {
  const message::Notice& n = v.notice;
  const Made made{rank, Begun(n.turns[i], n.sizes[i]),
                  Turns::seal(n.seals[i], n.turns[i], n.sizes[i], n.turn_numbers[i]), n.turn_numbers[i]};
  const bool whole = n.turns[i] && (made.call.context == context_of_world) == (made.communicator == 0) &&
                     made.number % turns == static_cast<std::uint32_t>(collective::turn_of_tag(made.call.tag));
  return whole ? std::optional(made) : std::nullopt;
}

// The number of the rank's latest call of the communicator.
std::optional<std::uint32_t> latest(const RankView& v, std::uint32_t context) {
  std::optional<std::uint32_t> most;
  for (std::size_t i = 0; i < Turns::kept; ++i)
    if (const auto made = made_at(v, 0, i); made && made->call.context == context)
      most = std::max(most.value_or(0), made->number);
  return most;
}

std::uint32_t turn_of(const Envelope& e) { return static_cast<std::uint32_t>(collective::turn_of_tag(e.tag)); }

// Of the numbers with this turn the one that is next to `number`.
std::uint32_t nearest(std::uint32_t turn, std::uint32_t number) {
  const std::uint32_t ahead = (turn - number) % turns;
  return ahead > turns / 2 && number + ahead >= turns ? number + ahead - turns : number + ahead;
}

}  // namespace

std::optional<std::uint32_t> number_of_wait(const RankView& rank) {
  const std::uint32_t turn = turn_of(rank.notice.waits_for);
  const std::optional<std::uint32_t> most = latest(rank, rank.notice.waits_for.context);
  if (!most || *most < turn || rank.notice.beside >= turns) return std::nullopt;
  return *most - (*most - turn) % turns;
}

std::optional<std::uint32_t> number_of_message(const RankView& sender, const Envelope& message) {
  if (!sender.answered && !sender.ended) return std::nullopt;  // it may have begun more by now
  const std::uint32_t turn = turn_of(message);
  const std::optional<std::uint32_t> most = latest(sender, message.context);
  return most && turn <= *most && *most < turn + turns ? std::optional(turn) : std::nullopt;
}

std::vector<Made> calls_of(const std::vector<RankView>& ranks, int first) {
  std::vector<Made> calls;
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t i = 0; i < Turns::kept; ++i)
      if (const auto made = made_at(ranks[r], first + static_cast<int>(r), i)) calls.push_back(*made);
  return calls;
}

std::string describe_mismatch(const std::vector<Made>& calls) {
  // By communicator and number, the world's before others'.
  using Key = std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>;
  std::map<Key, Made> first_of;
  std::map<Key, std::pair<Made, Made>> found;
  for (const Made& made : calls) {
    const Key key{made.call.context, made.communicator, made.number};
    const Made& one = first_of.try_emplace(key, made).first->second;
    if (differ(one, made)) found.try_emplace(key, one, made);
  }
  return found.empty() ? std::string() : describe(found.begin()->second.first, found.begin()->second.second);
}

// The messages from one rank to another come in the order in which they are sent. So who has sent one for another call
// has left the call that the receiver is in, or passed it by: unless it makes several beside each other.
std::string describe_stray(const std::vector<RankView>& ranks, int first, std::size_t r) {
  const message::Notice& n = ranks[r].notice;
  const std::optional<std::uint32_t> number = number_of_wait(ranks[r]);
  const int listed = std::min(static_cast<int>(n.arrived), message::notice_envelopes);
  for (int i = 0; i < listed; ++i) {
    const Envelope& e = n.unexpected[i];
    // Tags that differ in the root alone are of calls that are held against each other anyway.
    const bool same_call = ((e.tag ^ n.waits_for.tag) & 0xffff) == 0;
    if (e.context != n.waits_for.context || e.peer != n.waits_for.peer || same_call) continue;
    const bool known = e.peer >= first && static_cast<std::size_t>(e.peer - first) < ranks.size();
    const RankView* const sender = known ? &ranks[static_cast<std::size_t>(e.peer - first)] : nullptr;
    const bool same_number = turn_of(e) == turn_of(n.waits_for);
    if (!same_number && (n.beside || (sender && sender->notice.beside))) continue;
    std::optional<std::uint32_t> its = sender ? number_of_message(*sender, e) : std::nullopt;
    if (!its && number) its = nearest(turn_of(e), *number);
    return std::string(same_number || sender ? "mismatch: rank " : "perhaps a mismatch: rank ") +
           std::to_string(first + static_cast<int>(r)) + " is in " + message::describe_collective(n.waits_for, number) +
           ", but rank " + std::to_string(e.peer) + " was or is in " + message::describe_collective(e, its);
  }
  return {};
}

}  // namespace dcgn::job
