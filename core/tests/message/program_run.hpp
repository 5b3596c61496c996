// Runs random programs (program.hpp) as jobs and holds them against the oracle.
//
// DCGN_TEST_SEED=<n> with --gtest_filter=*Replay* runs one program again, both ways, and prints it.
#pragma once

#include "device/emulated/schedule.hpp"
#include "program_check.hpp"
#include "program_generator.hpp"
#include "program_kernels.hpp"
#include "tests/processes.hpp"
#include "tests/sanitized.hpp"

#include <dcgn/device.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {

// A rank's program, memory and results in one piece of memory that the rank can reach.
class LoadedRank {
 public:
  LoadedRank(const Program& p, int rank, std::optional<Device> device) : device_(device) {
    const RankProgram& r = p.ranks[static_cast<std::size_t>(rank)];
    const std::vector<unsigned char> memory = initial_memory(p, rank);
    const std::size_t requests = r.request_results.size();
    ops_ = put(r.ops.data(), r.ops.size() * sizeof(Op));
    lists_ = put(r.lists.data(), r.lists.size() * sizeof(std::int32_t));
    request_results_ = put(r.request_results.data(), requests * sizeof(std::int32_t));
    memory_ = put(memory.data(), memory.size());
    results_ = put(nullptr, r.receives.size() * sizeof(Result));
    requests_ = put(nullptr, requests * sizeof(Request));
    done_ = put(nullptr, requests * sizeof(std::int32_t));
    scratch_ = put(nullptr, requests * sizeof(Request));
    statuses_ = put(nullptr, requests * sizeof(Status));
    progress_ = put(nullptr, sizeof(Progress));
    memory_bytes_ = memory.size();
    result_count_ = r.receives.size();
    if (device_) {
      copy_.emplace(*device_, host_.size());
      copy_->upload(host_.data());
    }
    image_.scope = r.scope;
    image_.op_count = static_cast<std::int32_t>(r.ops.size());
    image_.cut = r.cut;
    image_.ops = at<Op>(ops_);
    image_.lists = at<std::int32_t>(lists_);
    image_.request_results = at<std::int32_t>(request_results_);
    image_.memory = at<unsigned char>(memory_);
    image_.results = at<Result>(results_);
    image_.requests = at<Request>(requests_);
    image_.done = at<std::int32_t>(done_);
    image_.scratch = at<Request>(scratch_);
    image_.statuses = at<Status>(statuses_);
    image_.progress = at<Progress>(progress_);
  }

  const RankImage& image() const { return image_; }

  RankOutcome outcome() {
    if (copy_) copy_->download(host_.data());
    const unsigned char* base = reinterpret_cast<const unsigned char*>(host_.data());
    RankOutcome o;
    o.memory.assign(base + memory_, base + memory_ + memory_bytes_);
    o.results.resize(result_count_);
    if (result_count_) std::memcpy(o.results.data(), base + results_, result_count_ * sizeof(Result));
    std::memcpy(&o.progress, base + progress_, sizeof(Progress));
    return o;
  }

 private:
  struct alignas(64) Line {
    unsigned char bytes[64];
  };

  std::size_t put(const void* data, std::size_t bytes) {
    const std::size_t offset = host_.size() * sizeof(Line);
    host_.resize(host_.size() + (bytes + sizeof(Line)) / sizeof(Line));  // at least a byte between any two
    if (data && bytes) std::memcpy(reinterpret_cast<unsigned char*>(host_.data()) + offset, data, bytes);
    return offset;
  }
  template <class T>
  T* at(std::size_t offset) {
    Line* base = copy_ ? copy_->data() : host_.data();
    return reinterpret_cast<T*>(reinterpret_cast<unsigned char*>(base) + offset);
  }

  std::optional<Device> device_;
  std::vector<Line> host_;
  std::optional<DeviceBuffer<Line>> copy_;
  std::size_t ops_, lists_, request_results_, memory_, results_, requests_, done_, scratch_, statuses_, progress_;
  std::size_t memory_bytes_, result_count_;
  RankImage image_;
};

