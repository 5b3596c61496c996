// An allocator over a fixed piece of memory, for one caller at a time, usable in kernels.
//
// First fit over an address-ordered list of free chunks, neighbours joined when freed; what is allocated first is
// freed first as a rule, so the list stays short and the memory touched stays low.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::message {

class Arena {
 public:
  // `memory` is 16-byte aligned, zeroed, and stays the caller's.
  DCGN_HOST_DEVICE Arena(void* memory, std::uint64_t bytes)
      : memory_(static_cast<unsigned char*>(memory)), capacity_(bytes / unit * unit), used_(0), free_(nullptr) {}

  DCGN_HOST_DEVICE std::uint64_t capacity() const { return capacity_; }
  DCGN_HOST_DEVICE std::uint64_t used() const { return used_; }

  // At least `bytes`, 16-byte aligned; null where no chunk is large enough.
  DCGN_HOST_DEVICE void* allocate(std::uint64_t bytes);

  DCGN_HOST_DEVICE void free(void* allocated);

 private:
  struct alignas(16) Chunk {
    std::uint64_t bytes;  // this header included
    Chunk* next;          // the next free chunk, where this one is free
  };
  static constexpr std::uint64_t unit = sizeof(Chunk);

  DCGN_HOST_DEVICE static Chunk* chunk_at(Chunk* chunk, std::uint64_t offset) {
    return reinterpret_cast<Chunk*>(reinterpret_cast<unsigned char*>(chunk) + offset);
  }

  unsigned char* memory_;
  std::uint64_t capacity_;
  std::uint64_t extent_ = 0;  // bytes from the start that were ever in use since the arena was last empty
  std::uint64_t used_;
  Chunk* free_;
};

}  // namespace dcgn::message
