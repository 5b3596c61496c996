#include "trace/analysis.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace dcgn::trace {

namespace {

using enum message::Call;

constexpr std::size_t no_event = std::numeric_limits<std::size_t>::max();

bool is_sendrecv(message::Call call) { return call == sendrecv || call == sendrecv_replace; }

bool sends(message::Call call) {
  return call == send || call == ssend || call == bsend || call == isend || is_sendrecv(call);
}

bool receives(message::Call call) { return call == recv || call == irecv || is_sendrecv(call); }

// That end what others have begun.
bool waits(message::Call call) { return call == wait || call == wait_any || call == wait_all || call == test; }

// For each event of a rank that begins something, the later one that ended it, itself where it is not known. A wait for
// several ends all that no other call names.
std::vector<std::size_t> ends_of(const Rank& rank) {
  const std::vector<Event>& events = rank.events;
  std::vector<std::size_t> ended_by(events.size());
  std::iota(ended_by.begin(), ended_by.end(), std::size_t{0});
  std::unordered_map<std::uint64_t, std::size_t> named;  // by request: the last call that names it
  std::size_t group = no_event;
  for (std::size_t i = events.size(); i-- > 0;) {
    const Event& e = events[i];
    if (waits(e.call)) {
      if (e.request)
        named.try_emplace(e.request, i);
      else if (e.call == wait_all)
        group = i;
    } else if (e.request) {
      const auto found = named.find(e.request);
      if (found != named.end()) {
        ended_by[i] = found->second;
        named.erase(found);  // requests' numbers may come again
      } else if (group != no_event) {
        ended_by[i] = group;
      }
    }
  }
  return ended_by;
}

}  // namespace

std::vector<std::vector<std::size_t>> ends_of(const Document& document) {
  std::vector<std::vector<std::size_t>> all;
  all.reserve(document.ranks.size());
  for (const Rank& rank : document.ranks) all.push_back(ends_of(rank));
  return all;
}

namespace {

// One end of a message.
struct End {
  std::int32_t sender, receiver, communicator, tag;
  std::size_t event;
  auto key() const { return std::tie(sender, receiver, communicator, tag); }
};

void sort(std::vector<End>& ends) {
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) {
    return std::tie(a.sender, a.receiver, a.communicator, a.tag, a.event) <
           std::tie(b.sender, b.receiver, b.communicator, b.tag, b.event);
  });
}

std::vector<Message> match(const Document& document, const std::vector<std::vector<std::size_t>>& ended_by) {
  std::vector<End> sent, received;
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    const std::vector<Event>& events = document.ranks[r].events;
    const auto rank = static_cast<std::int32_t>(r);
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& e = events[i];
      if (sends(e.call) && e.peer >= 0) sent.push_back({rank, e.peer, e.communicator, e.tag, i});
      if (!receives(e.call)) continue;
      std::int32_t from = e.peer, tag = e.tag;
      if (is_sendrecv(e.call)) {
        from = e.from;
        tag = e.from_tag;
      } else if (ended_by[r][i] != i) {  // of any source, or any tag: the call that waited knows
        const Event& end = events[ended_by[r][i]];
        if (from < 0 && end.request) from = end.peer;
        if (tag < 0 && end.request) tag = end.tag;
      }
      if (from >= 0) received.push_back({from, rank, e.communicator, tag, i});
    }
  }
  sort(sent);
  sort(received);
  std::vector<Message> messages;
  messages.reserve(std::min(sent.size(), received.size()));
  auto s = sent.begin();
  auto r = received.begin();
  while (s != sent.end() && r != received.end()) {
    if (s->key() < r->key()) {
      ++s;
    } else if (r->key() < s->key()) {
      ++r;
    } else {
      messages.push_back({s->sender, s->receiver, s->event, r->event});
      ++s;
      ++r;
    }
  }
  std::sort(messages.begin(), messages.end(),
            [](const Message& a, const Message& b) { return std::tie(a.sender, a.send) < std::tie(b.sender, b.send); });
  return messages;
}

// Finds who waits for whom.
class Waiting {
 public:
  Waiting(const Document& document, const std::vector<std::vector<std::size_t>>& ended_by)
      : document_(document), ended_by_(ended_by) {
    for (const Rank& rank : document.ranks) waits_.emplace_back(rank.events.size());
  }

