#include "trace/read_document.hpp"

#include "message/describe.hpp"
#include "trace/json_reader.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

namespace dcgn::trace {

namespace {

// All that an element of traceEvents may say.
struct Entry {
  std::string phase, name, category;
  std::int64_t process = 0, thread = 0;
  std::uint64_t begin_ns = 0, duration_ns = 0;
  // of args
  Event event;
  Rank rank;
  bool names_rank = false, names_device = false;
  std::string device_name;
};

class DocumentReader {
 public:
  DocumentReader(std::istream& in, const std::string& name) : json_(in, name) {
    for (auto call = std::uint32_t{0}; call <= static_cast<std::uint32_t>(message::Call::cart); ++call)
      calls_.emplace(message::to_string(static_cast<message::Call>(call)), static_cast<message::Call>(call));
  }

  Document read() {
    bool is_ours = false;
    json_.object([&](const std::string& key) {
      if (key == "traceEvents")
        json_.array([&] { add(entry()); });
      else if (key == "otherData")
        is_ours = other_data();
      else
        json_.skip();
    });
    json_.end();
    if (!is_ours) json_.fail("expected a trace of Decagon's, whose otherData has \"dcgn\":1");
    finish();
    return std::move(document_);
  }

 private:
  struct Thread {
    bool is_rank;
    std::size_t index;
  };

  template <class Number>
  Number whole() {
    const std::int64_t value = json_.whole();
    if (!std::in_range<Number>(value))
      json_.fail(std::to_string(value) + ": expected at least " + std::to_string(std::numeric_limits<Number>::min()) +
                 ", at most " + std::to_string(std::numeric_limits<Number>::max()));
    return static_cast<Number>(value);
  }

  std::uint64_t time() {
    const double microseconds = json_.number();
    if (!(microseconds >= 0 && microseconds < 9e12)) json_.fail("expected microseconds from 0, below 9e12");
    return static_cast<std::uint64_t>(std::llround(microseconds * 1000));
  }

  Entry entry() {
    Entry e;
    json_.object([&](const std::string& key) {
      if (key == "ph")
        e.phase = json_.string();
      else if (key == "name")
        e.name = json_.string();
      else if (key == "cat")
        e.category = json_.string();
      else if (key == "pid")
        e.process = json_.whole();
      else if (key == "tid")
        e.thread = json_.whole();
      else if (key == "ts")
        e.begin_ns = time();
      else if (key == "dur")
        e.duration_ns = time();
      else if (key == "args")
        json_.object([&](const std::string& arg) { argument(arg, e); });
      else
        json_.skip();
    });
    return e;
  }

  void argument(const std::string& key, Entry& e) {
    if (key == "peer") {
      e.event.peer = whole<std::int32_t>();
    } else if (key == "tag") {
      e.event.tag = whole<std::int32_t>();
    } else if (key == "communicator") {
      e.event.communicator = whole<std::int32_t>();
    } else if (key == "bytes") {
      e.event.bytes = json_.whole();
    } else if (key == "request") {
      e.event.request = json_.natural();
    } else if (key == "from") {
      e.event.from = whole<std::int32_t>();
    } else if (key == "from_tag") {
      e.event.from_tag = whole<std::int32_t>();
    } else if (key == "from_bytes") {
      e.event.from_bytes = json_.whole();
    } else if (key == "slow") {
      e.event.slow = message::reason_of(json_.string());
    } else if (key == "rank") {
      e.rank.rank = whole<std::int32_t>();
      e.names_rank = true;
    } else if (key == "process") {
      e.rank.process = whole<std::int32_t>();
    } else if (key == "node") {
      e.rank.node = whole<std::int32_t>();
    } else if (key == "device") {
      e.rank.device = whole<std::int32_t>();
    } else if (key == "slot") {
      e.rank.slot = whole<std::int32_t>();
    } else if (key == "cpu") {
      e.rank.cpu = whole<std::int32_t>();
    } else if (key == "dropped") {
      e.rank.dropped = json_.natural();
    } else if (key == "device_name") {
      e.device_name = json_.string();
      e.names_device = true;
    } else {
      json_.skip();
    }
  }

