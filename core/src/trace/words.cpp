#include "trace/words.hpp"

#include "message/describe.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <utility>

namespace dcgn::trace {

namespace {

// Three digits that count.
std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), value < 1000 ? "%.3g" : "%.0f", value);
  return text.data();
}

std::string count_of(std::size_t n, const char* one) { return std::to_string(n) + " " + one + (n == 1 ? "" : "s"); }

double as_double(std::uint64_t value) { return static_cast<double>(value); }

// Where most time was waited: in which kind of call of which rank; and for whom.
struct Culprits {
  message::Call call = message::Call::none;
  std::size_t rank = 0, awaited = 0;
  std::uint64_t waiting_ns = 0, awaited_ns = 0;
};

Culprits culprits_of(const Document& document, const Analysis& analysis) {
  Culprits most;
  std::vector<std::uint64_t> for_rank(document.ranks.size());
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    std::map<message::Call, std::uint64_t> by_call;
    for (std::size_t i = 0; i < document.ranks[r].events.size(); ++i) {
      const Event& e = document.ranks[r].events[i];
      const Wait& wait = analysis.waits[r][i];
      if (!wait.until_ns) continue;
      by_call[e.call] += wait.until_ns - e.begin_ns;
      for_rank[static_cast<std::size_t>(wait.rank)] += wait.until_ns - e.begin_ns;
    }
    for (const auto& [call, ns] : by_call)
      if (ns > most.waiting_ns) {
        most.call = call;
        most.rank = r;
        most.waiting_ns = ns;
      }
  }
  for (std::size_t r = 0; r < for_rank.size(); ++r)
    if (for_rank[r] > most.awaited_ns) {
      most.awaited = r;
      most.awaited_ns = for_rank[r];
    }
  return most;
}

// " 12 % of the blocking sends and receives took the slow path, 80 % of these: FIFO full."
std::string slow_calls(const Document& document) {
  std::uint64_t all = 0, slow = 0;
  std::array<std::uint64_t, message::reasons> by_reason{};
  for (const Rank& rank : document.ranks)
    for (const Event& e : rank.events) {
      using message::Call;
      all += e.call == Call::send || e.call == Call::ssend || e.call == Call::bsend || e.call == Call::recv;
      slow += e.slow != message::Reason::none;
      ++by_reason.at(static_cast<std::size_t>(e.slow));
    }
  if (!slow) return "";
  const auto most = std::max_element(by_reason.begin() + 1, by_reason.end());
  return " " + share_text(as_double(slow), as_double(all)) +
         " of the blocking sends and receives took the slow path, " + share_text(as_double(*most), as_double(slow)) +
         " of these: " + message::to_string(static_cast<message::Reason>(most - by_reason.begin())) + ".";
}

}  // namespace

bool has_several_nodes(const Document& document) {
  return std::any_of(document.ranks.begin(), document.ranks.end(),
                     [&](const Rank& rank) { return rank.node != document.ranks.front().node; });
}

std::string name_of(const Rank& rank, bool with_node) {
  std::string name = with_node ? "node " + std::to_string(rank.node) + " " : "";
  if (rank.device >= 0)
    name += "GPU " + std::to_string(rank.device) + " slot " + std::to_string(std::max(rank.slot, 0));
  else if (rank.cpu >= 0)
    name += "CPU " + std::to_string(rank.cpu);
  else
    name += "rank " + std::to_string(rank.rank);
  return name;
}

std::string time_text(double nanoseconds) {
  constexpr std::array units = {" ns", " us", " ms", " s"};
  std::size_t unit = 0;
  for (; nanoseconds >= 999.5 && unit + 1 < units.size(); ++unit) nanoseconds /= 1000;
  return number(nanoseconds) + units[unit];
}

std::string bytes_text(double bytes) {
  constexpr std::array units = {" B", " KiB", " MiB", " GiB", " TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1023.5 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return number(bytes) + units[unit];
}

std::string share_text(double part, double whole) {
  const double percent = whole > 0 ? 100 * part / whole : 0;
  std::array<char, 32> text{};
  if (percent > 0 && percent < 0.05) return "< 0.1 %";
  std::snprintf(text.data(), text.size(), percent > 0 && percent < 0.95 ? "%.1f %%" : "%.0f %%", percent);
  return text.data();
}

const char* to_string(Step::Kind kind) {
  switch (kind) {
    case Step::Kind::computing: return "computing";
    case Step::Kind::call: return "calls";
    case Step::Kind::transfer: return "transfer";
  }
  return "unknown";
}

std::vector<PathShare> path_shares(const Analysis& analysis) {
  std::map<std::pair<int, Step::Kind>, std::uint64_t> sums;
  for (const Step& step : analysis.path) sums[{step.rank, step.kind}] += step.end_ns - step.begin_ns;
  std::vector<PathShare> shares;
  shares.reserve(sums.size());
  for (const auto& [key, ns] : sums) shares.push_back({key.first, key.second, ns});
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.ns > b.ns; });
  return shares;
}

std::string summary_of(const Document& document, const Analysis& analysis) {
  std::uint64_t waiting = 0, dropped = 0;
  std::size_t events = 0;
  for (const Times& times : analysis.times) waiting += times.waiting_ns;
  for (const Rank& rank : document.ranks) {
    dropped += rank.dropped;
    events += rank.events.size();
  }
  std::string text = count_of(document.ranks.size(), "rank") + ", " + count_of(events, "call") + " in " +
                     time_text(as_double(analysis.duration_ns())) + ". ";
  if (waiting) {
    const Culprits most = culprits_of(document, analysis);
    text += share_text(as_double(waiting), as_double(analysis.duration_ns()) * as_double(document.ranks.size())) +
            " of the ranks' time was spent waiting: longest in " + message::to_string(most.call) + " on rank " +
            std::to_string(most.rank) + " (" + time_text(as_double(most.waiting_ns)) + "), most for rank " +
            std::to_string(most.awaited) + " (" + time_text(as_double(most.awaited_ns)) + "). ";
  } else {
    text += "No call is known to have waited for another rank. ";
  }
  const std::vector<PathShare> shares = path_shares(analysis);
  if (!shares.empty()) {
    std::array<std::uint64_t, 3> by_kind{};
    std::map<int, std::uint64_t> by_rank;
    std::uint64_t whole = 0;
    for (const PathShare& share : shares) {
      by_kind.at(static_cast<std::size_t>(share.kind)) += share.ns;
      by_rank[share.rank] += share.ns;
      whole += share.ns;
    }
    const auto most = std::max_element(by_rank.begin(), by_rank.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    text += "The critical path spends " + share_text(as_double(by_kind[0]), as_double(whole)) + " computing, " +
            share_text(as_double(by_kind[2]), as_double(whole)) + " transferring and " +
            share_text(as_double(by_kind[1]), as_double(whole)) + " in calls that waited for nobody; " +
            share_text(as_double(most->second), as_double(whole)) + " of it is on rank " + std::to_string(most->first) +
            ".";
  }
  text += slow_calls(document);
  if (dropped) text += " " + count_of(dropped, "call") + " found no room: raise DCGN_TRACE_EVENTS.";
  return text;
}

}  // namespace dcgn::trace
