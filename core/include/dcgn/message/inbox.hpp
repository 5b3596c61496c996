// Inboxes: the memory through which slots of one process make collectives.
//
// Each pair of slots has one inbox in each direction, in the receiver's memory. Both slots count the collectives that
// they make together: their turns. The number of a turn says which packets it uses, so a call begins by storing and
// asks nobody. Turns take the four segments of an inbox in order:
//
//   | turns 0, 4, 8 ... | turns 1, 5 ... | turns 2, 6 ... | turns 3, 7 ... |
//
//   a segment:  | signature | 7 more of its line | payload: one, or two halves ... |
//
// In each turn every rank sends every other rank its signature, the packet that says which call it makes: with its
// payload, or at the end of the turn if it has none. So a rank that has seen another's packet of a turn knows that the
// other has finished all turns before.
//
// Memory order: a packet carries its flag, one more than its turn, in the same 16-byte store as its data (packet.hpp).
// A segment is written again four turns later, by a rank that has seen the other's packet of two turns before.
//
// Limit: turns are counted modulo 2^32. A packet that was last written exactly 2^32 turns ago would be taken for new,
// and so would one that was never written in turn 2^32 - 1.
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

// How many turns a rank may run ahead: turns of which it has seen no packet when it sends the next. A rank that sees
// the next one has finished those before, and reads at most the first packet of the last of them; what is overwritten
// is older.
inline constexpr std::uint32_t most_unseen_turns = 1;
static_assert(Inbox::segments >= most_unseen_turns + 3);

DCGN_HOST_DEVICE inline Inbox& inbox_of(const Endpoint& me, std::int32_t rank) {
  return me.collectives.inboxes[rank - me.first];
}
// The packets of a turn, where a segment has so many.
DCGN_HOST_DEVICE inline Flight flight_of(const InboxState& inbox, std::uint32_t segment_packets, std::uint32_t turn) {
  const std::uint32_t begin = turn % Inbox::segments * segment_packets;
  return {inbox.to + begin, inbox.from + begin, turn};
}
// Whether the peer has taken part in the last turn of which this rank must have seen a packet.
DCGN_HOST_DEVICE inline bool is_read(const InboxState& inbox, std::uint32_t segment_packets) {
  const Flight before = flight_of(inbox, segment_packets, inbox.turn - most_unseen_turns - 1);
#if defined(__CUDA_ARCH__)
  const std::uint32_t epoch = load_relaxed(before.from->epoch);  // as packets are
#else
  const std::uint32_t epoch = load_acquire(before.from->epoch);
#endif
  return static_cast<std::int32_t>(epoch - before.turn - 1) >= 0;
}
DCGN_HOST_DEVICE inline Flight flight_of(const Endpoint& me, const InboxState& inbox, std::uint32_t turn) {
  return flight_of(inbox, me.collectives.inbox_packets, turn);
}
DCGN_HOST_DEVICE inline Flight flight_of(const Endpoint& me, const InboxState& inbox) {
  return flight_of(me, inbox, inbox.turn);
}

// Where a turn's payload lies in its segment, and its greatest length.
struct InboxHalves {
  static constexpr std::uint32_t first = line_packets;
  std::uint32_t second;  // the packet where the second half begins

  DCGN_HOST_DEVICE explicit InboxHalves(std::uint32_t packets) : second(packets / 2) {}
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
  // The form: 0 to 8 are the bytes of a payload in this packet.
  static constexpr std::uint32_t places = 13;   // the addresses of the rank's buffers: see collective/addresses.hpp
  static constexpr std::uint32_t done = 14;     // the rank no longer uses the others' buffers
  static constexpr std::uint32_t payload = 15;  // a payload in packets of its own, or no payload

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
  // True if both are of the same kind of call in the same communicator.
  DCGN_HOST_DEVICE bool is_of_call(std::uint32_t other) const { return ((word ^ other) & 0x1fff) == 0; }
  DCGN_HOST_DEVICE std::int32_t root() const { return static_cast<std::int32_t>(word >> 13 & 31) - 1; }
  DCGN_HOST_DEVICE std::int64_t element() const { return word >> 18 & 1023; }
  DCGN_HOST_DEVICE std::uint32_t form() const { return word >> 28; }
  // If the payload is in packets of its own, the words beside the signature say how long it is.
  DCGN_HOST_DEVICE bool is_alike(const std::uint32_t (&d)[3], std::uint64_t bytes) const {
    return form() != payload || long_word(d) == bytes;
  }
};

// What a call waits for: packets of `ranks`, a bit each.
struct AwaitedFlights {
  Peers peers;
  int size;
  std::uint32_t ranks;
  Signature signature;
  std::uint32_t turns_ago;  // 0: packets of this turn with this signature; else of that turn before, or any later one
  std::int32_t tag;         // this and the next two are for the report
  std::uint32_t context;
  std::int64_t bytes;
};

// Waits for the packets like any other call, with deadline and report. By one thread.
[[gnu::noinline]] DCGN_HOST_DEVICE Code await_flights(Endpoint& me, Call call, const AwaitedFlights& awaited);

// By one thread: reports that peer `k` sent this signature and value where the calling rank has `mine` and `my_value`;
// or, if `before`, that it did so in the turn before, where this rank's own are in the inbox. Returns the error.
[[gnu::noinline]] DCGN_HOST_DEVICE Code name_mismatch(Endpoint& me, Peers peers, int k, bool before, Signature its,
                                                      std::uint64_t its_value, Signature mine, std::uint64_t my_value);

// By one thread, as the rank finishes: compares the signatures of the last turn in which it waited for nobody, as it
// does in its next one. It waits for none that has not come: the other rank will find its own.
[[gnu::noinline]] DCGN_HOST_DEVICE Code see_last_turns(Endpoint& me);

// Whether the rank is in no call and not stopped, whoever has changed that last.
DCGN_HOST_DEVICE inline bool is_free(const Endpoint& me) {
#if defined(__CUDA_ARCH__)
  return load_two_anew(&me.busy).first == 0;
#else
  return (load_relaxed(me.busy) | load_relaxed(me.stopped)) == 0;
#endif
}

// By one thread: the error of a rank that cannot begin a call, because it is stopped or in another call.
[[gnu::noinline]] DCGN_HOST_DEVICE Code refuse(Endpoint& me, Call call);

// By one thread: leaves a call that cannot complete.
[[gnu::noinline]] DCGN_HOST_DEVICE void abandon(Endpoint& me);

}  // namespace dcgn::message
