#include "memnet/src/endpoint.hpp"
#include "memnet/src/fail.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <queue>
#include <string>
#include <utility>

namespace dcgn::memnet {

namespace {

constexpr int request_class = 0, reply_class = 1;

// A request on its way; its index is the packet's tag.
struct Request {
  int requester = 0;
  int cube = 0;
  Location place;
  Access access;
  std::int64_t issued = 0;
  std::int64_t arrived_ps = 0;  // at its cube
  int hops = 0;
};

class System {
 public:
  System(const Topology& topology, const Parameters& parameters, const MemorySystem& memory,
         const std::vector<Requester>& requesters, Trace* record);

  ClosedLoopResult run(std::int64_t max_cycles, const Progress& progress, RunObserver* observer);

 private:
  struct Source {
    Access next;
    bool has_next = false;
    bool ended = false;
    double ready = 0;  // when computing lets it ask again
    int outstanding = 0;
  };
  struct Cube {
    int terminal = 0;
    int waiting = 0;  // for full vaults
    bool accepting = true;
  };
  // A reply that the vault will have ready at `cycle`. `order` keeps equal cycles first come, first served.
  struct Ready {
    std::int64_t cycle;
    std::int64_t order;
    std::uint64_t tag;
    bool operator>(const Ready& other) const {
      return cycle != other.cycle ? cycle > other.cycle : order > other.order;
    }
  };

  std::int64_t to_ps(std::int64_t cycle) const { return cycle * cycle_ps_; }
  void check(const MemorySystem& memory) const;
  void fetch(std::size_t index);
  void issue(std::size_t index);
  void arrive(const Delivery& delivery);
  void complete(const Delivery& delivery);
  void fill(std::size_t v, bool now);
  void serve_vaults();
  void send_replies();
  std::int64_t next_cycle() const;
  ClosedLoopResult result(bool finished);

  const Parameters parameters_;
  const std::vector<PagePlacement> placements_;
  const std::vector<Requester> requesters_;
  Trace* const record_;
  Network network_;
  EnergyMeter meter_;
  int vaults_per_cube_;
  int cube_queue_;
  std::int64_t cycle_ps_;

  std::vector<Source> sources_;
  std::vector<int> cube_of_;  // by terminal; -1: a processor
  std::vector<Cube> cubes_;
  std::vector<Vault> vaults_;
  std::vector<std::int64_t> wake_;                  // by vault: when it has something to do, in ps
  std::vector<std::deque<std::uint64_t>> waiting_;  // by vault
  std::vector<Request> requests_;
  std::vector<std::uint64_t> free_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::int64_t ready_order_ = 0;
  std::vector<VaultReply> replies_;  // scratch

