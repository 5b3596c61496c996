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

// The payload's words lie in its cells so that neighbouring threads find neighbouring words: a group of up to 32 cells
// holds up to 96 words in a row, the first words of its cells first, then their second ones, then their third.
struct CellWords {
  std::uint64_t first;   // word of the cell
  std::uint32_t stride;  // to its next

  DCGN_HOST_DEVICE CellWords(std::uint32_t cell, std::uint32_t cells) {
    const std::uint32_t group = cell / 32 * 32, left = cells - group;
    first = static_cast<std::uint64_t>(group) * 3 + cell % 32;
    stride = left < 32 ? left : 32;
  }
};

// One word of a message; zero beyond its end.
DCGN_HOST_DEVICE inline std::uint32_t load_word(const unsigned char* from, std::uint64_t word, std::uint64_t bytes) {
  std::uint32_t value = 0;
  const std::uint64_t at = word * 4;
#if defined(__CUDA_ARCH__)
  if (at + 4 <= bytes && (reinterpret_cast<std::uintptr_t>(from) & 3) == 0)
    return *reinterpret_cast<const std::uint32_t*>(from + at);
#else
  if (at + 4 <= bytes) {
    memcpy(&value, from + at, 4);
    return value;
  }
#endif
  for (std::uint32_t i = 0; i < 4 && at + i < bytes; ++i) value |= static_cast<std::uint32_t>(from[at + i]) << 8 * i;
  return value;
}

DCGN_HOST_DEVICE inline void store_word(unsigned char* to, std::uint64_t word, std::uint64_t bytes,
                                        std::uint32_t value) {
  const std::uint64_t at = word * 4;
#if defined(__CUDA_ARCH__)
  if (at + 4 <= bytes && (reinterpret_cast<std::uintptr_t>(to) & 3) == 0) {
    *reinterpret_cast<std::uint32_t*>(to + at) = value;
    return;
  }
#else
  if (at + 4 <= bytes) {
    memcpy(to + at, &value, 4);
    return;
  }
#endif
  for (std::uint32_t i = 0; i < 4 && at + i < bytes; ++i) to[at + i] = static_cast<unsigned char>(value >> 8 * i);
}

// How many cells a thread has under way at once.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t cells_at_once = 4;
#else
inline constexpr std::uint32_t cells_at_once = 1;
#endif

// Writes a payload's cells with all threads of the scope.
template <class Scope>
DCGN_HOST_DEVICE void push_cells(const Scope& scope, const Ring& ring, std::uint32_t position,
                                 const unsigned char* from, std::uint64_t bytes, std::uint32_t cells) {
  const std::uint32_t stride = scope.size();
  for (std::uint32_t i = scope.rank(); i < cells; i += cells_at_once * stride) {
    std::uint32_t d[cells_at_once][3];
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t cell = i + k * stride;
      const CellWords words(cell, cells);
      for (std::uint32_t w = 0; w < 3; ++w)
        d[k][w] = cell < cells ? load_word(from, words.first + w * words.stride, bytes) : 0;
    }
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t cell = i + k * stride;
      if (cell < cells) write_cell(ring.at(position + cell), d[k][0], d[k][1], d[k][2], ring.epoch(position + cell));
    }
  }
}

// Reads a payload's cells, of which the first `bytes` are wanted. They may still be on their way, written by threads
// that are in their call now; false where the job is aborted meanwhile.
template <class Scope>
DCGN_HOST_DEVICE bool take_cells(const Scope& scope, const std::uint32_t& phase, const Ring& ring,
                                 std::uint32_t position, unsigned char* to, std::uint64_t bytes, std::uint32_t cells) {
  const std::uint32_t stride = scope.size();
  for (std::uint32_t i = scope.rank(); i < cells; i += cells_at_once * stride) {
    std::uint32_t d[cells_at_once][3];
    std::uint32_t missing = 0;
    for (std::uint32_t k = 0; k < cells_at_once; ++k)
      missing |= static_cast<std::uint32_t>(i + k * stride < cells) << k;
    for (std::uint32_t spins = 1;; ++spins) {
      std::uint32_t found = 0;
      for (std::uint32_t k = 0; k < cells_at_once; ++k) {
        const std::uint32_t at = position + i + k * stride;
        if (missing >> k & 1) found |= static_cast<std::uint32_t>(read_cell(ring.at(at), ring.epoch(at), d[k])) << k;
      }
      missing &= ~found;
      if (!missing) break;
      if (spins % 256 == 0 && load_relaxed(phase) == static_cast<std::uint32_t>(Phase::aborted)) return false;
      relax_briefly();
    }
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t cell = i + k * stride;
      if (cell >= cells) continue;
      const CellWords words(cell, cells);
      for (std::uint32_t w = 0; w < 3; ++w) store_word(to, words.first + w * words.stride, bytes, d[k][w]);
    }
  }
  return true;
}

#if defined(__CUDA_ARCH__)
// Lines of 16 bytes, eight of each thread's loads under way at once: another GPU's memory is a microsecond away.
__device__ inline void copy_lines(uint4* to, const uint4* from, std::uint64_t lines, std::uint64_t rank,
                                  std::uint64_t stride) {
  constexpr int depth = 8;
  std::uint64_t i = rank;
  for (; i + (depth - 1) * stride < lines; i += depth * stride) {
    uint4 line[depth];
#pragma unroll
    for (int k = 0; k < depth; ++k) line[k] = from[i + k * stride];
#pragma unroll
    for (int k = 0; k < depth; ++k) to[i + k * stride] = line[k];
  }
  for (; i < lines; i += stride) to[i] = from[i];
}
#endif

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
    copy_lines(reinterpret_cast<uint4*>(to + done), reinterpret_cast<const uint4*>(from + done), lines, scope.rank(),
               scope.size());
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

// Moves the bytes.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE void carry(const Scope& scope, const std::uint32_t& phase, const Work& w) {
  switch (w.move) {
    case Work::Move::nothing:
    case Work::Move::stop: return;
    case Work::Move::copy: copy_bytes(scope, w.to, w.from, w.bytes); return;
    case Work::Move::push: push_cells(scope, w.ring, w.position, w.from, w.bytes, w.cells); return;
    case Work::Move::take: take_cells(scope, phase, w.ring, w.position, w.to, w.bytes, w.cells); return;
  }
}

}  // namespace dcgn::message
