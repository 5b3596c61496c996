#include "memnet/src/kernel_run.hpp"

#include "memnet/src/fail.hpp"
#include "memnet/src/topology.hpp"

#include <algorithm>
#include <string>

namespace dcgn::memnet {

namespace {

constexpr int lanes = 32;

int resident_blocks(const GpuCores& cores, const base::LaunchTrace& launch) {
  const int threads = static_cast<int>(launch.block.volume() + lanes - 1) / lanes * lanes;
  const auto shared = static_cast<std::int64_t>(launch.shared_bytes);
  int most = std::min(cores.blocks_per_core, cores.threads_per_core / threads);
  if (shared > 0) most = static_cast<int>(std::min<std::int64_t>(most, cores.shared_bytes_per_core / shared));
  if (most < 1) {
    fail("memnet", "kernel " + launch.kernel + ": a block has " + std::to_string(threads) + " threads and " +
                       std::to_string(shared) + " bytes of shared memory, expected at most gpu.threads_per_core, " +
                       std::to_string(cores.threads_per_core) + ", and gpu.shared_memory, " +
                       std::to_string(cores.shared_bytes_per_core));
  }
  return most;
}

bool same_shape(const base::LaunchTrace& a, const base::LaunchTrace& b) {
  const auto same = [](const Dim3& x, const Dim3& y) { return x.x == y.x && x.y == y.y && x.z == y.z; };
  return a.kernel == b.kernel && same(a.grid, b.grid) && same(a.block, b.block) && a.shared_bytes == b.shared_bytes;
}

// What goes on at the pace of a sample needs one that fills the cores several times.
constexpr std::size_t least_fillings = 3;
void check_sample(const base::LaunchTrace& launch, std::size_t filling, std::size_t gpus) {
  const std::size_t least = least_fillings * filling, recorded = launch.blocks.size();
  if (recorded >= launch.block_count() || recorded >= least) return;
  fail("memnet", "kernel " + launch.kernel + ": " + std::to_string(recorded) + " of " +
                     std::to_string(launch.block_count()) + " blocks were recorded, expected all of them or at least " +
                     std::to_string(least) + ", three times what the cores of " +
                     counted(static_cast<int>(gpus), "GPU") + " hold: record it with --blocks " +
                     std::to_string(least));
}

}  // namespace

KernelRun::KernelRun(const base::KernelTrace& trace, std::size_t gpus, const GpuCores& cores, BlockSchedule schedule,
                     const Progress& progress)
    : cores_(cores), schedule_(schedule), progress_(progress), parts_(gpus) {
  for (const base::KernelStep& step : trace.steps) {
    if (step.kind != base::KernelStep::Kind::launch) continue;
    all_.push_back(&step.launch);
    if (step.launch.blocks.empty()) continue;
    check_sample(step.launch, gpus * static_cast<std::size_t>(cores.cores * resident_blocks(cores, step.launch)), gpus);
    launches_.push_back(&step.launch);
    blocks_ += step.launch.blocks.size();
  }
  for (const base::LaunchTrace* const one : all_)
    if (one->blocks.empty() &&
        std::none_of(launches_.begin(), launches_.end(), [one](const auto* other) { return same_shape(*one, *other); }))
      fail("memnet", "kernel " + one->kernel + ": no block was recorded, of any launch of " +
                         counted(static_cast<int>(one->block_count()), "block"));
  if (launches_.empty()) fail("memnet", "a kernel trace without launches, expected one or more");
  begin(0);
}

std::size_t KernelRun::number_in_trace() const {
  return static_cast<std::size_t>(std::find(all_.begin(), all_.end(), launch()) - all_.begin());
}

// The g-th of n parts of the grid's blocks is GPU g's.
void KernelRun::begin(std::int64_t now) {
  began_ = now;
  ends_.clear();
  const base::LaunchTrace* const its = launch();
  if (!its) return;
  resident_ = resident_blocks(cores_, *its);
  simulated_ = its->blocks.size();
  std::size_t next = 0;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const std::uint64_t end = its->block_count() * (g + 1) / parts_.size();
    parts_[g].next = next;
    while (next < its->blocks.size() && its->blocks[next].number < end) ++next;
    parts_[g].end = next;
  }
}

const base::BlockTrace* KernelRun::take(std::size_t gpu) {
  Part& own = parts_[gpu];
  if (own.next < own.end) return &launch()->blocks[own.next++];
  if (schedule_ == BlockSchedule::chunks) return nullptr;
  Part& most = *std::max_element(parts_.begin(), parts_.end(),
                                 [](const Part& a, const Part& b) { return a.end - a.next < b.end - b.next; });
  return most.next < most.end ? &launch()->blocks[--most.end] : nullptr;
}

void KernelRun::ended(std::int64_t now) {
  ends_.push_back(now - began_);
  constexpr std::size_t between = 64;  // blocks, from one report to the next
  if (++done_ % between == 0 && progress_) progress_(static_cast<double>(done_) / static_cast<double>(blocks_));
}

// What was not simulated goes at the pace at which blocks ended in the middle of the run.
double KernelRun::cycles_of_all(std::int64_t simulated) const {
  const double left = static_cast<double>(launch()->block_count()) - static_cast<double>(simulated_);
  if (left <= 0) return static_cast<double>(simulated);
  const std::size_t first = simulated_ / 4, last = simulated_ * 3 / 4;
  return static_cast<double>(simulated) +
         left * static_cast<double>(ends_[last] - ends_[first]) / static_cast<double>(last - first);
}

void KernelRun::next_launch(std::int64_t now, std::int64_t requests) {
  const base::LaunchTrace& its = *launch();
  const double grown = static_cast<double>(its.block_count()) / static_cast<double>(simulated_);
  results_.push_back({its.kernel, cycles_of_all(now - began_), now - began_, its.block_count(), simulated_,
                      static_cast<double>(requests) * grown});
  ++at_;
  begin(now);
}

std::vector<LaunchResult> KernelRun::results() const {
  std::vector<LaunchResult> all;
  auto recorded = results_.begin();
  for (const base::LaunchTrace* const its : all_) {
    if (!its->blocks.empty()) {
      if (recorded == results_.end()) break;  // cut off
      all.push_back(*recorded++);
      continue;
    }
    LaunchResult mean{its->kernel, 0, 0, its->block_count(), 0, 0};
    int alike = 0;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (!same_shape(*launches_[i], *its)) continue;
      mean.cycles += results_[i].cycles;
      mean.requests += results_[i].requests;
      ++alike;
    }
    if (alike == 0) break;  // cut off
    mean.cycles /= alike;
    mean.requests /= alike;
    all.push_back(mean);
  }
  return all;
}

}  // namespace dcgn::memnet
