// Inboxes: where a slot finds what the other slots of its process bring to a collective.
//
// There is one for each pair of slots and each direction, in the receiver's memory. Both count the collectives that
// they are in together: their turns. A turn says by itself which packets are its own, so a call begins by storing, and
// asks nobody. The segments of an inbox serve one turn after the other:
//
//   | turns 0, 4, 8 ... | turns 1, 5 ... | turns 2, 6 ... | turns 3, 7 ... |
//
//   a segment:  | signature | 7 more of its line | payload: one, or two halves ... |
//
// In each turn each rank sends each other one its signature, the packet that says what the call is: with its payload,
// or once it is done where it has nothing to send. So whoever has seen a rank's packet of a turn knows that it has done
// with all turns before.
//
// Memory order: a packet's epoch is one more than its turn, so whoever finds it has its data (packet.hpp). A segment is
// written again four turns later, by a rank that has seen the other's packet of two turns before.
//
// Limit: turns are counted modulo 2^32. A packet that was last written that many turns ago to the turn, or never before
// turn 2^32 - 1, would be taken for a new one.
#pragma once

#include <dcgn/call.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/packet.hpp>
#include <dcgn/message/payload.hpp>
#include <dcgn/message/two_words.hpp>
#include <dcgn/peers.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

// Turns of which a rank may have seen no packet when it sends the next. Who sees that one has done with those before,
// and looks at the packet of the last one of them at most: what is written over is older.
inline constexpr std::uint32_t most_unseen_turns = 1;
static_assert(Inbox::segments >= most_unseen_turns + 3);

DCGN_HOST_DEVICE inline Inbox& inbox_of(const Endpoint& me, std::int32_t rank) {
  return me.collectives.inboxes[rank - me.first];
}
DCGN_HOST_DEVICE inline Flight flight_of(const Endpoint& me, const Inbox& inbox, std::uint32_t turn) {
  const std::uint64_t begin = std::uint64_t{turn % Inbox::segments} * me.collectives.inbox_packets;
  return {inbox.to + begin, inbox.from + begin, turn};
}
DCGN_HOST_DEVICE inline Flight flight_of(const Endpoint& me, const Inbox& inbox) {
  return flight_of(me, inbox, inbox.turn);
}

// Where the payload of a turn lies in its segment, and how long it may be.
struct InboxHalves {
  static constexpr std::uint32_t first = line_packets;
  std::uint32_t second;  // the packet where the second half begins

  DCGN_HOST_DEVICE explicit InboxHalves(const Endpoint& me) : second(me.collectives.inbox_packets / 2) {}
  DCGN_HOST_DEVICE std::int64_t whole_bytes() const { return bytes_to(2 * second); }
  DCGN_HOST_DEVICE std::int64_t half_bytes() const { return bytes_to(second); }

 private:
  DCGN_HOST_DEVICE static std::int64_t bytes_to(std::uint32_t end) {
    return end < first ? 0 : std::int64_t{end - first} * static_cast<std::int64_t>(packet_payload);
  }
};

// The last word of a turn's first packet: call in bits 0-4, communicator in 5-12, one more than the root, or 0, in
// 13-17, bytes of an element in 18-27, form in 28-31. The words before are the payload, or say how long it is.
struct Signature {
  // The form of a payload in that packet is its bytes, up to 8.
  static constexpr std::uint32_t places = 13;   // where a rank's buffers are: see collective/addresses.hpp
  static constexpr std::uint32_t done = 14;     // the rank has done with the others' buffers
  static constexpr std::uint32_t payload = 15;  // in packets of their own, or none: whoever sends it waits for nobody

  std::uint32_t word;

  DCGN_HOST_DEVICE Signature(Call call, std::int32_t communicator, std::int32_t root, std::int64_t element,
                             std::uint32_t form)
      : word((static_cast<std::uint32_t>(call) - static_cast<std::uint32_t>(Call::barrier)) |
             static_cast<std::uint32_t>(communicator) << 5 | static_cast<std::uint32_t>(root + 1) << 13 |
             (static_cast<std::uint32_t>(element) & 1023) << 18 | form << 28) {}
  DCGN_HOST_DEVICE explicit Signature(std::uint32_t from) : word(from) {}
  DCGN_HOST_DEVICE Call call() const {
    return static_cast<Call>(static_cast<std::uint32_t>(Call::barrier) + (word & 31));
  }
  // Whether two are of the same call of the same communicator.
  DCGN_HOST_DEVICE bool is_of_call(std::uint32_t other) const { return ((word ^ other) & 0x1fff) == 0; }
  DCGN_HOST_DEVICE std::int32_t root() const { return static_cast<std::int32_t>(word >> 13 & 31) - 1; }
  DCGN_HOST_DEVICE std::int64_t element() const { return word >> 18 & 1023; }
  DCGN_HOST_DEVICE std::uint32_t form() const { return word >> 28; }
};

// What a call of a group waits for: packets of these of its ranks, a bit each.
struct AwaitedFlights {
  Peers peers;
  int size;
  std::uint32_t ranks;
  Signature signature;
  std::uint32_t turns_ago;  // 0: of this turn, with this signature's call; else of that one before or any since
  std::int32_t tag;         // and what a report says of them
  std::uint32_t context;
  std::int64_t bytes;
};

// Waits for them as any call does, with deadline and report. By one thread.
[[gnu::noinline]] DCGN_HOST_DEVICE Code await_flights(Endpoint& me, Call call, const AwaitedFlights& awaited);

// By one thread: peer `k` has sent this signature and value, where the calling rank has `mine` and `my_value`; or,
// `before`, has sent them in the turn before, where this rank had others. What is wrong.
[[gnu::noinline]] DCGN_HOST_DEVICE Code name_mismatch(Endpoint& me, Peers peers, int k, bool before, Signature its,
                                                      std::uint64_t its_value, Signature mine, std::uint64_t my_value);

// By one thread: why a rank that is stopped, or in another call, cannot begin this one.
[[gnu::noinline]] DCGN_HOST_DEVICE Code refuse(Endpoint& me, Call call);

// By one thread, in a call that could not be ended.
[[gnu::noinline]] DCGN_HOST_DEVICE void abandon(Endpoint& me);

}  // namespace dcgn::message
