#include "vgpu/bench/vgpu.hpp"

#include <dcgn/device.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>

namespace dcgn::bench {

namespace {

using virtual_gpu::Placement, virtual_gpu::Schedule;
using workloads::Result, workloads::WorkloadKind;

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::vector<Device> devices_of(int parts) {
  std::vector<Device> devices;
  devices.reserve(static_cast<std::size_t>(parts));
  for (int part = 0; part < parts; ++part) devices.emplace_back(part % Device::count());
  return devices;
}

VgpuRow row_of(const char* measure, const std::string& workload, int parts) {
  return {.whose = "dcgn " + std::string(version),
          .measure = measure,
          .workload = workload,
          .placement = "chunked",
          .schedule = "fixed",
          .parts = parts,
          .devices = std::min(parts, Device::count())};
}

// What each run took. The first, which is not counted, finds code that is not where it is used yet.
std::vector<double> time_runs(workloads::Workload& workload, VirtualGpu& gpu, double seconds) {
  virtual_gpu::Stream stream(gpu);
  std::vector<double> us;
  double spent = 0;
  for (int round = 0; round < 1000 && (us.size() < 3 || spent < seconds * 1e6); ++round) {
    workload.reset();
    const auto begin = Clock::now();
    workload.run(stream);
    stream.synchronize();
    const double took = us_since(begin);
    if (round == 0) continue;
    us.push_back(took);
    spent += took;
  }
  return us;
}

constexpr const char* compare_source = R"(
extern "C" __global__ void count_differences(const unsigned* a, const unsigned* b, unsigned long long words,
                                             unsigned long long* different) {
  unsigned long long mine = 0;
  for (unsigned long long i = blockIdx.x * 1ull * blockDim.x + threadIdx.x; i < words; i += blockDim.x * 1ull * gridDim.x)
    mine += a[i] != b[i];
  if (mine != 0) atomicAdd(different, mine);
}
)";

// What others are compared with: one GPU, with the kernels as they are. It looks at their results itself.
class Reference {
 public:
  Reference(const WorkloadKind& kind, int scale, double seconds)
      : gpu_(devices_of(1)),
        workload_(kind.make(gpu_, scale)),
        compare_(gpu_.load_source("compare.cu", compare_source).kernel("count_differences")),
        us_(time_runs(*workload_, gpu_, seconds)) {}

  VgpuRow row(const char* measure, const WorkloadKind& kind) const {
    VgpuRow row = row_of(measure, kind.name, 1);
    set_figures(row, us_);
    row.bytes = workload_->bytes_moved();
    row.speedup = row.limit = 1;
    row.limited_by = "so many devices";
    return row;
  }
  double p50_us() const { return percentile(us_, 50); }

  std::uint64_t differences(VirtualGpu& other, const workloads::Workload& workload) {
    const std::vector<Result> found = workload.results(), expected = workload_->results();
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < found.size(); ++i) wrong += differences(other, found[i], expected[i]);
    return wrong;
  }

 private:
  std::uint64_t differences(VirtualGpu& other, const Result& found, const Result& expected) {
    const std::size_t words = expected.bytes / 4;
    if (expected.tolerance != 0) {
      std::vector<std::uint32_t> theirs(words), ours(words);
      other.copy(theirs.data(), found.data, found.bytes);
      gpu_.copy(ours.data(), expected.data, expected.bytes);
      return workloads::differences(expected, theirs, ours);
    }
    auto* count = static_cast<std::uint64_t*>(gpu_.allocate(8));
    gpu_.fill(count, 0, 8);
    gpu_.launch(compare_, {.grid = 1024, .block = 256}, found.data, expected.data, std::uint64_t{words}, count);
    std::uint64_t wrong = 0;
    gpu_.copy(&wrong, count, 8);
    gpu_.free(count);
    return wrong;
  }

  VirtualGpu gpu_;
  std::unique_ptr<workloads::Workload> workload_;
  virtual_gpu::Kernel compare_;
  std::vector<double> us_;
};

// The first `parts` devices' workload, and rows of it.
class Candidate {
 public:
  Candidate(Reference& reference, const WorkloadKind& kind, int parts, const VgpuWork& work, int scale,
            Schedule schedule = Schedule::fixed)
      : reference_(reference),
        name_(kind.name),
        seconds_(work.seconds),
        gpu_(devices_of(parts), {.schedule = schedule}),
        workload_(kind.make(gpu_, scale)) {}

