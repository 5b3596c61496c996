// routing.table: routes of one's own, from a file.
#include "base/input_file.hpp"
#include "base/text.hpp"
#include "memnet/src/config_parts.hpp"
#include "memnet/src/fail.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace dcgn::memnet {

namespace {

// Rows of from,to,next: at router `from`, what goes to router `to` takes a channel to router `next`.
class RouteFile {
 public:
  RouteFile(const std::string& file, const Topology& topology)
      : file_(file),
        topology_(topology),
        routers_(static_cast<int>(topology.routers().size())),
        next_(static_cast<std::size_t>(routers_) * static_cast<std::size_t>(routers_), -1) {
    for (const Channel& channel : topology.channels()) {
      if (!channel.missing) channels_.emplace(channel.from, channel.to);
    }
    base::each_line(base::read_configuration(file, file), [this](std::string_view line, int number) {
      line_ = number;
      read(line);
    });
    check();
  }

  std::vector<std::int32_t> take() { return std::move(next_); }

 private:
  std::int32_t& next(int from, int to) { return next_[static_cast<std::size_t>(to) * routers_ + from]; }

  [[noreturn]] void refuse(const std::string& found, const std::string& expected) const {
    fail("configuration", file_ + ":" + std::to_string(line_) + ": " + found + ": expected " + expected);
  }

  void read(std::string_view line) {
    line = line.substr(0, line.find('#'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.remove_suffix(1);
    if (line.empty() || line == "from,to,next") return;
    std::vector<int> row;
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(',', at), line.size());
      while (at < end && line[at] == ' ') ++at;
      int number = 0;
      if (!base::parse(line.substr(at, end - at), number)) refuse(std::string(line), "three routers, from,to,next");
      if (number < 0 || number >= routers_) {
        refuse("router " + std::to_string(number), "a router from 0 to " + std::to_string(routers_ - 1));
      }
      row.push_back(number);
      at = end + 1;
    }
    if (row.size() != 3) refuse(std::string(line), "three routers, from,to,next");
    const int from = row[0];
    const int to = row[1];
    if (from == to) refuse(std::string(line), "two routers: what has come to its router goes no further");
    if (channels_.count({from, row[2]}) == 0) {
      refuse(std::string(line),
             "a channel from router " + std::to_string(from) + " to router " + std::to_string(row[2]));
    }
    if (next(from, to) >= 0) {
      refuse(std::string(line), "one row from router " + std::to_string(from) + " to router " + std::to_string(to));
    }
    next(from, to) = row[2];
  }

  // Follows all routes: none may come back to a router, and those between terminals that may talk must arrive.
  void check() {
    std::vector<bool> arrives(next_.size(), false);
    std::vector<int> followed(static_cast<std::size_t>(routers_));  // by router: where the walk through it began
    for (int to = 0; to < routers_; ++to) {
      const std::size_t row = static_cast<std::size_t>(to) * routers_;
      std::fill(followed.begin(), followed.end(), -1);
      arrives[row + to] = true;
      for (int from = 0; from < routers_; ++from) {
        int at = from;
        for (; at >= 0 && at != to && followed[at] < 0; at = next(at, to)) followed[at] = from;
        if (at >= 0 && at != to && followed[at] == from) {
          fail("configuration", file_ + ": the route from router " + std::to_string(from) + " to router " +
                                    std::to_string(to) + " comes to router " + std::to_string(at) +
                                    " again and again, expected it to arrive");
        }
        if (at < 0 || !arrives[row + at]) continue;
        for (at = from; !arrives[row + at]; at = next(at, to)) arrives[row + at] = true;
      }
    }
    std::vector<bool> asked(next_.size(), false);
    for (std::size_t a = 0; a < topology_.terminals().size(); ++a) {
      for (std::size_t b = 0; b < topology_.terminals().size(); ++b) {
        if (!topology_.may_talk(static_cast<int>(a), static_cast<int>(b))) continue;
        for (const Port& port : topology_.terminals()[a].ports) {
          for (const Port& goal : topology_.terminals()[b].ports) {
            asked[static_cast<std::size_t>(goal.exit) * routers_ + port.router] = true;
          }
        }
      }
    }
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!asked[i] || arrives[i]) continue;
      const int from = static_cast<int>(i % routers_);
      const int to = static_cast<int>(i / routers_);
      int at = from;
      while (next(at, to) >= 0) at = next(at, to);
      fail("configuration", file_ + ": no row from router " + std::to_string(at) + " to router " + std::to_string(to) +
                                ", expected one: router " + std::to_string(from) + " sends there");
    }
  }

  std::string file_;
  int line_ = 0;
  const Topology& topology_;
  int routers_;
  std::vector<std::int32_t> next_;
  std::set<std::pair<int, int>> channels_;
};

}  // namespace

void read_routes(ConfigValues& values, Topology& topology) {
  const std::string file = values.word("routing.table");
  if (file.empty()) return;
  if (topology.shape().kind != ShapeKind::irregular && !topology.shape().broken) {
    values.refuse("routing.table",
                  "a topology without dimensions, as a graph: " + topology.name() + " is routed in dimension order");
  }
  constexpr std::size_t most = 2048;  // whose rows fit a file of 64 MiB
  if (topology.routers().size() > most) {
    values.refuse("routing.table", "a topology of at most " + std::to_string(most) + " routers");
  }
  topology.set_next_routers(RouteFile(file, topology).take());
}

}  // namespace dcgn::memnet
