// Packets: the 16-byte units of a FIFO, and the headers that messages begin with.
//
// A FIFO is a ring of packets in memory that its receiver reads cheaply. A packet carries 12 bytes beside their epoch,
// which is one more than the number of times that the ring had been gone round when the packet was written; so one poll
// of a packet yields its data, no packet is ever cleared, and zeroed memory is an empty FIFO.
//
// The first packet of a header, whose last word is the epoch; fields of word 2 from its lowest bit on, with their bits:
//
//   kind     word 0    word 1    word 2
//   small    payload   payload   kind 3, bytes 4, context 9, tag 16
//   eager    tag       bytes     kind 3, 0 2, elements 11, context 16
//   pull     tag       ack       kind 3, readable 1, placeable 1, elements 11, context 16; two packets follow:
//                                the bytes in words 0 and 1, the address likewise
//   offer    tag       ack       kind 3, 0 2, elements 11, context 16; a packet with the bytes follows
//   data     record    bytes     kind 3, readable 1, 0 12, context 16
//   placed   record    bytes     kind 3, readable 1, 0 12, context 16
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

inline constexpr std::uint32_t packet_payload = 12;

struct alignas(16) Packet {
  std::uint32_t data[3];
  std::uint32_t epoch;
};

// Writes a packet. On a GPU one 16-byte store, which is seen as a whole; on the host the data, then the epoch with
// release order. With `release`, whoever finds the packet and then acquires also sees all that the writing thread had
// seen before; a GPU pays for it.
DCGN_HOST_DEVICE inline void write_packet(Packet& packet, std::uint32_t d0, std::uint32_t d1, std::uint32_t d2,
                                          std::uint32_t epoch, [[maybe_unused]] bool release = false) {
#if defined(__CUDA_ARCH__)
  const auto to = __cvta_generic_to_global(&packet);
  const std::uint64_t low = d0 | static_cast<std::uint64_t>(d1) << 32;
  const std::uint64_t high = d2 | static_cast<std::uint64_t>(epoch) << 32;
  if (release)
    asm volatile("{.reg .b128 c; mov.b128 c,{%1,%2}; st.release.sys.global.b128 [%0],c;}" ::"l"(to), "l"(low), "l"(high)
                 : "memory");
  else
    asm volatile("{.reg .b128 c; mov.b128 c,{%1,%2}; st.relaxed.sys.global.b128 [%0],c;}" ::"l"(to), "l"(low), "l"(high)
                 : "memory");
#else
  packet.data[0] = d0;
  packet.data[1] = d1;
  packet.data[2] = d2;
  store_release(packet.epoch, epoch);
#endif
}

// The first two words of a packet's data as one.
DCGN_HOST_DEVICE inline std::uint64_t long_word(const std::uint32_t (&d)[3]) {
  return d[0] | static_cast<std::uint64_t>(d[1]) << 32;
}

// Reads a packet into `out` if it has been written in this epoch; says whether it had.
DCGN_HOST_DEVICE inline bool read_packet(const Packet& packet, std::uint32_t epoch, std::uint32_t (&out)[3]) {
#if defined(__CUDA_ARCH__)
  std::uint64_t low, high;
  asm volatile("{.reg .b128 c; ld.relaxed.sys.global.b128 c,[%2]; mov.b128 {%0,%1},c;}"
               : "=l"(low), "=l"(high)
               : "l"(__cvta_generic_to_global(&packet))
               : "memory");
  out[0] = static_cast<std::uint32_t>(low);
  out[1] = static_cast<std::uint32_t>(low >> 32);
  out[2] = static_cast<std::uint32_t>(high);
  return static_cast<std::uint32_t>(high >> 32) == epoch;
#else
  if (load_acquire(packet.epoch) != epoch) return false;
  out[0] = packet.data[0];
  out[1] = packet.data[1];
  out[2] = packet.data[2];
  return true;
#endif
}

// How a message travels.
enum class Kind : std::uint32_t {
  small,   // up to 8 bytes, within the header packet
  eager,   // header packet, then the payload's packets, all of them written at once
  pull,    // the receiver has the payload fetched from `address`, then acknowledges (rendezvous)
  offer,   // the receiver answers when it has matched; the payload follows as data (where no address will do)
  data,    // a piece of an offered payload, for the receive named in `record`
  placed,  // an announced payload is in the buffer of the receive named in `record`
};

DCGN_HOST_DEVICE constexpr bool is_announced(Kind kind) { return kind == Kind::pull || kind == Kind::offer; }

