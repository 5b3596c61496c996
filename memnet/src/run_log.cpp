#include "memnet/src/run_log.hpp"

#include "memnet/src/fail.hpp"
#include "memnet/src/network.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>

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

// " #2" for the second of links with the same ends.
std::string name_of(const NamedLink& link) {
  return link.from + " to " + link.to + (link.number > 1 ? " #" + std::to_string(link.number) : "");
}

}  // namespace

RunLog::RunLog(const Topology& topology, double clock_ghz, Files files, std::int64_t window)
    : files_(files), window_(window), cycles_per_us_(1000 * clock_ghz), links_(named_links(topology)) {
  if (window < 1) fail("memnet", "window is " + std::to_string(window) + " cycles, expected 1 or more");
  flits_.assign(links_.size(), 0);
  if (files_.packets != nullptr) {
    put(files_.packets, "id,source,destination,class,flits,created,injected,delivered,latency,hops\n");
  }
  if (files_.links != nullptr) put(files_.links, "start,end,from,to,number,flits,use\n");
  if (files_.counters != nullptr) {
    put(files_.counters,
        "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n"
        "{\"ph\": \"M\", \"pid\": 1, \"name\": \"process_name\", \"args\": {\"name\": \"network\"}},\n"
        "{\"ph\": \"M\", \"pid\": 2, \"name\": \"process_name\", \"args\": {\"name\": \"links\"}}");
  }
}

// A jump over idle cycles may have passed any number of windows.
void RunLog::stepping(const Network& network) {
  if (stepped_ && network.now() - start_ >= window_) write_window(network, start_ + window_);
  const std::int64_t idle = (network.now() - start_) / window_;
  if (idle > 0) write_window(network, start_ + idle * window_);
}

void RunLog::stepped(const Network& network) {
  stepped_ = true;
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
  if (files_.counters != nullptr) put(files_.counters, "\n]}\n");
}

void RunLog::put(std::FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  if (std::ferror(file) == 0) return;
  const int error = errno;
  const char* const what = file == files_.packets ? "packets" : file == files_.links ? "links" : "counters";
  throw Error(Code::io, "memnet", std::string("the log of ") + what + " cannot be written: " + std::strerror(error));
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
  put(files_.packets, line + "\n");
}

void RunLog::write_counter(int process, const std::string& name, std::int64_t cycle, const char* unit, double value) {
  put(files_.counters, ",\n{\"ph\": \"C\", \"pid\": " + std::to_string(process) + ", \"name\": " + json_text(name) +
                           ", \"ts\": " + to_text(static_cast<double>(cycle) / cycles_per_us_) + ", \"args\": {\"" +
                           unit + "\": " + to_text(value) + "}}");
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
        put(files_.links, std::to_string(start_) + "," + std::to_string(end) + "," + link.from + "," + link.to + "," +
                              std::to_string(link.number) + "," + std::to_string(flits) + "," + to_text(use) + "\n");
      }
      if (files_.counters != nullptr) write_counter(links_process, name_of(link), start_, "use", use);
    }
    flits_ = now;
    if (files_.counters != nullptr) {
      std::int64_t queued = 0;
      for (int t = 0; t < static_cast<int>(network.topology().terminals().size()); ++t) {
        for (int c = 0; c < network.parameters().message_classes; ++c) queued += network.source_queue_flits(t, c);
      }
      const Counters& counters = network.counters();
      write_counter(network_process, "highest use of a link", start_, "use", most);
      write_counter(network_process, "source queues", end, "flits", static_cast<double>(queued));
      write_counter(network_process, "in the network", end, "flits",
                    static_cast<double>(counters.injected_flits - counters.delivered_flits));
      write_counter(network_process, "delivered", start_, "flits per cycle",
                    static_cast<double>(delivered_flits_) / cycles);
      if (deliveries_ > 0) {
        write_counter(network_process, "mean latency", start_, "cycles",
                      static_cast<double>(latency_) / static_cast<double>(deliveries_));
      }
    }
  }
  start_ = end;
  stepped_ = false;
  delivered_flits_ = 0;
  latency_ = 0;
  deliveries_ = 0;
}

}  // namespace dcgn::memnet
