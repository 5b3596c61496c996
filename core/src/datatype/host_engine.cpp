#include "datatype/host_engine.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace dcgn::datatype {
namespace {

// Rows one after the other on the packed side, `stride` bytes apart on the other. A length known to the compiler is one
// load and one store; memcpy is called for each row otherwise.
template <bool Pack>
struct Rows {
  using Memory = std::conditional_t<Pack, const std::byte, std::byte>;
  using Packed = std::conditional_t<Pack, std::byte, const std::byte>;

  static void one(Memory* memory, Packed* packed, std::size_t bytes) {
    if constexpr (Pack)
      std::memcpy(packed, memory, bytes);
    else
      std::memcpy(memory, packed, bytes);
  }
  template <std::size_t Bytes>
  static void of(Memory* memory, Packed* packed, std::int64_t count, std::int64_t stride) {
    for (std::int64_t i = 0; i < count; ++i)
      one(memory + i * stride, packed + i * static_cast<std::int64_t>(Bytes), Bytes);
  }
  static void some(Memory* memory, Packed* packed, std::int64_t bytes, std::int64_t count, std::int64_t stride) {
    switch (bytes) {
      case 1: return of<1>(memory, packed, count, stride);
      case 2: return of<2>(memory, packed, count, stride);
      case 4: return of<4>(memory, packed, count, stride);
      case 8: return of<8>(memory, packed, count, stride);
      case 12: return of<12>(memory, packed, count, stride);
      case 16: return of<16>(memory, packed, count, stride);
      case 24: return of<24>(memory, packed, count, stride);
      case 32: return of<32>(memory, packed, count, stride);
      default: break;  // not an enum: any other length
    }
    for (std::int64_t i = 0; i < count; ++i)
      one(memory + i * stride, packed + i * bytes, static_cast<std::size_t>(bytes));
  }

  static void range(const Layout& layout, Memory* memory, Packed* packed, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    const auto row = [&](std::int64_t displacement, std::int64_t bytes) {
      one(memory + displacement, packed, static_cast<std::size_t>(bytes));
      packed += bytes;
    };
    for (const Leaf* leaf = &layout.leaf_of(begin); begin < end; ++leaf) {
      const std::int64_t stop = std::min(end, leaf->end()), each = leaf->bytes_inside;
      const std::int64_t stride =
          leaf->num_loops ? leaf->loops[static_cast<std::size_t>(leaf->num_loops) - 1].stride : 0;
      Position position(*leaf, (begin - leaf->begin) / each);
      while (begin < stop) {
        const std::int64_t inside = (begin - leaf->begin) % each;
        const std::int64_t whole = std::min(position.left(), (stop - begin) / each);
        if (inside == 0 && whole > 0 && leaf->one_row_inside()) {
          some(memory + position.displacement(), packed, each, whole, stride);
          packed += whole * each;
          begin += whole * each;
          position.advance(whole);
          continue;
        }
        const std::int64_t bytes = std::min(each - inside, stop - begin);
        for_each_row_inside(*leaf, position.displacement(), inside, inside + bytes, row);
        begin += bytes;
        position.advance(1);
      }
    }
  }
};

}  // namespace

void pack_on_host(const Layout& layout, const std::byte* memory, std::byte* packed, std::int64_t begin,
                  std::int64_t end) {
  Rows<true>::range(layout, memory, packed, begin, end);
}
void unpack_on_host(const Layout& layout, std::byte* memory, const std::byte* packed, std::int64_t begin,
                    std::int64_t end) {
  Rows<false>::range(layout, memory, packed, begin, end);
}

void move_on_host(const Transfer& transfer) {
  const auto [from, to, bytes] = transfer;
  if (!from.layout && !to.layout) {
    std::memcpy(to.memory + to.begin, from.memory + from.begin, static_cast<std::size_t>(bytes));
  } else if (!to.layout) {
    pack_on_host(*from.layout, from.memory, to.memory + to.begin, from.begin, from.begin + bytes);
  } else if (!from.layout) {
    unpack_on_host(*to.layout, to.memory, from.memory + from.begin, to.begin, to.begin + bytes);
  } else {
    std::array<std::byte, 32 << 10> piece;
    for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(piece.size())) {
      const std::int64_t end = std::min(bytes, at + static_cast<std::int64_t>(piece.size()));
      pack_on_host(*from.layout, from.memory, piece.data(), from.begin + at, from.begin + end);
      unpack_on_host(*to.layout, to.memory, piece.data(), to.begin + at, to.begin + end);
    }
  }
}

}  // namespace dcgn::datatype