struct Header {
  Kind kind = Kind::small;
  std::uint32_t context = 0;  // which communicator, and whether the user's or the library's own messages
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // pull: where the payload is;  small: the payload itself
  std::uint32_t ack = 0;      // pull, offer: which of the sender's acknowledgement words to answer in
  std::uint32_t record = 0;   // data, placed: which of the receiver's records the payload is for
  bool readable = false;      // pull: the receiver's own threads can read at `address`; else a copy engine must;
                              // placed: they have to after all, it is not there;
                              // data: in the fragment whose number is `context`
  bool placeable = false;     // pull: the sender's threads can as well store it where the receiver wants it;
                              // to a gateway: the sender need not wait for the receive
  // eager, pull, offer: which elements the message is of, if they are known (datatype::digest_of()); else 0
  std::uint32_t elements = 0;
};

inline constexpr std::uint32_t max_header_packets = 3;
inline constexpr std::uint64_t small_bytes = 8;
inline constexpr std::uint32_t small_tags = 65536;  // tags below it fit into a small header

// Of fewer than 4 GiB.
DCGN_HOST_DEVICE inline std::uint32_t payload_packets(std::uint64_t bytes) {
  return (static_cast<std::uint32_t>(bytes) + packet_payload - 1) / packet_payload;
}

// Where the payload of an eager message or a piece of one lies, whose header is the packet at `position`: right behind
// it, or if it is long at the next line of 128 bytes, so that what a warp writes or reads at once is whole lines. The
// packets between keep what they had.
inline constexpr std::uint32_t line_packets = 8, aligned_packets = 32;

DCGN_HOST_DEVICE inline std::uint32_t payload_begin(std::uint32_t position, std::uint32_t packets) {
  return packets < aligned_packets ? position + 1 : (position + line_packets) & ~(line_packets - 1);
}
DCGN_HOST_DEVICE inline std::uint32_t header_packets(Kind kind) {
  switch (kind) {
    case Kind::small:
    case Kind::eager:
    case Kind::data:
    case Kind::placed: return 1;
    case Kind::pull: return 3;
    case Kind::offer: return 2;
  }
  return 1;
}

// What fits into a small header: the context must be below 512.
DCGN_HOST_DEVICE inline bool fits_small(std::uint32_t context, std::int32_t tag, std::uint64_t bytes) {
  return bytes <= small_bytes && context < 512 && static_cast<std::uint32_t>(tag) < small_tags;
}

// The ring of a FIFO as either side sees it; positions count packets without end, modulo 2^32.
struct Ring {
  Packet* packets;
  std::uint32_t shift;  // the ring has 2^shift packets

  DCGN_HOST_DEVICE Packet& at(std::uint32_t position) const { return packets[position & ((1u << shift) - 1)]; }
  DCGN_HOST_DEVICE std::uint32_t epoch(std::uint32_t position) const { return (position >> shift) + 1; }
  DCGN_HOST_DEVICE std::uint32_t size() const { return 1u << shift; }
  // The position of a packet in its epoch.
  DCGN_HOST_DEVICE std::uint32_t position(const Packet* packet, std::uint32_t in_epoch) const {
    return ((in_epoch - 1) << shift) + static_cast<std::uint32_t>(packet - packets);
  }
  // Packets from this position to the end of the ring.
  DCGN_HOST_DEVICE std::uint32_t row(std::uint32_t position) const { return size() - (position & (size() - 1)); }
};

// The most payload bytes that are written to a ring at once: with what lies before them they fill half of it.
DCGN_HOST_DEVICE inline std::uint64_t largest_unit(const Ring& ring) {
  const std::uint32_t half = ring.size() / 2;
  return static_cast<std::uint64_t>(half - (half > aligned_packets ? line_packets : 1)) * packet_payload;
}

// The last word of a header: kind in bits 0-2; for small: bytes in 3-6, context in 7-15, tag in 16-31; else the context
// in 16-31, whether it is readable in 3 and placeable in 4, and the elements in 5-15.
inline constexpr std::uint32_t element_bits = 11;
DCGN_HOST_DEVICE inline std::uint32_t small_word(std::uint32_t context, std::int32_t tag, std::uint64_t bytes) {
  return static_cast<std::uint32_t>(Kind::small) | static_cast<std::uint32_t>(bytes) << 3 | context << 7 |
         static_cast<std::uint32_t>(tag) << 16;
}

