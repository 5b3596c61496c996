#include "device/quietly.hpp"
#include "message/memory_layout.hpp"
#include "transport/sharing.hpp"

#include <dcgn/error.hpp>
#include <dcgn/message/meeting.hpp>
#include <dcgn/message/progress.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace dcgn::message {

using device::quietly;

namespace {

// Sizes of what a rank owns. A CPU rank's memory is taken from the system only as it is touched, so it can be generous.
struct Capacity {
  std::uint64_t arrivals, buffer;
  std::uint32_t records, acks;
};

Capacity capacity_of(const Config& config, bool cpu) {
  const auto choose = [](std::uint64_t configured, std::uint64_t fallback) {
    return configured ? configured : fallback;
  };
  return {choose(config.unexpected_bytes, cpu ? 256u << 20 : 2u << 20),
          choose(config.buffered_bytes, cpu ? 256u << 20 : 1u << 20),
          static_cast<std::uint32_t>(choose(config.requests, cpu ? 262144 : 16384)), cpu ? 65536u : 4096u};
}

std::uint64_t communicator_bytes(const Config& config, std::size_t ranks) {
  constexpr std::uint64_t most_ranks = 65536;
  return config.communicator_bytes ? config.communicator_bytes
                                   : (16u << 10) + 64 * std::min<std::uint64_t>(ranks, most_ranks);
}

// Of the ring of a lane, as a power of two. Where GPUs take part it is large enough for messages that all threads of a
// block write at once; in the host's memory it had better stay in the caches. A CPU rank that many slots send to has
// more space: what does not fit a lane whole costs it several journeys over PCIe.
std::uint32_t lane_shift(const Config& config, int ranks, bool receiver_in_host, bool sender_in_host) {
  const std::uint64_t rank_budget = receiver_in_host && !sender_in_host ? 32u << 20 : 4u << 20;
  constexpr std::uint64_t least = 64;  // cells
  const std::uint64_t most = receiver_in_host && sender_in_host ? 1024 : 16384;
  std::uint64_t cells = std::clamp(rank_budget / static_cast<std::uint64_t>(ranks) / sizeof(Cell), least, most);
  if (config.lane_bytes) cells = std::max<std::uint64_t>(config.lane_bytes / sizeof(Cell), 16);
  return static_cast<std::uint32_t>(std::bit_width(cells) - 1);
}

// A lane between a rank and the gateway, in cells, and what is sent eagerly there: between processes a rendezvous is a
// journey there and back, but a thread of the host needs longer than that to put 2 KiB into cells and take them out
// again, at both ends. (Open MPI on one host, two cores: 2 KiB 6.2 us eagerly, 2.0 by rendezvous; 1 KiB 3.6 and 1.9.)
constexpr std::uint32_t gateway_shift = 10;
constexpr std::uint32_t gateway_eager = 4096, gateway_eager_of_host = 1024;
constexpr std::uint32_t gateway_acks = 16384;

// From how many bytes on a copy engine moves a message. It takes some 30 to 40 us to begin, for
// the host has to see the request, the driver to start it and the stream to tell of its end; then it moves 390 GB/s
// over NVLink (H200). A thread copies 0.1 GB/s from the other GPU, a warp 3, a block of 512 threads 46, several blocks
// up to 370: so it is faster from about 3 KiB a thread on. Between slots of one GPU threads are faster, and its copy
// engines are not. A receive that nobody waits in leaves the threads to other work, and others are under way with it.
constexpr std::uint32_t engine_each_of_two = 3 << 10, engine_each_of_one = 12 << 10;
constexpr std::uint32_t engine_beside_of_two = 1u << 20, engine_beside_of_one = 16u << 20;
// Where no thread can read the message, the lane is there for short ones: all the threads of a block move some 6 GB/s
// through it, a thread far less, and a copy through pinned memory takes twice as long to begin.
constexpr std::uint32_t engine_from_lane = 32u << 10;

// Above this the threads of a block had better read a message where it is.
constexpr std::uint32_t most_eager = 68u << 10;

// Bytes that programs can have without others being sent to swap.
std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

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

bool RankMemory::share_memory(std::size_t a, std::size_t b) const {
  const int space_a = spaces_[a], space_b = spaces_[b];
  if (space_a == space_b) return true;
  if (space_a == host_space || space_b == host_space) return false;
  const auto [own, other] = is_here(a) ? std::pair(space_a, space_b) : std::pair(space_b, space_a);
  return peers_[static_cast<std::size_t>(own) * all_gpus_.size() + static_cast<std::size_t>(other)];
}

Reach RankMemory::reach(std::size_t receiver, std::size_t sender) const {
  const Reach engine = has_engine_ ? Reach::engine : Reach::none;
  if (!config_.direct) return Reach::none;
  // An address of another process is of use to the system alone.
  if (!is_of_process(receiver) || !is_of_process(sender)) {
    const std::size_t other = is_here(receiver) ? sender : receiver;
    return is_host(receiver) && is_host(sender) && sharing_->reads(processes_[other]) ? Reach::direct : Reach::none;
  }
  if (is_gateway(receiver)) return is_host(sender) ? Reach::direct : Reach::none;
  // A thread's memory is not pinned, as a rule: no slot can read it, and a copy from it would hold up all others.
  if (!share_memory(receiver, sender)) return gpus_[sender] >= 0 ? engine : Reach::none;
  // Emulated GPUs share the host's memory, but not if they are told to do without.
  const int a = gpus_[receiver], b = gpus_[sender];
  return config_.p2p || a < 0 || b < 0 || a == b ? Reach::direct : engine;
}

bool RankMemory::slots_reach_all() const {
  if (home_.ranks != static_cast<int>(world_size_)) return false;
  for (const std::int32_t a : teams_)
    for (const std::int32_t b : teams_)
      if (gpus_[lane(a)] < 0 || reach(lane(a), lane(b)) != Reach::direct) return false;
  return true;
}

// A slot for each of a few GPUs, whose threads all reach the others' memory.
int RankMemory::blocks_with_rings() const {
  if (world_size_ < 2 || world_size_ > BlockRings::most || teams_.size() != world_size_ || !slots_reach_all()) return 0;
  int blocks = std::numeric_limits<std::uint16_t>::max();
  for (const Device& d : devices_) blocks = std::min(blocks, d.properties().multiprocessors);
  return blocks;
}

void RankMemory::set_engine_limits(std::size_t rank, std::size_t peer, OutLane& out, InLane& in) const {
  out.engine_from = in.engine_from = in.engine_beside = engine_never;
  in.engine_each = 0;
  if (!has_engine_ || !is_here(peer)) return;
  if (config_.copy_engine_bytes) {
    out.engine_from = in.engine_from = static_cast<std::uint32_t>(*config_.copy_engine_bytes);
    return;
  }
  out.engine_from = engine_from_lane;
  if (is_host(rank)) return;
  in.engine_from = 0;
  const bool one = gpus_[rank] == gpus_[peer];
  in.engine_each = one ? engine_each_of_one : engine_each_of_two;
  in.engine_beside = one ? engine_beside_of_one : engine_beside_of_two;
}

void RankMemory::lay_out(Layout& layout) {
  const auto n = endpoints_.size(), all = static_cast<std::size_t>(circle_.ranks);
  const bool bells = circle_.ranks > few_ranks && !(config_.without & without_bells);
  layout.ranks.resize(ends());
  layout.pairs.resize(ends() * ends());
  if (sharing_) shared_ = pinned_.take<Shared>(1, 64);  // first of all, where the others find it
  ended_ = pinned_.take<std::uint32_t>(all, 64);
  if (sharing_) {
    const auto* const ranks = pinned_.take<Shared::Rank>(n, 64);
    const auto* const pairs = pinned_.take<Shared::Pair>(n * all, 64);
    if (shared_) *shared_ = {shared_->offset(ended_), shared_->offset(ranks), shared_->offset(pairs), 0, 0};
  }
  notices_ = pinned_.take<Notice>(n);
  if (has_copier_) {
    copy_queues_ = pinned_.take<CopyQueue>(n, 64);
    copies_posted_ = pinned_.take<std::uint32_t>(n, 64);
  }
  lay_out_fragments();
  lent_ = host_.take<std::uint32_t>(n, 64);
  host_phase_ = host_.take<std::uint32_t>(1, 64);
  for (std::size_t g = 0; g < devices_.size(); ++g) {
    Region& region = device_regions_[g];
    device_phases_[g] = region.take<std::uint32_t>(1, 64);
    if (devices_[g].kind() == DeviceKind::cuda)
      device_begins_[g] = {region.take<std::int32_t>(teams_.size(), 64), region.take<std::int32_t>(hosts_.size(), 64)};
  }
  std::vector<std::size_t> slots(devices_.size());
  first_slots_.resize(devices_.size());
  for (std::size_t i = n; i-- > 0;)
    if (gpus_[here(i)] >= 0) {
      ++slots[gpu_of(here(i))];
      first_slots_[gpu_of(here(i))] = home_.first_rank + static_cast<std::int32_t>(i);
    }
  meetings_.resize(devices_.size());
  for (std::size_t g = 0; g < devices_.size(); ++g)
    if (slots[g] > 1 && slots[g] <= Meeting::most + 1)
      meetings_[g] = (devices_[g].kind() == DeviceKind::cuda ? device_regions_[g] : host_)
                         .take<Meeting>(slots[g] * most_meetings, 64);
  // The slots of a GPU lie side by side: its handle is the first one's address.
  for (std::size_t i = 0; i < n; ++i) layout.ranks[here(i)].endpoint = region(spaces_[here(i)]).take<Endpoint>(1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = here(i);
    Layout::Rank& rank = layout.ranks[r];
    Region& own = region(spaces_[r]);
    // What others write and this rank polls: a rank in the host's memory has it where all can reach it.
    Region& near = is_host(r) ? pinned_ : own;
    const Capacity capacity = capacity_of(config_, gpus_[r] < 0);
    rank.out = own.take<OutLane>(lanes_, 64);
    rank.in = own.take<InLane>(lanes_, 64);
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
    if (has_copier_) rank.copies_done = near.take<std::uint32_t>(copy_queue_length, 64);
    if (bells) {
      const std::size_t words = (lanes_ + bell_group - 1) / bell_group * bell_group;
      rank.bells = near.take<std::uint32_t>(words, 64);
      rank.heads = own.take<std::uint32_t>(words, 64);
      rank.mute = own.take<std::int32_t>(lanes_);
    }
  }
  if (const auto blocks = static_cast<std::size_t>(blocks_with_rings())) {
    layout.block_rings.resize(n * n);
    for (std::size_t r = 0; r < n; ++r) {
      Region& own = region(spaces_[here(r)]);
      layout.ranks[here(r)].block_rings = own.take<BlockRings>(1, 64);
      layout.ranks[here(r)].blocks_moved = own.take<std::uint32_t>(blocks * BlockRings::most, 64);
      for (std::size_t s = 0; s < n; ++s)
        if (r != s) layout.block_rings[r * n + s] = own.take<Cell>(blocks << BlockRings::shift, 128);
    }
  }
  if (has_gateway_) {
    Layout::Rank& gateway = layout.ranks[all];
    gateway = {};
    gateway.endpoint = host_.take<Endpoint>(1);
    gateway.out = host_.take<OutLane>(n, 64);
    gateway.in = host_.take<InLane>(n, 64);
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
          outside && !config_.lane_bytes ? gateway_shift : lane_shift(config_, circle_.ranks, is_host(r), is_host(s));
      const auto home_of = [&](std::size_t own, std::size_t other) -> Region& {
        if (!shared) return pinned_;
        return is_host(own) ? host_region(other) : region(spaces_[own]);
      };
      if (is_of_process(r)) pair.ring = home_of(r, s).take<Cell>(std::size_t{1} << pair.shift, 128);
      if (is_of_process(s)) pair.credit = home_of(s, r).take<Credit>(1);
    }
}

// Both sides of the lanes between a rank and its peer, as the rank has them.
void RankMemory::make_lanes(const Layout& layout, std::size_t r, std::size_t p, OutLane& out, InLane& in) const {
  const bool near = share_memory(p, r);
  const Layout::Rank& own = layout.ranks[r];
  const Peer peer = peer_of(layout, r, p);
  const Layout::Pair& from = layout.pairs[r * ends() + p];
  const bool in_host = is_host(p) && is_host(r), outside = is_gateway(p) || is_gateway(r);
  out.ring = {peer.ring, peer.shift};
  // What is not eager the system copies from one process to another, which takes it 2 us to begin.
  const std::uint32_t of_host = is_of_process(p) ? 512 : 2048;
  const std::uint32_t eager = outside ? (in_host ? gateway_eager_of_host : gateway_eager) : in_host ? of_host : 4096;
  out.eager = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(config_.eager_bytes.value_or(eager), std::numeric_limits<std::uint32_t>::max()));
  // With its header an eager message fills at most half of the ring: credits come in quarters, so a sender that
  // waits for half a ring is sure to get it.
  const auto unit = static_cast<std::uint32_t>(largest_unit(out.ring));
  out.eager_each = in_host || outside || config_.eager_bytes ? 0 : 128;
  out.eager_most = outside               ? std::min(unit, gateway_most_eager)
                   : config_.eager_bytes ? unit
                                         : std::min(unit, most_eager);
  out.reach = reach(p, r);
  const bool two_gpus = gpus_[r] >= 0 && gpus_[p] >= 0 && gpus_[r] != gpus_[p];
  out.records = two_gpus && out.reach == Reach::direct ? peer.records : nullptr;
  set_engine_limits(r, p, out, in);
  const bool rings = peer.bells && (near || is_host(p));
  out.bell = rings ? peer.bells + r : nullptr;
  out.credit = layout.pairs[p * ends() + r].credit;
  out.acks = near ? own.near_acks : own.far_acks;
  in.ring = {from.ring, from.shift};
  in.batch = config_.without & without_batches ? 1 : in.ring.size() / 4;
  in.credit = peer.credit;
  in.acks = near ? peer.near_acks : peer.far_acks;
  in.process = is_of_process(p) || !is_host(r) || !is_host(p) ? 0 : sharing_->pid(processes_[p]);
  in.far = !is_host(r) && !near;
  out.quick = !outside && !(config_.without & without_quick) && eager_limit(out, 1) >= small_bytes;
  out.next = out.ring.cells;
  out.epoch = 1;
  out.advance(0);
  in.next = in.ring.cells;
  in.epoch = 1;
  in.advance(0);
}

