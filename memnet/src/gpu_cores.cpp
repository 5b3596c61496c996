#include "memnet/src/gpu_cores.hpp"

#include "memnet/src/config_keys.hpp"
#include "memnet/src/fail.hpp"
#include "memnet/src/gpu_core.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

namespace dcgn::memnet {

namespace {

using Kind = base::WarpEvent::Kind;

constexpr int sector_bytes = 32;
constexpr std::uint32_t atomic_bytes = 16;   // of an operand, as HMCs take it
constexpr std::size_t queued_requests = 64;  // of a GPU, before its channels
constexpr std::int64_t no_cycle = std::numeric_limits<std::int64_t>::max();

// The cores and the L2 cache of one.
class Gpu final : public AccessSource, public GpuState {
 public:
  Gpu(KernelRun& its_run, const std::vector<std::shared_ptr<Gpu>>& all, const GpuCores& its_model, double network_ghz,
      KernelResult& its_result)
      : GpuState(its_run, all.size(), its_model, network_ghz, its_result),
        all_(all),
        l2_(model.l2_bytes, model.l2_ways, cached_line_bytes),
        banks_(static_cast<std::size_t>(model.l2_banks)),
        l2_slots_a_cycle_(model.l2_clock_ghz / network_ghz),
        l2_cycles_(std::max<std::int64_t>(1, std::llround(model.l2_latency / l2_slots_a_cycle_))) {
    for (int i = 0; i < model.cores; ++i) cores_.push_back(std::make_unique<GpuCore>(*this, i));
    begin_launch();
  }

  void advance(std::int64_t now) override {
    if (number == 0) run.watch(now);
    if (number == 0 && run.launch() && run.all_ended() &&
        std::all_of(all_.begin(), all_.end(), [](const auto& gpu) { return gpu->idle(); }))
      run.next_launch(now);
    if (!run.launch()) return;
    if (run.number() != launch_) begin_launch();
    if (run.is_cut()) return abandon();
    for (std::size_t i = 0; i < wakes_.size(); ++i)
      if (wakes_[i] <= now) wakes_[i] = cores_[i]->cycle(now);
    // Each is the first in its turn: the way to memory has room for some.
    for (std::size_t i = 0; i < banks_.size(); ++i)
      serve(banks_[(static_cast<std::size_t>(now) + i) % banks_.size()], now);
  }
  Next next(Access& access) override {
    if (!run.launch()) return Next::end;
    if (to_memory_.empty()) return Next::later;
    access = to_memory_.front();
    to_memory_.pop_front();
    run.request();
    return Next::access;
  }
  void completed(const Access& access, std::int64_t now) override {
    const Waiting waiting = std::exchange(waiting_[access.tag], {});
    free_.push_back(access.tag);
    --outstanding_;
    if (run.is_cut()) {  // nobody waits for it
      if (waiting.kind == Kind::load) misses_.erase(access.address / cached_line_bytes);
      return;
    }
    const std::int64_t back = now + crossbar_cycles;
    switch (waiting.kind) {
      case Kind::load: {
        const auto found = misses_.find(access.address / cached_line_bytes);
        l2_.insert(found->first);
        for (const int core : found->second) fill(core, found->first, back);
        misses_.erase(found);
        break;
      }
      case Kind::atomic:
        cores_[static_cast<std::size_t>(waiting.core)]->atomic_done(waiting.waiter, back);
        wake(waiting.core, back);
        break;
      default:
        cores_[static_cast<std::size_t>(waiting.core)]->write_done();
        wake(waiting.core, now);
        break;
    }
  }
  std::int64_t next_cycle(std::int64_t now) const override {
    if (!run.launch()) return no_cycle;
    if (run.all_ended()) return now + 1;
    std::int64_t next = std::max(now + 1, *std::min_element(wakes_.begin(), wakes_.end()));
    for (const Bank& bank : banks_)
      if (!bank.queue.empty()) next = std::min(next, std::max(now + 1, bank.queue.front().cycle));
    return next;
  }

