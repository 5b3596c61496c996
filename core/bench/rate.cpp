#include "core/bench/pinned.hpp"
#include "core/bench/rate_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace dcgn::bench {

namespace {

int streams_for(const Workload& work) { return work.slots ? work.slots : Device(0).properties().multiprocessors; }

// Tells how far the streams are while the job runs.
class Teller {
 public:
  Teller(const PinnedWords& progress, const std::function<void(std::uint64_t)>& tell) {
    if (tell) thread_ = std::thread([this, &progress, tell] { run(progress, tell); });
  }
  Teller(const Teller&) = delete;
  Teller& operator=(const Teller&) = delete;
  ~Teller() {
    closing_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(const PinnedWords& progress, const std::function<void(std::uint64_t)>& tell) const {
    while (!closing_) {
      std::uint64_t total = 0;
      for (std::size_t i = 0; i < progress.size(); ++i) total += load_relaxed(progress.data()[i]);
      tell(total);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  std::atomic<bool> closing_{false};
  std::thread thread_;
};

std::vector<StreamResult> run_streams(const Workload& work, std::uint64_t messages,
                                      const std::function<void(std::uint64_t)>& tell) {
  const int streams = streams_for(work);
  const bool local = work.path == Path::slot_slot_local;
  const RatePlan plan{work.bytes, messages, static_cast<std::uint64_t>(work.seconds * 1e9), streams};
  const Config config = config_for(work, {{.gpus = local ? 1 : 2, .slots = local ? 2 * streams : streams}});
  Job job(config);
  const Device receiver = job.world().device(job.world().gpus() - 1);
  const DeviceBuffer<StreamResult> results(receiver, static_cast<std::size_t>(streams));
  receiver.fill(results.data(), 0, results.size_bytes());
  const PinnedWords progress(receiver, static_cast<std::size_t>(streams));
  const std::size_t stride = (static_cast<std::size_t>(work.bytes) + 255) / 256 * 256;
  std::vector<DeviceBuffer<unsigned char>> memory;
  for (int g = 0; g < job.world().gpus(); ++g) {
    const Device device = job.world().device(g);
    const auto slots = static_cast<unsigned>(config.nodes[0].slots);
    memory.emplace_back(device, slots * stride);
    device.fill(memory.back().data(), 0, memory.back().size_bytes());
    const Launch launch = launch_for(work.scope, device, slots);
    const auto add = [&](const auto& kernel) {
      job.gpu_on(g, launch, kernel, memory.back().data(), stride, plan, results.data(), progress.data());
    };
    switch (work.scope.kind) {
      case ScopeKind::thread: add(RateKernel<ScopeKind::thread>{}); break;
      case ScopeKind::warp: add(RateKernel<ScopeKind::warp>{}); break;
      case ScopeKind::block: add(RateKernel<ScopeKind::block>{}); break;
      case ScopeKind::blocks:
        throw Error(Code::configuration, "bench",
                    "--scope " + name_of(work.scope) + ": expected thread, warp or block for streams of messages");
    }
  }
  {
    const Teller teller(progress, tell);
    job.run();
  }
  std::vector<StreamResult> all(static_cast<std::size_t>(streams));
  results.download(all.data());
  return all;
}

Soak sum_of(const std::vector<StreamResult>& streams) {
  Soak s;
  std::uint64_t begin = streams[0].begin_ns, end = 0;
  for (const StreamResult& r : streams) {
    s.messages += r.sent;
    s.received += r.received;
    s.lost += r.lost;
    s.duplicates += r.duplicates;
    s.reordered += r.reordered;
    s.damaged += r.damaged;
    begin = std::min(begin, r.begin_ns);
    end = std::max(end, r.end_ns);
  }
  s.seconds = static_cast<double>(end - begin) * 1e-9;
  return s;
}

Row row_with(const Workload& work, const char* measure, const Soak& s) {
  Row row = row_for(work, measure, 1);
  row.rounds = s.received;
  row.unit = "M/s";
  row.wrong = s.wrong();
  row.p50_us = row.p99_us = s.received ? s.seconds * 1e6 / static_cast<double>(s.received) : 0;
  row.gb_per_s = row.p50_us > 0 ? static_cast<double>(work.bytes) * 1e-3 / row.p50_us : 0;
  row.slots = streams_for(work);
  return row;
}

}  // namespace

Row measure_rate(const Workload& work) {
  const std::vector<StreamResult> streams = run_streams(work, 0, {});
  const Soak sum = sum_of(streams);
  Row row = row_with(work, "rate", sum);
  // As if all streams had brought as little as the slowest in that time.
  std::uint64_t least = sum.received;
  for (const StreamResult& r : streams) least = std::min(least, r.received);
  if (least) row.p99_us = std::max(row.p50_us, sum.seconds * 1e6 / static_cast<double>(least) / row.slots);
  return row;
}

Soak soak(const Workload& work, std::uint64_t messages, const std::function<void(std::uint64_t)>& progress) {
  const auto streams = static_cast<std::uint64_t>(streams_for(work));
  return sum_of(run_streams(work, std::max<std::uint64_t>((messages + streams - 1) / streams, 1), progress));
}

Row row_of(const Workload& work, const Soak& soak) { return row_with(work, "soak", soak); }

}  // namespace dcgn::bench
