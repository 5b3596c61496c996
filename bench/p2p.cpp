#include "bench/p2p.hpp"

#include "bench/cpu_end.hpp"
#include "bench/memory.hpp"

#include <dcgn/gpu/scope.hpp>
#include <dcgn/job.hpp>
#include <dcgn/version.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::bench {

namespace {

template <class Group>
class SlotEnd : public Group {
 public:
  DCGN_HOST_DEVICE SlotEnd(const Group& group, gpu::Slot slot) : Group(group), slot_(slot) {}
  DCGN_HOST_DEVICE bool send(const void* data, std::int64_t bytes) const {
    return slot_.send_bytes(*this, data, bytes, 1 - slot_.rank()) == Code::ok;
  }
  DCGN_HOST_DEVICE bool recv(void* data, std::int64_t bytes) const {
    return static_cast<bool>(slot_.recv_bytes(*this, data, bytes, 1 - slot_.rank()));
  }

 private:
  gpu::Slot slot_;
};

// Rank 0 leads, rank 1 follows.
template <class Group>
DCGN_HOST_DEVICE void take_part(const Group& group, gpu::Slot slot, const Buffers& buffers, const Plan& plan,
                                Samples* samples) {
  const SlotEnd<Group> end(group, slot);
  if (slot.rank() == 0)
    lead(end, buffers, plan, *samples);
  else
    follow(end, buffers, plan);
}

// A block a slot. `memory` has `stride` bytes for each: the control words, out, in.
struct SlotKernel {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, Scope scope, unsigned char* memory,
                                   std::size_t stride, std::size_t in_offset, Plan plan, Samples* samples) const {
    unsigned char* mine = memory + ctx.block_rank() * stride;
    const Buffers buffers{mine + 256, mine + in_offset, reinterpret_cast<std::uint64_t*>(mine)};
    const gpu::Slot slot = comm.slot(ctx.block_rank());
    switch (scope) {
      case Scope::thread:
        if (ctx.thread_rank() == 0) take_part(gpu::this_thread(), slot, buffers, plan, samples);
        break;
      case Scope::warp:
        if (ctx.warp() == 0) take_part(gpu::this_warp(ctx), slot, buffers, plan, samples);
        break;
      case Scope::block: take_part(gpu::this_block(ctx), slot, buffers, plan, samples); break;
    }
  }
};

NodeShape shape_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return {.cpus = 2};
    case Path::cpu_slot: return {.cpus = 1, .gpus = 1, .slots = 1};
    case Path::slot_slot: return {.gpus = 1, .slots = 2};
  }
  return {};
}

std::size_t padded(std::int64_t bytes) { return (static_cast<std::size_t>(bytes) + 511) / 256 * 256; }

// Times copy() in blocks, as messages are timed.
template <class Copy>
void time_copies(Row& row, double seconds, const Copy& copy) {
  const auto target = static_cast<std::uint64_t>(seconds * 1e9);
  copy();
  const std::uint64_t begin = now_ns();
  for (int i = 0; i < 3; ++i) copy();
  const std::uint64_t total = std::clamp<std::uint64_t>(target / ((now_ns() - begin) / 3 + 1), 20, 100'000'000);
  const std::uint64_t blocks = std::min<std::uint64_t>(total, Samples::most_blocks), copies = total / blocks;
  std::vector<double> us;
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const std::uint64_t block_begin = now_ns();
    for (std::uint64_t i = 0; i < copies; ++i) copy();
    us.push_back(static_cast<double>(now_ns() - block_begin) * 1e-3 / static_cast<double>(copies));
  }
  set_figures(row, us, copies);
}

}  // namespace

Row measure(Path path, Scope scope, std::int64_t bytes, int threads, double seconds) {
  Row row{.whose = "dcgn " + std::string(version),
          .path = name_of(path),
          .scope = path == Path::cpu_cpu ? "-" : name_of(scope),
          .bytes = bytes};
  const Plan plan{bytes, static_cast<std::uint64_t>(seconds * 1e9)};
  Config config;
  config.nodes = {shape_of(path)};
  Job job(config);

  const int cpus = config.nodes[0].cpus;
  const std::size_t room = padded(bytes), stride = 256 + 2 * room;
  std::vector<Pages> pages;
  std::unique_ptr<Samples> host_samples = std::make_unique<Samples>();
  for (int r = 0; r < cpus; ++r) {
    unsigned char* mine = pages.emplace_back(4096 + 2 * (room + 4096)).data();
    const Buffers buffers{mine + 4096, mine + 4096 + (room + 4095) / 4096 * 4096,
                          reinterpret_cast<std::uint64_t*>(mine)};
    job.cpu_rank(r, [=, samples = host_samples.get()](Comm& comm) { take_part(comm, buffers, plan, samples); });
  }
  std::vector<DeviceBuffer<unsigned char>> memory;
  std::vector<DeviceBuffer<Samples>> slot_samples;
  if (cpus < 2) {
    const Device device = job.world().device(0);
    memory.emplace_back(device, stride * static_cast<std::size_t>(2 - cpus));
    slot_samples.emplace_back(device, 1);
    job.gpu({.grid = one_block_per_slot, .block = static_cast<unsigned>(threads)}, SlotKernel{}, scope,
            memory[0].data(), stride, 256 + room, plan, slot_samples[0].data());
  }
  job.run();
  if (cpus == 0) slot_samples[0].download(host_samples.get());
  set_figures(row, *host_samples);
  return row;
}

Row measure_limit(Path path, std::int64_t bytes, double seconds) {
  Row row{.whose = "limit: memcpy", .path = name_of(path), .scope = "-", .bytes = bytes};
  const auto size = static_cast<std::size_t>(bytes);
  if (path == Path::cpu_cpu || Device(0).kind() == DeviceKind::emulated) {
    const Pages from(size + 1), to(size + 1);
    time_copies(row, seconds, [&] {
      std::memcpy(to.data(), from.data(), size);
      asm volatile("" ::"r"(to.data()) : "memory");  // every copy counts
    });
    return row;
  }
  const Device device(0);
  const DeviceBuffer<unsigned char> to(device, size + 1), from(device, size + 1);
  const Pages host(size + 1);
  row.whose = path == Path::slot_slot ? "limit: device copy" : "limit: copy host to device";
  time_copies(row, seconds, [&] { device.copy(to.data(), path == Path::slot_slot ? from.data() : host.data(), size); });
  return row;
}

const char* name_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return "cpu-cpu";
    case Path::cpu_slot: return "cpu-slot";
    case Path::slot_slot: return "slot-slot";
  }
  return "";
}

const char* name_of(Scope scope) {
  switch (scope) {
    case Scope::thread: return "thread";
    case Scope::warp: return "warp";
    case Scope::block: return "block";
  }
  return "";
}

}  // namespace dcgn::bench