  std::vector<std::int64_t> latencies_, reply_cycles_;
  std::int64_t issued_ = 0, hops_ = 0;
  std::int64_t exhausted_ = -1;  // when the first requester had no more to ask for
  std::vector<std::int64_t> done_;
  std::vector<int> peak_;
};

System::System(const Topology& topology, const Parameters& parameters, const MemorySystem& memory,
               const std::vector<Requester>& requesters, Trace* record)
    : parameters_(parameters),
      placements_(memory.placements),
      requesters_(requesters),
      record_(record),
      network_(topology, parameters),
      meter_(network_),
      vaults_per_cube_(0),
      cube_queue_(memory.cube_queue),
      cycle_ps_(std::llround(1000 / parameters.clock_ghz)),
      sources_(requesters.size()),
      done_(requesters.size()),
      peak_(requesters.size()) {
  const std::vector<Terminal>& terminals = topology.terminals();
  cube_of_.assign(terminals.size(), -1);
  for (std::size_t t = 0; t < terminals.size(); ++t) {
    if (terminals[t].kind != TerminalKind::hmc) continue;
    cube_of_[t] = static_cast<int>(cubes_.size());
    cubes_.push_back({.terminal = static_cast<int>(t)});
  }
  check(memory);
  const AddressMap& map = placements_.front().map();
  vaults_per_cube_ = static_cast<int>(map.vaults);
  const std::size_t vaults = cubes_.size() * map.vaults;
  vaults_.assign(vaults, Vault(memory.timing, static_cast<int>(map.banks)));
  wake_.assign(vaults, Vault::never);
  waiting_.resize(vaults);
  for (std::size_t i = 0; i < sources_.size(); ++i) fetch(i);
}

void System::check(const MemorySystem& memory) const {
  if (parameters_.message_classes < 2) {
    fail("memnet", "message_classes is " + std::to_string(parameters_.message_classes) +
                       ", expected 2 or more: replies have a class of their own");
  }
  if (memory.cube_queue < 1)
    fail("memnet", "cube_queue is " + std::to_string(memory.cube_queue) + ", expected 1 or more");
  if (placements_.empty()) fail("memnet", "a memory system without a page placement, expected one or more");
  const AddressMap& map = placements_.front().map();
  for (const PagePlacement& placement : placements_) {
    if (placement.map().clusters != map.clusters || placement.map().locals != map.locals ||
        placement.map().vaults != map.vaults || placement.map().banks != map.banks) {
      fail("memnet", "page placements of different address maps, expected the same map");
    }
  }
  if (cubes_.size() != std::size_t{map.clusters} * map.locals) {
    fail("memnet", std::to_string(cubes_.size()) + " HMCs, expected " + std::to_string(map.clusters) + " clusters of " +
                       std::to_string(map.locals));
  }
  for (const Requester& requester : requesters_) {
    const int t = requester.terminal;
    if (t < 0 || t >= static_cast<int>(cube_of_.size()) || cube_of_[t] >= 0) {
      fail("memnet", "terminal " + std::to_string(t) + " is no processor, expected a GPU or CPU of the topology");
    }
    if (requester.window < 1) fail("memnet", "window is " + std::to_string(requester.window) + ", expected 1 or more");
    if (requester.issue_width < 1) {
      fail("memnet", "issue_width is " + std::to_string(requester.issue_width) + ", expected 1 or more");
    }
    if (!(requester.gap_cycles >= 0)) {
      fail("memnet", "gap_cycles is " + std::to_string(requester.gap_cycles) + ", expected 0 or more");
    }
    if (!requester.source) fail("memnet", "a requester without a source of accesses");
    if (requester.placement < 0 || requester.placement >= static_cast<int>(placements_.size())) {
      fail("memnet", "placement " + std::to_string(requester.placement) + ", expected 0.." +
                         std::to_string(placements_.size() - 1));
    }
  }
}

void System::fetch(std::size_t index) {
  Source& source = sources_[index];
  const AccessSource::Next found = requesters_[index].source->next(source.next);
  source.has_next = found == AccessSource::Next::access;
  source.ended = found == AccessSource::Next::end;
  if (source.ended && exhausted_ < 0) exhausted_ = network_.now();
  if (!source.has_next) return;
  const std::uint32_t line = placements_.front().map().line_bytes;
  if (source.next.bytes < 1 || source.next.address % line + source.next.bytes > line) {
    fail("memnet", "an access of " + std::to_string(source.next.bytes) + " bytes at " +
                       std::to_string(source.next.address) + ", expected 1.." + std::to_string(line) +
                       " within a line");
  }
}

void System::issue(std::size_t index) {
  Source& source = sources_[index];
  const Requester& requester = requesters_[index];
  const std::int64_t now = network_.now();
  for (int i = 0; i < requester.issue_width && source.has_next; ++i) {
    if (source.outstanding == requester.window || source.ready > static_cast<double>(now) ||
        source.next.earliest > now) {
      return;
    }
    const int flits = request_flits(source.next, parameters_.flit_bytes);
    if (!network_.can_inject(requester.terminal, request_class, flits)) return;
    std::uint64_t tag = requests_.size();
    if (free_.empty()) {
      requests_.emplace_back();
    } else {
      tag = free_.back();
      free_.pop_back();
    }
    Request& request = requests_[tag];
    const PagePlacement& placement = placements_[requester.placement];
    request.requester = static_cast<int>(index);
    request.place = placement.place(source.next.address);
    request.cube = static_cast<int>(request.place.cluster * placement.map().locals + request.place.local);
    request.access = source.next;
    request.issued = now;
    network_.inject({.source = requester.terminal,
                     .destination = cubes_[request.cube].terminal,
                     .message_class = request_class,
                     .flits = flits,
                     .tag = tag});
    if (record_ != nullptr) {
      record_->records.push_back({.cycle = static_cast<std::uint64_t>(now),
                                  .address = source.next.address,
                                  .source = static_cast<std::uint32_t>(index),
                                  .size = static_cast<std::uint16_t>(source.next.bytes),
                                  .kind = source.next.write ? TraceKind::write : TraceKind::read});
    }
    ++issued_;
    ++source.outstanding;
    peak_[index] = std::max(peak_[index], source.outstanding);
    // A requester that had to wait does not make up for it: it never computes faster than a request a gap.
    source.ready = std::max(source.ready, static_cast<double>(now) - 1) + requester.gap_cycles;
    fetch(index);
  }
}

void System::arrive(const Delivery& delivery) {
  Request& request = requests_[delivery.packet.tag];
  request.hops = delivery.hops;
  request.arrived_ps = to_ps(delivery.delivered);
  Cube& cube = cubes_[request.cube];
  const auto vault = static_cast<std::size_t>(request.cube) * vaults_per_cube_ + request.place.vault;
  waiting_[vault].push_back(delivery.packet.tag);
  ++cube.waiting;
  wake_[vault] = std::min(wake_[vault], request.arrived_ps);
}

void System::fill(std::size_t v, bool now) {
  Vault& vault = vaults_[v];
  while (!waiting_[v].empty() && !vault.full()) {
    const std::uint64_t tag = waiting_[v].front();
    waiting_[v].pop_front();
    --cubes_[v / vaults_per_cube_].waiting;
    const Request& request = requests_[tag];
    const std::uint32_t columns = (request.access.bytes + AddressMap::column_bytes - 1) / AddressMap::column_bytes;
    vault.push({.bank = request.place.bank,
                .row = request.place.row,
                .columns = columns,
                .write = request.access.write,
                .tag = tag},
               now ? to_ps(network_.now()) : request.arrived_ps);
  }
}

void System::serve_vaults() {
  const std::int64_t now_ps = to_ps(network_.now());
  for (std::size_t v = 0; v < vaults_.size(); ++v) {
    if (wake_[v] > now_ps) continue;
    Vault& vault = vaults_[v];
    // What has come since the last time, while the queue had room, was there at its own time; what waited for room,
    // now.
    fill(v, false);
    replies_.clear();
    vault.advance(now_ps, replies_);
    for (const VaultReply& reply : replies_) {
      ready_.push({(reply.done_ps + cycle_ps_ - 1) / cycle_ps_, ready_order_++, reply.tag});
    }
    fill(v, true);
    wake_[v] = vault.next_ps();
  }
  for (Cube& cube : cubes_) {
    const bool accepting = cube.waiting < cube_queue_;
    if (accepting == cube.accepting) continue;
    cube.accepting = accepting;
    network_.set_accepting(cube.terminal, request_class, accepting);
  }
}

void System::send_replies() {
  const std::int64_t now = network_.now();
  while (!ready_.empty() && ready_.top().cycle <= now) {
    Ready next = ready_.top();
    ready_.pop();
    const Request& request = requests_[next.tag];
    const int flits = reply_flits(request.access, parameters_.flit_bytes);
    const int terminal = cubes_[request.cube].terminal;
    if (!network_.can_inject(terminal, reply_class, flits)) {
      next.cycle = now + 1;
      ready_.push(next);
      continue;
    }
    network_.inject({.source = terminal,
                     .destination = requesters_[request.requester].terminal,
                     .message_class = reply_class,
                     .flits = flits,
                     .tag = next.tag});
  }
}

void System::complete(const Delivery& delivery) {
  const std::uint64_t tag = delivery.packet.tag;
  const Request& request = requests_[tag];
  --sources_[request.requester].outstanding;
  requesters_[request.requester].source->completed(request.access, delivery.delivered);
  done_[request.requester] = delivery.delivered;
  latencies_.push_back(delivery.delivered - request.issued);
  reply_cycles_.push_back(delivery.delivered);
  hops_ += request.hops + delivery.hops;
  free_.push_back(tag);
}

std::int64_t System::next_cycle() const {
  // Only the network steps by single cycles; where it is idle the next event of the others counts.
  if (!network_.idle()) return network_.now();
  std::int64_t next = Vault::never;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    if (!source.ended) next = std::min(next, requesters_[i].source->next_cycle(network_.now()));
    if (!source.has_next || source.outstanding == requesters_[i].window) continue;
    next = std::min(next, std::max(source.next.earliest, static_cast<std::int64_t>(std::ceil(source.ready))));
  }
  if (!ready_.empty()) next = std::min(next, ready_.top().cycle);
  for (const std::int64_t wake : wake_) {
    if (wake != Vault::never) next = std::min(next, (wake + cycle_ps_ - 1) / cycle_ps_);
  }
  return next;
}

ClosedLoopResult System::run(std::int64_t max_cycles, const Progress& progress, RunObserver* observer) {
  std::int64_t expected = 0;
  for (const Requester& requester : requesters_) expected += requester.count;
  constexpr std::size_t between = 1000;  // replies, from one report to the next
  std::size_t next_report = between;
  while (true) {
    if (observer != nullptr) observer->stepping(network_);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      requesters_[i].source->advance(network_.now());
      if (!sources_[i].has_next && !sources_[i].ended) fetch(i);
      issue(i);
    }
    serve_vaults();
    send_replies();
    const std::int64_t next = next_cycle();
    if (next == Vault::never || network_.now() >= max_cycles) {
      if (observer != nullptr) observer->ended(network_);
      return result(next == Vault::never);
    }
    if (next > network_.now()) {
      network_.advance(std::min(next, max_cycles));
      continue;
    }
    network_.step();
    if (observer != nullptr) observer->stepped(network_);
    for (const Delivery& delivery : network_.deliveries()) {
      if (delivery.packet.message_class == request_class) {
        arrive(delivery);
      } else {
        complete(delivery);
      }
    }
    network_.clear_deliveries();
    if (!progress || expected == 0 || latencies_.size() < next_report) continue;
    next_report = latencies_.size() + between;
    progress(std::min(1.0, static_cast<double>(latencies_.size()) / static_cast<double>(expected)));
  }
}