void RankMemory::number_gpus(const Placement& placement) {
  gpus_.resize(ends(), -1);
  spaces_.resize(ends(), host_space);
  processes_.resize(ends(), home_.first_node);
  first_ranks_.resize(ends(), lane(home_.first_rank));
  for (std::size_t g = 0; g < devices_.size(); ++g) all_gpus_.push_back({home_.first_node, static_cast<int>(g)});
  for (const Device& device : devices_) has_cuda_ = has_cuda_ || device.kind() == DeviceKind::cuda;
  topology::GpuCount own(placement, home_.first_node);
  for (int rank = circle_.first_rank; rank < circle_.end_rank(); ++rank) {
    const std::size_t p = lane(rank);
    const Place place = placement.place(rank);
    if (home_.has(rank)) {
      if (place.is_slot()) {
        gpus_[p] = own.of(place);
        if (devices_[gpu_of(p)].kind() == DeviceKind::cuda) spaces_[p] = gpus_[p];
      }
    } else {
      processes_[p] = place.node;
      first_ranks_[p] = lane(placement.first_rank(place.node));
      if (place.is_slot()) {
        if (place.slot == 0) all_gpus_.push_back({place.node, place.device});
        gpus_[p] = static_cast<int>(all_gpus_.size()) - 1;
        if (place.device < sharing_->gpus(place.node)) spaces_[p] = gpus_[p];
      }
    }
    const bool begins = p == 0 || gpus_[p] != gpus_[p - 1] || processes_[p] != processes_[p - 1];
    if (begins) teams_.push_back(rank);
  }
  const std::size_t gpus = devices_.size(), all = all_gpus_.size();
  peers_.resize(gpus * all);
  for (std::size_t a = 0; a < gpus; ++a)
    for (std::size_t b = 0; b < all; ++b) {
      const Gpu& other = all_gpus_[b];
      peers_[a * all + b] =
          b < gpus ? a != b && config_.p2p && devices_[a].can_reach(devices_[b]) && devices_[b].can_reach(devices_[a])
                   : sharing_->gpus_reach(static_cast<int>(a), other.process, other.number);
    }
}

