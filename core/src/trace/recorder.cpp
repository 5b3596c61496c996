#include "trace/recorder.hpp"

#include "trace/chrome.hpp"
#include "trace/device_clock_kernel.hpp"
#include "trace/document_bytes.hpp"
#include "trace/html.hpp"
#include "trace/process_clock.hpp"

#include <dcgn/arch/clock.hpp>
#include <dcgn/error.hpp>

#include <errno.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <ostream>
#include <streambuf>
#include <utility>

namespace dcgn::trace {

namespace {

std::string before_ending(const std::string& path, const std::string& text) {
  const std::size_t dot = path.rfind('.');
  return path.substr(0, dot) + text + path.substr(dot);
}

// The program as it was called, without its folder; not all of it, where it is long.
std::string command_line() {
  constexpr std::size_t most = 200;
  std::ifstream file("/proc/self/cmdline");
  std::string line = program_invocation_short_name, word;
  std::getline(file, word, '\0');
  while (line.size() < most && std::getline(file, word, '\0')) line += " " + word;
  return line.size() > most ? line.substr(0, most) + "..." : line;
}

// The path for this world: those of one program that have the same are counted, so that no file makes way for another.
std::string path_of_next(const std::string& path) {
  if (!path.ends_with(".json") && !path.ends_with(".html"))
    throw Error(Code::configuration, "trace", path + ": expected a name that ends in .json or .html");
  static std::mutex mutex;
  static std::map<std::string, int> worlds;
  const std::lock_guard lock(mutex);
  const int number = ++worlds[path];
  return number == 1 ? path : before_ending(path, "-" + std::to_string(number));
}

// A C stream as one of C++'s, which it buffers itself.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(std::FILE* file) : file_(file) {}

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    return static_cast<std::streamsize>(std::fwrite(text, 1, static_cast<std::size_t>(size), file_));
  }
  int_type overflow(int_type c) override { return std::fputc(c, file_); }

  std::FILE* file_;
};

// With the times of the document.
Event event_of(const message::TraceEvent& e, std::uint64_t begin, std::uint64_t end) {
  Event event{.begin_ns = begin,
              .end_ns = std::max(begin, end),
              .call = e.call(),
              .peer = e.peer,
              .tag = e.tag,
              .communicator = e.communicator(),
              .bytes = e.bytes(),
              .request = e.request,
              .from = e.from,
              .from_tag = e.from_tag,
              .from_bytes = e.from_bytes,
              .slow = e.slow};
  using message::Call;
  if (event.call == Call::send || event.call == Call::ssend || event.call == Call::bsend || event.call == Call::recv) {
    event.request = 0;
    event.from = any_source;
    event.from_tag = any_tag;
    event.from_bytes = 0;
  }
  return event;
}

// The ticks of this host's events beside its time.
base::Reading read_ticks() {
  base::Reading best{0, 0, ~std::uint64_t{0}};
  for (int i = 0; i < 32; ++i) {
    const std::uint64_t before = now_ns(), ticks = message::trace_ticks(), after = now_ns();
    if ((after - before) / 2 + 1 < best.error) best = {ticks, before + (after - before) / 2, (after - before) / 2 + 1};
  }
  return best;
}

// By rank here: its GPU, counted through; -1 of a CPU rank.
std::vector<int> gpus_of(const Placement& placement, const topology::Home& home) {
  std::vector<int> gpus;
  topology::GpuCount count(placement, home.first_node);
  for (int r = home.first_rank; r < home.end_rank(); ++r) {
    const Place place = placement.place(r);
    gpus.push_back(place.is_slot() ? count.of(place) : -1);
  }
  return gpus;
}

const char* name_of(device::CopyRecord::Way way) {
  using Way = device::CopyRecord::Way;
  switch (way) {
    case Way::to_host: return "copy to the host";
    case Way::from_host: return "copy from the host";
    case Way::within: return "copy within the GPU";
    case Way::from_device: return "copy from another GPU";
  }
  return "copy";
}

