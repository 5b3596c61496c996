#include "job/deadlock.hpp"

#include "message/describe.hpp"

#include "message/engine/wait.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>

namespace dcgn::job {

namespace {

using message::Envelope;
using message::Notice;

std::string peer_name(int peer) { return peer == any_source ? "any rank" : "rank " + std::to_string(peer); }
std::string tag_name(int tag) { return tag == any_tag ? "any tag" : "tag " + std::to_string(tag); }

// "1 of 4 blocks of its scope have come".
std::string describe_blocks(const Notice& n) {
  const std::string call = n.call == message::Call::none ? "" : std::string(message::to_string(n.call)) + ": ";
  return call + (n.requests ? std::to_string(n.requests) + " of " : "not all ") + std::to_string(n.waits_for.bytes) +
         " blocks of its scope have come";
}

bool of_the_library(const Notice& n) { return message::is_collective(n.waits_for.context); }

// "recv from rank 2, tag 0, up to 8 bytes".
std::string describe_wait(const RankView& v) {
  const Notice& n = v.notice;
  const Envelope& e = n.waits_for;
  if (n.is_receive == message::awaits_blocks) return describe_blocks(n);
  std::string text = message::to_string(n.call);
  if (of_the_library(n)) return message::describe_collective(e, number_of_wait(v)) + ", for " + peer_name(e.peer);
  if (n.requests > 1) text += " (" + std::to_string(n.requests) + " requests open, the first:";
  const bool receives = n.is_receive != 0;
  text += receives ? " from " : " to ";
  text += peer_name(e.peer) + ", " + tag_name(e.tag) + message::describe_communicator(e);
  const bool probes = n.call == message::Call::probe || n.call == message::Call::iprobe;
  if (!probes) text += std::string(receives ? ", up to " : ", ") + std::to_string(e.bytes) + " bytes";
  if (n.requests > 1) text += ")";
  return text;
}

// What has come and nobody has asked for. Parts of collectives are the library's own, and no news: but many are.
std::string describe_arrivals(const std::vector<RankView>& ranks, int first, const Notice& n) {
  const auto messages = [](std::uint32_t count) {
    return std::to_string(count) + (count == 1 ? " more message" : " more messages");
  };
  const std::uint32_t told = std::min(n.arrived, static_cast<std::uint32_t>(message::notice_envelopes));
  std::string text;
  std::uint32_t listed = 0;
  for (std::uint32_t i = 0; i < told; ++i) {
    if (message::is_collective(n.unexpected[i].context)) continue;
    text += "\n      arrived, not received: " + message::describe_message(n.unexpected[i]);
    ++listed;
  }
  if (n.arrived == told) return text;
  if (listed)
    return text + "\n      and " + messages(n.arrived - listed) +
           (listed < told ? ", parts of collectives among them" : "");
  const Envelope& e = n.unexpected[0];
  const bool known = e.peer >= first && static_cast<std::size_t>(e.peer - first) < ranks.size();
  const auto number =
      known ? number_of_message(ranks[static_cast<std::size_t>(e.peer - first)], e) : std::optional<std::uint32_t>();
  return "\n      arrived, not received: " + message::describe_message(e, number) + ", and " + messages(n.arrived - 1) +
         ", parts of collectives among them";
}

// The ranks that wait in a circle, each for the next; empty where there is none.
std::vector<int> find_cycle(const std::vector<RankView>& ranks, int first) {
  const auto next = [&](int r) {
    const RankView& v = ranks[static_cast<std::size_t>(r)];
    return v.answered && !v.ended && v.notice.waits_for.peer >= 0 ? v.notice.waits_for.peer - first : any_source;
  };
  const int n = static_cast<int>(ranks.size());
  std::vector<int> visited(ranks.size(), -1);
  for (int start = 0; start < n; ++start) {
    int r = start;
    while (r >= 0 && r < n && visited[static_cast<std::size_t>(r)] < 0) {
      visited[static_cast<std::size_t>(r)] = start;
      r = next(r);
    }
    if (r < 0 || r >= n || visited[static_cast<std::size_t>(r)] != start) continue;
    std::vector<int> cycle;
    int at = r;
    do {
      cycle.push_back(at);
      at = next(at);
    } while (at != r);
    std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
    return cycle;
  }
  return {};
}

// What came from where the rank waits, but with another tag.
std::string find_mismatch(const std::vector<RankView>& ranks, int first, std::size_t r) {
  const Notice& n = ranks[r].notice;
  const int rank = first + static_cast<int>(r);
  if (!n.is_receive || n.is_receive == message::awaits_blocks) return {};
  if (of_the_library(n)) return describe_stray(ranks, first, r);
  const int listed = std::min(static_cast<int>(n.arrived), message::notice_envelopes);
  for (int i = 0; i < listed; ++i) {
    const Envelope& e = n.unexpected[i];
    if (e.context != n.waits_for.context) continue;
    if (n.waits_for.peer != any_source && n.waits_for.peer != e.peer) continue;
    return "mismatch: rank " + std::to_string(rank) + " waits for " + tag_name(n.waits_for.tag) + " from " +
           peer_name(n.waits_for.peer) + ", but rank " + std::to_string(e.peer) + " sent tag " + std::to_string(e.tag) +
           " (" + std::to_string(e.bytes) + " bytes)";
  }
  return {};
}

std::string seconds(std::uint64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
  return text;
}

}  // namespace

std::string deadlock_report(const std::string& headline, const std::vector<RankView>& ranks, int first,
                            const std::vector<Made>& elsewhere) {
  constexpr int most_lines = 64;
  std::string text = headline;
  int lines = 0;
  int left_out = 0;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const RankView& v = ranks[r];
    if (v.ended) continue;
    if (lines++ >= most_lines) {
      ++left_out;
      continue;
    }
    text += "\n  rank " + std::to_string(first + static_cast<int>(r)) + " (" + v.place + "): ";
    if (!v.answered) {
      text += v.attached ? "not in a call that waits" : "no thread has attached as it";
      if (v.is_slot) text += " (its kernel computes, or has no room on the GPU yet, or no block serves it any more)";
      continue;
    }
    const Notice& n = v.notice;
    text += describe_wait(v) + "; waiting " + seconds(n.waited_ns);
    const int peer = n.waits_for.peer;
    if (peer >= first && static_cast<std::size_t>(peer - first) < ranks.size() &&
        ranks[static_cast<std::size_t>(peer - first)].ended)
      text += "; rank " + std::to_string(peer) + " has ended";
    text += describe_arrivals(ranks, first, n);
    if (n.stalled >= 0)
      text += "\n      its space for unexpected messages is full, so a message from rank " + std::to_string(n.stalled) +
              " cannot come in; raise Config::unexpected_bytes (DCGN_UNEXPECTED_BYTES) or requests (DCGN_REQUESTS)";
  }
  if (left_out) text += "\n  and " + std::to_string(left_out) + " more ranks";
  std::string ended;
  for (std::size_t r = 0, shown = 0; r < ranks.size(); ++r) {
    if (!ranks[r].ended) continue;
    if (++shown > 16) {
      ended += ", ...";
      break;
    }
    ended += (ended.empty() ? "" : ", ") + std::to_string(first + static_cast<int>(r));
  }
  if (!ended.empty()) text += "\nended: rank " + ended;
  std::vector<Made> calls = calls_of(ranks, first);
  calls.insert(calls.end(), elsewhere.begin(), elsewhere.end());
  const std::string different = describe_mismatch(calls);
  text += different;
  for (std::size_t r = 0; r < ranks.size() && different.empty(); ++r) {
    if (!ranks[r].answered || ranks[r].ended) continue;
    const std::string mismatch = find_mismatch(ranks, first, r);
    if (!mismatch.empty()) text += "\n" + mismatch;
  }
  std::vector<int> cycle = find_cycle(ranks, first);
  for (int& r : cycle) r += first;
  if (!cycle.empty()) {
    text += "\ncycle: rank " + std::to_string(cycle.front());
    constexpr std::size_t most_links = 24;
    for (std::size_t i = 1; i <= std::min(cycle.size(), most_links); ++i)
      text += std::string(i == 1 ? " waits for rank " : ", which waits for rank ") +
              std::to_string(cycle[i % cycle.size()]);
    if (cycle.size() > most_links) text += ", and so on through " + std::to_string(cycle.size()) + " ranks";
  }
  return text;
}

}  // namespace dcgn::job
