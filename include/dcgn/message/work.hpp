// Work: bytes that the threads of a call move together, once its leader has decided what goes where.
#pragma once

#include <dcgn/gpu/relax.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// What the leader does when the bytes have moved.
enum class After : std::uint32_t {
  nothing,
  sent,        // an eager send is complete
  piece_sent,  // a piece of an accepted offer is out
  received,    // an eager message is in the user's buffer
  stored,      // an unexpected eager message is in the arena
  piece_received,
  pulled,    // acknowledge, complete
  unstored,  // a stored message is in the user's buffer; its storage can go
  buffered,  // bsend's copy is made; queue the send
};

struct Work {
  enum class Move : std::uint32_t { nothing, push, take, copy, stop };

  Move move = Move::nothing;
  After after = After::nothing;
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;
  std::uint64_t bytes = 0;     // to move; a take discards what its cells hold beyond; stop: a receive's capacity
  Ring ring{};                 // push, take
  std::uint32_t position = 0;  // the first payload cell
  std::uint32_t cells = 0;
  Record* record = nullptr;
  Record* stored = nullptr;  // the unexpected record that `record` consumes
  InLane* lane = nullptr;
  // stop: the call's result.
  Code code = Code::ok;
  Status status;
  std::int64_t index = -1;
  std::uint32_t generation = 0;
};

// Copies up to 12 bytes as words where both sides allow it.
DCGN_HOST_DEVICE inline void load_words(std::uint32_t (&d)[3], const unsigned char* from, std::uint64_t bytes) {
#if defined(__CUDA_ARCH__)
  if (bytes >= cell_payload && (reinterpret_cast<std::uintptr_t>(from) & 3) == 0) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(from);
    d[0] = words[0];
    d[1] = words[1];
    d[2] = words[2];
    return;
  }
#endif
  memcpy(d, from, bytes < cell_payload ? bytes : cell_payload);
}

DCGN_HOST_DEVICE inline void store_words(unsigned char* to, const std::uint32_t (&d)[3], std::uint64_t bytes) {
#if defined(__CUDA_ARCH__)
  if (bytes >= cell_payload && (reinterpret_cast<std::uintptr_t>(to) & 3) == 0) {
    auto* words = reinterpret_cast<std::uint32_t*>(to);
    words[0] = d[0];
    words[1] = d[1];
    words[2] = d[2];
    return;
  }
#endif
  memcpy(to, d, bytes < cell_payload ? bytes : cell_payload);
}

// Copies bytes with all threads of the scope, 16 at a time where the alignment allows.
template <class Scope>
DCGN_HOST_DEVICE void copy_bytes(const Scope& scope, unsigned char* to, const unsigned char* from,
                                 std::uint64_t bytes) {
#if defined(__CUDA_ARCH__)
  const std::uintptr_t skew = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  std::uint64_t done = 0;
  if ((skew & 15) == 0) {
    const std::uint64_t head = (16 - (reinterpret_cast<std::uintptr_t>(to) & 15)) & 15;
    done = head < bytes ? head : bytes;
    for (std::uint64_t i = scope.rank(); i < done; i += scope.size()) to[i] = from[i];
    const std::uint64_t lines = (bytes - done) / 16;
    auto* to16 = reinterpret_cast<uint4*>(to + done);
    const auto* from16 = reinterpret_cast<const uint4*>(from + done);
    for (std::uint64_t i = scope.rank(); i < lines; i += scope.size()) to16[i] = from16[i];
    done += lines * 16;
  } else if ((skew & 3) == 0) {
    const std::uint64_t head = (4 - (reinterpret_cast<std::uintptr_t>(to) & 3)) & 3;
    done = head < bytes ? head : bytes;
    for (std::uint64_t i = scope.rank(); i < done; i += scope.size()) to[i] = from[i];
    const std::uint64_t words = (bytes - done) / 4;
    auto* to4 = reinterpret_cast<std::uint32_t*>(to + done);
    const auto* from4 = reinterpret_cast<const std::uint32_t*>(from + done);
    for (std::uint64_t i = scope.rank(); i < words; i += scope.size()) to4[i] = from4[i];
    done += words * 4;
  }
  for (std::uint64_t i = done + scope.rank(); i < bytes; i += scope.size()) to[i] = from[i];
#else
  // A share of whole cache lines each.
  const std::uint64_t share = (bytes / scope.size() + 63) / 64 * 64;
  const std::uint64_t begin = share * scope.rank();
  if (begin >= bytes) return;
  const std::uint64_t end = scope.rank() + 1 == scope.size() || begin + share > bytes ? bytes : begin + share;
  memcpy(to + begin, from + begin, end - begin);
#endif
}

// Moves the bytes. Cells of a take may still be on their way, written by threads that are in their call now; where the
// job is aborted meanwhile they are left.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE void carry(const Scope& scope, const std::uint32_t& phase, const Work& w) {
  switch (w.move) {
    case Work::Move::nothing:
    case Work::Move::stop: return;
    case Work::Move::copy: copy_bytes(scope, w.to, w.from, w.bytes); return;
    case Work::Move::push:
      for (std::uint32_t i = scope.rank(); i < w.cells; i += scope.size()) {
        const std::uint64_t offset = static_cast<std::uint64_t>(i) * cell_payload;
        std::uint32_t d[3] = {};
        load_words(d, w.from + offset, w.bytes - offset);
        write_cell(w.ring.at(w.position + i), d[0], d[1], d[2], w.ring.epoch(w.position + i));
      }
      return;
    case Work::Move::take:
      for (std::uint32_t i = scope.rank(); i < w.cells; i += scope.size()) {
        const std::uint64_t offset = static_cast<std::uint64_t>(i) * cell_payload;
        std::uint32_t d[3];
        for (std::uint32_t spins = 1; !read_cell(w.ring.at(w.position + i), w.ring.epoch(w.position + i), d); ++spins) {
          if (spins % 64 == 0 && load_relaxed(phase) == static_cast<std::uint32_t>(Phase::aborted)) return;
          relax();
        }
        if (offset < w.bytes) store_words(w.to + offset, d, w.bytes - offset);
      }
      return;
  }
}

}  // namespace dcgn::message
