#include "trace/html.hpp"

#include "base/text.hpp"

#include "dcgn_page.hpp"
#include "message/describe.hpp"
#include "trace/words.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <ostream>
#include <string>
#include <string_view>

namespace dcgn::trace {

namespace {

// In quotes, for JSON inside a script element.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += c;
    }
  }
  return out + '"';
}

template <class Range, class Text>
std::string list(const Range& range, const Text& text) {
  std::string out = "[";
  for (const auto& one : range) {
    if (out.size() > 1) out += ',';
    out += text(one);
  }
  return out + ']';
}

// What a call is drawn as: page/model.js has the kinds' names in this order.
int kind_of(message::Call call) {
  using enum message::Call;
  switch (call) {
    case send:
    case ssend:
    case bsend:
    case isend: return 0;
    case recv:
    case irecv: return 1;
    case sendrecv:
    case sendrecv_replace: return 2;
    case wait:
    case wait_any:
    case wait_all:
    case finish: return 3;
    case none:
    case probe:
    case iprobe:
    case test: return 5;
    case barrier:
    case broadcast:
    case reduce:
    case all_reduce:
    case reduce_scatter:
    case reduce_scatterv:
    case gather:
    case gatherv:
    case scatter:
    case scatterv:
    case all_gather:
    case all_gatherv:
    case all_to_all:
    case all_to_allv:
    case scan:
    case exclusive_scan:
    case split:
    case dup:
    case cart: return 4;
  }
  return 5;
}

std::string meta_of(const Document& d, const Analysis& a) {
  const auto number = [](auto value) { return std::to_string(value); };
  const bool with_node = has_several_nodes(d);
  std::string text = "{\"program\":" + quoted(d.program) + ",\"summary\":" + quoted(summary_of(d, a)) +
                     ",\"duration\":" + number(a.duration_ns()) + ",\"begin\":" + number(a.begin_ns) +
                     ",\"clockError\":" + number(d.clock_error_ns) + ",\"calls\":[";
  for (std::uint32_t c = 0; c <= static_cast<std::uint32_t>(message::Call::cart); ++c) {
    const auto call = static_cast<message::Call>(c);
    text += (c ? ",[" : "[") + quoted(message::to_string(call)) + ',' + number(kind_of(call)) + ']';
  }
  text += "],\"reasons\":[";
  for (std::uint32_t i = 0; i < message::reasons; ++i)
    text += (i ? "," : "") + quoted(message::to_string(static_cast<message::Reason>(i)));
  text += "],\"ranks\":" + list(d.ranks, [&](const Rank& r) {
            const std::string cpu = r.device >= 0 ? "" : "CPUs";
            const std::string group =
                (with_node ? "Node " + number(r.node) + " " : "") + (r.device >= 0 ? "GPU " + number(r.device) : cpu);
            return "{\"name\":" + quoted(name_of(r)) + ",\"full\":" + quoted(name_of(r, with_node)) +
                   ",\"group\":" + quoted(group) + ",\"process\":" + number(r.process) + ",\"node\":" + number(r.node) +
                   ",\"device\":" + number(r.device) + ",\"events\":" + number(r.events.size()) +
                   ",\"dropped\":" + number(r.dropped) + '}';
          });
  text += ",\"devices\":" + list(d.devices, [&](const Device& v) {
            return "{\"name\":" + quoted(v.name) + ",\"group\":" +
                   quoted((with_node ? "Node " + number(v.node) + " " : "") + "GPU " + number(v.device)) +
                   ",\"process\":" + number(v.process) + ",\"node\":" + number(v.node) +
                   ",\"device\":" + number(v.device) + ",\"activities\":" + number(v.activities.size()) + '}';
          });
  text += ",\"messages\":" + number(a.messages.size()) + ",\"steps\":" + number(a.path.size());
  text += ",\"flows\":" + list(a.flows, [&](const Flow& f) {
            return '[' + number(f.sender) + ',' + number(f.receiver) + ',' + number(f.messages) + ',' +
                   number(f.bytes) + ']';
          });
  text += ",\"collectives\":" + list(a.collectives, [&](const Collective& c) {
            return '[' + quoted(message::to_string(c.call)) + ',' + number(c.communicator) + ',' + number(c.count) +
                   ',' + number(c.bytes) + ',' + number(c.in_calls_ns) + ',' + number(c.waiting_ns) + ']';
          });
  return text + ",\"names\":";
}

// Whole numbers as bytes, seven bits each, the lowest first, all but the last with the eighth bit set.
class Stream {
 public:
  void add(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
    bytes_ += static_cast<char>(value);
  }
  void add_signed(std::int64_t value) {
    add((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

void write_base64(std::ostream& out, const std::string& bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string line;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) {
      return at < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at])) : 0U;
    };
    const std::uint32_t three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    line += digits[three >> 18];
    line += digits[three >> 12 & 63];
    line += i + 1 < bytes.size() ? digits[three >> 6 & 63] : '=';
    line += i + 2 < bytes.size() ? digits[three & 63] : '=';
    if (line.size() >= 1 << 16) {
      out << line;
      line.clear();
    }
  }
  out << line;
}