  void add(const Message& m) {
    const auto done = [&](int rank, std::size_t event) { return ended_by_[static_cast<std::size_t>(rank)][event]; };
    await(m.receiver, done(m.receiver, m.receive), m.sender, m.send);
    await(m.sender, done(m.sender, m.send), m.receiver, m.receive);
    // A probe that was just before found the message.
    if (m.receive > 0 && call(m.receiver, m.receive - 1).call == probe) {
      await(m.receiver, m.receive - 1, m.sender, m.send);
    }
  }

  void add_collectives() {
    struct Part {
      std::int32_t communicator;
      std::uint32_t number;
      int rank;
      std::size_t event;
    };
    std::vector<Part> parts;
    for (std::size_t r = 0; r < document_.ranks.size(); ++r) {
      std::unordered_map<std::int32_t, std::uint32_t> made;
      const std::vector<Event>& events = document_.ranks[r].events;
      for (std::size_t i = 0; i < events.size(); ++i)
        if (message::is_collective(events[i].call))
          parts.push_back({events[i].communicator, made[events[i].communicator]++, static_cast<int>(r), i});
    }
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return std::tie(a.communicator, a.number, a.rank) < std::tie(b.communicator, b.number, b.rank);
    });
    for (auto first = parts.begin(); first != parts.end();) {
      const auto end = std::find_if(first, parts.end(), [&](const Part& p) {
        return p.communicator != first->communicator || p.number != first->number;
      });
      const auto begin_of = [&](const Part& p) { return call(p.rank, p.event).begin_ns; };
      const Part& last =
          *std::max_element(first, end, [&](const Part& a, const Part& b) { return begin_of(a) < begin_of(b); });
      const Event& one = call(first->rank, first->event);
      const auto root =
          has_root(one.call) ? std::find_if(first, end, [&](const Part& p) { return p.rank == one.peer; }) : end;
      for (auto p = first; p != end; ++p) {
        const Part& awaited = root == end || p == root ? last : *root;
        const auto done = ended_by_[static_cast<std::size_t>(p->rank)][p->event];
        if (awaited.rank != p->rank) await(p->rank, done, awaited.rank, awaited.event);
      }
      first = end;
    }
  }

  std::vector<std::vector<Wait>> take() { return std::move(waits_); }

 private:
  static bool has_root(message::Call call) {
    return call == broadcast || call == reduce || call == gather || call == gatherv || call == scatter ||
           call == scatterv;
  }

  const Event& call(int rank, std::size_t event) const {
    return document_.ranks[static_cast<std::size_t>(rank)].events[event];
  }

  // Of several that a call waits for, the one that came last. What it waited for came before its end.
  void await(int rank, std::size_t event, int other, std::size_t others_event) {
    const Event& e = call(rank, event);
    const std::uint64_t came = call(other, others_event).begin_ns;
    // Neither a call that begins something waits, nor one that tries.
    if (e.call == isend || e.call == irecv || e.call == test || e.call == bsend) return;
    Wait& w = waits_[static_cast<std::size_t>(rank)][event];
    if (e.begin_ns < came && came < e.end_ns && w.until_ns < came)
      w = {came, other, static_cast<std::uint32_t>(others_event)};
  }

  const Document& document_;
  const std::vector<std::vector<std::size_t>>& ended_by_;
  std::vector<std::vector<Wait>> waits_;
};

void find_span(const Document& document, Analysis& a) {
  std::uint64_t begin = std::numeric_limits<std::uint64_t>::max(), end = 0;
  const auto widen = [&](const auto& all) {
    if (!all.empty()) begin = std::min(begin, all.front().begin_ns);
    for (const auto& one : all) end = std::max(end, one.end_ns);
  };
  for (const Rank& rank : document.ranks) widen(rank.events);
  for (const Device& device : document.devices) widen(device.activities);
  a.begin_ns = std::min(begin, end);
  a.end_ns = end;
}

void add_times(const Document& document, Analysis& a) {
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    Times& times = a.times.emplace_back();
    const std::vector<Event>& events = document.ranks[r].events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      times.in_calls_ns += events[i].end_ns - events[i].begin_ns;
      if (a.waits[r][i].until_ns) times.waiting_ns += a.waits[r][i].until_ns - events[i].begin_ns;
    }
  }
}

