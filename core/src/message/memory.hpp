// The memory of all ranks of a process: endpoints, FIFOs, acknowledgement words, records; and where each part lies.
#pragma once

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/message/copy_queue.hpp>
#include <dcgn/message/device_barrier.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/placement.hpp>

#include "message/phase_teller.hpp"
#include "topology/home.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dcgn::transport {
class Sharing;
}

namespace dcgn::message {

class ProcessFragments;  // process_fragments.hpp

// A region hands out pieces of one zeroed allocation. It is gone through twice: first to add up, then to hand out.
class Region {
 public:
  template <class T>
  T* take(std::size_t count, std::size_t align = alignof(T)) {
    used_ = (used_ + align - 1) / align * align;
    T* piece = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += count * sizeof(T);
    return piece;
  }
  std::size_t used() const noexcept { return used_; }
  // Begins again, handing out `base`.
  void place(void* base) noexcept {
    base_ = static_cast<unsigned char*>(base);
    used_ = 0;
  }

 private:
  unsigned char* base_ = nullptr;
  std::size_t used_ = 0;
};

// A rank whose memory is the host's: a CPU kernel or a slot of an emulated GPU. Others: the device that has it.
inline constexpr int host_space = -1;

class RankMemory {
 public:
  // Throws Error(out_of_resources) for more ranks than the machine's memory has room for.
  static void check_ranks(std::int64_t ranks, bool shared);

  // Of the ranks at `home`. `devices[g]` is GPU g of the process, counted through its nodes. `copier` serves the CPU
  // ranks, and stays the caller's; null: nobody copies for them. `engines`: for slots, too. `sharing` tells of other
  // processes that share memory, which make theirs at the same time, and outlives this; null: there are none.
  RankMemory(const Config& config, const Placement& placement, const topology::Home& home, std::vector<Device> devices,
             HostCopier* copier, bool engines, transport::Sharing* sharing);
  // Of all ranks.
  RankMemory(const Config& config, const Placement& placement, std::vector<Device> devices, HostCopier* copier)
      : RankMemory(config, placement, topology::Home::of_all(placement), std::move(devices), copier, copier, nullptr) {}
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;
  ~RankMemory();

  // Ranks are those of the world, from home().first_rank on.
  const topology::Home& home() const noexcept { return home_; }
  // Those that talk to these through FIFOs of their own: of all processes that share memory.
  const topology::Home& circle() const noexcept { return circle_; }
  // The endpoint at its own address: to be dereferenced on the host only where host_resident(rank).
  Endpoint* endpoint(int rank) const { return endpoints_[index(rank)]; }
  bool host_resident(int rank) const { return is_host(fifo(rank)); }

  // What carries messages to and from processes that share no memory with this one: a FIFO to and from each rank, by
  // its number here, and words for acknowledgements, all in host memory. It receives nothing itself. Null where all
  // ranks are here.
  Endpoint* gateway() const noexcept { return gateway_; }
  // Buffers of the rank that the gateway writes to at the moment: see Endpoint::lent.
  std::uint32_t& lent(int rank) const { return lent_[index(rank)]; }
  const std::uint32_t& phase() const { return *host_phase_; }

  // Where the ranks ask for copies: [home().ranks] each, null where there are no copy engines.
  const CopyQueue* copy_queues() const noexcept { return copy_queues_; }
  const std::uint32_t* copies_posted() const noexcept { return copies_posted_; }

  Notice& notice(int rank) const { return notices_[index(rank)]; }
  bool ended(int rank) const { return load_acquire(ended_[fifo(rank)]) != 0; }
  // This and set_phase() are called with a lock held, so they are no points where a deterministic schedule may switch.
  // `tell`: the other processes, too.
  void set_ended(int rank, bool tell);
  // Tells every rank: a Phase, or the number of a survey. Those on GPUs hear of it a little later.
  void set_phase(std::uint32_t phase);

  // Bytes of all that there is, in the memory of a device or of the host (host_space).
  std::uint64_t bytes(int space) const {
    return space == host_space ? host_.used() + pinned_.used()
                               : device_regions_.at(static_cast<std::size_t>(space)).used();
  }

  // A copy of a rank's endpoint and of its side of the FIFOs, fetched from the device where it lies there. The rank
  // must not be in a call.
  struct Snapshot {
    Endpoint endpoint;
    std::vector<OutFifo> out;
    std::vector<InFifo> in;
    std::vector<Envelope> unexpected;
    std::uint64_t posted = 0;
  };
  Snapshot snapshot(int rank) const;
  // The same of the log of a rank's calls (Config::trace).
  struct Traced {
    std::vector<TraceEvent> events;
    std::uint64_t dropped = 0;
  };
  Traced traced(int rank) const;
  // The place of a rank's FIFO in the snapshots, for those of circle().
  std::size_t fifo(int rank) const { return static_cast<std::size_t>(rank - circle_.first_rank); }
  // Tells the other processes how much this rank has sent to theirs, when it has ended; and says what a rank of theirs
  // has sent to one here, when they have told.
  void tell_sent(const Snapshot& snapshot);
  std::uint64_t told_sent(int from, int to) const;

