#include <dcgn/job.hpp>

#include <cstdio>
#include <string>

namespace dcgn {

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
  return text;
}

}  // namespace dcgn
