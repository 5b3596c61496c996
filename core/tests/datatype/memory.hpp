// Memory for a type, with canaries around, and what is to come of it.
#pragma once

#include "type_tree.hpp"

#include <dcgn/span.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace dcgn::test {

using Bytes = std::vector<std::byte>;

inline Bytes random_bytes(std::mt19937_64& random, std::int64_t count) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::byte& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

inline Span<std::byte> range(Bytes& bytes, std::int64_t begin, std::int64_t end) {
  return Span<std::byte>(bytes).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

// Memory that just holds the elements of a map, with canaries around; misaligned as often as not.
struct Memory {
  static constexpr std::int64_t margin = 64;
  Bytes bytes;
  std::int64_t origin;

  Memory(std::mt19937_64& random, const TypeMap& map)
      : bytes(random_bytes(random, map.true_upper() - map.true_lower() + 2 * margin)),
        origin(margin - map.true_lower()) {}
  std::byte* address() { return bytes.data() + origin; }  // that displacements are counted from
};

inline Bytes packed_by_hand(const TypeMap& map, Memory& memory) {
  Bytes packed;
  for (const TypeMap::Entry& entry : map.entries) {
    const std::byte* const element = memory.address() + entry.displacement;
    packed.insert(packed.end(), element, element + bytes_of(entry.kind));
  }
  return packed;
}

// The memory once bytes begin to end of `packed` are where the map has them.
inline Bytes unpacked_by_hand(const TypeMap& map, const Bytes& packed, Memory memory, std::int64_t begin,
                              std::int64_t end) {
  std::int64_t at = 0;
  for (const TypeMap::Entry& entry : map.entries)
    for (std::int64_t i = 0; i < bytes_of(entry.kind); ++i, ++at)
      if (at >= begin && at < end) memory.address()[entry.displacement + i] = packed[static_cast<std::size_t>(at)];
  return memory.bytes;
}

}  // namespace dcgn::test
