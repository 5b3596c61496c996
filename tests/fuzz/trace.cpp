// Traces of jobs. What is read can be analysed and drawn, and is the same when it is written and read again.
#include "fuzz.hpp"

#include "message/describe.hpp"
#include "trace/analysis.hpp"
#include "trace/html.hpp"
#include "trace/read_document.hpp"

#include <ostream>
#include <sstream>

using namespace dcgn;
using namespace dcgn::trace;

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
    result += c == '"' || c == '\\'                  ? std::string("\\") + c
              : static_cast<unsigned char>(c) < 0x20 ? escaped
                                                     : std::string(1, c);
  }
  return result + '"';
}

std::string microseconds(std::uint64_t ns) {
  std::string digits = std::to_string(ns % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return std::to_string(ns / 1000) + "." + digits;
}

// What stands there of it, whatever the reader has passed over.
std::string text_of(const Document& d) {
  std::ostringstream out;
  int thread = 0;
  const auto entry = [&](const char* phase, const std::string& name, std::int64_t process, const std::string& args,
                         const std::string& more = "") {
    out << R"({"ph":")" << phase << R"(","name":)" << quoted(name) << ",\"pid\":" << process << ",\"tid\":" << thread
        << more << ",\"args\":{" << args << "}},\n";
  };
  const auto span = [](const char* category, const auto& e) {
    return std::string(",\"cat\":\"") + category + "\",\"ts\":" + microseconds(e.begin_ns) +
           ",\"dur\":" + microseconds(e.end_ns - e.begin_ns);
  };
  const auto field = [](const char* name, auto value) {
    return std::string("\"") + name + "\":" + std::to_string(value) + ",";
  };
  out << "{\"traceEvents\":[\n";
  for (const Rank& r : d.ranks) {
    entry("M", "thread_name", r.process,
          field("rank", r.rank) + field("process", r.process) + field("node", r.node) + field("device", r.device) +
              field("slot", r.slot) + field("cpu", r.cpu) + "\"dropped\":" + std::to_string(r.dropped));
    for (const Event& e : r.events)
      entry("X", std::string(message::to_string(e.call)), r.process,
            field("peer", e.peer) + field("tag", e.tag) + field("communicator", e.communicator) +
                field("bytes", e.bytes) + field("request", e.request) + field("from", e.from) +
                field("from_tag", e.from_tag) + "\"from_bytes\":" + std::to_string(e.from_bytes) +
                (e.slow == message::Reason::none ? "" : ",\"slow\":" + quoted(message::to_string(e.slow))),
            span("call", e));
    ++thread;
  }
  for (const Device& device : d.devices) {
    entry("M", "thread_name", device.process,
          field("process", device.process) + field("node", device.node) + field("device", device.device) +
              "\"device_name\":" + quoted(device.name));
    for (const Activity& a : device.activities)
      entry("X", a.name, device.process, "\"bytes\":" + std::to_string(a.bytes),
            span(a.kind == Activity::Kind::copy ? "copy" : "kernel", a));
    ++thread;
  }
  out << "{}],\"otherData\":{\"dcgn\":1,\"program\":" << quoted(d.program) << ",\"clock_error_ns\":" << d.clock_error_ns
      << "}}\n";
  return out.str();
}

Document read(const std::string& text) {
  std::istringstream in(text);
  return read_chrome(in, "in.json");
}

class Nowhere : public std::streambuf {
 protected:
  int overflow(int c) override { return c; }
  std::streamsize xsputn(const char*, std::streamsize size) override { return size; }
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Document document;
  if (!fuzz::is_taken([&] { document = read(fuzz::text_of(data, size)); })) return 0;
  const std::string written = text_of(document);
  std::string again;
  fuzz::require(fuzz::is_taken([&] { again = text_of(read(written)); }), "what is written is read");
  if (again != written) std::fprintf(stderr, "%s\nbecame\n%s\n", written.c_str(), again.c_str());
  fuzz::require(again == written, "what is read again is the same");
  Nowhere nowhere;
  std::ostream page(&nowhere);
  write_html(document, page);
  return 0;
}