  bool idle() const {
    return outstanding_ == 0 &&
           std::all_of(cores_.begin(), cores_.end(), [](const auto& core) { return core->idle(); });
  }
  void send(const L2Request& request) override { banks_[bank_of(request.line)].queue.push_back(request); }

 private:
  struct Bank {
    std::deque<L2Request> queue;
    double slots = 0;
  };
  struct Waiting {  // for memory
    Kind kind = Kind::load;
    int core = 0;
    Waiter waiter;
  };

  // Lines of a page go round the HMCs of a cluster; so that each bank's are of all HMCs, higher bits count, too.
  std::size_t bank_of(std::uint64_t line) const { return (line ^ line >> 3 ^ line >> 6 ^ line >> 9) % banks_.size(); }

  void wake(int core, std::int64_t cycle) {
    std::int64_t& its = wakes_[static_cast<std::size_t>(core)];
    its = std::min(its, cycle);
  }
  void fill(int core, std::uint64_t line, std::int64_t cycle) {
    cores_[static_cast<std::size_t>(core)]->fill(line, cycle);
    wake(core, cycle);
  }

  void begin_launch() {
    launch_ = run.number();
    abandoned_ = false;
    l2_.clear();
    wakes_.assign(cores_.size(), 0);
    for (const auto& core : cores_) core->begin_launch();
  }

  // What is on its way to memory still gets there.
  void abandon() {
    if (std::exchange(abandoned_, true)) return;
    for (const auto& core : cores_) core->abandon();
    for (Bank& bank : banks_) bank.queue.clear();
  }

  void serve(Bank& bank, std::int64_t now) {
    bank.slots = std::min(bank.slots + l2_slots_a_cycle_, 1 + l2_slots_a_cycle_);
    while (bank.slots >= 1 && !bank.queue.empty() && bank.queue.front().cycle <= now) {
      const L2Request& request = bank.queue.front();
      const bool is_load = request.kind == Kind::load;
      if (is_load) {
        ++result.l2_reads;
        if (l2_.touch(request.line)) {
          ++result.l2_hits;
          fill(request.core, request.line, now + l2_cycles_ + crossbar_cycles);
          bank.queue.pop_front();
          bank.slots -= 1;
          continue;
        }
        if (const auto found = misses_.find(request.line); found != misses_.end()) {
          found->second.push_back(request.core);
          bank.queue.pop_front();
          bank.slots -= 1;
          continue;
        }
        --result.l2_reads;
      }
      if (to_memory_.size() >= queued_requests) return;
      if (is_load) {
        ++result.l2_reads;
        misses_[request.line] = {request.core};
        ++result.reads;
      }
      if (request.kind == Kind::atomic) {
        l2_.remove(request.line);
        ++result.atomics;
      }
      if (request.kind == Kind::store) {
        static_cast<void>(l2_.touch(request.line));
        ++result.writes;
      }
      ask_memory(request, now);
      bank.queue.pop_front();
      bank.slots -= 1;
    }
  }

  void ask_memory(const L2Request& request, std::int64_t now) {
    std::uint64_t tag = waiting_.size();
    if (free_.empty()) {
      waiting_.emplace_back();
    } else {
      tag = free_.back();
      free_.pop_back();
    }
    waiting_[tag] = {request.kind, request.core, {request.warp, request.load}};
    Access access;
    access.tag = tag;
    access.earliest = now + l2_cycles_;
    access.write = request.kind != Kind::load;
    access.address = request.line * cached_line_bytes;
    if (access.write) {
      access.address += static_cast<std::uint64_t>(std::countr_zero(request.sectors)) * sector_bytes;
      access.bytes = request.kind == Kind::atomic
                         ? atomic_bytes
                         : static_cast<std::uint32_t>(std::popcount(request.sectors)) * sector_bytes;
    } else {
      access.bytes = cached_line_bytes;
    }
    to_memory_.push_back(access);
    ++outstanding_;
  }