// A job's strategy in deterministic mode: what DCGN_TEST_SCHEDULE says, or one by the program's seed.
class Scheduled {
 public:
  explicit Scheduled(const Program& p) : chosen_(!std::getenv(name)) {
    constexpr auto& all = device::all_strategies;
    if (chosen_) setenv(name, to_string(all[p.seed % std::size(all)]), 1);
  }
  Scheduled(const Scheduled&) = delete;
  Scheduled& operator=(const Scheduled&) = delete;
  ~Scheduled() {
    if (chosen_) unsetenv(name);
  }

 private:
  static constexpr const char* name = "DCGN_TEST_SCHEDULE";
  const bool chosen_;
};

// Runs the program's ranks of this process; throws what its job does. `all` has what they had then, whatever happened.
inline Report run_ranks(const Program& p, bool schedule, std::vector<RankOutcome>& all) {
  Config config = p.config;
  config.deadline_s = sanitized ? 100 : 30;
  if (schedule) config.seed = p.seed;
  const Scheduled scheduled(p);
  std::vector<std::unique_ptr<LoadedRank>> ranks;
  const auto look = [&] {
    all.clear();
    for (auto& rank : ranks) all.push_back(rank ? rank->outcome() : RankOutcome{});
  };
  try {
    Job job(config);
    std::vector<DeviceBuffer<RankImage>> images;
    std::vector<std::vector<RankImage>> slots(static_cast<std::size_t>(job.world().gpus()));
    std::vector<bool> has_cut(slots.size());
    int gpu = 0, first_gpu = 0;  // in this process; before it
    for (int r = 0; r < job.world().size(); ++r) {
      const Place place = job.placement().place(r);
      ranks.emplace_back();
      if (!job.world().is_here(r)) {
        first_gpu += slots.size() > 0 && gpu == 0 && place.is_slot() && place.slot == 0;
        continue;
      }
      std::optional<Device> device;
      if (place.is_slot()) device = job.world().device(gpu);
      ranks.back() = std::make_unique<LoadedRank>(p, r, device);
      if (!place.is_slot()) continue;
      slots[static_cast<std::size_t>(gpu)].push_back(ranks.back()->image());
      if (p.ranks[static_cast<std::size_t>(r)].cut) has_cut[static_cast<std::size_t>(gpu)] = true;
      if (place.slot + 1 == job.placement().shape(place.node).slots) ++gpu;
    }
    for (std::size_t g = 0; g < slots.size(); ++g) {
      images.emplace_back(job.world().device(static_cast<int>(g)), slots[g].size());
      images.back().upload(slots[g].data());
    }
    job.cpu([&](Comm& comm) {
      const CpuPort port(comm);
      const RankImage& image = ranks[static_cast<std::size_t>(comm.rank())]->image();
      Interpreter<CpuPort>(port, image).run(0, image.op_count);
    });
    for (std::size_t g = 0; g < slots.size(); ++g) {
      const std::size_t of_all = static_cast<std::size_t>(first_gpu) + g;
      for (int part = 0; part < (has_cut[g] ? 2 : 1); ++part)
        job.gpu_on(static_cast<int>(g),
                   {.grid = static_cast<unsigned>(slots[g].size()) * p.blocks[of_all], .block = p.block[of_all]},
                   RunSlots{}, static_cast<const RankImage*>(images[g].data()), p.blocks[of_all], part);
    }
    const Report report = job.run();
    look();
    return report;
  } catch (...) {
    look();
    throw;
  }
}

// What the ranks of all processes had, to all of them.
inline void share_outcomes(std::vector<RankOutcome>& all, Report& report) {
  std::vector<std::vector<unsigned char>> memory;
  std::vector<std::vector<Result>> results;
  std::vector<std::vector<Progress>> progress;
  std::vector<std::vector<std::uint64_t>> counts(all.size());
  for (const RankReport& r : report.ranks)
    counts[static_cast<std::size_t>(r.rank)] = {r.sent_messages, r.sent_bytes, r.received_messages, r.received_bytes};
  for (std::size_t r = 0; r < all.size(); ++r) {
    memory.push_back(std::move(all[r].memory));
    results.push_back(std::move(all[r].results));
    progress.emplace_back();
    if (!counts[r].empty()) progress.back().push_back(all[r].progress);
  }
  share(memory);
  share(results);
  share(progress);
  share(counts);
  report.ranks.assign(all.size(), {});
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r] = {std::move(memory[r]), std::move(results[r]), progress[r].at(0)};
    RankReport& to = report.ranks[r];
    to.sent_messages = counts[r].at(0);
    to.sent_bytes = counts[r].at(1);
    to.received_messages = counts[r].at(2);
    to.received_bytes = counts[r].at(3);
  }
}

