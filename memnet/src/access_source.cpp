// Where accesses come from: traffic models and traces; and the replay of packets.
#include "memnet/src/endpoint.hpp"
#include "memnet/src/traffic.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn::memnet {

namespace {

class PatternAccesses : public AccessSource {
 public:
  explicit PatternAccesses(const AccessPattern& pattern) : pattern_(pattern), random_(pattern.seed) {
    if (pattern_.line_bytes == 0 || pattern_.bytes < AddressMap::page_bytes) {
      throw Error(Code::configuration, "memnet",
                  "accesses to " + std::to_string(pattern_.bytes) + " bytes in lines of " +
                      std::to_string(pattern_.line_bytes) + ", expected at least a page");
    }
    lines_ = pattern_.bytes / pattern_.line_bytes;
    walk_ = pattern_.start / pattern_.line_bytes;
  }

  Next next(Access& access) override {
    if (done_ == pattern_.count) return Next::end;
    ++done_;
    // Reads and writes each walk on, half of memory apart: a kernel reads one array and writes another.
    access.write = random_.uniform() >= pattern_.read_share;
    access.bytes = access.write ? pattern_.write_bytes : pattern_.line_bytes;
    std::uint64_t line = 0;
    if (pattern_.random_share > 0 && random_.uniform() < pattern_.random_share) {
      line = random_.next() % lines_;
    } else {
      line = (access.write ? walk_ + lines_ / 2 + spread(written_++) : walk_ + spread(read_++)) % lines_;
    }
    access.address = line * pattern_.line_bytes;
    access.earliest = 0;
    return Next::access;
  }

 private:
  // CTAs that are resident together work side by side: the next 4096 lines (128 pages) are taken all over, each once.
  // Odd, the factor is a permutation of them; one more than a multiple of 4, it goes round the local cubes.
  static std::uint64_t spread(std::uint64_t i) { return i / 4096 * 4096 + i * 1021 % 4096; }

  AccessPattern pattern_;
  Random random_;
  std::uint64_t lines_ = 0, walk_ = 0, read_ = 0, written_ = 0;
  std::int64_t done_ = 0;
};

class TraceAccesses : public AccessSource {
 public:
  TraceAccesses(std::shared_ptr<const Trace> trace, std::uint32_t source) : trace_(std::move(trace)), source_(source) {}

  Next next(Access& access) override {
    while (at_ < trace_->records.size()) {
      const TraceRecord& record = trace_->records[at_++];
      if (record.source != source_ || record.kind == TraceKind::packet) continue;
      access = {.address = record.address,
                .bytes = record.size,
                .write = record.kind == TraceKind::write,
                .earliest = static_cast<std::int64_t>(record.cycle)};
      return Next::access;
    }
    return Next::end;
  }

 private:
  std::shared_ptr<const Trace> trace_;
  std::uint32_t source_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<AccessSource> pattern_accesses(const AccessPattern& pattern) {
  return std::make_unique<PatternAccesses>(pattern);
}

std::unique_ptr<AccessSource> trace_accesses(std::shared_ptr<const Trace> trace, std::uint32_t source) {
  return std::make_unique<TraceAccesses>(std::move(trace), source);
}

void check_accesses(const Trace& trace, std::size_t requesters) {
  if (trace.sources > requesters) {
    throw Error(Code::configuration, "memnet",
                "a trace of " + std::to_string(trace.sources) + " sources, expected at most " +
                    std::to_string(requesters) + ", as many as ask for memory");
  }
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    if (trace.records[i].kind != TraceKind::packet) continue;
    throw Error(Code::configuration, "memnet",
                "record " + std::to_string(i) + " is a packet, expected reads and writes alone");
  }
}

void check_packets(const Topology& topology, const Parameters& parameters, const Trace& trace) {
  const auto terminals = topology.terminals().size();
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const TraceRecord& record = trace.records[i];
    if (record.kind != TraceKind::packet) {
      throw Error(Code::configuration, "memnet",
                  "record " + std::to_string(i) + " is a read or write, expected packets alone");
    }
    if (record.source < terminals && record.address < terminals && record.message_class < parameters.message_classes) {
      continue;
    }
    throw Error(Code::configuration, "memnet",
                "record " + std::to_string(i) + " from " + std::to_string(record.source) + " to " +
                    std::to_string(record.address) + " in class " + std::to_string(record.message_class) +
                    ", expected terminals below " + std::to_string(terminals) + " and classes below " +
                    std::to_string(parameters.message_classes));
  }
}

std::vector<Delivery> replay_packets(const Topology& topology, const Parameters& parameters, const Trace& trace,
                                     RunObserver* observer) {
  check_packets(topology, parameters, trace);
  Network network(topology, parameters);
  std::vector<Delivery> all;
  const auto step = [&] {
    if (observer != nullptr) observer->stepping(network);
    network.step();
    if (observer != nullptr) observer->stepped(network);
    all.insert(all.end(), network.deliveries().begin(), network.deliveries().end());
    network.clear_deliveries();
  };
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const TraceRecord& record = trace.records[i];
    const Packet packet{.source = static_cast<int>(record.source),
                        .destination = static_cast<int>(record.address),
                        .message_class = record.message_class,
                        .flits = record.size,
                        .tag = i};
    const auto cycle = static_cast<std::int64_t>(record.cycle);
    while (network.now() < cycle && !network.idle()) step();
    network.advance(std::max(cycle, network.now()));
    // A bounded source queue may be full: the packet then counts as created at its cycle but goes later.
    while (!network.can_inject(packet.source, packet.message_class, packet.flits)) step();
    if (observer != nullptr) observer->stepping(network);
    network.inject(packet, cycle);
  }
  while (!network.idle()) step();
  if (observer != nullptr) observer->ended(network);
  return all;
}

}  // namespace dcgn::memnet
