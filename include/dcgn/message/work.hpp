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

// What all threads need to know of it.
struct Load {
  enum class Move : std::uint32_t { nothing, push, take, copy };

  Move move = Move::nothing;
  std::uint32_t cells = 0;     // push, take
  std::uint32_t position = 0;  // the first of them
  unsigned char* to = nullptr;
  const unsigned char* from = nullptr;
  std::uint64_t bytes = 0;  // to move; a take discards what its cells hold beyond
  Ring ring{};              // push, take
};

// And what its leader does.
struct Work : Load {
  After after = After::nothing;
  Record* record = nullptr;
  Record* stored = nullptr;  // the unexpected record that `record` consumes
  InLane* lane = nullptr;
};

// The payload's words lie in its cells so that neighbouring threads find neighbouring words: a group of up to 32 cells
// holds up to 96 words in a row, the first words of its cells first, then their second ones, then their third.
struct CellWords {
  std::uint32_t first;   // word of the cell
  std::uint32_t stride;  // to its next

  DCGN_HOST_DEVICE CellWords(std::uint32_t cell, std::uint32_t cells) {
    const std::uint32_t group = cell & ~31u, left = cells - group;
    first = group * 2 + cell;
    stride = left < 32 ? left : 32;
  }
};

// Bytes as one word, the first one lowest, and back: for the end of a message and for buffers that are not aligned.
[[gnu::noinline]] DCGN_HOST_DEVICE inline std::uint32_t join_bytes(const unsigned char* from, std::uint32_t count) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return value;
}

