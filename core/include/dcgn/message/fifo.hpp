// FIFOs: a one-way queue from one rank to another, and its two ends.
//
// The ring of packets is in memory that the receiver reads cheaply. One rank writes it, one reads it:
//
//         head (InFifo)                  tail (OutFifo)
//          |                              |
//   free   v header [rank] payload header v  free
//   -------+------+------+-------+-------+-----------
//          ^ credit: how far packets have been taken; told to the sender a batch at a time
//
// Memory order: a packet carries its epoch, so whoever finds it has its data. What else a packet announces, such as a
// payload in the sender's memory, is ordered by the header's release store (write_header()). The payload's packets may
// come after their header, the doorbell before both.
//
// The engine, the gateway and the job use a ring by Tx and Rx. The calls of dcgn/message/fast_path.hpp and the
// exchanges of collectives use it by a Cursor, with fewer loads.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/message/packet.hpp>

#include <cstdint>

namespace dcgn::message {

struct Record;  // endpoint.hpp

// Packets that the receiver has taken, in memory that the sender reads cheaply.
struct alignas(64) Credit {
  std::uint32_t taken;
};

// How the receiver of a large message comes to the sender's memory.
enum class Reach : std::uint32_t {
  none,    // not at all: the message goes through the FIFO
  engine,  // by a copy engine
  direct,  // its threads read there, or a copy engine
};

// As OutFifo::engine_from and InFifo::engine_from: no message is so long that a copy engine moves it.
inline constexpr std::uint32_t engine_never = 0xffffffff;

// A FIFO at this position goes so many packets further; the single packets of fast calls since the last time are
// counted.
template <class Fifo>
DCGN_HOST_DEVICE void move_fifo(Fifo& fifo, std::uint32_t position, std::uint32_t packets) {
  fifo.fast_messages += position - fifo.settled;
  fifo.settled = position + packets;
  fifo.next = &fifo.ring.at(fifo.settled);
  fifo.epoch = fifo.ring.epoch(fifo.settled);
}

// Fields that never change come first, then what fast calls read and write, 32 bytes of it.
struct alignas(32) OutFifo {
  Ring ring;
  std::uint8_t* doorbell;  // the receiver's byte for this FIFO; null where it has none
  Credit* credit;
  // Bytes, more for each thread of the call, and the most of all; longer messages go by rendezvous.
  std::uint32_t eager, eager_each, eager_most;
  std::uint32_t names_rank;  // 1: behind each header a packet names the rank at the other end (a gateway's FIFOs)
  std::uint64_t* acks;       // my acknowledgement words, where this FIFO's receiver can reach them
  Reach reach;
  std::uint32_t fast;         // 0 where calls are never fast
  std::uint32_t engine_from;  // with Reach::engine: shorter messages go through the FIFO
  const Record* records;      // the receiver's, where this side can store into its buffers as it can into mine

  alignas(32) Packet* next;  // where the next packet goes
  std::uint32_t epoch;       // and its epoch
  std::uint32_t room;        // packets that can be written from there on in a row: 0 while sends are queued
  std::uint64_t fast_bytes;  // sent by fast calls; the others are in Statistics
  std::uint32_t settled;     // the tail when it was last moved by advance(): single packets were written since
  std::uint32_t taken;       // the credit as last read

  Record* first;  // sends that wait for room, in order
  Record* last;
  OutFifo* next_queued;
  std::uint32_t queued;
  std::uint64_t sent;           // messages, not by fast calls
  std::uint64_t fast_messages;  // by fast calls, those of a single packet since advance() apart

  // Packets written. A fast call may have left `next` behind the last packet of the ring.
  DCGN_HOST_DEVICE std::uint32_t tail() const { return ring.position(next, epoch); }
  DCGN_HOST_DEVICE std::uint32_t free_packets() const { return ring.size() - (tail() - taken); }
  DCGN_HOST_DEVICE std::uint64_t messages_by_fast_calls() const { return fast_messages + (tail() - settled); }

