#include "trace/chrome.hpp"

#include "message/describe.hpp"
#include "trace/analysis.hpp"
#include "trace/words.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dcgn::trace {

namespace {

// Text that goes out piece by piece.
class Text {
 public:
  explicit Text(std::ostream& out) : out_(out) { text_.reserve(2 * most); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { flush(); }

  Text& operator<<(std::string_view piece) {
    text_ += piece;
    if (text_.size() > most) flush();
    return *this;
  }
  template <std::integral Number>
  Text& operator<<(Number number) {
    char digits[24];
    text_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return *this;
  }
  // Microseconds with three decimals.
  Text& time(std::uint64_t ns) {
    *this << ns / 1000;
    const auto rest = static_cast<unsigned>(ns % 1000);
    const char decimals[] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                             static_cast<char>('0' + rest % 10)};
    return *this << std::string_view(decimals, sizeof decimals);
  }
  Text& quoted(std::string_view words) {
    constexpr const char* hex = "0123456789abcdef";
    *this << "\"";
    for (const char c : words) {
      const auto code = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\')
        (text_ += '\\') += c;
      else if (code < 0x20)
        ((text_ += "\\u00") += hex[code / 16]) += hex[code % 16];
      else
        text_ += c;
    }
    return *this << "\"";
  }

 private:
  static constexpr std::size_t most = 1u << 16;
  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

  std::ostream& out_;
  std::string text_;
};

// What stands before all events but the first.
class Separator {
 public:
  std::string_view next() { return std::exchange(first_, false) ? "\n" : ",\n"; }

 private:
  bool first_ = true;
};

class ChromeWriter {
 public:
  ChromeWriter(const Document& document, std::ostream& out) : document_(document), text_(out) {}

  void write() {
    text_ << "{\"traceEvents\":[";
    name_groups();
    for (const Rank& r : document_.ranks) {
      name_rank(r);
      for (const Event& e : r.events) call(r, e);
    }
    for (std::size_t d = 0; d < document_.devices.size(); ++d) {
      name_device(d);
      for (const Activity& a : document_.devices[d].activities) activity(d, a);
    }
    const auto ended_by = ends_of(document_);
    std::size_t number = 0;
    for (const Message& m : matched_messages(document_)) arrow(m, ended_by, ++number);
    text_ << "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"dcgn\":1,\"program\":";
    text_.quoted(document_.program) << ",\"clock_error_ns\":" << document_.clock_error_ns << "}}\n";
  }

 private:
  // Threads are numbered through, ranks first.
  std::size_t thread_of(std::size_t device) const {
    return (document_.ranks.empty() ? 0 : static_cast<std::size_t>(document_.ranks.back().rank) + 1) + device;
  }

  void name_groups() {
    std::map<int, int> processes;  // by node
    for (const Rank& r : document_.ranks) processes[r.node] = r.process;
    for (const Device& d : document_.devices) processes[d.node] = d.process;
    for (const auto& [node, process] : processes) {
      text_ << separator_.next() << "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" << node
            << ",\"args\":{\"name\":\"node " << node << " (process " << process << ")\"}}";
      text_ << separator_.next() << "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" << node
            << ",\"args\":{\"sort_index\":" << node << "}}";
    }
  }

  template <class Number>
  void sort(int node, Number thread, std::int64_t place) {
    text_ << separator_.next() << "{\"ph\":\"M\",\"name\":\"thread_sort_index\",\"pid\":" << node
          << ",\"tid\":" << thread << ",\"args\":{\"sort_index\":" << place << "}}";
  }

  void name_rank(const Rank& r) {
    text_ << separator_.next() << "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" << r.node << ",\"tid\":" << r.rank
          << ",\"args\":{\"name\":\"" << name_of(r) << " (rank " << r.rank << ")\",\"rank\":" << r.rank
          << ",\"process\":" << r.process << ",\"node\":" << r.node << ",\"device\":" << r.device
          << ",\"slot\":" << r.slot << ",\"cpu\":" << r.cpu << ",\"dropped\":" << r.dropped << "}}";
    sort(r.node, r.rank, 2 * std::int64_t{r.rank} + 1);
  }

