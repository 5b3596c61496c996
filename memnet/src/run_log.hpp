// What a run did, written as it goes: each packet, each link over windows of cycles, and counters for a trace viewer.
#pragma once

#include "memnet/src/observer.hpp"
#include "memnet/src/report.hpp"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace dcgn::memnet {

struct Delivery;

class RunLog : public RunObserver {
 public:
  // Those that are not null are written, and not closed.
  struct Files {
    // CSV, a row a packet in the order of deliveries: id, source, destination, class, flits, created, injected,
    // delivered, latency, hops. Times are cycles.
    std::FILE* packets = nullptr;
    // CSV, a row a window and link in one direction: first cycle, the one after its last, from, to, the link's number
    // among those with the same ends, flits, and the share of what the link could carry. Windows in a row that a jump
    // over idle cycles has passed are one.
    std::FILE* links = nullptr;
    // JSON trace events of Chrome, which ui.perfetto.dev opens: counters of the network and of each link, a value a
    // window, in microseconds. What is in queues and in the network stands at the window's end; rates and means stand
    // at its start, a mean latency only where something was delivered.
    std::FILE* counters = nullptr;
  };

  // Writes the heads. Throws Error(configuration) for a window below 1 cycle. As all calls: throws Error(io) where a
  // file cannot be written, as soon as the C library says so.
  RunLog(const Topology& topology, double clock_ghz, Files files, std::int64_t window);

  void stepping(const Network& network) override;
  void stepped(const Network& network) override;
  void ended(const Network& network) override;

 private:
  void put(std::FILE* file, const std::string& text);
  void write_packet(const Delivery& delivery);
  void write_window(const Network& network, std::int64_t end);
  void write_counter(int process, const std::string& name, std::int64_t cycle, const char* unit, double value);

  Files files_;
  std::int64_t window_;
  double cycles_per_us_;
  std::vector<NamedLink> links_;
  std::vector<std::int64_t> flits_;  // by link, at the window's start
  std::int64_t start_ = 0;           // of the window
  bool stepped_ = false;             // a cycle of it was simulated
  std::int64_t packets_ = 0;
  std::int64_t delivered_flits_ = 0;  // in the window
  std::int64_t latency_ = 0;          // in the window, summed
  std::int64_t deliveries_ = 0;       // in the window
};

}  // namespace dcgn::memnet
