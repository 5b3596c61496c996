// What FIFOs between ranks are like: who reaches whose memory, and from how many bytes on messages go which way.
#include "message/memory_layout.hpp"
#include "message/thresholds.hpp"
#include "transport/sharing.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace dcgn::message {

namespace {
constexpr std::size_t few_inboxes = 16;  // slots
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
      if (gpus_[fifo(a)] < 0 || reach(fifo(a), fifo(b)) != Reach::direct) return false;
  return true;
}

// Of a segment of an inbox: none where there is one slot, where some slot of this process cannot store into the memory
// of another, or where turns are switched off. Few slots of CUDA GPUs have room for megabytes, which a grid
// stores at once; many slots for some hundred bytes.
std::uint32_t RankMemory::choose_inbox_packets() const {
  std::vector<std::size_t> slots;
  for (std::size_t i = 0; i < endpoints_.size(); ++i)
    if (gpus_[here(i)] >= 0) slots.push_back(here(i));
  if (slots.size() < 2 || (config_.without & without_rounds)) return 0;
  for (std::size_t a = 0; a < slots.size(); ++a)  // of each GPU one is enough
    for (std::size_t b = 0; b < a; ++b) {
      const bool first_pair =
          (a == 0 || gpus_[slots[a]] != gpus_[slots[a - 1]]) && (b == 0 || gpus_[slots[b]] != gpus_[slots[b - 1]]);
      if (first_pair && reach(slots[a], slots[b]) != Reach::direct) return 0;
    }
  std::vector<std::uint64_t> on_gpu(devices_.size());
  for (const std::size_t slot : slots) ++on_gpu[gpu_of(slot)];
  const std::uint64_t of_few = has_cuda_ ? (64u << 20) / *std::max_element(on_gpu.begin(), on_gpu.end()) : 4u << 20;
  const std::uint64_t budget = slots.size() <= few_inboxes ? of_few : 512u << 10;  // of a slot
  const std::uint64_t least = 512, most = has_cuda_ ? 32u << 20 : 1u << 20;        // of an inbox; least: for signatures
  const std::uint64_t bytes = std::clamp(budget / slots.size(), least, most);
  return static_cast<std::uint32_t>(std::bit_floor(bytes / (Inbox::segments * sizeof(Packet))));
}

void RankMemory::set_engine_limits(std::size_t rank, std::size_t peer, OutFifo& out, InFifo& in) const {
  out.engine_from = in.engine_from = in.engine_beside = engine_never;
  in.engine_each = 0;
  if (!has_engine_ || !is_here(peer)) return;
  if (config_.copy_engine_bytes) {
    out.engine_from = in.engine_from = static_cast<std::uint32_t>(*config_.copy_engine_bytes);
    return;
  }
  out.engine_from = engine_from_fifo;
  if (is_host(rank)) return;
  in.engine_from = 0;
  const bool one = gpus_[rank] == gpus_[peer];
  in.engine_each = one ? engine_each_of_one : engine_each_of_two;
  in.engine_beside = one ? engine_beside_of_one : engine_beside_of_two;
}

// Both sides of the FIFOs between a rank and its peer, as the rank has them.
void RankMemory::make_fifos(const Layout& layout, std::size_t r, std::size_t p, OutFifo& out, InFifo& in) const {
  const bool near = share_memory(p, r);
  const Layout::Rank& own = layout.ranks[r];
  const Peer peer = peer_of(layout, r, p);
  const Layout::Pair& from = layout.pairs[r * ends() + p];
  const bool in_host = is_host(p) && is_host(r), outside = is_gateway(p) || is_gateway(r);
  out.ring = {peer.ring, peer.shift};
  const std::uint32_t of_host = is_of_process(p) ? eager_of_host : eager_of_processes;
  const std::uint32_t eager = outside   ? (in_host ? gateway_eager_of_host : gateway_eager)
                              : in_host ? of_host
                                        : eager_of_gpu;
  out.eager = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(config_.eager_bytes.value_or(eager), std::numeric_limits<std::uint32_t>::max()));
  // With its header an eager message fills at most half of the ring: credits come in quarters, so a sender that
  // waits for half a ring is sure to get it.
  const auto unit = static_cast<std::uint32_t>(largest_unit(out.ring));
  out.eager_each = in_host || outside || config_.eager_bytes ? 0 : eager_each_thread;
  out.eager_most = outside               ? std::min(unit, gateway_most_eager)
                   : config_.eager_bytes ? unit
                                         : std::min(unit, most_eager);
  out.reach = reach(p, r);
  const bool two_gpus = gpus_[r] >= 0 && gpus_[p] >= 0 && gpus_[r] != gpus_[p];
  out.records = two_gpus && out.reach == Reach::direct ? peer.records : nullptr;
  set_engine_limits(r, p, out, in);
  const bool rings = peer.doorbells && (near || is_host(p));
  out.doorbell = rings ? peer.doorbells + doorbell_place(static_cast<int>(r)) : nullptr;
  out.credit = layout.pairs[p * ends() + r].credit;
  out.acks = near ? own.near_acks : own.far_acks;
  in.ring = {from.ring, from.shift};
  in.batch = config_.without & without_batches ? 1 : in.ring.size() / 4;
  in.credit = peer.credit;
  in.acks = near ? peer.near_acks : peer.far_acks;
  in.process = is_of_process(p) || !is_host(r) || !is_host(p) ? 0 : sharing_->pid(processes_[p]);
  in.far = !is_host(r) && !near;
  out.fast = !outside && !(config_.without & without_quick) && eager_limit(out, 1) >= small_bytes;
  out.names_rank = in.names_rank = outside;
  out.next = out.ring.packets;
  out.epoch = 1;
  out.advance(0);
  in.next = in.ring.packets;
  in.epoch = 1;
  in.advance(0);
}

}  // namespace dcgn::message
