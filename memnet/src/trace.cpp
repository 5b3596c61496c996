#include "memnet/src/trace.hpp"

#include "base/input_file.hpp"
#include "base/output_file.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

namespace dcgn::memnet {

namespace {

constexpr std::string_view magic = "DCGNTRAC";
constexpr std::uint32_t version = 1;
constexpr std::size_t header_bytes = 24, record_bytes = 24;
// Later ones leave no room for latencies in signed numbers of cycles.
constexpr std::uint64_t most_cycle = (std::uint64_t{1} << 62) - 1;

template <class Number>
void put(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    out.push_back(static_cast<char>(static_cast<std::uint64_t>(number) >> 8 * i & 0xff));
  }
}

template <class Number>
Number get(std::string_view text, std::size_t offset) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= std::uint64_t{static_cast<unsigned char>(text[offset + i])} << 8 * i;
  }
  return static_cast<Number>(number);
}

// What is wrong with a record, and how many bytes into it.
struct Fault {
  std::size_t offset;
  std::string text;
};

std::optional<Fault> fault_of(const TraceRecord& record, std::uint32_t sources, std::uint64_t last_cycle) {
  if (record.cycle < last_cycle) {
    return Fault{0, "cycle " + std::to_string(record.cycle) + ", expected " + std::to_string(last_cycle) + " or later"};
  }
  if (record.cycle > most_cycle) {
    return Fault{0, "cycle " + std::to_string(record.cycle) + ", expected less than 2^62"};
  }
  if (record.source >= sources) {
    return Fault{16, "source " + std::to_string(record.source) + ", expected less than " + std::to_string(sources)};
  }
  if (record.size == 0) return Fault{20, "size 0, expected 1 or more"};
  if (record.kind > TraceKind::packet) {
    return Fault{22, "kind " + std::to_string(static_cast<int>(record.kind)) + ", expected 0..2"};
  }
  if (record.kind != TraceKind::packet && record.message_class != 0) {
    return Fault{23, "message class " + std::to_string(record.message_class) + " of an access, expected 0"};
  }
  return std::nullopt;
}

[[noreturn]] void fail_at(const std::string& path, std::size_t offset, const std::string& text) {
  throw Error(Code::io, "memnet", path + ": offset " + std::to_string(offset) + ": " + text);
}

// A line's numbers, or what is wrong with it.
std::string read_line(std::string_view line, std::vector<std::uint64_t>& numbers) {
  constexpr std::string_view between = " \t\r,";
  numbers.clear();
  for (std::size_t at = line.find_first_not_of(between); at < line.size(); at = line.find_first_not_of(between, at)) {
    const std::string_view word = line.substr(at, line.find_first_of(between, at) - at);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      return "\"" + std::string(word) + "\", expected a whole number of 0 or more";
    }
    numbers.push_back(number);
    at += word.size();
  }
  if (numbers.empty() || numbers.size() == 5) return {};
  return std::to_string(numbers.size()) + " numbers, expected 5: cycle source destination vnet flits";
}

// What of its fields a record does not hold.
std::string beyond_record(const std::vector<std::uint64_t>& numbers) {
  if (numbers[1] >= UINT32_MAX) return "source " + std::to_string(numbers[1]) + ", expected less than 2^32 - 1";
  if (numbers[3] > UINT8_MAX) return "vnet " + std::to_string(numbers[3]) + ", expected 0..255";
  if (numbers[4] > UINT16_MAX) return "flits " + std::to_string(numbers[4]) + ", expected 1..65535";
  return {};
}

}  // namespace

void write_trace(const std::string& path, const Trace& trace) {
  base::OutputFile file(path);
  write_trace(file, trace);
}

