#include "memnet/src/kernel_run.hpp"

#include "memnet/src/fail.hpp"
#include "memnet/src/topology.hpp"

#include <algorithm>
#include <numeric>
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

// Of what computes and asks for little: instructions and lines that count as a request.
constexpr std::int64_t work_of_request = 1024;

std::uint64_t work_of(const base::BlockTrace& block) {
  if (block.work != 0) return block.work;
  std::uint64_t work = 0;
  base::WarpEvent event;
  for (std::size_t w = 0; w < block.warps(); ++w)
    for (base::WarpReader reader = block.warp(w); reader.next(event);) switch (event.kind) {
        case base::WarpEvent::Kind::issue: work += event.count; break;
        case base::WarpEvent::Kind::load:
        case base::WarpEvent::Kind::store:
        case base::WarpEvent::Kind::atomic: work += 1 + event.touches.size(); break;
        case base::WarpEvent::Kind::use:
        case base::WarpEvent::Kind::barrier: break;
      }
  return work;
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
                     const Progress& progress, std::int64_t most_requests)
    : cores_(cores),
      schedule_(schedule),
      progress_(progress),
      most_requests_(most_requests),
      parts_(gpus),
      work_(gpus) {
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
  requests_ = 0;
  std::fill(work_.begin(), work_.end(), 0);
  cut_ = false;
  taken_ = 0;
  half_ = {};
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
  if (cut_) return nullptr;
  Part& own = parts_[gpu];
  if (own.next < own.end) {
    ++taken_;
    return &launch()->blocks[own.next++];
  }
  if (schedule_ == BlockSchedule::chunks) return nullptr;
  Part& most = *std::max_element(parts_.begin(), parts_.end(),
                                 [](const Part& a, const Part& b) { return a.end - a.next < b.end - b.next; });
  if (most.next == most.end) return nullptr;
  ++taken_;
  return &launch()->blocks[--most.end];
}

void KernelRun::ended(std::int64_t now) {
  ends_.push_back(now - began_);
  constexpr std::size_t between = 64;  // blocks, from one report to the next
  if (++done_ % between == 0 && progress_) progress_(static_cast<double>(done_) / static_cast<double>(blocks_));
}

void KernelRun::watch(std::int64_t now) {
  if (most_requests_ == 0 || cut_ || !launch()) return;
  const std::int64_t work = std::accumulate(work_.begin(), work_.end(), std::int64_t{0}),
                     most = most_requests_ * static_cast<std::int64_t>(parts_.size()),
                     done = std::max(requests_, work / work_of_request);
  if (half_.work.empty() && done >= most / 2) half_ = {now - began_, requests_, work_};
  // Without work between the two there is no pace: what is left then is on its way already.
  if (done < most || now - began_ == half_.cycle || work_ == half_.work) return;
  end_ = {now - began_, requests_, work_};
  cut_ = true;
}

// What was not simulated goes at the pace at which blocks ended in the middle of the run.
LaunchResult KernelRun::whole(std::int64_t simulated) const {
  const base::LaunchTrace& its = *launch();
  const double left = static_cast<double>(its.block_count()) - static_cast<double>(simulated_);
  double cycles = static_cast<double>(simulated);
  if (left > 0) {
    const std::size_t first = simulated_ / 4, last = simulated_ * 3 / 4;
    cycles += left * static_cast<double>(ends_[last] - ends_[first]) / static_cast<double>(last - first);
  }
  const double grown = static_cast<double>(its.block_count()) / static_cast<double>(simulated_);
  return {its.kernel, cycles, simulated, its.block_count(), simulated_, static_cast<double>(requests_) * grown};
}

// Each GPU goes on at its pace in the second half of what was simulated, and so do requests. The launch ends when the
// GPU with the most left ends; blocks that may be stolen are everybody's.
LaunchResult KernelRun::of_cut() const {
  const base::LaunchTrace& its = *launch();
  const double grown = static_cast<double>(its.block_count()) / static_cast<double>(simulated_);
  const double cycles = static_cast<double>(end_.cycle - half_.cycle);
  double all_left = 0, all_done = 0, longest = 0;
  std::size_t block = 0;
  for (std::size_t g = 0; g < parts_.size(); ++g) {
    const std::uint64_t end = its.block_count() * (g + 1) / parts_.size();
    double work = 0;
    for (; block < its.blocks.size() && its.blocks[block].number < end; ++block)
      work += static_cast<double>(work_of(its.blocks[block]));
    const auto total = static_cast<double>(end_.work[g]), late = total - static_cast<double>(half_.work[g]);
    const double left = std::max(0.0, work * grown - total);
    if (late > 0) longest = std::max(longest, left * cycles / late);
    all_left += left;
    all_done += late;
  }
  const double of_all = all_left * cycles / all_done;  // all GPUs at their common pace
  const double left = schedule_ == BlockSchedule::chunks ? std::max(longest, of_all) : of_all;
  const double more = static_cast<double>(end_.requests - half_.requests) * all_left / all_done;
  return {its.kernel, static_cast<double>(end_.cycle) + left,   end_.cycle, its.block_count(),
          taken_,     static_cast<double>(end_.requests) + more};
}

void KernelRun::next_launch(std::int64_t now) {
  results_.push_back(cut_ ? of_cut() : whole(now - began_));
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
