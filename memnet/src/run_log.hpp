// What a run did, written as it goes: each packet, each link over windows of cycles, and counters for a trace viewer.
#pragma once

#include "memnet/src/observer.hpp"
#include "memnet/src/report.hpp"

#include <cstdint>
#include <cstdio>
#include <vector>

namespace dcgn::memnet {

struct Delivery;

class RunLog : public RunObserver {
 public:
  // Those that are not null are written. Not closed, and errors are not looked for: the caller does both.
  struct Files {
    // CSV, a row a packet in the order of deliveries: id, source, destination, class, flits, created, injected,
    // delivered, latency, hops. Times are cycles.
    std::FILE* packets = nullptr;
    // CSV, a row a window and link in one direction: first cycle, the one after its last, from, to, flits, and the
    // share of what the link could carry.
    std::FILE* links = nullptr;
    // JSON trace events of Chrome, which ui.perfetto.dev opens: counters of the network and of each link, a value a
    // window, at the window's start in microseconds.
    std::FILE* counters = nullptr;
  };

  // Writes the heads. Throws Error(configuration) for a window below 1 cycle.
  RunLog(const Topology& topology, double clock_ghz, Files files, std::int64_t window);

  void stepping(const Network& network) override;
  void stepped(const Network& network) override;
  void ended(const Network& network) override;

 private:
  void write_packet(const Delivery& delivery);
  void write_window(const Network& network, std::int64_t end);
  void write_counter(int process, const std::string& name, const char* unit, double value);

  Files files_;
  std::int64_t window_;
  double cycles_per_us_;
  std::vector<NamedLink> links_;
  std::vector<std::int64_t> flits_;  // by link, at the window's start
  std::int64_t start_ = 0;           // of the window
  std::int64_t packets_ = 0;
  std::int64_t delivered_flits_ = 0;  // in the window
  std::int64_t latency_ = 0;          // in the window, summed
  std::int64_t deliveries_ = 0;       // in the window
};

}  // namespace dcgn::memnet