// The ranks of other processes, without calls: numbers in the calls of those here are the world's.
void add_others(const Placement& placement, const topology::Home& home, std::vector<Rank>& ranks) {
  std::vector<Rank> all;
  for (int r = 0; r < placement.size(); ++r) {
    if (home.has(r)) {
      all.push_back(std::move(ranks[static_cast<std::size_t>(r - home.first_rank)]));
      continue;
    }
    const Place place = placement.place(r);
    all.push_back({.rank = r,
                   .process = -1,
                   .node = place.node,
                   .device = place.device,
                   .slot = place.slot,
                   .cpu = place.cpu,
                   .events = {},
                   .dropped = 0});
  }
  ranks = std::move(all);
}

void report(const std::string& path, const char* what) noexcept {
  std::fprintf(stderr, "dcgn: the trace %s: %s\n", path.c_str(), what);
}

}  // namespace

Recorder::Recorder(const Config& config, transport::Processes* processes, std::vector<dcgn::Device> devices)
    : processes_(processes),
      devices_(std::move(devices)),
      capacity_(config.trace_events),
      path_(path_of_next(config.trace)),
      activities_(devices_.size()) {
  if (!processes_ || processes_->rank() == 0) file_.emplace(path_);
}

void Recorder::begin(const std::function<bool(int)>& has_slots) {
  ticks_ = read_ticks();
  origin_ = now_ns();
  if (processes_) {
    struct Start {
      std::uint64_t source, now;
    };
    const std::vector<Start> all = processes_->all_gather(Start{clock_source(), origin_});
    origin_ = all.front().now;
    if (std::any_of(all.begin(), all.end(), [&](const Start& s) { return s.source != all.front().source; }))
      first_clock_ = read_first_clock(*processes_);
  }
  device_clocks_.resize(devices_.size());
  for (std::size_t g = 0; g < devices_.size(); ++g)
    if (devices_[g].kind() != DeviceKind::emulated && has_slots(static_cast<int>(g)))
      device_clocks_[g] = read_clock(devices_[g]);
}

void Recorder::add(int gpu, Activity activity) {
  const std::lock_guard lock(mutex_);
  activities_.at(static_cast<std::size_t>(gpu)).push_back(std::move(activity));
}

void Recorder::add(const device::CopyRecords& copies) {
  for (const device::CopyRecord& c : copies.kept)
    add(c.device, {Activity::Kind::copy, c.begin_ns, c.end_ns, name_of(c.way), static_cast<std::int64_t>(c.bytes)});
  dropped_copies_ += copies.dropped;
}