  const std::vector<std::shared_ptr<Gpu>>& all_;
  std::size_t launch_ = 0;
  bool abandoned_ = false;  // this launch
  Cache l2_;
  std::vector<Bank> banks_;
  const double l2_slots_a_cycle_;
  const std::int64_t l2_cycles_;
  std::vector<std::unique_ptr<GpuCore>> cores_;
  std::vector<std::int64_t> wakes_;                             // of each core
  std::unordered_map<std::uint64_t, std::vector<int>> misses_;  // cores that wait for a line
  std::deque<Access> to_memory_;
  std::vector<Waiting> waiting_;  // by tag
  std::vector<std::uint64_t> free_;
  std::int64_t outstanding_ = 0;
};

}  // namespace

void GpuCores::validate() const {
  const auto require = [](const char* key, double value, double least, double most) {
    if (value >= least && value <= most) return;
    fail("gpu", std::string(key) + " is " + number_text(value) + ", expected " + number_text(least) + " to " +
                    number_text(most));
  };
  require("cores", cores, 1, 1024);
  require("blocks_per_core", blocks_per_core, 1, 64);
  require("threads_per_core", threads_per_core, 32, 4096);
  require("shared_memory", shared_bytes_per_core, 1, 1 << 20);
  require("clock", clock_ghz, 0.01, 100);
  require("issue_gap", issue_gap, 1, 1000);
  require("l1", l1_bytes, cached_line_bytes * l1_ways, 1 << 26);
  require("l1_ways", l1_ways, 1, 1024);
  require("l1_latency", l1_latency, 1, 10000);
  require("l1_misses", l1_misses, 1, 4096);
  require("crossbar", crossbar_ns, 0, 10000);
  require("l2", l2_bytes, cached_line_bytes * l2_ways, 1 << 29);
  require("l2_ways", l2_ways, 1, 1024);
  require("l2_banks", l2_banks, 1, 4096);
  require("l2_clock", l2_clock_ghz, 0.01, 100);
  require("l2_latency", l2_latency, 1, 10000);
  require("outstanding", outstanding, 1, 1 << 20);
}

std::string_view to_string(BlockSchedule schedule) noexcept {
  switch (schedule) {
    case BlockSchedule::chunks: return "chunks";
    case BlockSchedule::stealing: return "stealing";
  }
  return "unknown";
}

double KernelResult::cycles() const {
  double sum = 0;
  for (const LaunchResult& launch : launches) sum += launch.cycles;
  return sum;
}

double KernelResult::all_requests() const {
  double sum = 0;
  for (const LaunchResult& launch : launches) sum += launch.requests;
  return sum;
}

KernelResult run_kernels(const Topology& topology, const Parameters& parameters, const MemorySystem& memory,
                         const std::vector<int>& gpus, const GpuCores& cores, const base::KernelTrace& trace,
                         BlockSchedule schedule, const Progress& progress, std::int64_t max_cycles,
                         std::int64_t most_requests) {
  cores.validate();
  KernelResult result;
  KernelRun run(trace, gpus.size(), cores, schedule, progress, most_requests);
  std::vector<std::shared_ptr<Gpu>> sources;
  std::vector<Requester> requesters;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    sources.push_back(std::make_shared<Gpu>(run, sources, cores, parameters.clock_ghz, result));
    Requester requester;
    requester.terminal = gpus[g];
    requester.window = cores.outstanding;
    requester.source = sources.back();
    if (memory.placements.size() > 1) requester.placement = static_cast<int>(g);
    requesters.push_back(std::move(requester));
  }
  result.network = run_closed_loop(topology, parameters, memory, requesters, max_cycles);
  result.launches = run.results();
  if (run.launch()) {
    fail("memnet", "launch " + std::to_string(run.number_in_trace()) + ", " + run.launch()->kernel +
                       ", has not ended by cycle " + std::to_string(result.network.cycles) +
                       ", expected a trace that takes fewer");
  }
  result.energy = energy_of_all(result.network, parameters, result.all_requests(), result.cycles());
  return result;
}

}  // namespace dcgn::memnet
