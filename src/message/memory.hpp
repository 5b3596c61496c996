// The memory of all ranks of a process: endpoints, lanes, acknowledgement words, records; and where each part lies.
#pragma once

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/message/copy_queue.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/placement.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace dcgn::message {

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
  // `devices[g]` is GPU g of the process, counted through the nodes. `copier` serves the CPU ranks, and stays the
  // caller's; null: there are no copy engines.
  RankMemory(const Config& config, const Placement& placement, std::vector<Device> devices, HostCopier* copier);
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  int size() const noexcept { return static_cast<int>(endpoints_.size()); }
  // The endpoint at its own address: to be dereferenced on the host only where host_resident(rank).
  Endpoint* endpoint(int rank) const { return endpoints_[static_cast<std::size_t>(rank)]; }
  bool host_resident(int rank) const { return spaces_[static_cast<std::size_t>(rank)] == host_space; }

  // Where the ranks ask for copies: [size()] each, null where there are no copy engines.
  const CopyQueue* copy_queues() const noexcept { return copy_queues_; }
  const std::uint32_t* copies_posted() const noexcept { return copies_posted_; }

  Notice& notice(int rank) const { return notices_[rank]; }
  bool ended(int rank) const { return load_acquire(ended_[rank]) != 0; }
  // This and set_phase() are called with a lock held, so they are no points where a deterministic schedule may switch.
  void set_ended(int rank) { std::atomic_ref<std::uint32_t>(ended_[rank]).store(1, std::memory_order_release); }
  // Tells every rank: a Phase, or the number of a survey.
  void set_phase(std::uint32_t phase);

  // A copy of a rank's endpoint and of its side of the lanes, fetched from the device where it lies there. The rank
  // must not be in a call.
  struct Snapshot {
    Endpoint endpoint;
    std::vector<OutLane> out;
    std::vector<InLane> in;
    std::vector<Envelope> unexpected;
    std::uint64_t posted = 0;
  };
  Snapshot snapshot(int rank) const;

 private:
  // Memory that is given back when it goes.
  using Block = std::unique_ptr<void, std::function<void(void*)>>;
  struct Layout;
  Block map_memory(std::size_t bytes) const;
  void lay_out(Layout& layout);
  Region& region(int space);
  // Whether each of the two can read and write the other's memory.
  bool share_memory(std::size_t a, std::size_t b) const;
  Reach reach(std::size_t receiver, std::size_t sender) const;
  void set_engine_limits(std::size_t rank, std::size_t peer, OutLane& out, InLane& in) const;

  Config config_;
  Placement placement_;
  std::vector<Device> devices_;
  std::vector<int> gpus_;    // [rank], -1 for a CPU kernel
  std::vector<int> spaces_;  // [rank], host_space or an index into devices_
  std::vector<bool> peers_;  // [device * devices + other]
  Region host_, pinned_;
  std::vector<Region> device_regions_;
  Block host_block_, pinned_block_;
  std::vector<Block> device_blocks_;  // null where the device is emulated
  std::vector<Endpoint*> endpoints_;
  const bool has_engine_;
  CopyQueue* copy_queues_ = nullptr;
  std::uint32_t* copies_posted_ = nullptr;
  Notice* notices_ = nullptr;
  std::uint32_t* ended_ = nullptr;
  std::uint32_t* host_phase_ = nullptr;
  std::vector<std::uint32_t*> device_phases_;
  bool has_cuda_ = false;
};

}  // namespace dcgn::message