  VgpuRow measure(const char* measure, const char* placement = "chunked", const char* schedule = "fixed") {
    VgpuRow row = row_of(measure, name_, gpu_.parts());
    row.placement = placement;
    row.schedule = schedule;
    const std::size_t copied = gpu_.statistics().copied_bytes;
    set_figures(row, time_runs(*workload_, gpu_, seconds_));
    row.copied_bytes = gpu_.statistics().copied_bytes - copied;
    row.bytes = workload_->bytes_moved();
    row.speedup = reference_.p50_us() / row.p50_us;
    row.limit = row.devices;
    row.limited_by = "so many devices";
    row.wrong = reference_.differences(gpu_, *workload_);
    return row;
  }
  void place(const std::vector<void*>& buffers, const Placement& placement) {
    for (void* buffer : buffers) gpu_.place(buffer, placement);
  }
  void place_by_sample() {
    workload_->reset();
    workload_->sample_next_run(64 * static_cast<std::uint64_t>(gpu_.parts()));
    workload_->run(gpu_.own_stream());
    gpu_.synchronize();
  }
  // Until launches were tried both ways and a while has passed; a program that runs for less does not find out. What
  // runs compute from what runs before them have left takes as long.
  void settle() {
    constexpr double longest_us = 4e6, behind_trial_us = 0.5e6;
    virtual_gpu::Stream stream(gpu_);
    double run_us = 0, reset_us = 0, spent_us = 0, enough_us = longest_us;
    for (int round = 0; spent_us < enough_us; ++round) {
      if (round == 0 || reset_us < run_us) {
        const auto begin = Clock::now();
        workload_->reset();
        reset_us = us_since(begin);
      }
      const auto begin = Clock::now();
      workload_->run(stream);
      stream.synchronize();
      run_us = us_since(begin);
      spent_us += run_us;
      if (gpu_.statistics().trials != 0) enough_us = std::min(enough_us, spent_us + behind_trial_us);
    }
  }
  VirtualGpu& gpu() { return gpu_; }
  workloads::Workload& workload() { return *workload_; }

 private:
  Reference& reference_;
  const char* const name_;
  const double seconds_;
  VirtualGpu gpu_;
  std::unique_ptr<workloads::Workload> workload_;
};

int most_of(const std::vector<int>& parts) { return *std::max_element(parts.begin(), parts.end()); }

int scale_of(const VgpuWork& work, const WorkloadKind& kind) {
  const int devices = std::min(most_of(work.parts), Device::count());
  return std::min(work.scale ? work.scale : kind.scale_of_gpu * devices, kind.largest_scale);
}

// So many per cent of a buffer's pages dealt out to other parts than the first.
Placement spread(const VirtualGpu& gpu, const void* buffer, int percent) {
  std::size_t bytes = 0;
  for (const std::size_t part : gpu.bytes_on_parts(buffer)) bytes += part;
  std::vector<int> parts(bytes / gpu.page_bytes());
  std::size_t remote = 0;
  for (std::size_t page = 0; page < parts.size(); ++page)
    if ((page + 1) * static_cast<std::size_t>(percent) / 100 > remote)
      parts[page] = 1 + static_cast<int>(remote++ % static_cast<std::size_t>(gpu.parts() - 1));
  return Placement::listed(std::move(parts));
}

// GB/s of copies, from one part's memory to another's or its own.
double copy_rate(const Device& to, const Device& from, double seconds) {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  const DeviceBuffer<std::byte> target(to, bytes), source(from, bytes);
  to.copy(target.data(), source.data(), bytes);
  std::vector<double> us;
  for (double spent = 0; us.size() < 3 || spent < seconds * 1e6; spent += us.back()) {
    const auto begin = Clock::now();
    to.copy(target.data(), source.data(), bytes);
    us.push_back(us_since(begin));
  }
  return static_cast<double>(bytes) * 1e-3 / percentile(us, 50);
}

}  // namespace

