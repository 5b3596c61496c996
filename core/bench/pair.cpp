#include "core/bench/pair_kernel.hpp"

namespace dcgn::bench {

namespace {

NodeShape shape_of(Path path) {
  switch (path) {
    case Path::cpu_cpu: return {.cpus = 2};
    case Path::cpu_slot: return {.cpus = 1, .gpus = 1, .slots = 1};
    case Path::slot_slot:
    case Path::slot_slot_staged: return {.gpus = 2, .slots = 1};
    case Path::slot_slot_local: return {.gpus = 1, .slots = 2};
    // The GPUs are the job's, so that it may use their copy engines; their slots end at once.
    case Path::device_device: return {.cpus = 2, .gpus = 2, .slots = 1};
    case Path::device_device_local: return {.cpus = 2, .gpus = 1, .slots = 1};
  }
  return {};
}

constexpr std::size_t control_bytes = 256;  // apart from the messages, for both to be aligned

std::size_t padded(std::int64_t bytes, std::size_t to) { return (static_cast<std::size_t>(bytes) + to) / to * to; }

}  // namespace

int Pair::cpus() const { return shape_of(work_.path).cpus; }
unsigned Pair::slots() const { return static_cast<unsigned>(shape_of(work_.path).slots); }

Pair::Pair(const Workload& work, std::int64_t room) : work_(work) {
  const bool of_devices = is_of_devices(work.path);
  if (of_devices) work_.scope = {.kind = ScopeKind::thread};
  job_ = std::make_unique<Job>(config_for(work, {shape_of(work.path)}));
  for (int r = 0; r < 2; ++r) {
    const bool is_slot = r >= cpus(), on_device = is_slot || of_devices;
    if (!is_slot) {
      const std::size_t page = 4096, size = padded(room, page);
      unsigned char* mine = pages_.emplace_back(on_device ? page : page + 2 * size).data();
      ends_[r] = {mine + page, mine + page + size, reinterpret_cast<std::uint64_t*>(mine)};
    }
    if (!on_device) continue;
    const Place place = job_->placement().place(r);
    const Device device = job_->world().device(is_slot ? place.device : r % job_->world().gpus());
    const std::size_t size = padded(room, 256);
    unsigned char* mine = memory_.emplace_back(device, control_bytes + 2 * size).data();
    auto* control = is_slot ? reinterpret_cast<std::uint64_t*>(mine) : ends_[r].control;
    ends_[r] = {mine + control_bytes, mine + control_bytes + size, control};
    if (!is_slot) devices_[r] = device;
    if (is_slot && r == 0) slot_samples_.emplace(device, 1);
  }
}

Row Pair::row(Measure measure) const { return row_for(work_, name_of(measure), cpus() == 2 ? 0 : slots()); }

}  // namespace dcgn::bench
