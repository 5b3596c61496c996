// The limits that plain copies find: memcpy, and the copy engine.
#include "bench/memory.hpp"
#include "bench/window.hpp"
#include "core/bench/p2p.hpp"
#include "core/bench/pinned.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dcgn::bench {

namespace {

// Times round(), in blocks as messages are timed; each is of so many copies.
template <class Round>
void time_copies(Row& row, double seconds, int copies, Round&& round) {
  const auto target = static_cast<std::uint64_t>(seconds * 1e9);
  round();
  const std::uint64_t begin = now_ns();
  for (int i = 0; i < 3; ++i) round();
  const std::uint64_t total = std::clamp<std::uint64_t>(target / ((now_ns() - begin) / 3 + 1), 20, 100'000'000);
  const std::uint64_t blocks = std::min<std::uint64_t>(total, Samples::most_blocks), rounds = total / blocks;
  std::vector<double> us;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const std::uint64_t block_begin = now_ns();
    for (std::uint64_t i = 0; i < rounds; ++i) round();
    us.push_back(static_cast<double>(now_ns() - block_begin) * 1e-3 / static_cast<double>(rounds) / copies);
  }
  set_figures(row, us, rounds);
}

constexpr unsigned char sent = 0x5a;

// The memory that one side of a pair sends from and receives into, where at first everything differs.
class Side {
 public:
  static Side of_device(const Device& device, std::size_t bytes) {
    auto memory = std::make_shared<DeviceBuffer<unsigned char>>(device, 2 * bytes);
    return {memory, memory->data(), bytes, device};
  }
  // What a device copies from and into without a detour.
  static Side pinned(const Device& device, std::size_t bytes) {
    auto memory = std::make_shared<PinnedWords>(device, 2 * bytes / sizeof(std::uint64_t));
    return {memory, reinterpret_cast<unsigned char*>(memory->data()), bytes, std::nullopt};
  }
  static Side of_host(std::size_t bytes) {
    auto memory = std::make_shared<Pages>(2 * bytes);
    return {memory, memory->data(), bytes, std::nullopt};
  }
  unsigned char* out() const { return out_; }
  unsigned char* in() const { return out_ + bytes_; }

  // How many of so many bytes that should have come have not.
  std::uint64_t wrong(std::size_t bytes) const {
    if (device_) return count_other(*device_, in(), bytes, sent);
    return bytes - static_cast<std::size_t>(std::count(in(), in() + bytes, sent));
  }

 private:
  Side(std::shared_ptr<void> owner, unsigned char* begin, std::size_t bytes, std::optional<Device> device)
      : owner_(std::move(owner)), out_(begin), bytes_(bytes), device_(device) {
    fill(out(), sent);
    fill(in(), static_cast<unsigned char>(~sent));
  }
  void fill(unsigned char* memory, unsigned char value) const {
    device_ ? device_->fill(memory, value, bytes_) : static_cast<void>(std::memset(memory, value, bytes_));
  }

  std::shared_ptr<void> owner_;
  unsigned char* out_;
  std::size_t bytes_;
  std::optional<Device> device_;  // whose memory it is
};

// From what one side sends to where the other receives, by a device's copy engine.
struct Way {
  Side from, to;
  Device device;
};

// A window of messages each of the ways, at once.
class Windows {
 public:
  Windows(const std::vector<Way>& ways, std::size_t bytes, int window) : ways_(ways), bytes_(bytes), window_(window) {
    for (const Way& way : ways_) streams_.emplace_back(way.device);
  }
  void operator()() {
    for (int i = 0; i < window_; ++i)
      for (std::size_t w = 0; w < ways_.size(); ++w) {
        const std::size_t offset = static_cast<std::size_t>(i) * bytes_;
        ways_[w].device.copy(streams_[w], ways_[w].to.in() + offset, ways_[w].from.out() + offset, bytes_);
      }
    for (Stream& stream : streams_) stream.synchronize();
  }

 private:
  std::vector<Way> ways_;
  std::vector<Stream> streams_;
  std::size_t bytes_;
  int window_;
};

