// What a measurement of packing moves, how it is timed, and what is to come of it: the same for ours and for peers.
#pragma once

#include "core/bench/ddt_row.hpp"
#include "core/bench/ddt_shape.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

namespace dcgn::bench {

using Bytes = std::vector<std::byte>;

// With what has no pattern of its own.
inline void fill(Bytes& bytes, std::uint64_t seed) {
  std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (std::size_t i = 0; i < bytes.size(); i += 8) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::memcpy(bytes.data() + i, &state, std::min<std::size_t>(8, bytes.size() - i));
  }
}

inline std::uint64_t count_different(const Bytes& a, const Bytes& b) {
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return 0;
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i];
  return count;
}

// What is to come of packing and unpacking, block by block: block(displacement, length).
template <class Block>
void for_each_block(const DdtShape& shape, std::int64_t bytes, Block&& block) {
  switch (shape.kind) {
    case DdtShape::Kind::contiguous: return block(0, bytes);
    case DdtShape::Kind::rows:
      for (std::int64_t i = 0; i < std::max<std::int64_t>(1, bytes / shape.first); ++i)
        block(i * shape.second, shape.first);
      return;
    case DdtShape::Kind::transpose: {
      const std::int64_t n = shape.order(bytes);
      for (std::int64_t i = 0; i < n * n; ++i) block((i % n * n + i / n) * shape.first, shape.first);
      return;
    }
    case DdtShape::Kind::triangle:
    case DdtShape::Kind::stair:
    case DdtShape::Kind::random:
    case DdtShape::Kind::scatter: break;
  }
  const DdtBlocks blocks = ddt_blocks(shape, bytes);
  for (std::size_t i = 0; i < blocks.lengths.size(); ++i) block(blocks.displacements[i], blocks.lengths[i]);
}

// The layout's bytes of `memory`, in packed order; and `memory` with these in it.
inline Bytes packed_by_blocks(const DdtShape& shape, std::int64_t bytes, const Bytes& memory) {
  Bytes packed;
  for_each_block(shape, bytes, [&](std::int64_t displacement, std::int64_t length) {
    packed.insert(packed.end(), memory.begin() + displacement, memory.begin() + displacement + length);
  });
  return packed;
}
inline Bytes spread_by_blocks(const DdtShape& shape, std::int64_t bytes, Bytes memory, const Bytes& packed) {
  std::size_t at = 0;
  for_each_block(shape, bytes, [&](std::int64_t displacement, std::int64_t length) {
    std::memcpy(memory.data() + displacement, packed.data() + at, static_cast<std::size_t>(length));
    at += static_cast<std::size_t>(length);
  });
  return memory;
}

// Bytes from the first to the last of a layout, and those that it packs.
struct DdtExtent {
  std::int64_t extent = 0, size = 0;
};
inline DdtExtent extent_of(const DdtShape& shape, std::int64_t bytes) {
  DdtExtent e;
  for_each_block(shape, bytes, [&](std::int64_t displacement, std::int64_t length) {
    e.extent = std::max(e.extent, displacement + length);
    e.size += length;
  });
  return e;
}

// What passes between a GPU's memory and its cache for a layout: on an H200, whatever is read of 64 bytes brings all of
// them; 32 bytes that are written whole are 32, and of those of which a part is written the others are read before
// (counted by Nsight Compute for rows of 4 to 128 bytes: docs/guide/datatypes.md).
struct DdtTraffic {
  std::int64_t to_read = 0, to_write = 0;
};
inline DdtTraffic traffic_of(const DdtShape& shape, std::int64_t bytes, std::int64_t extent) {
  constexpr std::int64_t sector = 32, fetched = 64;
  if (shape.kind == DdtShape::Kind::scatter && shape.first < sector) {  // neighbours are not there at the same time
    const std::int64_t elements = std::max<std::int64_t>(1, bytes / shape.first);
    return {elements * fetched, elements * 2 * sector};
  }
  std::vector<std::uint8_t> covered(static_cast<std::size_t>(extent / sector) + 2);  // bytes of each sector
  for_each_block(shape, bytes, [&](std::int64_t displacement, std::int64_t length) {
    for (std::int64_t at = displacement; at < displacement + length;) {
      const std::int64_t end = std::min((at / sector + 1) * sector, displacement + length);
      covered[static_cast<std::size_t>(at / sector)] += static_cast<std::uint8_t>(end - at);
      at = end;
    }
  });
  DdtTraffic traffic;
  for (std::size_t i = 0; i + 1 < covered.size(); i += 2) traffic.to_read += covered[i] || covered[i + 1] ? fetched : 0;
  for (const std::uint8_t part : covered) traffic.to_write += part == sector ? sector : part ? 2 * sector : 0;
  return traffic;
}