void write_trace(base::OutputFile& file, const Trace& trace) {
  std::string out(magic);
  put(out, version);
  put(out, trace.sources);
  put(out, static_cast<std::uint64_t>(trace.records.size()));
  out.reserve(header_bytes + record_bytes * trace.records.size());
  std::uint64_t last_cycle = 0;
  for (std::size_t i = 0; i < trace.records.size(); ++i) {
    const TraceRecord& record = trace.records[i];
    if (const auto fault = fault_of(record, trace.sources, last_cycle)) {
      throw Error(Code::invalid_size, "memnet", file.path() + ": record " + std::to_string(i) + ": " + fault->text);
    }
    last_cycle = record.cycle;
    put(out, record.cycle);
    put(out, record.address);
    put(out, record.source);
    put(out, record.size);
    put(out, static_cast<std::uint8_t>(record.kind));
    put(out, record.message_class);
  }
  file.write(out);
}

Trace parse_packets(const std::string& content, const std::string& path) {
  Trace trace;
  std::vector<std::uint64_t> numbers;
  std::uint64_t last_cycle = 0;
  int number = 0;
  for (std::size_t at = 0; at < content.size();) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    const std::string_view line = std::string_view(content).substr(at, end - at);
    at = end + 1;
    ++number;
    std::string fault = read_line(line.substr(0, line.find('#')), numbers);
    if (fault.empty() && numbers.empty()) continue;
    if (fault.empty()) fault = beyond_record(numbers);
    TraceRecord record;
    if (fault.empty()) {
      record.cycle = numbers[0];
      record.address = numbers[2];
      record.source = static_cast<std::uint32_t>(numbers[1]);
      record.size = static_cast<std::uint16_t>(numbers[4]);
      record.kind = TraceKind::packet;
      record.message_class = static_cast<std::uint8_t>(numbers[3]);
      const auto found = fault_of(record, record.source + 1, last_cycle);
      if (found) fault = found->text;
    }
    if (!fault.empty()) {
      std::string place = path;
      place.append(":").append(std::to_string(number)).append(": ");
      throw Error(Code::io, "memnet", place + fault);
    }
    last_cycle = record.cycle;
    trace.sources = std::max(trace.sources, record.source + 1);
    trace.records.push_back(record);
  }
  return trace;
}

Trace read_trace(const std::string& path) {
  if (path.size() > 4 && path.compare(path.size() - 4, 4, ".txt") == 0) {
    return parse_packets(base::read_file(path, "memnet"), path);
  }
  const std::string content = base::read_file(path, "memnet");
  if (content.size() < header_bytes) {
    fail_at(path, content.size(), "the file ends, expected a header of " + std::to_string(header_bytes) + " bytes");
  }
  if (std::string_view(content).substr(0, magic.size()) != magic)
    fail_at(path, 0, "not a trace, expected \"DCGNTRAC\"");
  const auto its_version = get<std::uint32_t>(content, 8);
  if (its_version != version) {
    fail_at(path, 8, "version " + std::to_string(its_version) + ", expected " + std::to_string(version));
  }
  Trace trace;
  trace.sources = get<std::uint32_t>(content, 12);
  const auto count = get<std::uint64_t>(content, 16);
  const std::size_t there = content.size() - header_bytes;
  if (count != there / record_bytes || there % record_bytes != 0) {
    fail_at(path, 16,
            std::to_string(count) + " records, but " + std::to_string(there) + " bytes follow, expected " +
                std::to_string(record_bytes) + " a record");
  }
  trace.records.reserve(count);
  std::uint64_t last_cycle = 0;
  for (std::size_t at = header_bytes; at < content.size(); at += record_bytes) {
    TraceRecord record;
    record.cycle = get<std::uint64_t>(content, at);
    record.address = get<std::uint64_t>(content, at + 8);
    record.source = get<std::uint32_t>(content, at + 16);
    record.size = get<std::uint16_t>(content, at + 20);
    record.kind = static_cast<TraceKind>(get<std::uint8_t>(content, at + 22));
    record.message_class = get<std::uint8_t>(content, at + 23);
    if (const auto fault = fault_of(record, trace.sources, last_cycle)) fail_at(path, at + fault->offset, fault->text);
    last_cycle = record.cycle;
    trace.records.push_back(record);
  }
  return trace;
}

}  // namespace dcgn::memnet