  bool other_data() {
    std::int64_t version = 0;
    json_.object([&](const std::string& key) {
      if (key == "dcgn")
        version = json_.whole();
      else if (key == "program")
        document_.program = json_.string();
      else if (key == "clock_error_ns")
        document_.clock_error_ns = json_.natural();
      else
        json_.skip();
    });
    if (version > 1) json_.fail("\"dcgn\":" + std::to_string(version) + ": expected 1; this is of a newer Decagon");
    return version == 1;
  }

  void add(Entry e) {
    const std::pair key(e.process, e.thread);
    if (e.phase == "M" && e.name == "thread_name" && (e.names_rank || e.names_device)) {
      threads_[key] = {e.names_rank, e.names_rank ? document_.ranks.size() : document_.devices.size()};
      if (e.names_rank)
        document_.ranks.push_back(std::move(e.rank));
      else
        document_.devices.push_back({e.rank.process, e.rank.node, e.rank.device, std::move(e.device_name), {}});
      return;
    }
    const bool is_call = e.category == "call", is_copy = e.category == "copy";
    if (e.phase != "X" || !(is_call || is_copy || e.category == "kernel")) return;  // of others, or for the eye alone
    const auto thread = threads_.find(key);
    if (thread == threads_.end() || thread->second.is_rank != is_call)
      json_.fail("a " + e.category + " in thread " + std::to_string(e.thread) + " of process " +
                 std::to_string(e.process) + ": expected the thread_name of a " + (is_call ? "rank" : "device") +
                 " before");
    const std::uint64_t end_ns = e.begin_ns + e.duration_ns;
    if (!is_call) {
      document_.devices[thread->second.index].activities.push_back(
          {is_copy ? Activity::Kind::copy : Activity::Kind::kernel, e.begin_ns, end_ns, std::move(e.name),
           e.event.bytes});
      return;
    }
    const auto call = calls_.find(e.name);
    if (call == calls_.end()) json_.fail("\"" + e.name + "\": expected a call's name, as in send");
    e.event.call = call->second;
    e.event.begin_ns = e.begin_ns;
    e.event.end_ns = end_ns;
    document_.ranks[thread->second.index].events.push_back(e.event);
  }

  // What analysis relies on.
  void finish() {
    const auto by_begin = [](auto& all) {
      const auto before = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
      if (!std::is_sorted(all.begin(), all.end(), before)) std::stable_sort(all.begin(), all.end(), before);
    };
    std::sort(document_.ranks.begin(), document_.ranks.end(),
              [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
    const auto ranks = static_cast<std::int32_t>(document_.ranks.size());
    for (std::int32_t r = 0; r < ranks; ++r) {
      Rank& rank = document_.ranks[static_cast<std::size_t>(r)];
      if (rank.rank != r)
        json_.fail("rank " + std::to_string(rank.rank) + " of " + std::to_string(ranks) +
                   ": expected each from 0 on, once");
      for (const Event& e : rank.events)
        if (e.peer < -1 || e.peer >= ranks || e.from < -1 || e.from >= ranks)
          json_.fail("a call of rank " + std::to_string(r) + " with rank " +
                     std::to_string(e.peer < -1 || e.peer >= ranks ? e.peer : e.from) + ": expected -1 to " +
                     std::to_string(ranks - 1));
      by_begin(rank.events);
    }
    for (Device& device : document_.devices) by_begin(device.activities);
  }

  JsonReader json_;
  Document document_;
  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads_;
  std::unordered_map<std::string, message::Call> calls_;
};

}  // namespace

Document read_chrome(std::istream& in, const std::string& name) {
  try {
    return DocumentReader(in, name).read();
  } catch (const std::ios_base::failure& failure) {  // a folder, or a disk's error
    throw Error(Code::io, "trace", name + ": " + failure.code().message());
  }
}

}  // namespace dcgn::trace