// begin(n) gives n rounds to whoever does them, finish() waits.
struct Timed {
  std::function<void(std::uint64_t)> begin;
  std::function<void()> finish;
};

// `each`: what a round has of what the row counts; a message to and fro is two.
inline void time_rounds(DdtRow& row, double seconds, const Timed& timed, int each = 1) {
  const auto run = [&](std::uint64_t rounds) {
    const auto start = std::chrono::steady_clock::now();
    timed.begin(rounds);
    timed.finish();
    return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1));
  };
  run(1);
  const std::uint64_t once = run(2) / 2 + 1;
  const auto total = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(seconds * 1e9) / once, 10, 100'000);
  const std::uint64_t blocks = std::min<std::uint64_t>(20, total / 5 + 1), rounds = (total - 1) / blocks + 1;
  std::vector<double> us;
  for (std::uint64_t k = 0; k < blocks; ++k)
    us.push_back(static_cast<double>(run(rounds)) * 1e-3 / static_cast<double>(rounds) / each);
  set_figures(row, us, rounds);
}

// The layout's memory and a buffer for its packed bytes: what they hold at first, and what after unpacking and packing.
struct DdtBuffers {
  Bytes memory, packed, memory_after, packed_after;

  DdtBuffers(const DdtShape& shape, std::int64_t bytes) {
    const DdtExtent e = extent_of(shape, bytes);
    memory.resize(static_cast<std::size_t>(e.extent));
    packed.resize(static_cast<std::size_t>(e.size));
    fill(memory, 1);
    fill(packed, 2);
    memory_after = spread_by_blocks(shape, bytes, memory, packed);
    packed_after = packed_by_blocks(shape, bytes, memory);
  }
};

struct DdtWork {
  DdtShape shape;
  std::int64_t bytes = 0;
  std::string place;     // "device": GPU 0; "host"
  double seconds = 0.2;  // that a row should take
  // Of ours on the device: 0, the library's own scheme; else the paper's: units of so many bytes, whose list is made
  // anew each time, or kept.
  std::int64_t unit_bytes = 0;
  bool cached = false;
  int blocks = 0;  // of the library's kernels at most; 0: as many as suit
};

// What is measured: each of these brings about one round, which finish() waits for; found_*() bring what was made. An
// action that is empty is left out.
struct DdtActions {
  std::function<void()> launch, copy, pack, unpack, finish;
  std::function<Bytes()> found_packed, found_memory;
};

// A row for each action; a copy is the limit's.
inline std::vector<DdtRow> measure(const DdtWork& work, const DdtBuffers& b, const std::string& whose,
                                   const DdtActions& actions) {
  std::vector<DdtRow> rows;
  const auto add = [&](const std::string& who, const char* action, const std::function<void()>& round,
                       const std::function<Bytes()>& found, const Bytes& expected) {
    if (!round) return;
    DdtRow& row = rows.emplace_back();
    row.whose = who;
    row.shape = work.shape.name;
    row.action = action;
    row.place = work.place;
    row.about = work.bytes;
    row.bytes = row.action == "launch" ? 0 : static_cast<std::int64_t>(b.packed.size());
    const auto rounds = [&](std::uint64_t n) {
      while (n-- > 0) round();
    };
    time_rounds(row, work.seconds, {rounds, actions.finish});
    row.wrong = count_different(found(), expected);
  };
  const auto nothing = [] { return Bytes(); };
  add("limit: launch", "launch", actions.launch, nothing, {});
  add("limit: memcpy", "copy", actions.copy, actions.found_packed, b.packed);
  add(whose, "pack", actions.pack, actions.found_packed, b.packed_after);
  add(whose, "unpack", actions.unpack, actions.found_memory, b.memory_after);
  if (work.place == "device") {
    const auto size = static_cast<std::int64_t>(b.packed.size());
    const DdtTraffic traffic = traffic_of(work.shape, work.bytes, static_cast<std::int64_t>(b.memory.size()));
    for (DdtRow& row : rows)
      row.moved = row.action == "copy"     ? 2 * size
                  : row.action == "pack"   ? traffic.to_read + size
                  : row.action == "unpack" ? traffic.to_write + size
                                           : 0;
  }
  return rows;
}

}  // namespace dcgn::bench
