// Ranks with contexts, and what measurements of pixels have in common.
#pragma once

#include "pixels/bench/pixels.hpp"

#include <dcgn/device.hpp>
#include <dcgn/job.hpp>
#include <dcgn/pixels/context.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::bench {

inline constexpr const char* pixels_bench = "bench pixels";  // whose errors these are

using PixelsClock = std::chrono::steady_clock;

inline double pixels_us_since(PixelsClock::time_point begin) {
  return std::chrono::duration<double, std::micro>(PixelsClock::now() - begin).count();
}

inline bool has_cuda() { return Device::count() > 0 && Device(0).kind() == DeviceKind::cuda; }

// act(comm) on so many CPU ranks, each with a context of its own; with all GPUs in the world, for interop.
template <class Act>
void on_pixel_ranks(const PixelsWork& work, int ranks, const Act& act) {
  Config config{.nodes = {{.cpus = ranks, .gpus = has_cuda() ? Device::count() : 0, .slots = 0}}};
  config.deadline_s = 120;
  Job job(config);
  job.cpu([&](Comm& comm) {
    const auto which = static_cast<std::size_t>(comm.rank()) % work.devices.size();
    const pixels::Context context({.device = work.devices[which]});
    act(comm);
  });
  job.run();
}

// Whether the path can be taken in the current context.
inline bool can_take(Comm& comm, pixels::Path path) {
  try {
    const pixels::ImageComm images(comm, {.path = path});
    return true;
  } catch (const Error& error) {
    if (error.code() != Code::unsupported) throw;
    return false;
  }
}

inline std::string ours() { return "dcgn " + std::string(version); }

inline std::vector<unsigned char> noise(std::int64_t bytes, unsigned seed) {
  std::vector<unsigned char> content(static_cast<std::size_t>(bytes));
  unsigned state = seed * 2654435761u + 1;
  for (unsigned char& byte : content) byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
  return content;
}

template <class A, class B>
std::uint64_t count_different(const A* a, const B* b, std::size_t bytes) {
  std::uint64_t different = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    different += static_cast<unsigned char>(a[i]) != static_cast<unsigned char>(b[i]);
  return different;
}

// What each round took, until so many seconds have passed, five at least, after one that is not counted.
template <class Round>
std::vector<double> time_pixel_rounds(double seconds, const Round& round) {
  std::vector<double> us;
  double spent = 0;
  for (int k = 0; k < 10'000 && (us.size() < 5 || spent < seconds * 1e6); ++k) {
    const double took = round();
    if (k == 0) continue;
    us.push_back(took);
    spent += took;
  }
  return us;
}

// The same by all ranks, which make as many rounds; `round` says what one of its `parts` took.
template <class Round>
std::vector<double> time_pixel_rounds_together(Comm& comm, double seconds, int parts, const Round& round) {
  std::vector<double> us;
  double spent = 0;
  for (int k = 0;; ++k) {
    const double took = round();
    if (k > 0) {
      us.push_back(took);
      spent += took * parts;
    }
    int more = us.size() < 5 || spent < seconds * 1e6;
    comm.broadcast(more, 0);
    if (!more) return us;
  }
}

}  // namespace dcgn::bench
