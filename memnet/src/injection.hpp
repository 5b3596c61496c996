// What an open loop's sources create, and how far they fall behind.
#pragma once

#include "memnet/src/network.hpp"
#include "memnet/src/traffic.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::memnet {

// What was created, and of it the packets that found no room.
struct Offer {
  std::int64_t flits = 0;
  std::int64_t dropped = 0;
  void operator+=(const Offer& other) {
    flits += other.flits;
    dropped += other.dropped;
  }
};

// What packets find in their source's queue, by quarters of the measurement. The least of a quarter tells a queue that
// grows from one that runs dry now and then, however long its bursts are.
class Backlog {
 public:
  Backlog(int sources, int packet_flits, std::int64_t start, std::int64_t cycles)
      : packet_flits_(packet_flits), start_(start), cycles_(cycles), sources_(sources) {}

  void found(int source, std::int64_t now, std::int64_t queued, bool dropped) {
    Source& of = sources_[source];
    std::int64_t& least = of.least[(now - start_) * quarters / cycles_];
    if (least < 0 || queued < least) least = queued;
    ++of.packets;
    if (dropped) ++of.dropped;
  }

  // Whether some source falls ever further behind: its queue grows by a twentieth of what it offers, or it drops as
  // much, and by more than chance makes of so many packets.
  bool grows() const {
    return std::any_of(sources_.begin(), sources_.end(), [&](const Source& of) {
      const double packets = static_cast<double>(of.packets);
      const double most = std::max(0.05 * packets, 3 * std::sqrt(packets)) * packet_flits_;
      if (static_cast<double>(of.dropped * packet_flits_) > most) return true;
      for (int i = 1; i < quarters; ++i) {
        if (of.least[i] <= of.least[i - 1]) return false;
      }
      return of.least[0] >= 0 && static_cast<double>(of.least[quarters - 1] - of.least[0]) > most;
    });
  }

 private:
  static constexpr int quarters = 4;
  struct Source {
    std::array<std::int64_t, quarters> least{-1, -1, -1, -1};  // flits; -1: no packet came
    std::int64_t packets = 0;
    std::int64_t dropped = 0;
  };
  int packet_flits_;
  std::int64_t start_;
  std::int64_t cycles_;
  std::vector<Source> sources_;
};

// The next cycle of each source: a wheel of cycles to come, and a heap of those beyond it.
class Calendar {
 public:
  explicit Calendar(int sources) : next_(sources, -1) { first_.fill(-1); }

  // `cycle` is not before one that was taken.
  void put(int source, std::int64_t cycle) {
    if (cycle >= begin_ + size) {
      far_.emplace(cycle, source);
      return;
    }
    const auto place = static_cast<std::size_t>(cycle % size);
    next_[source] = first_[place];
    first_[place] = source;
    filled_[place / 64] |= std::uint64_t{1} << place % 64;
  }

  // The first cycle that has a source; INT64_MAX: none.
  std::int64_t next() const {
    const auto begin = static_cast<std::size_t>(begin_ % size);
    for (std::size_t i = 0; i <= words; ++i) {
      std::uint64_t bits = filled_[(begin / 64 + i) % words];
      if (i == 0) bits &= ~std::uint64_t{0} << begin % 64;
      if (i == words) bits &= (std::uint64_t{1} << begin % 64) - 1;
      if (bits == 0) continue;
      const std::size_t place = (begin / 64 + i) % words * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return begin_ + static_cast<std::int64_t>((place + size - begin) % size);
    }
    return far_.empty() ? INT64_MAX : far_.top().first;
  }

  // Takes out the sources of next(), in order.
  const std::vector<int>& take() {
    begin_ = next();
    while (!far_.empty() && far_.top().first < begin_ + size) {
      put(far_.top().second, far_.top().first);
      far_.pop();
    }
    const auto place = static_cast<std::size_t>(begin_ % size);
    taken_.clear();
    for (int source = std::exchange(first_[place], -1); source >= 0; source = next_[source]) taken_.push_back(source);
    filled_[place / 64] &= ~(std::uint64_t{1} << place % 64);
    std::sort(taken_.begin(), taken_.end());
    return taken_;
  }

