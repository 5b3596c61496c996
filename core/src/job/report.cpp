#include <dcgn/job.hpp>

#include "trace/words.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dcgn {

namespace {

// "12 % of 500 messages, sent or received, took the slow path: 9 % nonblocking, 3 % FIFO full"; empty where there were
// none.
std::string slow_of(const Report& report) {
  std::uint64_t all = 0, slow = 0;
  std::map<std::string, std::uint64_t> by_reason;
  for (const RankReport& r : report.ranks) {
    all += r.sent_messages + r.received_messages;
    for (const SlowMessages& s : r.slow) {
      slow += s.messages;
      by_reason[s.reason] += s.messages;
    }
  }
  all = std::max(all, slow);  // of some the job has stopped in the middle
  if (!all) return "";
  std::vector<std::pair<std::uint64_t, std::string>> most;
  most.reserve(by_reason.size());
  for (const auto& [reason, messages] : by_reason) most.emplace_back(messages, reason);
  std::sort(most.rbegin(), most.rend());
  const auto share = [&](std::uint64_t part) {
    return trace::share_text(static_cast<double>(part), static_cast<double>(all)) + " ";
  };
  const std::string messages = "of " + std::to_string(all) + " messages, sent or received, took the slow path";
  if (!slow) return "none " + messages + "\n";
  std::string text = share(slow) + messages + ": ";
  for (std::size_t i = 0; i < most.size(); ++i) text += (i ? ", " : "") + share(most[i].first) + most[i].second;
  return text + "\n";
}

}  // namespace

std::string to_string(const Report& report) {
  char line[256];
  std::snprintf(line, sizeof line, "%5s  %-28s %12s %14s %12s %14s %10s\n", "rank", "place", "sent", "bytes",
                "received", "bytes", "waiting s");
  std::string text = line;
  for (const RankReport& r : report.ranks) {
    std::snprintf(line, sizeof line, "%5d  %-28s %12llu %14llu %12llu %14llu %10.3f\n", r.rank,
                  to_string(r.place).c_str(), static_cast<unsigned long long>(r.sent_messages),
                  static_cast<unsigned long long>(r.sent_bytes), static_cast<unsigned long long>(r.received_messages),
                  static_cast<unsigned long long>(r.received_bytes), r.wait_s);
    text += line;
    if (r.open_receives)
      text += "       receives that were begun and never matched: " + std::to_string(r.open_receives) + "\n";
    if (!r.failure.empty()) text += "       " + r.failure + "\n";
  }
  return text + slow_of(report);
}

}  // namespace dcgn