void add_flows(const Document& document, Analysis& a) {
  std::vector<Flow> of_one(document.ranks.size());
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    std::vector<int> receivers;
    for (const Event& e : document.ranks[r].events) {
      if (!sends(e.call) || e.peer < 0 || static_cast<std::size_t>(e.peer) >= of_one.size()) continue;
      Flow& flow = of_one[static_cast<std::size_t>(e.peer)];
      if (flow.messages == 0) receivers.push_back(e.peer);
      flow.messages += 1;
      flow.bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(e.bytes, 0));
    }
    std::sort(receivers.begin(), receivers.end());
    for (const int receiver : receivers) {
      Flow& flow = of_one[static_cast<std::size_t>(receiver)];
      a.flows.push_back({static_cast<int>(r), receiver, flow.messages, flow.bytes});
      flow = {};
    }
  }
}

void add_collectives(const Document& document, Analysis& a) {
  const auto of = [&](const Event& e) -> Collective& {
    auto found = std::find_if(a.collectives.begin(), a.collectives.end(), [&](const Collective& c) {
      return c.call == e.call && c.communicator == e.communicator;
    });
    if (found == a.collectives.end()) found = a.collectives.insert(found, {e.call, e.communicator, 0, 0, 0, 0});
    return *found;
  };
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    std::vector<std::uint64_t> made;
    const std::vector<Event>& events = document.ranks[r].events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (!message::is_collective(events[i].call)) continue;
      Collective& c = of(events[i]);
      c.bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(events[i].bytes, 0));
      c.in_calls_ns += events[i].end_ns - events[i].begin_ns;
      if (a.waits[r][i].until_ns) c.waiting_ns += a.waits[r][i].until_ns - events[i].begin_ns;
      made.resize(a.collectives.size());
      ++made[static_cast<std::size_t>(&c - a.collectives.data())];
    }
    for (std::size_t c = 0; c < made.size(); ++c) a.collectives[c].count = std::max(a.collectives[c].count, made[c]);
  }
  std::stable_sort(a.collectives.begin(), a.collectives.end(),
                   [](const Collective& x, const Collective& y) { return x.in_calls_ns > y.in_calls_ns; });
}

void add_path(const Document& document, Analysis& a) {
  std::vector<std::size_t> left(document.ranks.size());  // events of each rank that are not passed yet
  std::size_t rank = 0;
  std::uint64_t now = 0;
  for (std::size_t r = 0; r < document.ranks.size(); ++r) {
    left[r] = document.ranks[r].events.size();
    if (left[r] && document.ranks[r].events.back().end_ns > now) {
      rank = r;
      now = document.ranks[r].events.back().end_ns;
    }
  }
  const auto step = [&](Step::Kind kind, std::uint64_t from, std::size_t event) {
    if (from < now) a.path.push_back({kind, static_cast<int>(rank), from, now, event});
    now = std::min(now, from);
  };
  while (now > a.begin_ns) {
    const std::vector<Event>& events = document.ranks[rank].events;
    std::size_t& behind = left[rank];
    while (behind > 0 && events[behind - 1].begin_ns >= now) --behind;
    if (behind == 0) {
      step(Step::Kind::computing, a.begin_ns, 0);
      break;
    }
    const std::size_t i = --behind;
    const Wait& wait = a.waits[rank][i];
    step(Step::Kind::computing, events[i].end_ns, 0);
    if (wait.until_ns && wait.until_ns < now) {
      step(Step::Kind::transfer, wait.until_ns, i);
      rank = static_cast<std::size_t>(wait.rank);
      left[rank] = std::min<std::size_t>(left[rank], wait.event);
    } else {
      step(Step::Kind::call, events[i].begin_ns, i);
    }
  }
  std::reverse(a.path.begin(), a.path.end());
}

}  // namespace

std::vector<Message> matched_messages(const Document& document) { return match(document, ends_of(document)); }

Analysis analyse(const Document& document) {
  Analysis a;
  const std::vector<std::vector<std::size_t>> ended_by = ends_of(document);
  find_span(document, a);
  a.messages = match(document, ended_by);
  Waiting waiting(document, ended_by);
  for (const Message& m : a.messages) {
    waiting.add(m);
    a.received_by.push_back(ended_by[static_cast<std::size_t>(m.receiver)][m.receive]);
  }
  waiting.add_collectives();
  a.waits = waiting.take();
  add_times(document, a);
  add_flows(document, a);
  add_collectives(document, a);
  add_path(document, a);
  return a;
}

}  // namespace dcgn::trace