 private:
  static constexpr std::int64_t size = 1024;  // cycles
  static constexpr std::size_t words = size / 64;
  using Event = std::pair<std::int64_t, int>;

  std::int64_t begin_ = 0;                     // the wheel has the cycles from here on
  std::array<std::int32_t, size> first_{};     // by cycle: a source, the others follow it
  std::array<std::uint64_t, words> filled_{};  // cycles with sources, as bits
  std::vector<std::int32_t> next_;             // by source
  std::vector<int> taken_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> far_;
};

// Packets at a rate: Bernoulli trials in as many slots a cycle as the source has ports, drawn as the gaps between
// successes, so that a cycle without packets costs nothing.
class Injection {
 public:
  Injection(const Topology& topology, const Traffic& traffic, double rate, std::uint64_t seed)
      : destinations_(topology, traffic),
        random_(seed),
        flits_(traffic.flits),
        message_class_(traffic.message_class),
        calendar_(static_cast<int>(destinations_.sources().size())) {
    for (std::size_t i = 0; i < destinations_.sources().size(); ++i) {
      const int ports = static_cast<int>(topology.terminals()[destinations_.sources()[i]].ports.size());
      const double chance = rate / traffic.flits / ports;
      if (!(rate >= 0 && rate <= ports)) {
        throw Error(
            Code::configuration, "simulate",
            "rate is " + std::to_string(rate) + " flits per source and cycle, expected 0.." + std::to_string(ports));
      }
      sources_.push_back({ports, chance, chance > 0 && chance < 1 ? 1 / std::log1p(-chance) : 0, -1});
      if (chance > 0) calendar_.put(static_cast<int>(i), advance(sources_.back()));
    }
    next_ = calendar_.next();
  }

  const Destinations& destinations() const { return destinations_; }
  int sources() const { return static_cast<int>(destinations_.sources().size()); }
  // The next cycle with a packet.
  std::int64_t next() const { return next_; }

  // Injects the packets of the network's cycle. One that finds `room` flits in its source queue for each of its ports,
  // or no room in a queue with a bound, is dropped.
  void inject(Network& network, std::uint64_t tag, std::int64_t room, Offer& offer, Backlog* backlog) {
    for (; next_ <= network.now(); next_ = calendar_.next()) {
      for (const int index : calendar_.take()) {
        Source& source = sources_[index];
        std::int64_t then = 0;
        do {
          then = advance(source);
          create(index, source.ports * room, network, tag, offer, backlog);
        } while (then == next_);
        calendar_.put(index, then);
      }
    }
  }

 private:
  struct Source {
    int ports;
    double chance;      // of a packet in a slot
    double per_log;     // 1 / log(1 - chance)
    std::int64_t slot;  // of the next packet, since the start
  };

  // Goes on to the slot of the source's next packet; its cycle.
  std::int64_t advance(Source& source) {
    std::int64_t gap = 1;
    if (source.chance < 1) {
      const double trials = std::log1p(-random_.uniform()) * source.per_log;
      gap += static_cast<std::int64_t>(std::min(trials, 1e15));
    }
    source.slot += gap;
    return source.ports == 1 ? source.slot : source.slot / source.ports;
  }

  void create(int index, std::int64_t room, Network& network, std::uint64_t tag, Offer& offer, Backlog* backlog) {
    const int destination = destinations_.draw(index, random_);
    if (destination < 0) return;
    const int source = destinations_.sources()[index];
    offer.flits += flits_;
    const std::int64_t queued = network.source_queue_flits(source, message_class_);
    const bool dropped = queued >= room || !network.can_inject(source, message_class_, flits_);
    if (backlog != nullptr) backlog->found(index, network.now(), queued, dropped);
    if (dropped) {
      ++offer.dropped;
    } else {
      network.inject({source, destination, message_class_, flits_, tag});
    }
  }

  Destinations destinations_;
  Random random_;
  int flits_;
  int message_class_;
  Calendar calendar_;
  std::vector<Source> sources_;
  std::int64_t next_ = INT64_MAX;
};

}  // namespace dcgn::memnet
