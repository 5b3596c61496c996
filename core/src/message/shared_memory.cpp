// What the ranks' memory of this process tells the other processes that share it, and what theirs tells this one.
#include "message/memory_layout.hpp"
#include "message/process_fragments.hpp"
#include "transport/sharing.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::message {

namespace {

// Between GPUs a copy should last long beside the 10 us that it takes to begin and to tell of; in memory of the host
// that GPUs use, likewise, with a link of a seventh of the speed; and threads had better stay in their caches.
constexpr std::uint64_t fragment_of_gpu = 16 << 20, fragment_of_link = 4 << 20, fragment_of_host = 512 << 10;
constexpr std::uint32_t fragments_of_gpu = 4, fragments_of_host = 8;

}  // namespace

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
    shared_->at<Shared::Rank>(shared_->ranks)[i] = {where(rank.near_acks), where(rank.far_acks), where(rank.doorbells)};
    for (std::size_t p = 0; p < static_cast<std::size_t>(circle_.ranks); ++p) {
      if (is_here(p)) continue;
      const Layout::Pair& in = layout.pairs[r * ends() + p];
      Shared::Pair& pair = shared_->at<Shared::Pair>(shared_->pairs)[i * static_cast<std::size_t>(circle_.ranks) + p];
      pair = {where(in.ring), where(layout.pairs[p * ends() + r].credit), 0};
      pair.ring.shift = in.shift;
    }
  }
  for (std::size_t k = 0; fragments_ && k < fragments_->own.size(); ++k) {
    const FragmentPool& pool = fragments_->own[k];
    fragments_->told[k] = {where(pool.memory), where(pool.words), pool.count, pool.bytes};
    shared_->pools = shared_->offset(fragments_->told);
    shared_->pool_count = fragments_->own.size();
  }
  if (exports_) shared_->exports = shared_->offset(exports_->own);
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
    return {to.ring, to.shift, from.credit, rank.near_acks, rank.far_acks, rank.doorbells, rank.records};
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
  return {static_cast<Packet*>(resolve(pair.ring)),
          pair.ring.shift,
          static_cast<Credit*>(resolve(pair.credit)),
          static_cast<std::uint64_t*>(resolve(its_rank.near_acks)),
          static_cast<std::uint64_t*>(resolve(its_rank.far_acks)),
          static_cast<std::uint8_t*>(resolve(its_rank.doorbells)),
          nullptr};
}

void RankMemory::lay_out_fragments() {
  if (!fragments_) return;
  const std::size_t gpus = has_cuda_ ? devices_.size() : 0;
  const auto bytes_of = [&](std::uint64_t fallback) {
    return config_.fragment_bytes ? config_.fragment_bytes : fallback;
  };
  fragments_->told = pinned_.take<Shared::Pool>(1 + gpus, 64);
  fragments_->own.resize(1 + gpus);
  for (std::size_t k = 0; k <= gpus; ++k) {
    FragmentPool& pool = fragments_->own[k];
    pool.count = k ? fragments_of_gpu : fragments_of_host;
    pool.bytes = bytes_of(k ? fragment_of_gpu : gpus ? fragment_of_link : fragment_of_host);
    pool.words = pinned_.take<std::uint32_t>(pool.count, 64);
    pool.memory = (k ? device_regions_[k - 1] : pinned_).take<unsigned char>(pool.count * pool.bytes, 4096);
  }
}