// Runs it and returns what was wrong; empty if nothing was. `schedule`: deterministic mode, with the program's seed.
inline std::string run_program(const Program& p, bool schedule) {
  const auto introduction = [&] {
    return describe(p) + (schedule ? ", deterministic" : ", threads") +
           "\n  again: DCGN_TEST_SEED=" + std::to_string(p.seed) + " test_message --gtest_filter=*Replay*\n  ";
  };
  std::vector<RankOutcome> seen;
  Report report;
  try {
    report = run_ranks(p, schedule, seen);
  } catch (const std::exception& error) {
    return introduction() + error.what() + Checker(p, seen).where();
  }
  if (processes() > 1) share_outcomes(seen, report);
  std::string failure = Checker(p, seen).check();
  if (failure.empty()) {
    std::uint64_t sent = 0, received = 0, sent_bytes = 0, received_bytes = 0;
    for (const RankReport& r : report.ranks) {
      sent += r.sent_messages;
      received += r.received_messages;
      sent_bytes += r.sent_bytes;
      received_bytes += r.received_bytes;
    }
    if (sent != received || sent_bytes != received_bytes || sent < p.messages.size() || sent_bytes < p.coverage.bytes)
      failure = "the report says " + std::to_string(sent) + " messages of " + std::to_string(sent_bytes) +
                " bytes sent, " + std::to_string(received) + " of " + std::to_string(received_bytes) +
                " received; the program has " + std::to_string(p.messages.size()) + " of " +
                std::to_string(p.coverage.bytes) + " besides collectives";
  }
  return failure.empty() ? failure : introduction() + failure;
}

inline Coverage& operator+=(Coverage& a, const Coverage& b) {
  // All members are counters.
  constexpr std::size_t n = sizeof(Coverage) / sizeof(std::uint64_t);
  std::uint64_t x[n], y[n];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (std::size_t i = 0; i < n; ++i) x[i] += y[i];
  std::memcpy(&a, x, sizeof x);
  return a;
}

// The counters that programs by the dozen must have raised; the names of those they have not.
inline std::string not_covered(const Coverage& c) {
  std::string missing;
  const auto need = [&](const char* what, std::uint64_t count) {
    if (count == 0) missing += std::string(missing.empty() ? "" : ", ") + what;
  };
  need("small messages", c.small);
  need("eager messages", c.eager);
  need("pulled messages", c.pull);
  need("offered messages", c.offer);
  need("messages moved by copy engines", c.copied);
  need("zero bytes", c.zero_bytes);
  need("large tags", c.large_tags);
  need("messages to oneself", c.to_self);
  need("truncation", c.truncated);
  need("any_source", c.wild_source);
  need("any_source with any_tag", c.wild_both);
  need("any_tag", c.any_tag);
  need("probes", c.probes);
  need("test", c.tests);
  need("wait_all", c.wait_alls);
  need("wait_any", c.wait_anys);
  need("ssend", c.ssends);
  need("bsend", c.bsends);
  need("sendrecv", c.exchanges);
  need("sendrecv_replace", c.replaces);
  need("operations begun early", c.early);
  need("barriers", c.barriers);
  need("broadcasts", c.broadcasts);
  need("two kernels", c.two_kernels);
  need("fifos gone round", c.wraps);
  need("thread scope", c.scopes[0]);
  need("warp scope", c.scopes[1]);
  need("block scope", c.scopes[2]);
  need("scope of several blocks", c.scopes[3]);
  return missing;
}

inline int most_gpus() { return std::min(3, Device::count()); }

}  // namespace dcgn::test