// From one device through a ring of pinned memory to another, in fragments: the copy engines of both are at work.
class Pipeline {
 public:
  Pipeline(const Way& way, const Device& sender, std::size_t bytes)
      : way_(way), sender_(sender), bytes_(bytes), ring_(Side::pinned(sender, places * fragment)) {
    for (std::size_t i = 0; i < places; ++i) {
      to_ring_.emplace_back(sender);
      from_ring_.emplace_back(way.device);
    }
  }
  std::size_t steps() const { return (bytes_ + fragment - 1) / fragment + 1; }
  // Begins to bring fragment k to the ring, and the one before it from there.
  void step(std::size_t k) {
    if (k + 1 < steps()) {
      from_ring_[k % places].synchronize();  // what was here has left
      sender_.copy(to_ring_[k % places], place(k), way_.from.out() + k * fragment, size(k));
    }
    if (k == 0) return;
    to_ring_[--k % places].synchronize();
    way_.device.copy(from_ring_[k % places], way_.to.in() + k * fragment, place(k), size(k));
  }
  void finish() {
    for (Stream& stream : from_ring_) stream.synchronize();
  }

 private:
  static constexpr std::size_t fragment = 2 << 20, places = 4;
  unsigned char* place(std::size_t k) const { return ring_.out() + k % places * fragment; }
  std::size_t size(std::size_t k) const { return std::min(fragment, bytes_ - k * fragment); }

  Way way_;
  Device sender_;
  std::size_t bytes_;
  Side ring_;
  std::vector<Stream> to_ring_, from_ring_;
};

}  // namespace

std::vector<Row> limits_of_copies(const Workload& work, Measure measure) {
  if (is_of_slots(work.path) && measure == Measure::latency) return {};
  const bool both_ways = measure == Measure::bidirectional;
  const int window = measure == Measure::latency ? 1 : window_of(work.bytes, work.window);
  const auto size = static_cast<std::size_t>(work.bytes), extent = size * static_cast<std::size_t>(window);
  const std::size_t room = (extent + 511) / 256 * 256;
  std::vector<Row> rows;
  // Times round(), which copies a window to each of these sides.
  const auto add = [&](const char* whose, const std::vector<Side>& to, auto&& round) {
    Row& row = rows.emplace_back();
    row.whose = whose;
    row.measure = name_of(measure);
    row.path = name_of(work.path);
    row.scope = "-";
    row.bytes = work.bytes;
    if (measure != Measure::latency) row.window = window;
    time_copies(row, work.seconds, window, round);
    for (const Side& side : to) row.wrong += side.wrong(extent);
  };
  if (work.path == Path::cpu_cpu) {  // one direction: each of two CPUs could do as much
    const Side first = Side::of_host(room), second = Side::of_host(room);
    add("limit: memcpy", {second}, [&] {
      for (int i = 0; i < window; ++i) {
        const std::size_t offset = static_cast<std::size_t>(i) * size;
        std::memcpy(second.in() + offset, first.out() + offset, size);
        asm volatile("" ::"r"(second.in()) : "memory");  // every copy counts
      }
    });
    return rows;
  }
  const Device first_device(0), second_device(gpus_of(work.path) == 2 ? 1 : 0);
  const auto add_ways = [&](const char* whose, std::vector<Way> ways) {
    if (!both_ways) ways.pop_back();
    std::vector<Side> to;
    to.reserve(ways.size());
    for (const Way& way : ways) to.push_back(way.to);
    add(whose, to, Windows(ways, size, window));
  };
  const Side first =
      work.path == Path::cpu_slot ? Side::pinned(first_device, room) : Side::of_device(first_device, room);
  const Side second = Side::of_device(second_device, room);
  if (work.path != Path::slot_slot_staged) {
    // Opens the way, where there is one; else the copies take another.
    static_cast<void>(first_device.can_reach(second_device) && second_device.can_reach(first_device));
    // The receiving device pulls; to the host it pushes.
    add_ways("limit: copy engine", {{first, second, second_device}, {second, first, first_device}});
    return rows;
  }
  const Side near_first = Side::pinned(first_device, room), near_second = Side::pinned(second_device, room);
  add_ways("limit: to pinned", {{first, near_first, first_device}, {second, near_second, second_device}});
  add_ways("limit: from pinned", {{near_first, second, second_device}, {near_second, first, first_device}});
  std::vector<Pipeline> pipelines;
  pipelines.emplace_back(Way{first, second, second_device}, first_device, extent);
  if (both_ways) pipelines.emplace_back(Way{second, first, first_device}, second_device, extent);
  add("limit: through pinned", both_ways ? std::vector{second, first} : std::vector{second}, [&] {
    for (std::size_t k = 0; k < pipelines.front().steps(); ++k)
      for (Pipeline& pipeline : pipelines) pipeline.step(k);
    for (Pipeline& pipeline : pipelines) pipeline.finish();
  });
  return rows;
}

}  // namespace dcgn::bench