[[gnu::noinline]] DCGN_HOST_DEVICE inline void split_bytes(unsigned char* to, std::uint32_t count,
                                                           std::uint32_t value) {
  for (std::uint32_t i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(value >> 8 * i);
}

// Up to 8 bytes as a number, and back.
DCGN_HOST_DEVICE inline std::uint64_t load_small(const void* from, std::uint64_t bytes) {
  std::uint64_t value = 0;
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (bytes == 8 && (address & 7) == 0) return *static_cast<const std::uint64_t*>(from);
  if (bytes == 4 && (address & 3) == 0) return *static_cast<const std::uint32_t*>(from);
  for (std::uint32_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<const unsigned char*>(from)[i]) << 8 * i;
#else
  if (bytes) memcpy(&value, from, bytes);
#endif
  return value;
}

DCGN_HOST_DEVICE inline void store_small(void* to, std::uint64_t bytes, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (bytes == 8 && (address & 7) == 0)
    *static_cast<std::uint64_t*>(to) = value;
  else if (bytes == 4 && (address & 3) == 0)
    *static_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(value);
  else
    for (std::uint32_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(value >> 8 * i);
#else
  if (bytes) memcpy(to, &value, bytes);
#endif
}

// Whether words can be read and written where they lie.
DCGN_HOST_DEVICE inline bool has_words([[maybe_unused]] const void* buffer) {
#if defined(__CUDA_ARCH__)
  return (reinterpret_cast<std::uintptr_t>(buffer) & 3) == 0;
#else
  return true;
#endif
}

DCGN_HOST_DEVICE inline std::uint32_t load_word(const unsigned char* from) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const std::uint32_t*>(from);
#else
  std::uint32_t value;
  memcpy(&value, from, 4);
  return value;
#endif
}

DCGN_HOST_DEVICE inline void store_word(unsigned char* to, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<std::uint32_t*>(to) = value;
#else
  memcpy(to, &value, 4);
#endif
}

// A payload and the cells that carry it: `cells` from `position` on, `bytes` of them wanted, at most 4 GiB.
struct Payload {
  Ring ring;
  std::uint32_t position, cells;
  std::uint32_t whole, rest;  // words, and bytes after them

  DCGN_HOST_DEVICE Payload(const Ring& r, std::uint32_t at, std::uint32_t count, std::uint64_t bytes)
      : ring(r),
        position(at),
        cells(count),
        whole(static_cast<std::uint32_t>(bytes / 4)),
        rest(static_cast<std::uint32_t>(bytes % 4)) {}
};

// The threads of a scope take the cells from the end on: those before them have the leader's business to see to.
template <class Scope>
DCGN_HOST_DEVICE std::uint32_t turn_of(const Scope& scope) {
  return scope.size() - 1 - scope.rank();
}

// How many cells a thread has under way at once where it has several.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t cells_at_once = 4;
#else
inline constexpr std::uint32_t cells_at_once = 1;
#endif

// The words of the cells from a thread's `turn` on, `AtOnce` of them under way at once; `last` is the word after the
// whole ones. Few branches: a warp takes longer for one than for a dozen instructions.
template <std::uint32_t AtOnce>
DCGN_HOST_DEVICE void push_words(const Payload& p, const unsigned char* from, std::uint32_t last, std::uint32_t turn,
                                 std::uint32_t stride) {
  for (std::uint32_t i = turn; i < p.cells; i += AtOnce * stride) {
    std::uint32_t d[AtOnce][3];
    for (std::uint32_t k = 0; k < AtOnce; ++k) {
      const CellWords words(i + k * stride, p.cells);
      for (std::uint32_t w = 0; w < 3; ++w) {
        const std::uint32_t word = words.first + w * words.stride;
        d[k][w] = word == p.whole ? last : 0;
        if (word < p.whole) d[k][w] = load_word(from + std::uint64_t{word} * 4);
      }
    }
    for (std::uint32_t k = 0; k < AtOnce; ++k) {
      const std::uint32_t cell = i + k * stride, at = p.position + cell;
      if (cell < p.cells) write_cell(p.ring.at(at), d[k][0], d[k][1], d[k][2], p.ring.epoch(at));
    }
  }
}

// The whole groups of a payload, of 32 cells and 96 words, by whole warps that take one group after the other: here the
// cells and words of a thread lie at fixed distances. What is left is at most 32 cells.
struct Groups {
  std::uint32_t cells, position;  // those in whole groups; the first one of this thread
  std::uint32_t word;             // its first word

  DCGN_HOST_DEVICE Groups(const Payload& p, std::uint32_t turn)
      : cells(p.whole / 96 * 32), position(p.position + turn), word((turn & ~31u) * 2 + turn) {}
};

template <std::uint32_t AtOnce>
DCGN_HOST_DEVICE void push_groups(const Payload& p, const unsigned char* from, std::uint32_t last, std::uint32_t turn,
                                  std::uint32_t stride) {
  const Groups g(p, turn);
  for (std::uint32_t i = turn, at = g.position; i < g.cells; i += AtOnce * stride, at += AtOnce * stride) {
    const unsigned char* const mine = from + std::uint64_t{g.word + (i - turn) * 3} * 4;
    std::uint32_t d[AtOnce][3];
    for (std::uint32_t k = 0; k < AtOnce; ++k)
      for (std::uint32_t w = 0; w < 3; ++w)
        d[k][w] = i + k * stride < g.cells ? load_word(mine + std::uint64_t{12 * k * stride + 128 * w}) : 0;
    for (std::uint32_t k = 0; k < AtOnce; ++k)
      if (i + k * stride < g.cells)
        write_cell(p.ring.at(at + k * stride), d[k][0], d[k][1], d[k][2], p.ring.epoch(at + k * stride));
  }
  push_words<1>(p, from, last, g.cells + turn, stride);
}

// Writes a payload's cells with all threads of the scope.
template <class Scope>
DCGN_HOST_DEVICE void push_cells(const Scope& scope, const Payload p, const unsigned char* from) {
  const std::uint32_t stride = scope.size(), turn = turn_of(scope);
  if (!has_words(from)) {
    for (std::uint32_t i = turn; i < p.cells; i += stride) {
      const CellWords words(i, p.cells);
      std::uint32_t d[3];
      for (std::uint32_t w = 0; w < 3; ++w) {
        const std::uint32_t word = words.first + w * words.stride;
        d[w] = word > p.whole ? 0 : join_bytes(from + std::uint64_t{word} * 4, word < p.whole ? 4 : p.rest);
      }
      write_cell(p.ring.at(p.position + i), d[0], d[1], d[2], p.ring.epoch(p.position + i));
    }
    return;
  }
  const std::uint32_t last = p.rest ? join_bytes(from + std::uint64_t{p.whole} * 4, p.rest) : 0;
#if defined(__CUDA_ARCH__)
  if (p.cells > stride && stride % 32 == 0) {
    push_groups<cells_at_once>(p, from, last, turn, stride);
    return;
  }
#endif
  if (p.cells <= stride)
    push_words<1>(p, from, last, turn, stride);
  else
    push_words<cells_at_once>(p, from, last, turn, stride);
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

// The whole words of a cell; of one behind the payload's last, none.
DCGN_HOST_DEVICE inline void store_words(const Payload& p, unsigned char* to, std::uint32_t cell,
                                         const std::uint32_t (&d)[3]) {
  const CellWords words(cell, p.cells);
  for (std::uint32_t w = 0; w < 3; ++w) {
    const std::uint32_t word = words.first + w * words.stride;
    if ((cell < p.cells) & (word < p.whole)) store_word(to + std::uint64_t{word} * 4, d[w]);
  }
}

// The whole words of the cells from a thread's `turn` on; false where the job is aborted meanwhile.
template <std::uint32_t AtOnce>
DCGN_HOST_DEVICE bool take_words(const Payload& p, const std::uint32_t& phase, unsigned char* to, std::uint32_t turn,
                                 std::uint32_t stride) {
  for (std::uint32_t i = turn; i < p.cells; i += AtOnce * stride) {
    std::uint32_t d[AtOnce][3];
    bool here = true;
    for (std::uint32_t k = 0; k < AtOnce; ++k) {
      const std::uint32_t cell = i + k * stride, at = p.position + cell;
      if (cell < p.cells) here = static_cast<int>(read_cell(p.ring.at(at), p.ring.epoch(at), d[k])) & here;
    }
    if (!here)
      for (std::uint32_t k = 0; k < AtOnce; ++k) {
        const std::uint32_t cell = i + k * stride;
        if (cell < p.cells && !await_cell(p.ring, p.position + cell, d[k], phase)) return false;
      }
    for (std::uint32_t k = 0; k < AtOnce; ++k) store_words(p, to, i + k * stride, d[k]);
  }
  return true;
}

// As take_words().
template <std::uint32_t AtOnce>
DCGN_HOST_DEVICE bool take_groups(const Payload& p, const std::uint32_t& phase, unsigned char* to, std::uint32_t turn,
                                  std::uint32_t stride) {
  const Groups g(p, turn);
  for (std::uint32_t i = turn, at = g.position; i < g.cells; i += AtOnce * stride, at += AtOnce * stride) {
    unsigned char* const mine = to + std::uint64_t{g.word + (i - turn) * 3} * 4;
    std::uint32_t d[AtOnce][3];
    for (std::uint32_t looks = 1;; ++looks) {
      bool here = true;
      for (std::uint32_t k = 0; k < AtOnce; ++k) {
        const std::uint32_t cell = i + k * stride < g.cells ? at + k * stride : at;
        here = read_cell(p.ring.at(cell), p.ring.epoch(cell), d[k]) & here;
      }
      if (here) break;
      if (looks % 256 == 0 && load_relaxed(phase) == static_cast<std::uint32_t>(Phase::aborted)) return false;
      relax_briefly();
    }
    for (std::uint32_t k = 0; k < AtOnce; ++k)
      if (i + k * stride < g.cells)
        for (std::uint32_t w = 0; w < 3; ++w) store_word(mine + std::uint64_t{12 * k * stride + 128 * w}, d[k][w]);
  }
  return take_words<1>(p, phase, to, g.cells + turn, stride);
}

// Reads a payload's cells with all threads of the scope, of which as much is wanted as `p` says. They may still be on
// their way, written by threads that are in their call now; false where the job is aborted meanwhile.
template <class Scope>
DCGN_HOST_DEVICE bool take_cells(const Scope& scope, const std::uint32_t& phase, const Payload p, unsigned char* to) {
  const std::uint32_t stride = scope.size(), turn = turn_of(scope);
  if (!has_words(to)) {
    for (std::uint32_t i = turn; i < p.cells; i += stride) {
      std::uint32_t d[3];
      if (!await_cell(p.ring, p.position + i, d, phase)) return false;
      const CellWords words(i, p.cells);
      for (std::uint32_t w = 0; w < 3; ++w) {
        const std::uint32_t word = words.first + w * words.stride;
        if (word <= p.whole) split_bytes(to + std::uint64_t{word} * 4, word < p.whole ? 4 : p.rest, d[w]);
      }
    }
    return true;
  }
  bool taken;
#if defined(__CUDA_ARCH__)
  if (p.cells > stride && stride % 32 == 0)
    taken = take_groups<cells_at_once>(p, phase, to, turn, stride);
  else
#endif
    taken = p.cells <= stride ? take_words<1>(p, phase, to, turn, stride)
                              : take_words<cells_at_once>(p, phase, to, turn, stride);
  if (!p.rest || !scope.leader() || !taken) return taken;
  // The bytes after them, once more from their cell.
  const std::uint32_t group = p.whole / 96 * 32, left = p.cells - group, stride_there = left < 32 ? left : 32;
  const std::uint32_t cell = group + p.whole % 96 % stride_there;
  std::uint32_t d[3];
  if (!await_cell(p.ring, p.position + cell, d, phase)) return false;
  split_bytes(to + std::uint64_t{p.whole} * 4, p.rest, d[p.whole % 96 / stride_there]);
  return true;
}

#if defined(__CUDA_ARCH__)
// Past the multiprocessor's own cache, which may have an older state of another GPU's memory.
__device__ inline uint4 load_line(const uint4* from) {
  uint4 line;
  asm volatile("ld.relaxed.sys.v4.u32 {%0,%1,%2,%3},[%4];"
               : "=r"(line.x), "=r"(line.y), "=r"(line.z), "=r"(line.w)
               : "l"(from)
               : "memory");
  return line;
}

__device__ inline unsigned char load_byte(const unsigned char* from) {
  std::uint32_t byte;
  asm volatile("ld.relaxed.sys.u8 %0,[%1];" : "=r"(byte) : "l"(from) : "memory");
  return static_cast<unsigned char>(byte);
}

// Lines of 16 bytes, eight of each thread's loads under way at once: another GPU's memory is a microsecond away.
__device__ inline void copy_lines(uint4* to, const uint4* from, std::uint64_t lines, std::uint64_t rank,
                                  std::uint64_t stride) {
  constexpr int depth = 8;
  std::uint64_t i = rank;
  for (; i + (depth - 1) * stride < lines; i += depth * stride) {
    uint4 line[depth];
#pragma unroll
    for (int k = 0; k < depth; ++k) line[k] = load_line(from + i + k * stride);
#pragma unroll
    for (int k = 0; k < depth; ++k) to[i + k * stride] = line[k];
  }
  for (; i < lines; i += stride) to[i] = load_line(from + i);
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
    for (std::uint64_t i = scope.rank(); i < done; i += scope.size()) to[i] = load_byte(from + i);
    const std::uint64_t lines = (bytes - done) / 16;
    copy_lines(reinterpret_cast<uint4*>(to + done), reinterpret_cast<const uint4*>(from + done), lines, scope.rank(),
               scope.size());
    done += lines * 16;
  } else if ((skew & 3) == 0) {
    const std::uint64_t head = (4 - (reinterpret_cast<std::uintptr_t>(to) & 3)) & 3;
    done = head < bytes ? head : bytes;
    for (std::uint64_t i = scope.rank(); i < done; i += scope.size()) to[i] = load_byte(from + i);
    const std::uint64_t words = (bytes - done) / 4;
    auto* to4 = reinterpret_cast<std::uint32_t*>(to + done);
    const auto* from4 = reinterpret_cast<const std::uint32_t*>(from + done);
    for (std::uint64_t i = scope.rank(); i < words; i += scope.size()) to4[i] = load_relaxed(from4[i]);
    done += words * 4;
  }
  for (std::uint64_t i = done + scope.rank(); i < bytes; i += scope.size()) to[i] = load_byte(from + i);
#else
  // A share of whole cache lines each.
  const std::uint64_t share = (bytes / scope.size() + 63) / 64 * 64;
  const std::uint64_t begin = share * scope.rank();
  if (begin >= bytes) return;
  const std::uint64_t end = scope.rank() + 1 == scope.size() || begin + share > bytes ? bytes : begin + share;
  memcpy(to + begin, from + begin, end - begin);
#endif
}

// Moves the bytes of a host thread's call whose buffer is in a GPU's memory (src/message/staging.cpp).
void carry_staged(Endpoint& me, const Work& work);

// Moves the bytes. Says whether it may have failed: it has, if the job is aborted.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool carry(const Scope& scope, Endpoint& me, const Load& w,
                                              [[maybe_unused]] const Work& leaders) {
#if !defined(__CUDA_ARCH__)
  if (me.copies.host && leaders.record && leaders.record->flags & Record::on_device) {
    carry_staged(me, leaders);
    return true;
  }
#endif
  switch (w.move) {
    case Work::Move::nothing: break;
    case Work::Move::copy: copy_bytes(scope, w.to, w.from, w.bytes); break;
    case Work::Move::push: push_cells(scope, Payload(w.ring, w.position, w.cells, w.bytes), w.from); break;
    case Work::Move::take: take_cells(scope, *me.phase, Payload(w.ring, w.position, w.cells, w.bytes), w.to); break;
  }
  return w.move == Work::Move::take;
}

}  // namespace dcgn::message