void measure_remote(const VgpuWork& work, const VgpuSink& sink) {
  const WorkloadKind kind = workloads::workload_kinds().front();  // vector add
  const int scale = scale_of(work, kind), devices = std::min(most_of(work.parts), Device::count());
  Reference reference(kind, scale, work.seconds);
  // A copy within a GPU reads and writes as many bytes.
  const double local = 2 * copy_rate(Device(0), Device(0), work.seconds);
  const double link = devices > 1 ? copy_rate(Device(0), Device(1), work.seconds) : 0;
  Candidate candidate(reference, kind, devices, work, scale);
  candidate.gpu().options().schedule = Schedule::part_0;
  for (const int percent : {0, 50, 75, 100}) {
    if (percent != 0 && devices == 1) break;
    const double remote = percent / 100.0;
    for (void* buffer : candidate.workload().buffers())
      candidate.gpu().place(buffer, spread(candidate.gpu(), buffer, percent));
    VgpuRow row = candidate.measure("remote", (std::to_string(percent) + " % remote").c_str(), "part 0");
    // Of three floats that it moves two come, one goes: the link carries both ways at once.
    const double by_memory = row.bytes * (1 - remote) * 1e-3 / local;
    const double by_link = link > 0 ? row.bytes * remote * 2 / 3 * 1e-3 / link : 0;
    row.limit = reference.p50_us() / std::max(by_memory, by_link);
    row.limited_by = by_link > by_memory ? "copies between GPUs" : "copies within a GPU";
    sink(row);
  }
}

void measure_workload(const VgpuWork& work, const WorkloadKind& kind, const VgpuSink& sink) {
  const int most = most_of(work.parts), scale = scale_of(work, kind);
  Reference reference(kind, scale, work.seconds);
  sink(reference.row("scaling", kind));
  for (const int parts : work.parts) {
    if (parts == 1 || (parts != most && !work.scaling && !work.measured)) continue;
    if (work.measured) {
      Candidate candidate(reference, kind, parts, work, scale, Schedule::measured);
      candidate.settle();
      sink(candidate.measure("measured", "as measured", "measured"));
    }
    if (!work.scaling && !work.schedule && !work.placement) continue;
    Candidate candidate(reference, kind, parts, work, scale);
    sink(candidate.measure("scaling"));
    if (parts != most) continue;
    if (work.schedule) {
      candidate.gpu().options().schedule = Schedule::stealing;
      sink(candidate.measure("schedule", "chunked", "stealing"));
      candidate.gpu().options().schedule = Schedule::fixed;
    }
    if (!work.placement) continue;
    candidate.gpu().options().copies = 0;
    sink(candidate.measure("placement", "no copies"));
    candidate.place(candidate.workload().inputs(), Placement::replicated());
    if (!candidate.workload().inputs().empty()) sink(candidate.measure("placement", "inputs replicated"));
    candidate.place(candidate.workload().buffers(), Placement::interleaved());
    sink(candidate.measure("placement", "interleaved"));
    candidate.place(candidate.workload().buffers(), Placement::owner(0));
    sink(candidate.measure("placement", "on part 0"));
    candidate.place_by_sample();
    sink(candidate.measure("placement", "sampled"));
  }
}

void measure_launch(const VgpuWork& work, const VgpuSink& sink) {
  constexpr int many = 200;
  double alone = 0, in_a_row = 0, in_a_graph = 0;  // one GPU's
  std::vector<int> all = work.parts;
  if (all.front() != 1) all.insert(all.begin(), 1);
  for (const int parts : all) {
    VirtualGpu gpu(devices_of(parts));
    const virtual_gpu::Kernel kernel =
        gpu.load_source("nothing.cu", "extern \"C\" __global__ void nothing() {}").kernel("nothing");
    const Launch launch{.grid = static_cast<unsigned>(64 * parts), .block = 128};
    virtual_gpu::Stream stream(gpu);
    const auto measure = [&](const char* what, int launches, double& of_one, const std::function<void()>& give) {
      std::vector<double> us;
      const auto begin = Clock::now();
      for (int round = 0; round < 10 || us_since(begin) < work.seconds * 1e6; ++round) {
        const auto start = Clock::now();
        give();
        stream.synchronize();
        if (round >= 5) us.push_back(us_since(start) / launches);
      }
      VgpuRow row = row_of("launch", what, parts);
      set_figures(row, us);
      if (parts == 1) of_one = row.p50_us;
      row.limit = of_one;
      row.limited_by = "one GPU's, us";
      sink(row);
    };
    const auto give = [&](virtual_gpu::Stream& its, int launches) {
      for (int i = 0; i < launches; ++i) gpu.launch(its, kernel, launch);
    };
    const virtual_gpu::Graph graph = gpu.record([&](virtual_gpu::Stream& its) { give(its, many); });
    measure("empty kernel, launch and wait", 1, alone, [&] { give(stream, 1); });
    measure("empty kernel, one of 200", many, in_a_row, [&] { give(stream, many); });
    measure("empty kernel, one of 200 recorded", many, in_a_graph, [&] { gpu.launch(stream, graph); });
  }
}

}  // namespace dcgn::bench
