#include "memnet/src/run_log.hpp"

#include "memnet/src/fail.hpp"
#include "memnet/src/network.hpp"

#include <algorithm>

namespace dcgn::memnet {

namespace {

constexpr int network_process = 1;
constexpr int links_process = 2;

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void put_line(std::FILE* file, const std::string& line) { std::fwrite(line.data(), 1, line.size(), file); }

}  // namespace

RunLog::RunLog(const Topology& topology, double clock_ghz, Files files, std::int64_t window)
    : files_(files), window_(window), cycles_per_us_(1000 * clock_ghz), links_(named_links(topology)) {
  if (window < 1) fail("memnet", "window is " + std::to_string(window) + " cycles, expected 1 or more");
  flits_.assign(links_.size(), 0);
  if (files_.packets != nullptr) {
    put_line(files_.packets, "id,source,destination,class,flits,created,injected,delivered,latency,hops\n");
  }
  if (files_.links != nullptr) put_line(files_.links, "start,end,from,to,flits,use\n");
  if (files_.counters != nullptr) {
    put_line(files_.counters,
             "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
             "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"network\"}},\n"
             "{\"ph\": \"M\", \"pid\": 2, \"name\": \"process_name\", \"args\": {\"name\": \"links\"}}");
  }
}

void RunLog::stepping(const Network& network) {
  while (start_ + window_ <= network.now()) write_window(network, start_ + window_);
}

void RunLog::stepped(const Network& network) {
  for (const Delivery& delivery : network.deliveries()) {
    if (files_.packets != nullptr) write_packet(delivery);
    ++packets_;
    ++deliveries_;
    latency_ += delivery.delivered - delivery.created;
    delivered_flits_ += delivery.packet.flits;
  }
}

void RunLog::ended(const Network& network) {
  stepping(network);
  if (start_ < network.now()) write_window(network, network.now());
  if (files_.counters != nullptr) put_line(files_.counters, "\n]}\n");
}

void RunLog::write_packet(const Delivery& delivery) {
  const Packet& packet = delivery.packet;
  std::string line = std::to_string(packets_);
  for (const std::int64_t field :
       {std::int64_t{packet.source}, std::int64_t{packet.destination}, std::int64_t{packet.message_class},
        std::int64_t{packet.flits}, delivery.created, delivery.injected, delivery.delivered,
        delivery.delivered - delivery.created, std::int64_t{delivery.hops}}) {
    line += "," + std::to_string(field);
  }
  put_line(files_.packets, line + "\n");
}

void RunLog::write_counter(int process, const std::string& name, const char* unit, double value) {
  put_line(files_.counters, ",\n{\"ph\": \"C\", \"pid\": " + std::to_string(process) + ", \"name\": " +
                                json_text(name) + ", \"ts\": " + to_text(static_cast<double>(start_) / cycles_per_us_) +
                                ", \"args\": {\"" + unit + "\": " + to_text(value) + "}}");
}

void RunLog::write_window(const Network& network, std::int64_t end) {
  const double cycles = static_cast<double>(end - start_);
  if (files_.links != nullptr || files_.counters != nullptr) {
    const std::vector<std::int64_t> now = flits_of_links(network);
    double most = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const NamedLink& link = links_[i];
      const std::int64_t flits = now[i] - flits_[i];
      const double use = static_cast<double>(flits) / (cycles * link.bandwidth);
      most = std::max(most, use);
      if (files_.links != nullptr) {
        put_line(files_.links, std::to_string(start_) + "," + std::to_string(end) + "," + link.from + "," + link.to +
                                   "," + std::to_string(flits) + "," + to_text(use) + "\n");
      }
      if (files_.counters != nullptr) write_counter(links_process, link.from + " to " + link.to, "use", use);
    }
    flits_ = now;
    if (files_.counters != nullptr) {
      std::int64_t queued = 0;
      for (int t = 0; t < static_cast<int>(network.topology().terminals().size()); ++t) {
        for (int c = 0; c < network.parameters().message_classes; ++c) queued += network.source_queue_flits(t, c);
      }
      const Counters& counters = network.counters();
      write_counter(network_process, "highest use of a link", "use", most);
      write_counter(network_process, "source queues", "flits", static_cast<double>(queued));
      write_counter(network_process, "in the network", "flits",
                    static_cast<double>(counters.injected_flits - counters.delivered_flits));
      write_counter(network_process, "delivered", "flits per cycle", static_cast<double>(delivered_flits_) / cycles);
      const double mean = deliveries_ > 0 ? static_cast<double>(latency_) / static_cast<double>(deliveries_) : 0;
      write_counter(network_process, "mean latency", "cycles", mean);
    }
  }
  start_ = end;
  delivered_flits_ = 0;
  latency_ = 0;
  deliveries_ = 0;
}

}  // namespace dcgn::memnet
