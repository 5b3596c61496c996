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
  DCGN_HOST_DEVICE void* allocate(std::uint64_t bytes) {
    if (bytes > capacity_) return nullptr;
    const std::uint64_t need = sizeof(Chunk) + (bytes + unit - 1) / unit * unit;
    for (Chunk** link = &free_; *link; link = &(*link)->next) {
      Chunk* chunk = *link;
      if (chunk->bytes < need) continue;
      if (chunk->bytes - need >= 2 * sizeof(Chunk)) {
        Chunk* rest = chunk_at(chunk, need);
        rest->bytes = chunk->bytes - need;
        rest->next = chunk->next;
        *link = rest;
        chunk->bytes = need;
      } else {
        *link = chunk->next;
      }
      used_ += chunk->bytes;
      return chunk + 1;
    }
    // Nothing free below: extend into memory never used, which stays untouched until then.
    if (need > capacity_ - extent_) return nullptr;
    auto* chunk = reinterpret_cast<Chunk*>(memory_ + extent_);
    chunk->bytes = need;
    extent_ += need;
    used_ += need;
    return chunk + 1;
  }

  DCGN_HOST_DEVICE void free(void* allocated) {
    Chunk* chunk = static_cast<Chunk*>(allocated) - 1;
    used_ -= chunk->bytes;
    Chunk** link = &free_;
    Chunk* before = nullptr;
    while (*link && *link < chunk) {
      before = *link;
      link = &(*link)->next;
    }
    chunk->next = *link;
    *link = chunk;
    if (chunk->next && chunk_at(chunk, chunk->bytes) == chunk->next) {
      chunk->bytes += chunk->next->bytes;
      chunk->next = chunk->next->next;
    }
    if (before && chunk_at(before, before->bytes) == chunk) {
      before->bytes += chunk->bytes;
      before->next = chunk->next;
    }
    if (used_ == 0) {
      free_ = nullptr;
      extent_ = 0;
    }
  }

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
