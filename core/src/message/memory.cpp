#include "device/quietly.hpp"
#include "message/memory_layout.hpp"
#include "transport/sharing.hpp"

#include <dcgn/error.hpp>
#include <dcgn/message/device_barrier.hpp>
#include "message/engine/progress.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>
#include <string>
#include <utility>

namespace dcgn::message {

using device::quietly;

void RankMemory::number_gpus(const Placement& placement) {
  gpus_.resize(ends(), -1);
  spaces_.resize(ends(), host_space);
  processes_.resize(ends(), home_.first_node);
  first_ranks_.resize(ends(), fifo(home_.first_rank));
  for (std::size_t g = 0; g < devices_.size(); ++g) all_gpus_.push_back({home_.first_node, static_cast<int>(g)});
  for (const Device& device : devices_) has_cuda_ = has_cuda_ || device.kind() == DeviceKind::cuda;
  topology::GpuCount own(placement, home_.first_node);
  for (int rank = circle_.first_rank; rank < circle_.end_rank(); ++rank) {
    const std::size_t p = fifo(rank);
    const Place place = placement.place(rank);
    if (home_.has(rank)) {
      if (place.is_slot()) {
        gpus_[p] = own.of(place);
        if (devices_[gpu_of(p)].kind() == DeviceKind::cuda) spaces_[p] = gpus_[p];
      }
    } else {
      processes_[p] = place.node;
      first_ranks_[p] = fifo(placement.first_rank(place.node));
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

TeamOfWorld RankMemory::team_of(int rank) const {
  TeamOfWorld team{.largest = static_cast<std::int32_t>(teams_.size())};
  for (std::size_t t = 0; t < teams_.size(); ++t) {
    const std::int32_t begin = teams_[t];
    const std::int32_t ranks = (t + 1 < teams_.size() ? teams_[t + 1] : circle_.end_rank()) - begin;
    team.largest = std::max(team.largest, ranks);
    if (begin > rank) continue;
    team.number = static_cast<std::int32_t>(t);
    team.first = begin;
    team.members = ranks;
  }
  return team;
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

RankMemory::RankMemory(const Config& config, const Placement& placement, const topology::Home& home,
                       std::vector<Device> devices, HostCopier* copier, bool engines, transport::Sharing* sharing)
    : config_(config),
      sharing_(sharing && sharing->count() > 1 ? sharing : nullptr),
      home_(home),
      circle_(sharing_ ? topology::Home::of_nodes(placement, sharing->first(), sharing->count()) : home),
      world_size_(static_cast<std::size_t>(placement.size())),
      fifos_(static_cast<std::size_t>(circle_.ranks) + (circle_.ranks < placement.size())),
      devices_(std::move(devices)),
      has_gateway_(home.ranks < placement.size()),
      has_copier_(copier && config.direct && config.copy_engine_bytes != Config::never_copied),
      has_engine_(has_copier_ && engines) {
  {
    transport::Agreement agreement(sharing ? &sharing->processes() : nullptr);
    check_memory();
    agreement.agree();
  }
  const auto n = static_cast<std::size_t>(home.ranks);
  const auto first = static_cast<int>(home.first_rank);
  endpoints_.resize(n);
  device_regions_.resize(devices_.size());
  device_blocks_.resize(devices_.size());
  device_phases_.resize(devices_.size());
  device_tables_.resize(devices_.size());
  number_gpus(placement);
  if (sharing_ && has_copier_ && placement.shape(home_.first_node).cpus) {
    fragments_ = std::make_unique<FragmentPools>();
    if (has_cuda_) exports_ = std::make_unique<ExportTables>();
  }
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
  if (exports_) open_exports(*copier);

  for (std::size_t g = 0; g < devices_.size(); ++g) {
    if (!device_blocks_[g]) continue;
    devices_[g].copy(device_tables_[g].teams, teams_.data(), teams_.size() * sizeof(std::int32_t));
    devices_[g].copy(device_tables_[g].hosts, hosts_.data(), hosts_.size() * sizeof(std::int32_t));
    devices_[g].copy(device_tables_[g].barriers, &world_barriers_, sizeof world_barriers_);
  }
  phase_tellers_.resize(devices_.size());
  for (std::size_t g = 0; g < devices_.size(); ++g) {
    if (!device_blocks_[g]) continue;
    // A device that takes no copy any more has no kernel that could read it.
    phase_tellers_[g] =
        std::make_unique<PhaseTeller>([device = devices_[g], to = device_phases_[g]](std::uint32_t phase) {
          quietly([&] { device.copy(to, &phase, sizeof phase); });
        });
  }
  Limits limits{};
  limits.deadline_ns = static_cast<std::uint64_t>(config.deadline_s * 1e9);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t r = here(i);
    const Layout::Rank& own = layout.ranks[r];
    const Capacity capacity = capacity_of(config, gpus_[r] < 0);
    const Place place = placement.place(first + static_cast<int>(i));
    const Tables tables = is_host(r) ? Tables{teams_.data(), hosts_.data(), &world_barriers_}
                                     : device_tables_[static_cast<std::size_t>(spaces_[r])];
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
               .next_fifo = 0,
               .next_choice = 0,
               .records = own.records,
               .record_capacity = capacity.records,
               .records_used = 0,
               .free_records = nullptr,
               .free_acks = own.free_acks,
               .ack_capacity = capacity.acks,
               .acks_used = 0,
               .acks_free = 0,
               .doorbells = own.doorbells,
               .last_fifo = -1,
               .cleared_fifo = -1,
               .mute = own.mute,
               .mute_count = 0,
               .next_mute = 0,
               .threads = 1,
               .posted = {},
               .announced = {},
               .streaming = {},
               .unexpected = {},
               .arrivals_counted = 0,
               .unexpected_count = 0,
               .stalled = -1,
               .answered = 0,
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
               .grid_barrier = {},
               .collectives = {.scratch = own.scratch,
                               .scratch_bytes = config.collective_bytes,
                               .turns = own.turns,
                               .tables = Arena(own.tables, communicator_bytes(config, world_size_)),
                               .lapses = own.lapses,
                               .requests = own.requests,
                               .teams = tables.teams,
                               .team_count = static_cast<std::int32_t>(teams_.size()),
                               .hosts = tables.hosts,
                               .host_count = static_cast<std::int32_t>(hosts_.size()),
                               .least_of_host = least_of_host_,
                               .slots_reach_all = slots_reach_all(),
                               .device_barriers_first = place.is_slot() ? first_slots_[gpu_of(r)] : 0,
                               .device_barriers = place.is_slot() ? device_barriers_[gpu_of(r)] : nullptr,
                               .inboxes = own.inboxes,
                               .flights = {},
                               .inbox_packets = own.inboxes ? inbox_packets_ : 0,
                               .world_packets = own.inboxes && slots_reach_all() ? inbox_packets_ : 0,
                               .team = team_of(first + static_cast<int>(i)),
                               .world_barriers = world_barriers_.of[0] ? tables.barriers : nullptr,
                               .world_met = {}},
               .lent = spaces_[r] == host_space ? lent_ + i : nullptr,
               .background = nullptr,
               .fragments = fragments_ && !place.is_slot() ? fragments_->of_ranks[i].get() : nullptr,
               .exports = exports_ && !place.is_slot() ? exports_->of_ranks[i].get() : nullptr,
               .log = {.next = own.events,
                       .stop = own.events + events_of(config),
                       .events = own.events,
                       .watched = config.trace.empty() ? 0 : TraceLog::has_events}};
    std::vector<OutFifo> out(fifos_);
    std::vector<InFifo> in(fifos_);
    std::vector<std::int32_t> mute;
    for (std::size_t p = 0; p < fifos_; ++p) {
      make_fifos(layout, r, p, out[p], in[p]);
      if (own.doorbells && !share_memory(p, r) && !is_host(r)) mute.push_back(static_cast<std::int32_t>(p));
    }
    e.mute_count = static_cast<std::int32_t>(mute.size());
    std::vector<Inbox> inboxes(own.inboxes ? fifos_ : 0);
    for (std::size_t p = 0; own.inboxes && p < n; ++p) {
      inboxes[here(p)].to = layout.inboxes[p * n + i];
      inboxes[here(p)].from = layout.inboxes[i * n + p];
    }
    if (is_host(r)) {
      std::copy(inboxes.begin(), inboxes.end(), own.inboxes);
      std::copy(out.begin(), out.end(), own.out);
      std::copy(in.begin(), in.end(), own.in);
      std::copy(mute.begin(), mute.end(), own.mute);
      new (own.endpoint) Endpoint(e);
    } else {
      const Device& device = devices_[static_cast<std::size_t>(spaces_[r])];
      device.copy(own.out, out.data(), fifos_ * sizeof(OutFifo));
      device.copy(own.in, in.data(), fifos_ * sizeof(InFifo));
      if (!mute.empty()) device.copy(own.mute, mute.data(), mute.size() * sizeof(std::int32_t));
      if (!inboxes.empty()) device.copy(own.inboxes, inboxes.data(), inboxes.size() * sizeof(Inbox));
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
  for (std::size_t i = 0; i < n; ++i) make_fifos(layout, gate, here(i), own.out[i], own.in[i]);
}

RankMemory::~RankMemory() = default;

void RankMemory::set_phase(std::uint32_t phase) {
  std::atomic_ref<std::uint32_t>(*host_phase_).store(phase, std::memory_order_release);
  for (const auto& teller : phase_tellers_)
    if (teller) teller->tell(phase);
}

RankMemory::Traced RankMemory::traced(int rank) const {
  const auto fetch = [&](void* to, const void* from, std::size_t bytes) {
    const int space = spaces_[fifo(rank)];
    if (space == host_space)
      std::memcpy(to, from, bytes);
    else
      devices_[static_cast<std::size_t>(space)].copy(to, from, bytes);
  };
  TraceLog log;
  fetch(&log, &endpoint(rank)->log, sizeof log);
  Traced traced{std::vector<TraceEvent>(log.kept()), log.dropped};
  if (log.kept()) fetch(traced.events.data(), log.events, log.kept() * sizeof(TraceEvent));
  return traced;
}

RankMemory::Snapshot RankMemory::snapshot(int rank) const {
  const int space = spaces_[fifo(rank)];
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
  s.out.resize(fifos_);
  s.in.resize(fifos_);
  fetch(s.out.data(), s.endpoint.out, fifos_ * sizeof(OutFifo));
  fetch(s.in.data(), s.endpoint.in, fifos_ * sizeof(InFifo));
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