  // A device stands above its slots.
  void name_device(std::size_t index) {
    const Device& d = document_.devices[index];
    const auto slot = std::find_if(document_.ranks.begin(), document_.ranks.end(),
                                   [&](const Rank& r) { return r.node == d.node && r.device == d.device; });
    text_ << separator_.next() << "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" << d.node
          << ",\"tid\":" << thread_of(index) << ",\"args\":{\"name\":\"GPU " << d.device << "\",\"device_name\":";
    text_.quoted(d.name) << ",\"process\":" << d.process << ",\"node\":" << d.node << ",\"device\":" << d.device
                         << "}}";
    sort(
        d.node, thread_of(index),
        slot == document_.ranks.end() ? 2 * static_cast<std::int64_t>(thread_of(index)) : 2 * std::int64_t{slot->rank});
  }

  template <class Number>
  void slice(std::string_view name, std::string_view category, int node, Number thread, std::uint64_t begin,
             std::uint64_t end) {
    text_ << separator_.next() << "{\"ph\":\"X\",\"name\":";
    text_.quoted(name) << ",\"cat\":\"" << category << "\",\"pid\":" << node << ",\"tid\":" << thread << ",\"ts\":";
    text_.time(begin) << ",\"dur\":";
    text_.time(end - begin) << ",\"args\":{";
  }

  void call(const Rank& r, const Event& e) {
    slice(message::to_string(e.call), "call", r.node, r.rank, e.begin_ns, e.end_ns);
    text_ << "\"peer\":" << e.peer << ",\"tag\":" << e.tag << ",\"communicator\":" << e.communicator
          << ",\"bytes\":" << e.bytes << ",\"request\":" << e.request << ",\"from\":" << e.from
          << ",\"from_tag\":" << e.from_tag << ",\"from_bytes\":" << e.from_bytes;
    if (e.slow != message::Reason::none) (text_ << ",\"slow\":").quoted(message::to_string(e.slow));
    text_ << "}}";
  }

  void activity(std::size_t device, const Activity& a) {
    slice(a.name, a.kind == Activity::Kind::kernel ? "kernel" : "copy", document_.devices[device].node,
          thread_of(device), a.begin_ns, a.end_ns);
    text_ << "\"bytes\":" << a.bytes << "}}";
  }

  // From the send to the call that had the message: what began an irecv is over long before.
  void arrow(const Message& m, const std::vector<std::vector<std::size_t>>& ended_by, std::size_t number) {
    const Rank &from = document_.ranks[static_cast<std::size_t>(m.sender)],
               &to = document_.ranks[static_cast<std::size_t>(m.receiver)];
    const Event& got = to.events[ended_by[static_cast<std::size_t>(m.receiver)][m.receive]];
    end_of_arrow("s", from, from.events[m.send].begin_ns, number);
    // Within its slice, whose end is none of it.
    end_of_arrow("f", to, std::max(got.begin_ns, got.end_ns - std::min<std::uint64_t>(got.end_ns, 1)), number);
  }
  void end_of_arrow(std::string_view phase, const Rank& rank, std::uint64_t time, std::size_t number) {
    text_ << separator_.next() << "{\"ph\":\"" << phase
          << "\",\"name\":\"message\",\"cat\":\"message\",\"id\":" << number << ",\"pid\":" << rank.node
          << ",\"tid\":" << rank.rank << ",\"ts\":";
    text_.time(time) << (phase == "f" ? ",\"bp\":\"e\"}" : "}");
  }

  const Document& document_;
  Text text_;
  Separator separator_;
};

}  // namespace

void write_chrome(const Document& document, std::ostream& out) { ChromeWriter(document, out).write(); }

}  // namespace dcgn::trace
