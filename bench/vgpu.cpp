#include "bench/vgpu.hpp"

#include <dcgn/device.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <chrono>
#include <memory>

namespace dcgn::bench {

namespace {

using virtual_gpu::Placement, virtual_gpu::Schedule;
using workloads::Output, workloads::Workload, workloads::WorkloadKind;

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

std::vector<Device> devices_of(int parts) {
  std::vector<Device> devices;
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

// What each run took. The first, which is not counted, finds pages and code that are not where they are used yet.
std::vector<double> time_runs(Workload& workload, VirtualGpu& gpu, double seconds) {
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

// What runs are compared with: one GPU's.
struct Baseline {
  double p50_us = 0;
  std::vector<Output> results;
};

void add_figures(VgpuRow& row, Workload& workload, VirtualGpu& gpu, const Baseline& baseline, double seconds) {
  set_figures(row, time_runs(workload, gpu, seconds));
  row.bytes = workload.bytes_moved();
  row.speedup = baseline.p50_us / row.p50_us;
  row.limit = row.devices;
  row.limited_by = "so many devices";
  const std::vector<Output> found = workload.results();
  for (std::size_t i = 0; i < found.size(); ++i) row.wrong += differences(found[i], baseline.results[i]);
}

int scale_of(const VgpuWork& work, const WorkloadKind& kind) { return work.scale ? work.scale : kind.full_scale; }

// One GPU, with the kernels as they are; its row goes to the sink.
Baseline measure_baseline(const char* measure, const WorkloadKind& kind, const VgpuWork& work, const VgpuSink& sink) {
  VirtualGpu gpu(devices_of(1));
  const auto workload = kind.make(gpu, scale_of(work, kind));
  Baseline baseline;
  VgpuRow row = row_of(measure, kind.name, 1);
  set_figures(row, time_runs(*workload, gpu, work.seconds));
  row.bytes = workload->bytes_moved();
  row.speedup = row.limit = 1;
  row.limited_by = "so many devices";
  baseline.p50_us = row.p50_us;
  baseline.results = workload->results();
  sink(row);
  return baseline;
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

int most_of(const std::vector<int>& parts) { return *std::max_element(parts.begin(), parts.end()); }

}  // namespace

void measure_remote(const VgpuWork& work, const VgpuSink& sink) {
  const WorkloadKind kind = workloads::workload_kinds().front();  // vector add
  const Baseline baseline = measure_baseline("remote", kind, work, [](const VgpuRow&) {});
  const Device first(0);
  // A copy within a GPU reads and writes as many bytes.
  const double local = 2 * copy_rate(first, first, work.seconds);
  const double link = Device::count() > 1 ? copy_rate(first, Device(1), work.seconds) : 0;
  for (const int parts : work.parts) {
    VirtualGpu gpu(devices_of(parts), {.schedule = Schedule::part_0});
    const auto workload = kind.make(gpu, scale_of(work, kind));
    for (void* buffer : workload->buffers()) gpu.place(buffer, Placement::interleaved());
    VgpuRow row = row_of("remote", kind.name, parts);
    const double remote = 1 - 1.0 / row.devices;
    row.placement = std::to_string(static_cast<int>(100 * remote + 0.5)) + " % remote";
    row.schedule = "part 0";
    add_figures(row, *workload, gpu, baseline, work.seconds);
    // Of three floats that it moves two come, one goes: the link carries both ways at once.
    const double by_memory = row.bytes * (1 - remote) * 1e-3 / local;
    const double by_link = link > 0 ? row.bytes * remote * 2 / 3 * 1e-3 / link : 0;
    row.limit = baseline.p50_us / std::max(by_memory, by_link);
    row.limited_by = by_link > by_memory ? "copies between GPUs" : "copies within a GPU";
    sink(row);
  }
}

void measure_scaling(const VgpuWork& work, const VgpuSink& sink) {
  for (const WorkloadKind& kind : work.kinds) {
    const Baseline baseline = measure_baseline("scaling", kind, work, sink);
    for (const int parts : work.parts) {
      if (parts == 1) continue;
      VirtualGpu gpu(devices_of(parts));
      const auto workload = kind.make(gpu, scale_of(work, kind));
      VgpuRow row = row_of("scaling", kind.name, parts);
      add_figures(row, *workload, gpu, baseline, work.seconds);
      sink(row);
    }
  }
}

void measure_schedule(const VgpuWork& work, const VgpuSink& sink) {
  const int parts = most_of(work.parts);
  for (const WorkloadKind& kind : work.kinds) {
    const Baseline baseline = measure_baseline("schedule", kind, work, sink);
    VirtualGpu gpu(devices_of(parts));
    const auto workload = kind.make(gpu, scale_of(work, kind));
    for (const Schedule schedule : {Schedule::fixed, Schedule::stealing}) {
      gpu.options().schedule = schedule;
      VgpuRow row = row_of("schedule", kind.name, parts);
      row.schedule = schedule == Schedule::fixed ? "fixed" : "stealing";
      add_figures(row, *workload, gpu, baseline, work.seconds);
      sink(row);
    }
  }
}

void measure_placement(const VgpuWork& work, const VgpuSink& sink) {
  const int parts = most_of(work.parts);
  for (const WorkloadKind& kind : work.kinds) {
    const Baseline baseline = measure_baseline("placement", kind, work, sink);
    VirtualGpu gpu(devices_of(parts));
    const auto workload = kind.make(gpu, scale_of(work, kind));
    const auto measure = [&](const char* name) {
      VgpuRow row = row_of("placement", kind.name, parts);
      row.placement = name;
      add_figures(row, *workload, gpu, baseline, work.seconds);
      sink(row);
    };
    const auto place = [&](const std::vector<void*>& buffers, const Placement& placement) {
      for (void* buffer : buffers) gpu.place(buffer, placement);
    };
    measure("chunked");
    place(workload->inputs(), Placement::replicated());
    measure("inputs replicated");
    place(workload->buffers(), Placement::interleaved());
    measure("interleaved");
    place(workload->buffers(), Placement::owner(0));
    measure("on part 0");
  }
}

void measure_launch(const VgpuWork& work, const VgpuSink& sink) {
  constexpr int many = 200;
  double alone = 0, in_a_row = 0;  // one GPU's
  std::vector<int> all = work.parts;
  if (all.front() != 1) all.insert(all.begin(), 1);
  for (const int parts : all) {
    VirtualGpu gpu(devices_of(parts));
    const virtual_gpu::Kernel kernel =
        gpu.load_source("nothing.cu", "extern \"C\" __global__ void nothing() {}").kernel("nothing");
    const Launch launch{.grid = static_cast<unsigned>(64 * parts), .block = 128};
    virtual_gpu::Stream stream(gpu);
    const auto measure = [&](const char* what, int launches, double& of_one) {
      std::vector<double> us;
      const auto begin = Clock::now();
      for (int round = 0; round < 10 || us_since(begin) < work.seconds * 1e6; ++round) {
        const auto start = Clock::now();
        for (int i = 0; i < launches; ++i) gpu.launch(stream, kernel, launch);
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
    measure("empty kernel, launch and wait", 1, alone);
    measure("empty kernel, one of 200", many, in_a_row);
  }
}

}  // namespace dcgn::bench
