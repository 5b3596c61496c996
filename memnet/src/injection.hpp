// What an open loop's sources create, and how far they fall behind.
#pragma once

#include "memnet/src/network.hpp"
#include "memnet/src/traffic.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
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

// Packets at a rate: Bernoulli trials in as many slots a cycle as the source has ports, drawn as the gaps between
// successes, so that a cycle without packets costs nothing.
class Injection {
 public:
  Injection(const Topology& topology, const Traffic& traffic, double rate, std::uint64_t seed)
      : destinations_(topology, traffic), random_(seed), flits_(traffic.flits), message_class_(traffic.message_class) {
    for (std::size_t i = 0; i < destinations_.sources().size(); ++i) {
      const int ports = static_cast<int>(topology.terminals()[destinations_.sources()[i]].ports.size());
      const double chance = rate / traffic.flits / ports;
      if (!(rate >= 0 && rate <= ports)) {
        throw Error(
            Code::configuration, "simulate",
            "rate is " + std::to_string(rate) + " flits per source and cycle, expected 0.." + std::to_string(ports));
      }
      ports_.push_back(ports);
      chance_.push_back(chance);
      per_log_.push_back(chance > 0 && chance < 1 ? 1 / std::log1p(-chance) : 0);
      if (chance > 0) events_.emplace(gap(static_cast<int>(i)) - 1, static_cast<int>(i));
    }
  }

  const Destinations& destinations() const { return destinations_; }
  int sources() const { return static_cast<int>(destinations_.sources().size()); }
  // The next cycle with a packet.
  std::int64_t next() const { return events_.empty() ? INT64_MAX : events_.top().first / ports_[events_.top().second]; }

  // Injects the packets of the network's cycle. One that finds `room` flits in its source queue for each of its ports,
  // or no room in a queue with a bound, is dropped.
  void inject(Network& network, std::uint64_t tag, std::int64_t room, Offer& offer, Backlog* backlog) {
    while (next() <= network.now()) {
      const auto [slot, index] = events_.top();
      events_.pop();
      events_.emplace(slot + gap(index), index);
      const int destination = destinations_.draw(index, random_);
      if (destination < 0) continue;
      const int source = destinations_.sources()[index];
      offer.flits += flits_;
      const std::int64_t queued = network.source_queue_flits(source, message_class_);
      const bool dropped = queued >= room * ports_[index] || !network.can_inject(source, message_class_, flits_);
      if (backlog != nullptr) backlog->found(index, network.now(), queued, dropped);
      if (dropped) {
        ++offer.dropped;
      } else {
        network.inject({source, destination, message_class_, flits_, tag});
      }
    }
  }

 private:
  std::int64_t gap(int index) {
    if (chance_[index] >= 1) return 1;
    const double trials = std::log1p(-random_.uniform()) * per_log_[index];
    return 1 + static_cast<std::int64_t>(std::min(trials, 1e15));
  }

  // Slots are compared as cycles: those of sources with other numbers of ports are of other lengths.
  struct Later {
    const std::vector<int>* ports;
    bool operator()(const std::pair<std::int64_t, int>& a, const std::pair<std::int64_t, int>& b) const {
      const std::int64_t first = a.first / (*ports)[a.second];
      const std::int64_t second = b.first / (*ports)[b.second];
      return first != second ? first > second : a.second > b.second;
    }
  };

  Destinations destinations_;
  Random random_;
  int flits_;
  int message_class_;
  std::vector<int> ports_;
  std::vector<double> chance_;
  std::vector<double> per_log_;  // 1 / log(1 - chance)
  std::priority_queue<std::pair<std::int64_t, int>, std::vector<std::pair<std::int64_t, int>>, Later> events_{
      Later{&ports_}};
};

}  // namespace dcgn::memnet
