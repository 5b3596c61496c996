// What moves bytes while kernels run: one Copier for a set of devices of one kind. src/transport/copy_engine.hpp says
// what each call does; pointers come here checked.
#pragma once

#include <dcgn/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::device {

class Copier {
 public:
  Copier() = default;
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;
  virtual ~Copier() = default;

  virtual bool is_device_memory(const void* memory) = 0;
  virtual bool is_pageable(const void* memory) = 0;
  virtual bool kernels_can_read(const void* memory, int device) = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual bool busy() = 0;
  virtual void enter() = 0;
  // The allocation of one of the devices that has this memory; false where it is none that another process could open.
  struct Allocation {
    std::byte* begin;
    std::size_t bytes;
    std::uint64_t id;  // no other one, earlier or later, is called so
    int device;
  };
  virtual bool allocation_of(const void* memory, Allocation& found) = 0;
  // Before any copy of it: memory of another process counts as that of this device, which has opened it.
  virtual void adopt(const void* memory, std::size_t bytes, int device) = 0;
  // The device whose memory this is; -1 where a thread of the host may touch it.
  virtual int device_of(const void* memory) = 0;
  // *done becomes `value` when what this stream of the device has been given is done.
  virtual void signal_behind(const Stream& stream, int device, std::uint32_t* done, std::uint32_t value) = 0;
  virtual void start(void* to, const void* from, std::size_t bytes, std::uint32_t* done, std::uint32_t value) = 0;
};

std::unique_ptr<Copier> make_copier(const std::vector<Device>& devices, bool p2p);

}  // namespace dcgn::device
