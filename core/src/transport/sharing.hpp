// Memory that processes of one host share: which of them do, and how each has the others' at hand.
//
// What a process gives the others is a file that lives in memory alone (memfd_create), which they open through /proc,
// and handles of its GPUs' memory (CUDA's interprocess memory). Whether they can is tried: processes in containers of
// their own may not, and those in different network namespaces stand for different hosts, so they do not.
#pragma once

#include "processes.hpp"

#include <dcgn/config.hpp>
#include <dcgn/device.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::transport {

class Sharing {
 public:
  // By all processes together; `devices` are this one's.
  Sharing(Processes& processes, const Config& config, std::vector<Device> devices);
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;
  ~Sharing();

  // All of them.
  Processes& processes() const noexcept { return processes_; }
  // The processes that share memory with each other, this one among them: so many in a row.
  int first() const noexcept { return first_; }
  int count() const noexcept { return static_cast<int>(members_.size()); }
  // All such rows of processes: where each begins.
  const std::vector<int>& starts() const noexcept { return starts_; }
  // Whether kernels of GPU g here and of GPU h there reach each other's memory.
  bool gpus_reach(int g, int process, int h) const;
  // Whether the two may have the system copy from each other's memory; the process by the system's number.
  bool reads(int process) const;
  int pid(int process) const { return member(process).pid; }
  // How many GPUs it has that are no emulated ones.
  int gpus(int process) const { return member(process).gpus; }

  // Memory of this process that the others will have, zeroed, and pinned where there are GPUs. Called once.
  unsigned char* allocate(std::size_t bytes);
  // By all processes together, when each has allocated: has the others' memory opened. `device_memory[g]` is that of
  // GPU g here, as Device::allocate() gave it.
  void open(const std::vector<void*>& device_memory);
  // What another one has allocated, and the memory of its GPU h as GPU g here reaches it.
  unsigned char* host_memory(int process) const { return member(process).memory; }
  unsigned char* device_memory(int g, int process, int h) const;

 private:
  struct Board;  // at the beginning of each file
  struct Sight;  // what all are told
  struct Member {
    int gpus = 0, gpus_before = 0;  // of the members
    int pid = 0;
    int file = -1;
    Board* board = nullptr;
    unsigned char* memory = nullptr;  // behind the board
    std::size_t bytes = 0;            // of the file
    bool pinned = false;
    std::vector<void*> opened;  // [g * gpus + h]
  };

  const Member& member(int process) const { return members_[static_cast<std::size_t>(process - first_)]; }
  Member& mine() { return members_[static_cast<std::size_t>(rank_ - first_)]; }
  void gather_members(const std::vector<Sight>& sights, bool shares);
  void try_gpus(bool p2p);
  void try_reading(const std::vector<Sight>& sights);
  static std::size_t place_of(const Member& m, int g, int h);  // in m.opened
  void take_memory(Member& m);
  void let_go(Member& m);
  void wait_for_all();

  Processes& processes_;
  const std::vector<Device> devices_;
  const int rank_;
  int first_;
  std::vector<int> starts_;
  std::vector<Member> members_;  // from first_ on
};

}  // namespace dcgn::transport