// What this process has, in the time of all.
Document Recorder::document_of(const message::RankMemory& memory, const Placement& placement,
                               const std::function<bool(int)>& has_ended, bool together) {
  const int process = processes_ ? processes_->rank() : 0;
  Document document;
  document.program = command_line();
  base::ClockMap host;
  if (first_clock_)
    host = together ? base::ClockMap(*first_clock_, read_first_clock(*processes_)) : base::ClockMap(*first_clock_);
  // An event from before the beginning is one that clocks are wrong about.
  const auto since = [&](std::uint64_t time) { return time - std::min(time, origin_); };
  const base::ClockMap ticks(ticks_, read_ticks());
  const topology::Home& home = memory.home();
  const std::vector<int> gpus = gpus_of(placement, home);
  std::vector<base::ClockMap> clocks;
  for (std::size_t g = 0; g < devices_.size(); ++g) {
    const std::optional<base::Reading>& begun = device_clocks_[g];
    base::ClockMap clock = begun ? base::ClockMap(*begun) : ticks;
    try {
      // A kernel that did not stop may leave no room for the one that tells the time.
      const auto slot = std::find(gpus.begin(), gpus.end(), static_cast<int>(g));
      if (begun && has_ended(home.first_rank + static_cast<int>(slot - gpus.begin())))
        clock = base::ClockMap(*begun, read_clock(devices_[g]));
    } catch (const Error&) {  // one that has failed is why the job was stopped
    }
    document.clock_error_ns = std::max(document.clock_error_ns, clock.error() + host.error());
    clocks.push_back(clock);
  }
  document.clock_error_ns = std::max(document.clock_error_ns, ticks.error() + host.error());
  const std::uint64_t now = since(host(now_ns()));
  for (int r = home.first_rank; r < home.end_rank(); ++r) {
    const Place place = placement.place(r);
    Rank rank{.rank = r,
              .process = process,
              .node = place.node,
              .device = place.device,
              .slot = place.slot,
              .cpu = place.cpu,
              .events = {},
              .dropped = 0};
    const int gpu = gpus[static_cast<std::size_t>(r - home.first_rank)];
    const base::ClockMap& clock = gpu < 0 ? ticks : clocks[static_cast<std::size_t>(gpu)];
    try {
      if (has_ended(r)) {
        const message::RankMemory::Traced traced = memory.traced(r);
        rank.dropped = traced.dropped;
        rank.events.reserve(traced.events.size());
        for (const message::TraceEvent& e : traced.events) {
          // One does not begin before the one before ends, but a processor may look at its counter a few cycles early.
          // One without an end was under way when the job was stopped.
          const std::uint64_t last = rank.events.empty() ? 0 : rank.events.back().end_ns;
          rank.events.push_back(
              event_of(e, std::max(last, since(host(clock(e.begin)))), e.end ? since(host(clock(e.end))) : now));
        }
      }
    } catch (const Error&) {  // likewise
    }
    document.ranks.push_back(std::move(rank));
  }
  if (!together) add_others(placement, home, document.ranks);
  std::size_t g = 0;
  for (int node = home.first_node; node < home.end_node(); ++node)
    for (int d = 0; d < placement.shape(node).gpus; ++d, ++g) {
      const std::lock_guard lock(mutex_);
      Device device{process, node, d, devices_[g].properties().name, activities_[g]};
      for (Activity& a : device.activities) {
        a.begin_ns = since(host(a.begin_ns));
        a.end_ns = since(host(a.end_ns));
      }
      std::stable_sort(device.activities.begin(), device.activities.end(),
                       [](const Activity& a, const Activity& b) { return a.begin_ns < b.begin_ns; });
      document.devices.push_back(std::move(device));
    }
  return document;
}

void Recorder::write(const Document& document) {
  if (!file_) file_.emplace(before_ending(path_, "-process-" + std::to_string(processes_->rank())));
  file_->write([&](std::FILE* file) {
    FileBuffer buffer(file);
    std::ostream out(&buffer);
    if (path_.ends_with(".html"))
      write_html(document, out);
    else
      write_chrome(document, out);
  });
  const auto tell = [&](std::uint64_t dropped, const char* what) {
    if (dropped)
      report(file_->path(), (std::to_string(dropped) + what + " had no room in logs of DCGN_TRACE_EVENTS=" +
                             std::to_string(capacity_) + " each and are not in it")
                                .c_str());
  };
  std::uint64_t dropped = 0;
  for (const Rank& r : document.ranks) dropped += r.dropped;
  tell(dropped, " calls");
  tell(dropped_copies_, " copies of this process");
}

void Recorder::write(const message::RankMemory& memory, const Placement& placement,
                     const std::function<bool(int)>& has_ended, bool together) noexcept {
  if (std::exchange(written_, true)) return;
  try {
    const bool first = !processes_ || processes_->rank() == 0;
    if (together && processes_) {
      try {
        Document document = document_of(memory, placement, has_ended, true);
        processes_->collect(first ? std::vector<unsigned char>() : to_bytes(document),
                            [&](const std::vector<unsigned char>& bytes) { add_bytes(bytes, document); });
        if (first) write(document);
        return;
      } catch (const Error& error) {
        if (error.code() == Code::io) throw;
        report(path_, error.what());
      }
    }
    write(document_of(memory, placement, has_ended, false));
  } catch (const std::exception& error) {
    report(path_, error.what());
  }
}

}  // namespace dcgn::trace