// Rows of processes that share memory, by the first process of each, are hosts, if they have ranks.
void RankMemory::number_hosts(const Placement& placement, const std::vector<int>& processes) {
  for (const int process : processes) {
    const int rank = placement.first_rank(process);
    if (!hosts_.empty() && hosts_.back() == rank) continue;
    if (!hosts_.empty() && (hosts_.size() == 1 || rank - hosts_.back() < least_of_host_))
      least_of_host_ = rank - hosts_.back();
    hosts_.push_back(rank);
  }
}

void RankMemory::allocate(Layout& layout) {
  // What is written at once, whatever the ranks do later: where there is too little, the system would end the process.
  const std::uint64_t needed = ends() * ends() * (sizeof(OutLane) + sizeof(InLane) + sizeof(Layout::Pair));
  const std::uint64_t most = available_memory() / 2;
  if (needed > most)
    throw Error(Code::out_of_resources, "world",
                std::to_string(circle_.ranks) + " ranks in " +
                    (sharing_ ? "processes that share memory" : "one process") + " need " +
                    std::to_string(needed >> 20) + " MiB for what they know of each other, expected at most " +
                    std::to_string(most >> 20) + " MiB, half of the machine's free memory");
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

RankMemory::RankMemory(const Config& config, const Placement& placement, const topology::Home& home,
                       std::vector<Device> devices, HostCopier* copier, bool engines, transport::Sharing* sharing)
    : config_(config),
      sharing_(sharing && sharing->count() > 1 ? sharing : nullptr),
      home_(home),
      circle_(sharing_ ? topology::Home::of_nodes(placement, sharing->first(), sharing->count()) : home),
      world_size_(static_cast<std::size_t>(placement.size())),
      lanes_(static_cast<std::size_t>(circle_.ranks) + (circle_.ranks < placement.size())),
      devices_(std::move(devices)),
      has_gateway_(home.ranks < placement.size()),
      has_copier_(copier && config.direct && config.copy_engine_bytes != Config::never_copied),
      has_engine_(has_copier_ && engines) {
  const auto n = static_cast<std::size_t>(home.ranks);
  const auto first = static_cast<int>(home.first_rank);
  endpoints_.resize(n);
  device_regions_.resize(devices_.size());
  device_blocks_.resize(devices_.size());
  device_phases_.resize(devices_.size());
  device_begins_.resize(devices_.size());
  number_gpus(placement);
  if (sharing_ && has_copier_ && placement.shape(home_.first_node).cpus) fragments_ = std::make_unique<FragmentPools>();
  if (sharing) number_hosts(placement, sharing->starts());
  Layout layout;
  // Where one of the processes cannot, the others hear of it and do not wait for it.
  transport::Agreement agreement(sharing ? &sharing->processes() : nullptr);
  allocate(layout);
  agreement.agree();
  transport::Agreement opened(sharing ? &sharing->processes() : nullptr);
  if (sharing_)
    share(layout);
  else if (sharing)
    sharing->open({});
  opened.agree();
  if (fragments_) open_fragments(*copier);

  for (std::size_t g = 0; g < devices_.size(); ++g) {
    if (!device_blocks_[g]) continue;
    devices_[g].copy(device_begins_[g].teams, teams_.data(), teams_.size() * sizeof(std::int32_t));
    devices_[g].copy(device_begins_[g].hosts, hosts_.data(), hosts_.size() * sizeof(std::int32_t));
  }
  Limits limits{};
  limits.deadline_ns = static_cast<std::uint64_t>(config.deadline_s * 1e9);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = here(i);
    const Layout::Rank& own = layout.ranks[r];
    const Capacity capacity = capacity_of(config, gpus_[r] < 0);
    const Place place = placement.place(first + static_cast<int>(i));
    const Begins begins =
        is_host(r) ? Begins{teams_.data(), hosts_.data()} : device_begins_[static_cast<std::size_t>(spaces_[r])];
    endpoints_[i] = own.endpoint;
    limits.errors_fatal = place.is_slot() && config.errors_fatal;

    Endpoint e{.rank = first + static_cast<int>(i),
               .size = placement.size(),
               .out = own.out,
               .in = own.in,
               .first = circle_.first_rank,
               .near = circle_.ranks,
               .busy = 0,
               .stopped = 0,
               .open = 0,
               .without = config.without,
               .node = place.node,
               .device = place.device,
               .slot = place.slot,
               .cpu = place.cpu,
               .home_first = first,
               .home = home.ranks,
               .queued = nullptr,
               .next_place = 0,
               .next_choice = 0,
               .records = own.records,
               .record_capacity = capacity.records,
               .records_used = 0,
               .free_records = nullptr,
               .free_acks = own.free_acks,
               .ack_capacity = capacity.acks,
               .acks_used = 0,
               .acks_free = 0,
               .bells = own.bells,
               .heads = own.heads,
               .mute = own.mute,
               .mute_count = 0,
               .threads = 1,
               .posted = {},
               .announced = {},
               .streaming = {},
               .unexpected = {},
               .arrivals_counted = 0,
               .unexpected_count = 0,
               .stalled = -1,
               .arrivals = Arena(own.arrivals, capacity.arrivals),
               .buffer = Arena(own.buffer, capacity.buffer),
               .place_threads = config.place_threads ? config.place_threads : std::numeric_limits<std::uint32_t>::max(),
               .limits = limits,
               .phase = spaces_[r] == host_space ? host_phase_ : device_phases_[static_cast<std::size_t>(spaces_[r])],
               .ended = ended_,
               .notice = &notices_[i],
               .call = Call::none,
               .statistics = {},
               .first_failure = {},
               .last_failure = {},
               .copies = {.queue = has_engine_ || (has_copier_ && !place.is_slot()) ? copy_queues_ + i : nullptr,
                          .posted = has_copier_ ? copies_posted_ + i : nullptr,
                          .done = own.copies_done,
                          .host = place.is_slot() ? nullptr : copier,
                          .requests = 0,
                          .under_way = {},
                          .waiting = {}},
               .gathering = {},
               .collectives = {.scratch = own.scratch,
                               .scratch_bytes = config.collective_bytes,
                               .turns = own.turns,
                               .tables = Arena(own.tables, communicator_bytes(config, world_size_)),
                               .lapses = own.lapses,
                               .requests = own.requests,
                               .teams = begins.teams,
                               .team_count = static_cast<std::int32_t>(teams_.size()),
                               .hosts = begins.hosts,
                               .host_count = static_cast<std::int32_t>(hosts_.size()),
                               .least_of_host = least_of_host_,
                               .slots_reach_all = slots_reach_all(),
                               .meetings_first = place.is_slot() ? first_slots_[gpu_of(r)] : 0,
                               .meetings = place.is_slot() ? meetings_[gpu_of(r)] : nullptr,
                               .block_rings = own.block_rings,
                               .ring_blocks = blocks_with_rings()},
               .lent = spaces_[r] == host_space ? lent_ + i : nullptr,
               .background = nullptr,
               .fragments = fragments_ && !place.is_slot() ? fragments_->of_ranks[i].get() : nullptr,
               .elements = 0};
    std::vector<OutLane> out(lanes_);
    std::vector<InLane> in(lanes_);
    std::vector<std::int32_t> mute;
    for (std::size_t p = 0; p < lanes_; ++p) {
      make_lanes(layout, r, p, out[p], in[p]);
      const bool rung = own.bells && (share_memory(p, r) || is_host(r));
      if (own.bells && !rung) mute.push_back(static_cast<std::int32_t>(p));
    }
    e.mute_count = static_cast<std::int32_t>(mute.size());
    BlockRings rings{};
    for (std::size_t p = 0; own.block_rings && p < n; ++p) {
      rings.to[p] = layout.block_rings[p * n + i];
      rings.from[p] = layout.block_rings[i * n + p];
      rings.moved = own.blocks_moved;
    }
    if (is_host(r)) {
      if (own.block_rings) new (own.block_rings) BlockRings(rings);
      std::copy(out.begin(), out.end(), own.out);
      std::copy(in.begin(), in.end(), own.in);
      std::copy(mute.begin(), mute.end(), own.mute);
      new (own.endpoint) Endpoint(e);
    } else {
      const Device& device = devices_[static_cast<std::size_t>(spaces_[r])];
      device.copy(own.out, out.data(), lanes_ * sizeof(OutLane));
      device.copy(own.in, in.data(), lanes_ * sizeof(InLane));
      if (!mute.empty()) device.copy(own.mute, mute.data(), mute.size() * sizeof(std::int32_t));
      if (own.block_rings) device.copy(own.block_rings, &rings, sizeof rings);
      device.copy(own.endpoint, &e, sizeof(Endpoint));
    }
  }
  if (!has_gateway_) return;
  const std::size_t gate = static_cast<std::size_t>(circle_.ranks);
  const Layout::Rank& own = layout.ranks[gate];
  gateway_ = new (own.endpoint) Endpoint{};
  gateway_->rank = any_source;
  gateway_->size = placement.size();
  gateway_->first = first;
  gateway_->near = home.ranks;
  gateway_->out = own.out;
  gateway_->in = own.in;
  gateway_->free_acks = own.free_acks;
  gateway_->ack_capacity = gateway_acks;
  gateway_->phase = host_phase_;
  for (std::size_t i = 0; i < n; ++i) make_lanes(layout, gate, here(i), own.out[i], own.in[i]);
}