  // So many packets have been written, or what fast calls must know has changed otherwise.
  DCGN_HOST_DEVICE void advance(std::uint32_t packets) {
    move_fifo(*this, tail(), packets);
    const std::uint32_t free = ring.size() - (settled - taken), row = ring.row(settled);
    room = first || !fast ? 0 : free < row ? free : row;
  }
};

struct alignas(32) InFifo {
  Ring ring;
  std::uint32_t batch;       // packets after which the sender is told
  std::uint32_t names_rank;  // as OutFifo has it
  Credit* credit;
  std::uint64_t* acks;                                    // the sender's acknowledgement words
  std::uint32_t engine_from, engine_each, engine_beside;  // see copy_engine_limit()
  std::int32_t process;  // whose memory the sender's addresses are of, where the system copies from there; 0: this one
  std::uint32_t far;  // 1 where the ring is across PCIe: each look at a packet takes a microsecond, one after the other

  alignas(32) const Packet* next;  // where the next packet comes
  std::uint32_t epoch;             // and its epoch
  std::uint32_t due;               // packets that can be taken from there on in a row before the sender must be told
  std::uint64_t fast_bytes;        // received by fast calls
  std::uint32_t settled;           // the head when it was last moved by advance(): single packets were taken since
  std::uint32_t returned;          // packets taken of which the sender knows

  std::uint64_t received;       // messages taken out of the FIFO, not by fast calls
  std::uint64_t fast_messages;  // by fast calls, those of a single packet since advance() apart

  // Packets taken. A fast call may have left `next` behind the last packet of the ring.
  DCGN_HOST_DEVICE std::uint32_t head() const { return ring.position(next, epoch); }
  DCGN_HOST_DEVICE std::uint64_t messages_by_fast_calls() const { return fast_messages + (head() - settled); }

  // So many packets have been taken, or what fast calls must know has changed otherwise.
  DCGN_HOST_DEVICE void advance(std::uint32_t packets) {
    move_fifo(*this, head(), packets);
    const std::uint32_t left = batch - (settled - returned), row = ring.row(settled);
    due = left == 0 || left > batch ? 0 : left - 1 < row ? left - 1 : row;
  }
};

// The longest message that a call of so many threads sends eagerly.
DCGN_HOST_DEVICE inline std::uint64_t eager_limit(const OutFifo& fifo, std::uint32_t threads) {
  const std::uint64_t limit = fifo.eager + static_cast<std::uint64_t>(fifo.eager_each) * threads;
  return limit < fifo.eager_most ? limit : fifo.eager_most;
}

// From how many bytes on a copy engine moves what a call of so many threads receives, where these could, too. `waited`:
// the call waits for this message, and has nothing else to do.
DCGN_HOST_DEVICE inline std::uint64_t copy_engine_limit(const InFifo& fifo, std::uint32_t threads, bool waited) {
  if (fifo.engine_from == engine_never) return ~std::uint64_t{0};
  // Several blocks share a link that one does not fill.
  const std::uint64_t each = threads > 1024 ? 2 * fifo.engine_each : fifo.engine_each;
  const std::uint64_t limit = fifo.engine_from + each * threads;
  return waited || limit < fifo.engine_beside ? limit : fifo.engine_beside;
}

// Whether a receiver fetches a message of this length, which is too long to be eager, from where it is.
DCGN_HOST_DEVICE inline bool is_pulled(const OutFifo& fifo, std::uint64_t bytes) {
  switch (fifo.reach) {
    case Reach::none: return false;
    case Reach::engine: return bytes >= fifo.engine_from;
    case Reach::direct: return true;
  }
  return false;
}

DCGN_HOST_DEVICE inline std::uint32_t load_credit(const Credit& credit) {
#if defined(__CUDA_ARCH__)
  return load_relaxed(credit.taken);  // as an answer is: see load_answer()
#else
  return load_acquire(credit.taken);
#endif
}

// Whether the FIFO has room for so many packets; reads the credit again only where it must.
DCGN_HOST_DEVICE inline bool has_room(OutFifo& fifo, std::uint32_t packets) {
  if (fifo.free_packets() >= packets) return true;
  fifo.taken = load_credit(*fifo.credit);
  return fifo.free_packets() >= packets;
}

// Tells the sender how far its packets have been taken.
DCGN_HOST_DEVICE inline void store_credit(Credit& credit, std::uint32_t taken) {
#if defined(__CUDA_ARCH__)
  store_relaxed(credit.taken, taken);  // as an answer is: see store_answer()
#else
  store_release(credit.taken, taken);
#endif
}

DCGN_HOST_DEVICE inline void return_credit(InFifo& fifo) {
  fifo.returned = fifo.head();
  store_credit(*fifo.credit, fifo.returned);
  fifo.advance(0);
}

// Tells a receiver with many FIFOs which one to look at. It may hear it before the packets of the message are there.
DCGN_HOST_DEVICE inline void ring_doorbell(std::uint8_t* doorbell) {
  if (doorbell) store_relaxed(*doorbell, 1);
}

// Where a message lies in a ring: from its header to the end of its payload.
struct Reservation {
  std::uint32_t position = 0;  // of the header
  std::uint32_t begin = 0;     // of the payload's first packet
  std::uint32_t packets = 0;   // of the payload
  std::uint32_t all = 0;       // of the message; 0: there is none