// Column by column; page/model.js reads them in the same order. Times are from the trace's begin on.
void add_events(const Document& d, const Analysis& a, Stream& s) {
  const auto column = [&](const auto& add) {
    for (std::size_t r = 0; r < d.ranks.size(); ++r)
      for (std::size_t i = 0; i < d.ranks[r].events.size(); ++i) add(d.ranks[r].events[i], a.waits[r][i], i);
  };
  std::uint64_t before = 0;
  column([&](const Event& e, const Wait&, std::size_t i) {
    if (i == 0) before = a.begin_ns;
    s.add_signed(static_cast<std::int64_t>(e.begin_ns - before));
    before = e.begin_ns;
  });
  column([&](const Event& e, const Wait&, std::size_t) { s.add(e.end_ns - e.begin_ns); });
  column([&](const Event& e, const Wait&, std::size_t) { s.add(static_cast<std::uint32_t>(e.call)); });
  column([&](const Event& e, const Wait&, std::size_t) { s.add_signed(e.peer); });
  column([&](const Event& e, const Wait&, std::size_t) { s.add_signed(e.tag); });
  column([&](const Event& e, const Wait&, std::size_t) { s.add_signed(e.communicator); });
  column([&](const Event& e, const Wait&, std::size_t) { s.add_signed(e.bytes); });
  column([&](const Event& e, const Wait& w, std::size_t) { s.add(w.until_ns ? w.until_ns - e.begin_ns : 0); });
  column([&](const Event&, const Wait& w, std::size_t) { s.add_signed(w.rank); });
  column([&](const Event& e, const Wait&, std::size_t) {
    if (kind_of(e.call) != 2) return;
    s.add_signed(e.from);
    s.add_signed(e.from_tag);
    s.add_signed(e.from_bytes);
  });
  column([&](const Event& e, const Wait&, std::size_t) {
    if (kind_of(e.call) < 2) s.add(static_cast<std::uint32_t>(e.slow));
  });
}

void add_messages(const Document& d, const Analysis& a, Stream& s) {
  std::vector<std::size_t> first;  // of each rank among all events
  std::size_t all = 0;
  for (const Rank& rank : d.ranks) {
    first.push_back(all);
    all += rank.events.size();
  }
  const auto of = [&](int rank, std::size_t event) {
    return static_cast<std::int64_t>(first[static_cast<std::size_t>(rank)] + event);
  };
  std::int64_t send = 0, receive = 0;
  for (std::size_t m = 0; m < a.messages.size(); ++m) {
    const Message& one = a.messages[m];
    s.add_signed(of(one.sender, one.send) - send);
    s.add_signed(of(one.receiver, one.receive) - receive);
    s.add(a.received_by[m] - one.receive);
    send = of(one.sender, one.send);
    receive = of(one.receiver, one.receive);
  }
}

void add_path(const Analysis& a, Stream& s) {
  for (const Step& step : a.path) {
    s.add(static_cast<std::uint64_t>(step.rank));
    s.add(static_cast<std::uint64_t>(step.kind));
    s.add(step.end_ns - step.begin_ns);
  }
}

// Returns the activities' names, each once.
std::vector<std::string> add_activities(const Document& d, const Analysis& a, Stream& s) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> numbers;
  for (const Device& device : d.devices) {
    std::uint64_t before = a.begin_ns;
    for (const Activity& one : device.activities) {
      const auto [found, is_new] = numbers.try_emplace(one.name, names.size());
      if (is_new) names.push_back(one.name);
      s.add(one.kind == Activity::Kind::copy);
      s.add_signed(static_cast<std::int64_t>(one.begin_ns - before));
      s.add(one.end_ns - one.begin_ns);
      s.add(found->second);
      s.add_signed(one.bytes);
      before = one.begin_ns;
    }
  }
  return names;
}

}  // namespace

void write_html(const Document& document, std::ostream& out) {
  const Analysis analysis = analyse(document);
  Stream stream;
  add_events(document, analysis, stream);
  add_messages(document, analysis, stream);
  add_path(analysis, stream);
  const std::vector<std::string> names = add_activities(document, analysis, stream);

  std::string_view rest = page::page_html;
  const auto up_to = [&](std::string_view mark) {
    const std::size_t at = rest.find(mark);
    out << rest.substr(0, at);
    rest.remove_prefix(at + mark.size());
  };
  up_to("{title}");
  out << base::escaped(document.program.empty() ? "A trace" : document.program);
  up_to("{style}");
  out << page::page_css;
  up_to("{meta}");
  out << meta_of(document, analysis) << list(names, quoted) << '}';
  up_to("{data}");
  write_base64(out, stream.bytes());
  up_to("{script}");
  out << page::model_js << page::timeline_js << page::panels_js << page::main_js << rest;
}

}  // namespace dcgn::trace
