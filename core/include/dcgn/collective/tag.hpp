// The tags of collectives' messages: each says which call it belongs to and, modulo 2048, the how manyth of its
// communicator that is. So ranks that do not agree about either wait, and the report tells them apart. All of a call's
// messages have one tag: those from one rank to another are sent and received in the same order.
#pragma once

#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>

namespace dcgn::collective {

inline constexpr std::uint32_t turn_bits = 11;

DCGN_HOST_DEVICE constexpr std::int32_t tag_of(message::Call call, std::uint32_t turn) {
  const auto kind = static_cast<std::uint32_t>(call) - static_cast<std::uint32_t>(message::Call::barrier);
  return static_cast<std::int32_t>(kind << turn_bits | (turn & ((1u << turn_bits) - 1)));
}
DCGN_HOST_DEVICE constexpr message::Call call_of_tag(std::int32_t tag) {
  const auto kind = (static_cast<std::uint32_t>(tag) & 0xffff) >> turn_bits;
  return static_cast<message::Call>(kind + static_cast<std::uint32_t>(message::Call::barrier));
}
DCGN_HOST_DEVICE constexpr std::int32_t turn_of_tag(std::int32_t tag) { return tag & ((1 << turn_bits) - 1); }
static_assert(tag_of(message::Call::cart, 2047) < 65536, "small messages have tags of 16 bits");

// What a rank notes of a call that it begins, for reports: its communicator and tag, which are never all zero, and its
// root, or that it has none.
inline constexpr int no_root = -1;

// Where a message does not come from the root, or go there, its tag says which root its sender gave: so ranks that do
// not agree about it wait, too. A root of 0 takes no more than a call without one; others do not fit a small message.
// Those that differ by a multiple of 32768 are not told apart.
DCGN_HOST_DEVICE constexpr std::int32_t tag_with_root(std::int32_t tag, int root) {
  return root < 0 ? tag : tag | (root & 0x7fff) << 16;
}

DCGN_HOST_DEVICE constexpr std::uint64_t turn_word(std::uint32_t context, std::int32_t tag, int root) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32 | context << 16 |
         static_cast<std::uint32_t>(tag);
}
// And beside that the bytes which all ranks must give alike, or that there are none.
inline constexpr std::int64_t no_size = -1;

struct Begun {
  std::uint32_t context;
  std::int32_t tag;
  int root;
  std::int64_t bytes;

  DCGN_HOST_DEVICE constexpr explicit Begun(std::uint64_t word,
                                            std::uint64_t size = static_cast<std::uint64_t>(no_size))
      : context(static_cast<std::uint32_t>(word) >> 16),
        tag(static_cast<std::int32_t>(word & 0xffff)),
        root(static_cast<int>(word >> 32)),
        bytes(static_cast<std::int64_t>(size)) {}
};

// What Turns::communicators has of one, alike at all of its ranks: made by the call of this number of another, and
// alone in having this rank of the world as its first.
DCGN_HOST_DEVICE constexpr std::uint64_t communicator_word(std::uint64_t of, std::uint32_t number, std::int32_t first) {
  return message::Turns::mixed(message::Turns::mixed(of + number) + static_cast<std::uint32_t>(first));
}

}  // namespace dcgn::collective
