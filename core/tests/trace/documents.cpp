#include "documents.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace dcgn::test {

using trace::Document;
using enum message::Call;

Document ping_pong(int rounds) {
  Document d;
  d.program = "ping-pong";
  d.clock_error_ns = 40;
  d.ranks.resize(2);
  std::uint64_t now = 1000;
  for (int r = 0; r < 2; ++r) d.ranks[static_cast<std::size_t>(r)].rank = d.ranks[static_cast<std::size_t>(r)].cpu = r;
  std::uint64_t free_from[2] = {now, now};
  for (int round = 0; round < 2 * rounds; ++round) {
    const int from = round % 2;
    auto &s = d.ranks[static_cast<std::size_t>(from)].events, &r = d.ranks[static_cast<std::size_t>(1 - from)].events;
    const std::int64_t bytes = 8LL << (round / 2 % 12);
    const auto flight = static_cast<std::uint64_t>(900 + bytes / 20);
    const std::uint64_t sent = free_from[from] + 150;
    const std::uint64_t posted = free_from[1 - from] + 150;
    s.push_back({sent, sent + flight / 3, send, 1 - from, 7, 0, bytes});
    r.push_back({posted, sent + flight, recv, from, 7, 0, bytes});
    free_from[from] = sent + flight / 3;
    free_from[1 - from] = sent + flight;
  }
  return d;
}

Document stencil(const StencilShape& shape, std::uint32_t seed) {
  Document d;
  d.program = "made-up stencil";
  d.clock_error_ns = 120;
  std::mt19937 random(seed);
  const auto between = [&](std::uint64_t least, std::uint64_t most) { return least + random() % (most - least + 1); };
  for (int node = 0; node < shape.nodes; ++node)
    for (int gpu = 0; gpu < shape.gpus; ++gpu) {
      d.devices.push_back({node, node, gpu, "Emulated GPU", {}});
      for (int slot = 0; slot < shape.slots; ++slot) {
        trace::Rank& rank = d.ranks.emplace_back();
        rank.rank = static_cast<std::int32_t>(d.ranks.size()) - 1;
        rank.process = rank.node = node;
        rank.device = gpu;
        rank.slot = slot;
      }
    }
  const int ranks = static_cast<int>(d.ranks.size());
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint64_t> now(n, 2000), computed(n), received(n);
  std::uint64_t request = 0;
  for (int step = 0; step < shape.steps; ++step) {
    const std::int64_t bytes = 64 * 1024;
    std::uint64_t requests = request;
    for (std::size_t r = 0; r < n; ++r) {
      const std::uint64_t work = between(40'000, 46'000);
      computed[r] = now[r] + (static_cast<int>(r) == shape.slow_rank ? work * 8 / 5 : work);
    }
    // Each rank posts both receives, sends both halos, and waits for all four.
    for (int r = 0; r < ranks; ++r) {
      const auto at = static_cast<std::size_t>(r);
      const int left = (r + ranks - 1) % ranks, right = (r + 1) % ranks;
      auto& events = d.ranks[at].events;
      std::uint64_t t = computed[at];
      const auto begin_one = [&](message::Call call, int peer, int tag) {
        events.push_back({t, t + 400, call, peer, tag, 0, bytes, ++requests});
        t += 500;
      };
      begin_one(irecv, left, 1);
      begin_one(irecv, right, 2);
      begin_one(isend, right, 1);
      begin_one(isend, left, 2);
      const std::uint64_t others =
          std::max(computed[static_cast<std::size_t>(left)] + 1500, computed[static_cast<std::size_t>(right)] + 1000);
      received[at] = std::max(t, others) + between(5000, 9000);
      events.push_back({t, received[at], wait_all, -1, -1, 0, 0, 0});
    }
    request = requests;
    now = received;
    if ((step + 1) % shape.reduce_every == 0) {
      std::uint64_t last = 0;
      for (std::size_t r = 0; r < n; ++r) last = std::max(last, now[r] + 300);
      for (std::size_t r = 0; r < n; ++r) {
        const std::uint64_t end = last + between(2500, 3500);
        d.ranks[r].events.push_back({now[r] + 300, end, all_reduce, -1, -1, 0, 8, 0});
        now[r] = end;
      }
    }
  }
  const std::uint64_t end = *std::max_element(now.begin(), now.end());
  for (trace::Device& device : d.devices) {
    device.activities.push_back({trace::Activity::Kind::copy, 0, 1500, "copy to the device", 4 << 20});
    device.activities.push_back({trace::Activity::Kind::kernel, 1600, end + 500, "stencil_kernel", 0});
    device.activities.push_back({trace::Activity::Kind::copy, end + 600, end + 2400, "copy to the host", 4 << 20});
  }
  return d;
}

}  // namespace dcgn::test
