// The files of a configuration: its own, of this simulator or of booksim2, and the traces that its keys name; and what
// place of it an error is about.
#include "base/input_file.hpp"
#include "memnet/src/booksim.hpp"
#include "memnet/src/config.hpp"
#include "memnet/src/config_parts.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace dcgn::memnet {

namespace {

// What `read` throws, with the place of a key.
template <class Read>
auto at_place(const Configuration& configuration, const char* key, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.code(), "configuration", configuration.places.find(key)->second + ": " + detail_of(error));
  }
}

}  // namespace

base::KernelTrace Configuration::kernel_trace() const {
  return at_place(*this, kind == RunKind::system ? "system.trace" : "kernels.trace",
                  [&] { return base::read_kernel_trace(kernels.trace); });
}

Trace Configuration::packet_trace() const {
  return at_place(*this, "replay.trace", [&] {
    Trace read = read_trace(packets);
    check_packets(topology, parameters, read);
    return read;
  });
}

std::vector<Requester> Configuration::requesters() const {
  std::shared_ptr<const Trace> trace;
  if (!plan.trace.empty()) {
    trace = std::make_shared<const Trace>(at_place(*this, "requests.trace", [&] {
      Trace read = read_trace(plan.trace);
      check_accesses(read, plan.terminals.size());
      return read;
    }));
  }
  std::vector<Requester> made;
  const std::uint64_t n = plan.terminals.size();
  for (std::uint64_t i = 0; i < n; ++i) {
    Requester requester;
    requester.terminal = plan.terminals[i];
    requester.window = plan.window;
    requester.gap_cycles = plan.gap_cycles;
    if (trace) {
      requester.source = trace_accesses(trace, static_cast<std::uint32_t>(i));
      requester.count = std::count_if(trace->records.begin(), trace->records.end(),
                                      [i](const auto& record) { return record.source == i; });
    } else {
      AccessPattern pattern = plan.pattern;
      // Each has a part of memory to walk through, as chunks of CTAs have.
      pattern.start = pattern.bytes / n * i / pattern.line_bytes * pattern.line_bytes;
      pattern.seed = parameters.seed * 1000 + i;
      requester.source = pattern_accesses(pattern);
      requester.count = pattern.count;
    }
    made.push_back(std::move(requester));
  }
  return made;
}

Error Configuration::explain(const Error& error) const {
  const std::string text = detail_of(error);
  const char* key = nullptr;
  if (text.find("deadlock") != std::string::npos) {
    key = "deadlock";
  } else if (text.find(" ports, expected at most") != std::string::npos) {
    key = "ports";
  } else if (text.rfind("warmup_cycles + measure_cycles is ", 0) == 0) {
    key = "cycles";
  } else if (error.operation() == "topology") {
    key = "topology.kind";
  } else if (error.operation() == "traffic") {
    key = "traffic.pattern";
  } else if (!plan.trace.empty() && (text.rfind("an access of ", 0) == 0 || text.rfind("address ", 0) == 0)) {
    key = "requests.trace";
  } else if (text.rfind("rate ", 0) == 0) {
    key = "traffic.load";
  }
  if (error.code() != Code::configuration || key == nullptr) return error;
  return {error.code(), error.operation(), places.find(key)->second + ": " + text};
}

Configuration load_configuration(const std::string& file, const std::vector<std::string>& settings) {
  if (!is_booksim(file)) return parse_configuration(base::read_configuration(file, file), file, settings);
  const BooksimConfiguration read = load_booksim(file, settings);
  Configuration made = parse_configuration(read.toml, file, read.own, false);
  if (!read.network_file.empty()) made.files.emplace_back("network_file", read.network_file);
  for (const BooksimNote& note : read.notes) {
    if (!note.taken)
      made.ignored.push_back(note.place + ": " + note.key + " = " + note.value + ": ignored: " + note.reason);
  }
  return made;
}

}  // namespace dcgn::memnet