  Reservation() = default;
  // `payload`: bytes that are in packets of their own.
  DCGN_HOST_DEVICE Reservation(std::uint32_t at, Kind kind, std::uint32_t names_rank, std::uint64_t payload)
      : position(at), packets(payload_packets(payload)) {
    begin = payload_begin(at + header_packets(kind) - 1 + names_rank, packets);
    all = begin + packets - at;
  }
};

// Whether a message of this kind has its payload in packets behind its header.
DCGN_HOST_DEVICE inline bool has_payload(const Header& h) {
  return h.kind == Kind::eager || (h.kind == Kind::data && !h.readable);
}

// The sender's end. One thread at a time: the leader of the call that has the rank.
class Tx {
 public:
  DCGN_HOST_DEVICE explicit Tx(OutFifo& fifo) : fifo_(fifo) {}

  // Finds a place for a message; false where there is no room yet. Reserves nothing until put().
  DCGN_HOST_DEVICE bool reserve(Kind kind, std::uint64_t payload, Reservation& place) {
    place = Reservation(fifo_.tail(), kind, fifo_.names_rank, payload);
    return has_room(fifo_, place.all);
  }
  // Writes the header and commits: the receiver may act on it now, and waits for the payload's packets. `rank`: the one
  // at the other end, for FIFOs that name it.
  DCGN_HOST_DEVICE void put(const Reservation& place, const Header& h, std::int32_t rank, bool release = false) {
    if (fifo_.names_rank) write_peer(fifo_.ring, place.position + header_packets(h.kind), rank);
    write_header(fifo_.ring, place.position, h, release);
    fifo_.advance(place.all);
    ring_doorbell(fifo_.doorbell);
  }
  // Both, for a header without a payload.
  DCGN_HOST_DEVICE bool send(const Header& h, std::int32_t rank) {
    Reservation place;
    if (!reserve(h.kind, 0, place)) return false;
    put(place, h, rank);
    return true;
  }

 private:
  OutFifo& fifo_;
};

// What Rx finds at the head of a FIFO.
struct Incoming {
  Header header;
  std::int32_t rank = 0;  // the one at the other end, of FIFOs that name it
  Reservation place;
};

// The receiver's end. One thread at a time, likewise.
class Rx {
 public:
  DCGN_HOST_DEVICE explicit Rx(InFifo& fifo) : fifo_(fifo) {}

  // Looks at the next message; false where its header has not come whole. Its payload may still be on its way.
  [[gnu::always_inline]] DCGN_HOST_DEVICE static bool peek(const InFifo& fifo, Incoming& found) {
    const std::uint32_t head = fifo.head();
    Header& h = found.header;
    if (!read_header(fifo.ring, head, h)) return false;
    if (fifo.names_rank && !read_peer(fifo.ring, head + header_packets(h.kind), found.rank)) return false;
    found.place = Reservation(head, h.kind, fifo.names_rank, has_payload(h) ? h.bytes : 0);
    return true;
  }
  DCGN_HOST_DEVICE bool peek(Incoming& found) const { return peek(fifo_, found); }

  // Takes so many packets off, and returns credit once a batch has been taken.
  DCGN_HOST_DEVICE void release(std::uint32_t packets) {
    fifo_.advance(packets);
    if (fifo_.settled - fifo_.returned >= fifo_.batch) return_credit(fifo_);
  }
  // The same up to the end of a message.
  DCGN_HOST_DEVICE void release_to(std::uint32_t end) { release(end - fifo_.head()); }

 private:
  InFifo& fifo_;
};

}  // namespace dcgn::message
