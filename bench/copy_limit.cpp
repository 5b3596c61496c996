// The limits that plain copies find: memcpy, and the copy engine.
#include "bench/memory.hpp"
#include "bench/p2p.hpp"
#include "bench/pinned.hpp"
#include "bench/window.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace dcgn::bench {

namespace {

// Times round(), in blocks as messages are timed; each is of so many copies.
template <class Round>
void time_copies(Row& row, double seconds, int copies, const Round& round) {
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

// The memory that one side of a pair sends from and receives into.
class Side {
 public:
  static Side of_device(const Device& device, std::size_t bytes) {
    auto memory = std::make_shared<DeviceBuffer<unsigned char>>(device, 2 * bytes);
    return {memory, memory->data(), bytes};
  }
  // What a device copies from and into without a detour.
  static Side pinned(const Device& device, std::size_t bytes) {
    auto memory = std::make_shared<PinnedWords>(device, 2 * bytes / sizeof(std::uint64_t));
    return {memory, reinterpret_cast<unsigned char*>(memory->data()), bytes};
  }
  static Side of_host(std::size_t bytes) {
    auto memory = std::make_shared<Pages>(2 * bytes);
    return {memory, memory->data(), bytes};
  }
  unsigned char* out() const { return out_; }
  unsigned char* in() const { return out_ + bytes_; }

 private:
  Side(std::shared_ptr<void> owner, unsigned char* begin, std::size_t bytes)
      : owner_(std::move(owner)), out_(begin), bytes_(bytes) {}

  std::shared_ptr<void> owner_;
  unsigned char* out_;
  std::size_t bytes_;
};

}  // namespace

Row limit_of_copies(const Workload& work, Measure measure) {
  Row row{.whose = "limit: memcpy",
          .measure = name_of(measure),
          .path = name_of(work.path),
          .scope = "-",
          .bytes = work.bytes};
  const bool both_ways = measure == Measure::bidirectional;
  if (measure != Measure::latency) row.window = window_of(work.bytes, work.window);
  const int window = std::max(row.window, 1);
  const auto size = static_cast<std::size_t>(work.bytes);
  const std::size_t room = (size * static_cast<std::size_t>(window) + 511) / 256 * 256;
  const auto offset = [&](int i) { return static_cast<std::size_t>(i) * size; };
  if (work.path == Path::cpu_cpu) {  // one direction: each of two CPUs could do as much
    const Side first = Side::of_host(room), second = Side::of_host(room);
    time_copies(row, work.seconds, window, [&] {
      for (int i = 0; i < window; ++i) {
        std::memcpy(second.in() + offset(i), first.out() + offset(i), size);
        asm volatile("" ::"r"(second.in()) : "memory");  // every copy counts
      }
    });
    return row;
  }
  row.whose = "limit: copy engine";
  const Device first_device(0), second_device(work.path == Path::device_device ? 1 : 0);
  // Opens the way, where there is one; else the copies take another.
  static_cast<void>(kernels_reach(work.path));
  const Side first =
      work.path == Path::cpu_slot ? Side::pinned(first_device, room) : Side::of_device(first_device, room);
  const Side second = Side::of_device(second_device, room);
  // The receiving device pulls; to the host it pushes.
  Stream there(second_device), back(first_device);
  time_copies(row, work.seconds, window, [&] {
    for (int i = 0; i < window; ++i) {
      second_device.copy(there, second.in() + offset(i), first.out() + offset(i), size);
      if (both_ways) first_device.copy(back, first.in() + offset(i), second.out() + offset(i), size);
    }
    there.synchronize();
    if (both_ways) back.synchronize();
  });
  return row;
}

}  // namespace dcgn::bench
