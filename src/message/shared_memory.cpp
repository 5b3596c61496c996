// What the ranks' memory of this process tells the other processes that share it, and what theirs tells this one.
#include "message/memory_layout.hpp"
#include "transport/sharing.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::message {

RankMemory::Where RankMemory::where(const void* piece) const {
  const auto within = [&](const void* base, std::uint64_t bytes) {
    return reinterpret_cast<std::uintptr_t>(piece) - reinterpret_cast<std::uintptr_t>(base) < bytes;
  };
  const auto offset = [&](const void* base) {
    return static_cast<std::uint64_t>(static_cast<const unsigned char*>(piece) -
                                      static_cast<const unsigned char*>(base));
  };
  if (!piece) return {Where::nowhere, 0, 0};
  for (std::size_t g = 0; g < devices_.size(); ++g)
    if (device_blocks_[g] && within(device_blocks_[g].get(), device_regions_[g].used()))
      return {static_cast<std::int32_t>(g), 0, offset(device_blocks_[g].get())};
  return {host_space, 0, offset(pinned_block_.get())};
}

void RankMemory::share(const Layout& layout) {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    const std::size_t r = here(i);
    const Layout::Rank& rank = layout.ranks[r];
    shared_->at<Shared::Rank>(shared_->ranks)[i] = {where(rank.near_acks), where(rank.far_acks), where(rank.bells)};
    for (std::size_t p = 0; p < static_cast<std::size_t>(circle_.ranks); ++p) {
      if (is_here(p)) continue;
      const Layout::Pair& in = layout.pairs[r * ends() + p];
      Shared::Pair& pair = shared_->at<Shared::Pair>(shared_->pairs)[i * static_cast<std::size_t>(circle_.ranks) + p];
      pair = {where(in.ring), where(layout.pairs[p * ends() + r].credit), 0};
      pair.ring.shift = in.shift;
    }
  }
  std::vector<void*> device_memory;
  for (const Block& block : device_blocks_) device_memory.push_back(block.get());
  sharing_->open(device_memory);
}

RankMemory::Shared& RankMemory::shared_of(int process) const {
  return *reinterpret_cast<Shared*>(process == home_.first_node ? pinned_block_.get() : sharing_->host_memory(process));
}

// A peer of r, which is here.
RankMemory::Peer RankMemory::peer_of(const Layout& layout, std::size_t r, std::size_t p) const {
  const Layout::Rank& rank = layout.ranks[p];
  const Layout::Pair &to = layout.pairs[p * ends() + r], &from = layout.pairs[r * ends() + p];
  if (is_of_process(p))
    return {to.ring, to.shift, from.credit, rank.near_acks, rank.far_acks, rank.bells, rank.records};
  const int process = processes_[p], first = static_cast<int>(first_ranks_[p]);
  Shared& its = shared_of(process);
  const auto resolve = [&](const Where& w) -> void* {
    if (w.space == Where::nowhere) return nullptr;
    if (w.space == host_space) return sharing_->host_memory(process) + w.offset;
    if (!share_memory(r, p)) return nullptr;  // which has the other kind of memory for this one
    return sharing_->device_memory(spaces_[r], process, w.space) + w.offset;
  };
  const std::size_t number = p - static_cast<std::size_t>(first);
  const Shared::Rank& its_rank = its.at<Shared::Rank>(its.ranks)[number];
  const Shared::Pair& pair = its.at<Shared::Pair>(its.pairs)[number * static_cast<std::size_t>(circle_.ranks) + r];
  return {static_cast<Cell*>(resolve(pair.ring)),
          pair.ring.shift,
          static_cast<Credit*>(resolve(pair.credit)),
          static_cast<std::uint64_t*>(resolve(its_rank.near_acks)),
          static_cast<std::uint64_t*>(resolve(its_rank.far_acks)),
          static_cast<std::uint32_t*>(resolve(its_rank.bells)),
          nullptr};
}

void RankMemory::tell_sent(const Snapshot& snapshot) {
  if (!sharing_) return;
  const std::size_t i = index(snapshot.endpoint.rank), all = static_cast<std::size_t>(circle_.ranks);
  for (std::size_t p = 0; p < all; ++p)
    shared_->at<Shared::Pair>(shared_->pairs)[i * all + p].sent =
        snapshot.out[p].sent + snapshot.out[p].messages_by_quick_calls();
}

std::uint64_t RankMemory::told_sent(int from, int to) const {
  const std::size_t p = lane(from), all = static_cast<std::size_t>(circle_.ranks);
  Shared& its = shared_of(processes_[p]);
  return its.at<Shared::Pair>(its.pairs)[(p - first_ranks_[p]) * all + lane(to)].sent;
}

void RankMemory::set_ended(int rank, bool tell) {
  const auto set = [&](std::uint32_t* ended) {
    std::atomic_ref<std::uint32_t>(ended[lane(rank)]).store(1, std::memory_order_release);
  };
  set(ended_);
  for (int p = circle_.first_node; sharing_ && tell && p < circle_.end_node(); ++p)
    if (p != home_.first_node) set(shared_of(p).at<std::uint32_t>(shared_of(p).ended));
}

}  // namespace dcgn::message