RankMemory::~RankMemory() = default;

void RankMemory::set_phase(std::uint32_t phase) {
  std::atomic_ref<std::uint32_t>(*host_phase_).store(phase, std::memory_order_release);
  // A device that takes no copy any more has no kernel that could read it.
  for (std::size_t g = 0; g < devices_.size(); ++g)
    if (device_blocks_[g]) quietly([&] { devices_[g].copy(device_phases_[g], &phase, sizeof phase); });
}

RankMemory::Snapshot RankMemory::snapshot(int rank) const {
  const int space = spaces_[lane(rank)];
  const auto fetch = [&](void* to, const void* from, std::size_t bytes) {
    if (space == host_space)
      std::memcpy(to, from, bytes);
    else
      devices_[static_cast<std::size_t>(space)].copy(to, from, bytes);
  };
  alignas(Endpoint) unsigned char bytes[sizeof(Endpoint)];
  fetch(bytes, endpoint(rank), sizeof(Endpoint));
  Snapshot s{
      .endpoint = *std::launder(reinterpret_cast<const Endpoint*>(bytes)), .out = {}, .in = {}, .unexpected = {}};
  s.out.resize(lanes_);
  s.in.resize(lanes_);
  fetch(s.out.data(), s.endpoint.out, lanes_ * sizeof(OutLane));
  fetch(s.in.data(), s.endpoint.in, lanes_ * sizeof(InLane));
  Record record;
  for (const List& list : s.endpoint.unexpected)
    for (const Record* r = list.first; r; r = record.next) {
      fetch(&record, r, sizeof record);
      s.unexpected.push_back(record.envelope);
    }
  for (const Record* r = s.endpoint.posted.first; r; r = record.next) {
    fetch(&record, r, sizeof record);
    ++s.posted;
  }
  return s;
}

}  // namespace dcgn::message