ClosedLoopResult System::result(bool finished) {
  ClosedLoopResult out;
  out.finished = finished;
  out.cycles = finished ? *std::max_element(done_.begin(), done_.end()) : network_.now();
  out.requests = issued_;
  out.replies = static_cast<std::int64_t>(latencies_.size());
  // Windows are full until the first requester has asked for all it will; the second half of that time is steady.
  const auto replies_by = [this](std::int64_t cycle) {
    return static_cast<std::size_t>(std::upper_bound(reply_cycles_.begin(), reply_cycles_.end(), cycle) -
                                    reply_cycles_.begin());
  };
  std::size_t first = replies_by(exhausted_ / 2), last = replies_by(exhausted_);
  if (last < first + requesters_.size() * 16) {
    first = reply_cycles_.size() / 5;
    last = reply_cycles_.size() * 4 / 5;
  }
  if (last > first + 1) {
    out.cycles_per_request =
        static_cast<double>(reply_cycles_[last - 1] - reply_cycles_[first]) / static_cast<double>(last - 1 - first);
  }
  out.latency = summarize(std::move(latencies_));
  out.done = done_;
  out.peak = peak_;
  out.energy = meter_.read(network_);
  out.counters = network_.counters();
  if (out.replies > 0) {
    out.hops = static_cast<double>(hops_) / static_cast<double>(out.replies);
    out.active_flits_per_request = out.energy.active_pj / (parameters_.active_pj_per_bit * 8 * parameters_.flit_bytes) /
                                   static_cast<double>(out.replies);
  }
  std::int64_t hits = 0, activates = 0;
  for (const Vault& vault : vaults_) {
    hits += vault.row_hits();
    activates += vault.activates();
  }
  if (hits + activates > 0) out.row_hit_share = static_cast<double>(hits) / static_cast<double>(hits + activates);
  return out;
}

}  // namespace

