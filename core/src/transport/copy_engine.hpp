// Moves bytes between any two places of host memory and of the memory of a set of devices, by the GPUs' copy engines,
// while kernels run on all of them that may never end: nothing here waits for a kernel.
#pragma once

#include "device/copier.hpp"

#include <dcgn/device.hpp>
#include <dcgn/message/copy_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::transport {

class ExportedBuffers;  // exported_buffers.hpp
class TypedCopies;      // typed_copies.hpp

// An address of a view (datatype/packed_view.hpp) is taken for memory of a device: its bytes are packed or unpacked on
// their way (typed_copies.hpp).
//
// All calls may be made by several threads at once, and while another thread captures a CUDA graph. They throw
// Error(device) where the driver fails, or memory belongs to a device that is not among those given.
//
// Between two CUDA devices, bytes go directly where the source can reach the target; else, and without p2p always,
// through pinned buffers of 8 MiB a source, in fragments, one on each of the two links at the same time. On emulated
// devices every copy is done when its call returns.
class CopyEngine {
 public:
  // Makes all streams and buffers that copies will need. The first engine with p2p also enables peer access: no kernel
  // may run on the devices then.
  // `kept`: of so many copies of each device records are kept.
  CopyEngine(const std::vector<Device>& devices, bool p2p, std::size_t kept = 0);
  CopyEngine(const CopyEngine&) = delete;
  CopyEngine& operator=(const CopyEngine&) = delete;
  // Waits for all copies.
  ~CopyEngine();

  // Whether the memory is a device's, so that a thread of the host should not touch it. Managed memory is not. Costs
  // some 100 ns.
  bool is_device_memory(const void* memory) const;

  // Which of the devices given has it, of a view its first bytes; -1: none, or an emulated one.
  int gpu_of(const void* memory) const;

  // Whether it is neither a device's nor pinned nor managed, as far as the driver knows; which knows nothing of what
  // kernels get from malloc(). On emulated GPUs, all that is not a device's. Costs some 100 ns.
  bool is_pageable(const void* memory) const;

  // Whether kernels of the device of this index can load from it at this address: the device's own memory, that of
  // another of the devices that it reaches (with p2p), and host memory that is pinned and mapped, or managed; of an
  // emulated device, all host memory. Costs some 100 ns.
  bool kernels_can_read(const void* memory, int device) const;

  // Copies, and returns when the bytes have arrived. The two must not overlap.
  void copy(void* to, const void* from, std::size_t bytes) const;

  // Starts a copy, which may be of nothing, and returns. When the bytes have arrived, *done becomes `value`: whoever
  // finds that by an acquiring load sees them. The word is in memory of one of the devices or of the host, where it
  // costs least if that is pinned; until then it and the bytes must stay as they are. Copies may end in any order.
  //
  // The call itself may take as long as the copy where host memory that is not pinned is at one end, and does where it
  // is at both.
  void start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value) const;

  // Has memory of another process, which this one of the devices given has opened, count as its own. Before any copy.
  void adopt(const void* memory, std::size_t bytes, int gpu);

  // Memory of these devices that processes read in each other.
  ExportedBuffers& exported() const { return *exported_; }

  // Makes one of the devices the calling thread's current one, as a library that is given their memory may expect.
  void enter() const;

  // Whether some of what has been started is still under way.
  bool busy() const;

  // Records of the copies that are done, in any order, with the devices' numbers among those given; once.
  device::CopyRecords take_records() const;

 private:
  const std::vector<Device> devices_;
  std::unique_ptr<device::Copier> copier_;
  std::unique_ptr<TypedCopies> typed_;
  std::unique_ptr<ExportedBuffers> exported_;
};

// Starts what a rank asks for.
void start_request(const CopyEngine& engine, const message::CopyRequest& request);

}  // namespace dcgn::transport
