// Takes the ranks' memory, and says where in it the pieces lie.
#include "message/memory_layout.hpp"

#include "device/quietly.hpp"
#include "transport/sharing.hpp"

#include <dcgn/error.hpp>
#include <dcgn/message/device_barrier.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

namespace dcgn::message {

using device::quietly;

namespace {

// Of the ring of a FIFO, as a power of two. Where GPUs take part it is large enough for messages that all threads of a
// block write at once; in the host's memory it had better stay in the caches. A CPU rank that many slots send to has
// more space: what does not fit a FIFO whole costs it several journeys over PCIe.
std::uint32_t fifo_shift(const Config& config, int ranks, bool receiver_in_host, bool sender_in_host) {
  const std::uint64_t rank_budget = receiver_in_host && !sender_in_host ? 32u << 20 : 4u << 20;
  constexpr std::uint64_t least = 64;  // packets
  const std::uint64_t most = receiver_in_host && sender_in_host ? 1024 : 16384;
  std::uint64_t packets = std::clamp(rank_budget / static_cast<std::uint64_t>(ranks) / sizeof(Packet), least, most);
  if (config.lane_bytes) packets = std::max<std::uint64_t>(config.lane_bytes / sizeof(Packet), 16);
  return static_cast<std::uint32_t>(std::bit_width(packets) - 1);
}

constexpr std::uint32_t gateway_shift = 10;  // of the ring of a FIFO between a rank and the gateway

// Bytes that programs can have without others being sent to swap. By from_chars: where a stream was asked for the
// number, a machine's Python got 0.
std::uint64_t available_memory() {
  constexpr std::string_view name = "MemAvailable:";
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::uint64_t kib = 0;
    const std::size_t digits = std::min(line.find_first_not_of(' ', name.size()), line.size());
    std::from_chars(line.data() + digits, line.data() + line.size(), kib);
    if (kib) return kib << 10;
  }
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

Capacity capacity_of(const Config& config, bool cpu) {
  const auto choose = [](std::uint64_t configured, std::uint64_t fallback) {
    return configured ? configured : fallback;
  };
  return {choose(config.unexpected_bytes, cpu ? 256u << 20 : 2u << 20),
          choose(config.buffered_bytes, cpu ? 256u << 20 : 1u << 20),
          static_cast<std::uint32_t>(choose(config.requests, cpu ? 262144 : 16384)), cpu ? 65536u : 4096u};
}

std::uint64_t events_of(const Config& config) { return config.trace.empty() ? 0 : config.trace_events; }

std::uint64_t communicator_bytes(const Config& config, std::size_t ranks) {
  constexpr std::uint64_t most_ranks = 65536;
  return config.communicator_bytes ? config.communicator_bytes
                                   : (16u << 10) + 64 * std::min<std::uint64_t>(ranks, most_ranks);
}

// Zeroed memory of the system, taken from it only as it is touched.
RankMemory::Block RankMemory::map_memory(std::size_t bytes) const {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw Error(Code::out_of_resources, "world",
                "the system refused " + std::to_string(bytes >> 20) + " MiB of address space for " +
                    std::to_string(home_.ranks) + " ranks (" + std::strerror(errno) +
                    "); lower Config::unexpected_bytes and buffered_bytes");
  return {memory, [bytes](void* p) { munmap(p, bytes); }};
}

Region& RankMemory::region(int space) {
  return space == host_space ? host_ : device_regions_[static_cast<std::size_t>(space)];
}

void RankMemory::lay_out(Layout& layout) {
  const auto n = endpoints_.size(), all = static_cast<std::size_t>(circle_.ranks);
  const bool doorbells = circle_.ranks > few_ranks && !(config_.without & without_bells);
  layout.ranks.resize(ends());
  layout.pairs.resize(ends() * ends());
  if (sharing_) shared_ = pinned_.take<Shared>(1, 64);  // first of all, where the others find it
  ended_ = pinned_.take<std::uint32_t>(all, 64);
  if (sharing_) {
    const auto* const ranks = pinned_.take<Shared::Rank>(n, 64);
    const auto* const pairs = pinned_.take<Shared::Pair>(n * all, 64);
    if (shared_) *shared_ = {shared_->offset(ended_), shared_->offset(ranks), shared_->offset(pairs), 0, 0, 0};
  }
  notices_ = pinned_.take<Notice>(n);
  if (has_copier_) {
    copy_queues_ = pinned_.take<CopyQueue>(n, 64);
    copies_posted_ = pinned_.take<std::uint32_t>(n, 64);
  }
  lay_out_fragments();
  lay_out_exports();
  lent_ = host_.take<std::uint32_t>(n, 64);
  host_phase_ = host_.take<std::uint32_t>(1, 64);
  for (std::size_t g = 0; g < devices_.size(); ++g) {
    Region& region = device_regions_[g];
    device_phases_[g] = region.take<std::uint32_t>(1, 64);
    if (devices_[g].kind() == DeviceKind::cuda)
      device_tables_[g] = {region.take<std::int32_t>(teams_.size(), 64), region.take<std::int32_t>(hosts_.size(), 64),
                           region.take<WorldBarriers>(1, 64)};
  }
  std::vector<std::size_t> slots(devices_.size());
  first_slots_.resize(devices_.size());
  for (std::size_t i = n; i-- > 0;)
    if (gpus_[here(i)] >= 0) {
      ++slots[gpu_of(here(i))];
      first_slots_[gpu_of(here(i))] = home_.first_rank + static_cast<std::int32_t>(i);
    }
  device_barriers_.resize(devices_.size());
  for (std::size_t g = 0; g < devices_.size(); ++g)
    if (slots[g] > 1 && slots[g] <= DeviceBarrier::most + 1)
      device_barriers_[g] = (devices_[g].kind() == DeviceKind::cuda ? device_regions_[g] : host_)
                                .take<DeviceBarrier>(slots[g] * most_device_barriers, 64);
  const bool all_meet = slots_reach_all() && teams_.size() <= most_in_turn &&
                        !(config_.without & (without_rounds | without_teams)) &&
                        std::all_of(slots.begin(), slots.end(), [](std::size_t s) { return s <= WorldBarrier::most; });
  std::size_t team = 0;
  for (std::size_t g = 0; all_meet && g < devices_.size(); ++g)
    if (slots[g])
      world_barriers_.of[team++] =
          (devices_[g].kind() == DeviceKind::cuda ? device_regions_[g] : host_).take<WorldBarrier>(1, 64);
  // The slots of a GPU lie side by side: its handle is the first one's address.
  for (std::size_t i = 0; i < n; ++i) layout.ranks[here(i)].endpoint = region(spaces_[here(i)]).take<Endpoint>(1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = here(i);
    Layout::Rank& rank = layout.ranks[r];
    Region& own = region(spaces_[r]);
    // What others write and this rank polls: a rank in the host's memory has it where all can reach it.
    Region& near = is_host(r) ? pinned_ : own;
    const Capacity capacity = capacity_of(config_, gpus_[r] < 0);
    rank.out = own.take<OutFifo>(fifos_, 64);
    rank.in = own.take<InFifo>(fifos_, 64);
    rank.records = own.take<Record>(capacity.records, 64);
    rank.free_acks = own.take<std::uint32_t>(capacity.acks);
    rank.near_acks = near.take<std::uint64_t>(capacity.acks, 64);
    rank.far_acks = is_host(r) ? rank.near_acks : pinned_.take<std::uint64_t>(capacity.acks, 64);
    rank.arrivals = own.take<unsigned char>(capacity.arrivals, 64);
    rank.buffer = own.take<unsigned char>(capacity.buffer, 64);
    rank.scratch = own.take<unsigned char>(config_.collective_bytes, 64);
    rank.tables = own.take<unsigned char>(communicator_bytes(config_, world_size_), 64);
    rank.turns = own.take<Turns>(1, 64);
    rank.lapses = own.take<Lapse>(most_at_once, 64);
    rank.requests = own.take<Request>(most_at_once, 64);
    rank.events = own.take<TraceEvent>(events_of(config_) + 1);
    if (has_copier_) rank.copies_done = near.take<std::uint32_t>(copy_queue_length, 64);
    if (doorbells) {
      const std::size_t groups = (fifos_ + doorbell_group - 1) / doorbell_group;
      rank.doorbells = near.take<std::uint8_t>(groups * doorbell_group, 64);
      rank.mute = own.take<std::int32_t>(fifos_);
    }
  }
  inbox_packets_ = choose_inbox_packets();
  layout.inboxes.resize(n * n);
  for (std::size_t r = 0; r < n; ++r) {
    if (!has_inbox(here(r))) continue;
    Region& own = region(spaces_[here(r)]);
    layout.ranks[here(r)].inboxes = own.take<Inbox>(fifos_, 64);
    for (std::size_t s = 0; s < n; ++s)
      if (r != s && has_inbox(here(s)))
        layout.inboxes[r * n + s] = own.take<Packet>(std::size_t{Inbox::segments} * inbox_packets_, 128);
  }
  if (has_gateway_) {
    Layout::Rank& gateway = layout.ranks[all];
    gateway = {};
    gateway.endpoint = host_.take<Endpoint>(1);
    gateway.out = host_.take<OutFifo>(n, 64);
    gateway.in = host_.take<InFifo>(n, 64);
    gateway.free_acks = host_.take<std::uint32_t>(gateway_acks);
    gateway.near_acks = gateway.far_acks = pinned_.take<std::uint64_t>(gateway_acks, 64);
  }
  for (std::size_t r = 0; r < ends(); ++r)
    for (std::size_t s = 0; s < ends(); ++s) {
      const bool outside = is_gateway(r) || is_gateway(s);
      if (!is_here(r) && !is_here(s)) continue;
      if (outside && !has_gateway_) continue;
      // The ring beside its receiver, the credit beside its sender: nobody polls across a link.
      const bool shared = share_memory(r, s);
      Layout::Pair& pair = layout.pairs[r * ends() + s];
      pair.shift =
          outside && !config_.lane_bytes ? gateway_shift : fifo_shift(config_, circle_.ranks, is_host(r), is_host(s));
      const auto home_of = [&](std::size_t own, std::size_t other) -> Region& {
        if (!shared) return pinned_;
        return is_host(own) ? host_region(other) : region(spaces_[own]);
      };
      if (is_of_process(r)) pair.ring = home_of(r, s).take<Packet>(std::size_t{1} << pair.shift, 128);
      if (is_of_process(s)) pair.credit = home_of(s, r).take<Credit>(1);
    }
}

void RankMemory::check_memory() const { check_ranks(circle_.ranks, sharing_ != nullptr); }

void RankMemory::check_ranks(std::int64_t ranks, bool shared) {
  // What is written at once, whatever the ranks do later: where there is too little, the system would end the process.
  const std::uint64_t each = sizeof(OutFifo) + sizeof(InFifo) + sizeof(Layout::Pair), most = available_memory() / 2;
  const std::uint64_t ends = static_cast<std::uint64_t>(ranks) + 1;
  if (ends <= most / each / ends) return;
  // Rounded up: what is too much is never none.
  const double needed =
      static_cast<double>(ends) * static_cast<double>(ends) * static_cast<double>(each) + (1 << 20) - 1;
  throw Error(Code::out_of_resources, "world",
              std::to_string(ranks) + " ranks in " + (shared ? "processes that share memory" : "one process") +
                  " need " + std::to_string(static_cast<std::uint64_t>(needed / (1 << 20))) +
                  " MiB for what they know of each other, expected at most " + std::to_string(most >> 20) +
                  " MiB, half of the machine's free memory");
}

void RankMemory::allocate(Layout& layout) {
  lay_out(layout);
  host_block_ = map_memory(host_.used());
  // Pinned memory is the same for all devices; without a CUDA device it is ordinary memory.
  if (sharing_)
    pinned_block_ = {sharing_->allocate(pinned_.used()), [](void*) {}};
  else if (has_cuda_)
    pinned_block_ = {devices_.front().allocate_host(pinned_.used()),
                     [device = devices_.front()](void* p) { quietly([&] { device.free_host(p); }); }};
  else
    pinned_block_ = map_memory(pinned_.used());
  for (std::size_t g = 0; g < devices_.size(); ++g) {
    const std::size_t bytes = device_regions_[g].used();
    if (devices_[g].kind() == DeviceKind::cuda) {
      device_blocks_[g] = {devices_[g].allocate(bytes),
                           [device = devices_[g]](void* p) { quietly([&] { device.free(p); }); }};
      devices_[g].fill(device_blocks_[g].get(), 0, bytes);
    }
    device_regions_[g].place(device_blocks_[g].get());
  }
  host_.place(host_block_.get());
  pinned_.place(pinned_block_.get());
  lay_out(layout);
}

}  // namespace dcgn::message