// Flits grow with requests, slots with time; what is no flit is idle.
Energy energy_of_all(const ClosedLoopResult& result, const Parameters& parameters, double requests, double cycles) {
  const double bits = 8.0 * parameters.flit_bytes;
  const double flits = result.energy.active_pj / (parameters.active_pj_per_bit * bits);
  const double slots = flits + result.energy.idle_pj / (parameters.idle_pj_per_bit * bits);
  const double all_flits = flits * requests / static_cast<double>(std::max<std::int64_t>(1, result.requests));
  const double all_slots = slots * cycles / static_cast<double>(std::max<std::int64_t>(1, result.counters.cycles));
  Energy energy;
  energy.active_pj = all_flits * bits * parameters.active_pj_per_bit;
  energy.idle_pj = std::max(0.0, all_slots - all_flits) * bits * parameters.idle_pj_per_bit;
  energy.capacity_pj = energy.active_pj + energy.idle_pj;
  return energy;
}

int request_flits(const Access& access, int flit_bytes) {
  return access.write ? 1 + (static_cast<int>(access.bytes) + flit_bytes - 1) / flit_bytes : 1;
}

int reply_flits(const Access& access, int flit_bytes) {
  return access.write ? 1 : 1 + (static_cast<int>(access.bytes) + flit_bytes - 1) / flit_bytes;
}

ClosedLoopResult run_closed_loop(const Topology& topology, const Parameters& parameters, const MemorySystem& memory,
                                 const std::vector<Requester>& requesters, std::int64_t max_cycles, Trace* record,
                                 const Progress& progress, RunObserver* observer) {
  if (requesters.empty()) fail("memnet", "a closed loop without requesters, expected one or more");
  if (record != nullptr) record->sources = static_cast<std::uint32_t>(requesters.size());
  return System(topology, parameters, memory, requesters, record).run(max_cycles, progress, observer);
}

}  // namespace dcgn::memnet
