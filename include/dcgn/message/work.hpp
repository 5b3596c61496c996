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

// A buffer as words: those that are whole, and the bytes after them as one more. The host, and a GPU where the buffer
// is aligned, move whole words; else each is put together from bytes.
struct Words {
  unsigned char* bytes;
  std::uint64_t whole;
  std::uint32_t rest;  // bytes
  bool aligned;

  DCGN_HOST_DEVICE Words(const unsigned char* buffer, std::uint64_t size)
      : bytes(const_cast<unsigned char*>(buffer)),
        whole(size / 4),
        rest(static_cast<std::uint32_t>(size % 4)),
        aligned((reinterpret_cast<std::uintptr_t>(buffer) & 3) == 0) {}

  [[gnu::noinline]] DCGN_HOST_DEVICE std::uint32_t load_bytes(std::uint64_t word, std::uint32_t count) const {
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(bytes[word * 4 + i]) << 8 * i;
    return value;
  }
  [[gnu::noinline]] DCGN_HOST_DEVICE void store_bytes(std::uint64_t word, std::uint32_t count,
                                                      std::uint32_t value) const {
    for (std::uint32_t i = 0; i < count; ++i) bytes[word * 4 + i] = static_cast<unsigned char>(value >> 8 * i);
  }
  // Zero beyond the end.
  DCGN_HOST_DEVICE std::uint32_t load(std::uint64_t word) const {
    if (word < whole) {
#if defined(__CUDA_ARCH__)
      return aligned ? reinterpret_cast<const std::uint32_t*>(bytes)[word] : load_bytes(word, 4);
#else
      std::uint32_t value;
      memcpy(&value, bytes + word * 4, 4);
      return value;
#endif
    }
    return word == whole && rest ? load_bytes(word, rest) : 0;
  }
  // Nothing beyond the end.
  DCGN_HOST_DEVICE void store(std::uint64_t word, std::uint32_t value) const {
    if (word < whole) {
#if defined(__CUDA_ARCH__)
      if (aligned)
        reinterpret_cast<std::uint32_t*>(bytes)[word] = value;
      else
        store_bytes(word, 4, value);
#else
      memcpy(bytes + word * 4, &value, 4);
#endif
    } else if (word == whole && rest) {
      store_bytes(word, rest, value);
    }
  }
};

// How many cells a thread has under way at once.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t cells_at_once = 4;
#else
inline constexpr std::uint32_t cells_at_once = 1;
#endif

// Writes a payload's cells with all threads of the scope.
template <class Scope>
DCGN_HOST_DEVICE void push_cells(const Scope& scope, const Ring& ring, std::uint32_t position, const Words& from,
                                 std::uint32_t cells) {
  const std::uint32_t stride = scope.size();
  std::uint32_t i = scope.rank();
#if defined(__CUDA_ARCH__)
  // Most of it without a look at the end: only the last group of cells has words beyond it.
  const std::uint32_t body = from.aligned ? (cells - 1) / 32 * 32 : 0;
  const auto* words = reinterpret_cast<const std::uint32_t*>(from.bytes);
  for (; i + (cells_at_once - 1) * stride < body; i += cells_at_once * stride) {
    std::uint32_t d[cells_at_once][3];
#pragma unroll
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t cell = i + k * stride;
      const std::uint32_t* word = words + static_cast<std::uint64_t>(cell / 32) * 96 + cell % 32;
      d[k][0] = word[0];
      d[k][1] = word[32];
      d[k][2] = word[64];
    }
#pragma unroll
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t at = position + i + k * stride;
      write_cell(ring.at(at), d[k][0], d[k][1], d[k][2], ring.epoch(at));
    }
  }
#endif
  for (; i < cells; i += stride) {
    const CellWords words_of(i, cells);
    const std::uint32_t d0 = from.load(words_of.first), d1 = from.load(words_of.first + words_of.stride),
                        d2 = from.load(words_of.first + 2 * words_of.stride);
    write_cell(ring.at(position + i), d0, d1, d2, ring.epoch(position + i));
  }
}

// Reads one cell that must be about to come; false where the job is aborted meanwhile.
DCGN_HOST_DEVICE inline bool await_cell(const Ring& ring, std::uint32_t at, std::uint32_t (&d)[3],
                                        const std::uint32_t& phase) {
  for (std::uint32_t looks = 1; !read_cell(ring.at(at), ring.epoch(at), d); ++looks) {
    if (looks % 256 == 0 && load_relaxed(phase) == static_cast<std::uint32_t>(Phase::aborted)) return false;
    relax_briefly();
  }
  return true;
}

// Reads a payload's cells, of which as much is wanted as `to` holds. They may still be on their way, written by threads
// that are in their call now; false where the job is aborted meanwhile.
template <class Scope>
DCGN_HOST_DEVICE bool take_cells(const Scope& scope, const std::uint32_t& phase, const Ring& ring,
                                 std::uint32_t position, const Words& to, std::uint32_t cells) {
  const std::uint32_t stride = scope.size();
  std::uint32_t i = scope.rank();
#if defined(__CUDA_ARCH__)
  const std::uint64_t room = to.whole / 96 * 32;  // cells whose words are all wanted
  const std::uint32_t groups = (cells - 1) / 32 * 32;
  const std::uint32_t body = !to.aligned ? 0 : room < groups ? static_cast<std::uint32_t>(room) : groups;
  auto* words = reinterpret_cast<std::uint32_t*>(to.bytes);
  for (; i + (cells_at_once - 1) * stride < body; i += cells_at_once * stride) {
    std::uint32_t d[cells_at_once][3];
    bool here[cells_at_once];
#pragma unroll
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t at = position + i + k * stride;
      here[k] = read_cell(ring.at(at), ring.epoch(at), d[k]);
    }
#pragma unroll
    for (std::uint32_t k = 0; k < cells_at_once; ++k) {
      const std::uint32_t cell = i + k * stride;
      if (!here[k] && !await_cell(ring, position + cell, d[k], phase)) return false;
      std::uint32_t* word = words + static_cast<std::uint64_t>(cell / 32) * 96 + cell % 32;
      word[0] = d[k][0];
      word[32] = d[k][1];
      word[64] = d[k][2];
    }
  }
#endif
  for (; i < cells; i += stride) {
    std::uint32_t d[3];
    if (!await_cell(ring, position + i, d, phase)) return false;
    const CellWords words_of(i, cells);
    to.store(words_of.first, d[0]);
    to.store(words_of.first + words_of.stride, d[1]);
    to.store(words_of.first + 2 * words_of.stride, d[2]);
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
    case Work::Move::push: push_cells(scope, w.ring, w.position, Words(w.from, w.bytes), w.cells); return;
    case Work::Move::take: take_cells(scope, phase, w.ring, w.position, Words(w.to, w.bytes), w.cells); return;
  }
}

}  // namespace dcgn::message
