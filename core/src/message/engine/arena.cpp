// Chunks of a piece of memory, taken and given back.
#include <dcgn/message/arena.hpp>

#include "message/engine/compiled.hpp"

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE void* Arena::allocate(std::uint64_t bytes) {
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

DCGN_HOST_DEVICE void Arena::free(void* allocated) {
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

}  // namespace dcgn::message

#endif