// With `release` an eager header, too, is ordered behind what its thread has seen.
[[gnu::always_inline]] DCGN_HOST_DEVICE inline void write_header(const Ring& ring, std::uint32_t position,
                                                                 const Header& h, bool release = false) {
  const auto kind = static_cast<std::uint32_t>(h.kind);
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  const std::uint32_t word = kind | static_cast<std::uint32_t>(h.readable) << 3 |
                             static_cast<std::uint32_t>(h.placeable) << 4 | h.elements << 5 | h.context << 16;
  switch (h.kind) {
    case Kind::small:
      write_packet(ring.at(position), low(h.address), high(h.address), small_word(h.context, h.tag, h.bytes),
                   ring.epoch(position), release);
      return;
    case Kind::eager:
      write_packet(ring.at(position), static_cast<std::uint32_t>(h.tag), low(h.bytes), word, ring.epoch(position),
                   release);
      return;
    case Kind::data:
    case Kind::placed:
      write_packet(ring.at(position), h.record, low(h.bytes), word, ring.epoch(position), h.kind == Kind::placed);
      return;
    case Kind::pull:
      // The later packets first: the receiver may act as soon as it has found the first one.
      write_packet(ring.at(position + 2), low(h.address), high(h.address), 0, ring.epoch(position + 2));
      [[fallthrough]];
    case Kind::offer:
      write_packet(ring.at(position + 1), low(h.bytes), high(h.bytes), 0, ring.epoch(position + 1));
      write_packet(ring.at(position), static_cast<std::uint32_t>(h.tag), h.ack, word, ring.epoch(position),
                   h.kind == Kind::pull);
      return;
  }
}

DCGN_HOST_DEVICE inline std::uint32_t elements_in(std::uint32_t word) { return word >> 5 & ((1u << element_bits) - 1); }

// What the first packet of a header says: all of it for small, eager and data.
DCGN_HOST_DEVICE inline Header decode(const std::uint32_t (&d)[3]) {
  Header h;
  h.kind = static_cast<Kind>(d[2] & 7);
  h.context = d[2] >> 16;
  h.tag = static_cast<std::int32_t>(d[0]);
  h.bytes = d[1];
  switch (h.kind) {
    case Kind::small:
      h.address = long_word(d);
      h.bytes = d[2] >> 3 & 15;
      h.context = d[2] >> 7 & 511;
      h.tag = static_cast<std::int32_t>(d[2] >> 16);
      break;
    case Kind::eager: h.elements = elements_in(d[2]); break;
    case Kind::data:
    case Kind::placed:
      h.record = d[0];
      h.readable = d[2] >> 3 & 1;
      break;
    case Kind::pull:
      h.readable = d[2] >> 3 & 1;
      h.placeable = d[2] >> 4 & 1;
      [[fallthrough]];
    case Kind::offer:
      h.ack = d[1];
      h.elements = elements_in(d[2]);
      break;
  }
  return h;
}

// Reads the other packets of the header at `position`, if they are there, where the first one has been decoded.
DCGN_HOST_DEVICE inline bool read_rest(const Ring& ring, std::uint32_t position, Header& h) {
  if (!is_announced(h.kind)) return true;
  std::uint32_t size[3] = {}, address[3] = {};
  bool here = read_packet(ring.at(position + 1), ring.epoch(position + 1), size);
  if (h.kind == Kind::pull)  // under way together
    here = static_cast<int>(read_packet(ring.at(position + 2), ring.epoch(position + 2), address)) & here;
  h.bytes = size[0] | static_cast<std::uint64_t>(size[1]) << 32;
  h.address = address[0] | static_cast<std::uint64_t>(address[1]) << 32;
  return here;
}

// Reads the header at `position` if all of its packets are there.
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool read_header(const Ring& ring, std::uint32_t position, Header& h) {
  std::uint32_t d[3];
  if (!read_packet(ring.at(position), ring.epoch(position), d)) return false;
  h = decode(d);
  return read_rest(ring, position, h);
}

// The packet behind a header in a gateway's fifo: the rank at the other end.
DCGN_HOST_DEVICE inline void write_peer(const Ring& ring, std::uint32_t position, std::int32_t rank) {
  write_packet(ring.at(position), static_cast<std::uint32_t>(rank), 0, 0, ring.epoch(position));
}
DCGN_HOST_DEVICE inline bool read_peer(const Ring& ring, std::uint32_t position, std::int32_t& rank) {
  std::uint32_t d[3];
  if (!read_packet(ring.at(position), ring.epoch(position), d)) return false;
  rank = static_cast<std::int32_t>(d[0]);
  return true;
}

}  // namespace dcgn::message