 private:
  // Memory that is given back when it goes.
  using Block = std::unique_ptr<void, std::function<void(void*)>>;
  struct Layout;
  struct Peer;
  struct Where;
  struct Shared;
  struct FragmentPools;
  struct ExportTables;
  Block map_memory(std::size_t bytes) const;
  void number_gpus(const Placement& placement);
  void number_hosts(const Placement& placement, const std::vector<int>& processes);
  void lay_out(Layout& layout);
  void check_memory() const;
  void allocate(Layout& layout);
  void share(const Layout& layout);
  void lay_out_fragments();
  void open_fragments(HostCopier& copier);
  void lay_out_exports();
  void open_exports(HostCopier& copier);
  Where where(const void* piece) const;
  Shared& shared_of(int process) const;
  Peer peer_of(const Layout& layout, std::size_t r, std::size_t p) const;
  void make_fifos(const Layout& layout, std::size_t r, std::size_t p, OutFifo& out, InFifo& in) const;
  Region& region(int space);
  std::size_t index(int rank) const { return static_cast<std::size_t>(rank - home_.first_rank); }
  // Here and below ranks are counted from the first one of circle(), and the gateway comes behind the last.
  std::size_t ends() const { return static_cast<std::size_t>(circle_.ranks) + 1; }
  std::size_t here(std::size_t index) const { return fifo(home_.first_rank) + index; }
  bool is_here(std::size_t p) const { return p - fifo(home_.first_rank) < endpoints_.size(); }
  bool is_host(std::size_t p) const { return spaces_[p] == host_space; }
  std::size_t gpu_of(std::size_t p) const { return static_cast<std::size_t>(gpus_[p]); }
  bool is_gateway(std::size_t p) const { return p == static_cast<std::size_t>(circle_.ranks); }
  bool is_of_process(std::size_t p) const { return is_here(p) || is_gateway(p); }
  // Whether each of the two can read and write the other's memory; one of them is here.
  bool share_memory(std::size_t a, std::size_t b) const;
  // Where a piece lies that ranks of the host's memory use: beside the others of the process, or where all can reach
  // it.
  Region& host_region(std::size_t other) { return is_of_process(other) ? host_ : pinned_; }
  Reach reach(std::size_t receiver, std::size_t sender) const;
  // The team of a rank here; see CollectiveSpace.
  TeamOfWorld team_of(int rank) const;
  bool slots_reach_all() const;
  bool has_inbox(std::size_t rank) const { return inbox_packets_ && is_here(rank) && gpus_[rank] >= 0; }
  std::uint32_t choose_inbox_packets() const;
  void set_engine_limits(std::size_t rank, std::size_t peer, OutFifo& out, InFifo& in) const;

  Config config_;
  transport::Sharing* const sharing_;
  topology::Home home_, circle_;
  std::size_t world_size_;
  std::size_t fifos_;  // of each rank
  std::vector<Device> devices_;
  // By rank and gateway: which GPU it is of, -1 for a CPU kernel; host_space, or the GPU whose memory it lives in. GPUs
  // are numbered through the processes, those here first.
  std::vector<int> gpus_, spaces_;
  struct Gpu {
    int process, number;  // its number there
  };
  std::vector<Gpu> all_gpus_;
  std::vector<int> processes_;            // by rank: which process it is of
  std::vector<std::size_t> first_ranks_;  // and which rank is the first one there
  std::vector<std::int32_t> teams_;       // where each begins: see CollectiveSpace
  std::vector<std::int32_t> hosts_;       // the same
  std::int32_t least_of_host_ = 0;
  std::vector<bool> peers_;          // [device * GPUs + other]
  std::uint32_t inbox_packets_ = 0;  // of a segment; 0: no rank here has inboxes
  Region host_, pinned_;
  std::vector<Region> device_regions_;
  Block host_block_, pinned_block_;
  std::vector<Block> device_blocks_;  // null where the device is emulated
  std::vector<Endpoint*> endpoints_;
  Endpoint* gateway_ = nullptr;
  const bool has_gateway_, has_copier_, has_engine_;  // for CPU ranks; for all
  CopyQueue* copy_queues_ = nullptr;
  std::uint32_t* copies_posted_ = nullptr;
  Notice* notices_ = nullptr;
  std::uint32_t* ended_ = nullptr;            // [circle().ranks]
  Shared* shared_ = nullptr;                  // at the beginning of pinned_, where there are processes to share with
  std::unique_ptr<FragmentPools> fragments_;  // null where no CPU rank here needs them
  std::unique_ptr<ExportTables> exports_;     // null likewise
  std::uint32_t* lent_ = nullptr;
  std::uint32_t* host_phase_ = nullptr;
  std::vector<std::uint32_t*> device_phases_;
  std::vector<std::unique_ptr<PhaseTeller>> phase_tellers_;  // null likewise; before any Block goes
  struct Tables {
    std::int32_t *teams, *hosts;
    WorldBarriers* barriers;
  };
  std::vector<std::int32_t> first_slots_;        // the ranks, by GPU of this process
  std::vector<DeviceBarrier*> device_barriers_;  // likewise, of each of its slots
  WorldBarriers world_barriers_{};               // null where slots do not meet so
  std::vector<Tables> device_tables_;            // copies of teams_, hosts_ and world_barriers_
  bool has_cuda_ = false;
};

}  // namespace dcgn::message
