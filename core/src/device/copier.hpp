// What moves bytes while kernels run: one Copier for a set of devices of one kind. core/src/transport/copy_engine.hpp
// says what each call does; pointers come here checked.
#pragma once

#include <dcgn/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn::device {

// A copy with an end in a device's memory, as one of its engines made it; of one in fragments, a fragment.
struct CopyRecord {
  enum class Way : std::uint8_t { to_host, from_host, within, from_device };

  int device;  // its index, of several devices the one whose engine it was
  Way way;
  std::uint64_t bytes, begin_ns, end_ns;  // now_ns() of the host
};

struct CopyRecords {
  std::vector<CopyRecord> kept;
  std::uint64_t dropped = 0;  // more than there was room for
};

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
  // What is done of the copies that were started, in any order; once.
  virtual CopyRecords take_records() = 0;
};

// Keeps a record of the first `kept` copies of each device: to do so costs a microsecond or two a copy.
std::unique_ptr<Copier> make_copier(const std::vector<Device>& devices, bool p2p, std::size_t kept);

}  // namespace dcgn::device