// All processes have told what they have.
void RankMemory::open_fragments(HostCopier& copier) {
  const auto gpus = static_cast<int>(fragments_->own.size()) - 1;
  fragments_->peers.resize(static_cast<std::size_t>(sharing_->count()));
  for (int p = 0; p < sharing_->count(); ++p) {
    const int process = sharing_->first() + p;
    if (process == home_.first_node) continue;
    Shared& its = shared_of(process);
    if (!its.pool_count) continue;
    ProcessFragments::Peer& peer = fragments_->peers[static_cast<std::size_t>(p)];
    const auto* const told = its.at<Shared::Pool>(its.pools);
    unsigned char* const host = sharing_->host_memory(process);
    const auto seen = [&](const Shared::Pool& pool, unsigned char* memory) {
      return FragmentPool{memory ? memory + pool.memory.offset : nullptr,
                          reinterpret_cast<std::uint32_t*>(host + pool.words.offset),
                          static_cast<std::uint32_t>(pool.count), pool.bytes};
    };
    peer.host = seen(told[0], host);
    const int theirs = static_cast<int>(its.pool_count) - 1;
    peer.gpus_reach = gpus && theirs;
    for (int g = 0; g < gpus; ++g) {
      auto& reached = peer.gpus.emplace_back();
      for (int h = 0; h < theirs; ++h) {
        const bool reaches = sharing_->gpus_reach(g, process, h);
        peer.gpus_reach = peer.gpus_reach && reaches;
        reached.push_back(seen(told[1 + h], reaches ? sharing_->device_memory(g, process, h) : nullptr));
        const FragmentPool& pool = reached.back();
        if (pool.memory) copier.adopt(pool.memory, pool.count * pool.bytes, g);
      }
    }
  }
  fragments_->of_ranks.resize(endpoints_.size());
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    if (gpus_[here(i)] >= 0) continue;
    std::vector<const ProcessFragments::Peer*> peers(fifos_);
    for (std::size_t p = 0; p < static_cast<std::size_t>(circle_.ranks); ++p) {
      if (is_here(p) || gpus_[p] >= 0) continue;
      const auto& peer = fragments_->peers[static_cast<std::size_t>(processes_[p] - sharing_->first())];
      if (peer.host.count) peers[p] = &peer;
    }
    fragments_->of_ranks[i] = std::make_unique<ProcessFragments>(copier, fragments_->own, std::move(peers));
  }
}

void RankMemory::lay_out_exports() {
  if (exports_) exports_->own = pinned_.take<ExportTable>(endpoints_.size(), 64);
}

// All processes have told what they have.
void RankMemory::open_exports(HostCopier& copier) {
  for (int p = 0; p < sharing_->count(); ++p) {
    const int process = sharing_->first() + p;
    auto& reach = exports_->reach.emplace_back();
    for (int g = 0; process != home_.first_node && g < static_cast<int>(devices_.size()); ++g) {
      auto& reached = reach.emplace_back();
      for (int h = 0; h < sharing_->gpus(process); ++h) reached.push_back(sharing_->gpus_reach(g, process, h));
    }
  }
  exports_->of_ranks.resize(endpoints_.size());
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    if (gpus_[here(i)] >= 0) continue;
    std::vector<ProcessExports::Peer> peers(fifos_);
    for (std::size_t p = 0; p < static_cast<std::size_t>(circle_.ranks); ++p) {
      if (is_here(p) || gpus_[p] >= 0) continue;
      Shared& its = shared_of(processes_[p]);
      if (its.exports)
        peers[p] = {its.at<ExportTable>(its.exports) + (p - first_ranks_[p]), processes_[p],
                    &exports_->reach[static_cast<std::size_t>(processes_[p] - sharing_->first())]};
    }
    exports_->of_ranks[i] = std::make_unique<ProcessExports>(copier, exports_->own[i], std::move(peers));
  }
}

void RankMemory::tell_sent(const Snapshot& snapshot) {
  if (!sharing_) return;
  const std::size_t i = index(snapshot.endpoint.rank), all = static_cast<std::size_t>(circle_.ranks);
  for (std::size_t p = 0; p < all; ++p)
    shared_->at<Shared::Pair>(shared_->pairs)[i * all + p].sent =
        snapshot.out[p].sent + snapshot.out[p].messages_by_fast_calls();
}

std::uint64_t RankMemory::told_sent(int from, int to) const {
  const std::size_t p = fifo(from), all = static_cast<std::size_t>(circle_.ranks);
  Shared& its = shared_of(processes_[p]);
  return its.at<Shared::Pair>(its.pairs)[(p - first_ranks_[p]) * all + fifo(to)].sent;
}

void RankMemory::set_ended(int rank, bool tell) {
  const auto set = [&](std::uint32_t* ended) {
    std::atomic_ref<std::uint32_t>(ended[fifo(rank)]).store(1, std::memory_order_release);
  };
  set(ended_);
  for (int p = circle_.first_node; sharing_ && tell && p < circle_.end_node(); ++p)
    if (p != home_.first_node) set(shared_of(p).at<std::uint32_t>(shared_of(p).ended));
}

}  // namespace dcgn::message
