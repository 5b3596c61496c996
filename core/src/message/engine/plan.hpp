// Plans: which way a message takes, and why not a faster one. All guards of sends and receives are here that are not
// decided in the kernel itself (dcgn/message/fast_path.hpp). A plan changes nothing but what is known of credit; who
// makes one holds the rank.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/fast_path.hpp>
#include <dcgn/message/fifo.hpp>
#include <dcgn/message/payload.hpp>
#include <dcgn/message/reason.hpp>
#include "message/engine/copying.hpp"
#include "message/engine/records.hpp"

#include <cstdint>

namespace dcgn::message {

// Called by the leader, between two barriers of its call. Counts the message that the rank is about, and has the reason
// ready for the event of a blocking call. Other calls that a CPU rank has under way beside that one are collectives.
DCGN_HOST_DEVICE inline void count(Endpoint& me, std::uint32_t context, Reason why) {
  if (!is_collective(context) && why != Reason::nonblocking) me.log.slow = why > Reason::moved ? why : Reason::none;
  if (why > Reason::moved) ++me.statistics.slow[static_cast<std::uint32_t>(why)];
}

// ---- what every call must fulfil to go on without a request: the same for all of its threads

// `wild`: the source and the tag may be any. False for arguments that are wrong.
DCGN_HOST_DEVICE inline bool is_valid(const Port& port, const void* buffer, std::int64_t bytes, int peer, int tag,
                                      bool wild) {
  const bool whom = static_cast<std::uint32_t>(peer) < static_cast<std::uint32_t>(port.size);
  return (whom || (wild && peer == any_source)) && (tag >= 0 || (wild && tag == any_tag)) &&
         (bytes == 0 || (bytes > 0 && buffer));
}

// Of valid arguments; none where nothing is against a call that keeps no request.
DCGN_HOST_DEVICE inline Reason why_request(const Port& port, const void* buffer, std::int64_t bytes, int peer,
                                           std::uint32_t elements) {
  if (peer != any_source && port.fifo(peer) >= static_cast<std::uint32_t>(port.near)) return Reason::process;
  if (bytes && is_device_memory(port, buffer)) return Reason::device_memory;
  return elements ? Reason::datatype : Reason::none;
}

// Why a thread's or a warp's message that a header could hold takes packets of its own; none for other messages.
DCGN_HOST_DEVICE inline Reason why_packets(const void* data, std::uint64_t bytes, int tag) {
  if (bytes > small_bytes) return Reason::none;
  if (tag != any_tag && static_cast<std::uint32_t>(tag) >= small_tags) return Reason::tag;
  return is_plain(data, bytes) ? Reason::none : Reason::alignment;
}

// Why the threads of a GPU's call were told by their leader what to do: none where they could have decided, each for
// itself, or are not of a GPU.
template <class Scope>
DCGN_HOST_DEVICE Reason why_told([[maybe_unused]] const Endpoint& me, [[maybe_unused]] const void* data,
                                 [[maybe_unused]] std::uint64_t bytes, [[maybe_unused]] int tag) {
  if constexpr (decides_in_block && Scope::in_block)
    if (calls_in_block(me)) {
      if (!lies_on_words(data)) return Reason::alignment;
      if constexpr (Scope::in_warp) return why_packets(data, bytes, tag);
    }
  return Reason::none;
}

// ---- sends

// What a message is: of a call, or of the record that is kept for it.
struct Outgoing {
  Envelope envelope;
  const unsigned char* data = nullptr;
  std::uint32_t flags = 0;  // as Record has them
};

// How the receiver comes to it.
DCGN_HOST_DEVICE inline Reach reach_of([[maybe_unused]] const Endpoint& me, const OutFifo& fifo, const Outgoing& m) {
  if (!reachable(m.data)) return Reach::none;
#if !defined(__CUDA_ARCH__)
  // A FIFO's reach is that of the memory which its sender uses as a rule.
  if (m.flags & Record::on_device) {
    const int to = m.envelope.peer;
    const bool at_home = is_at_home(me, to), by_gateway = !is_near(me, to);
    if (!at_home && !by_gateway) return Reach::none;
    if (me.copies.host->rank_can_read(m.data, to)) return Reach::direct;
    return at_home && me.copies.queue ? Reach::engine : Reach::none;
  }
#endif
  return is_pulled(fifo, m.envelope.bytes) ? fifo.reach : Reach::none;
}

struct SendPlan {
  Kind kind = Kind::small;
  Reach reach = Reach::none;  // of a message that is announced
  Reason why = Reason::none;  // it cannot be put into its FIFO now, or only in pieces
  Reservation place;          // empty where it cannot

  DCGN_HOST_DEVICE static SendPlan queued() {
    SendPlan plan;
    plan.why = Reason::queued;
    return plan;
  }
  // The announcement goes now, and its answer can be waited for without a request.
  DCGN_HOST_DEVICE bool is_rendezvous() const { return kind == Kind::pull && why == Reason::none; }
};

// For a call of so many threads, where no sends wait before this one.
DCGN_HOST_DEVICE inline SendPlan plan_send(const Endpoint& me, OutFifo& fifo, std::uint32_t threads,
                                           const Outgoing& m) {
  SendPlan plan;
  const Envelope& e = m.envelope;
  std::uint64_t in_packets = 0;
  if ((m.flags & Record::synchronous) || e.bytes > eager_limit(fifo, threads)) {
    plan.reach = reach_of(me, fifo, m);
    plan.kind = plan.reach == Reach::none ? Kind::offer : Kind::pull;
    if (plan.kind == Kind::offer) plan.why = Reason::pieces;
  } else if (!fits_small(e.context, e.tag, e.bytes) || (e.bytes && m.flags & Record::on_device) || e.elements) {
    plan.kind = Kind::eager;
    in_packets = e.bytes;
  }
  if (!Tx(fifo).reserve(plan.kind, in_packets, plan.place)) {
    plan.place = {};
    plan.why = Reason::full;
  } else if (is_announced(plan.kind) && !has_ack(me)) {
    plan.place = {};
    plan.why = Reason::requests;
  }
  return plan;
}

// The header of a message that goes as `plan` says; one that is announced still lacks its acknowledgement word.
DCGN_HOST_DEVICE inline Header header_of(const Endpoint& me, const OutFifo& fifo, std::uint32_t threads,
                                         const Outgoing& m, const SendPlan& plan) {
  const Envelope& e = m.envelope;
  Header h;
  h.kind = plan.kind;
  h.context = e.context;
  h.tag = e.tag;
  h.bytes = e.bytes;
  h.elements = e.elements;
  if (plan.kind == Kind::small) {
    h.address = load_small(m.data, e.bytes);
  } else if (is_announced(plan.kind)) {
    h.address = reinterpret_cast<std::uintptr_t>(m.data);
    h.readable = plan.reach == Reach::direct;
    h.placeable = fifo.names_rank ? !(m.flags & Record::synchronous)
                                  : h.readable && fifo.records && is_placed(me, threads, e.bytes);
  }
  return h;
}

// ---- receives

// A blocking call of so many threads takes the message with this header, or why it does not.
DCGN_HOST_DEVICE inline Reason plan_receive(const Endpoint& me, const InFifo& fifo, const Header& h,
                                            std::uint64_t capacity, int tag, std::uint32_t context,
                                            std::uint32_t threads) {
  if (h.kind >= Kind::data || h.context != context || (tag != any_tag && tag != h.tag)) return Reason::behind;
  if (h.bytes > capacity) return Reason::longer;
  switch (h.kind) {
    case Kind::small:
    case Kind::eager: return Reason::none;
    case Kind::pull:
      // Not if a copy engine or the system fetches it, or the sender stores it.
      return h.readable && !fifo.process && h.bytes < copy_engine_limit(fifo, threads, true) &&
                     !(h.placeable && is_placed(me, threads, h.bytes))
                 ? Reason::none
                 : Reason::moved;
    case Kind::offer: return Reason::pieces;
    case Kind::data:
    case Kind::placed: break;
  }
  return Reason::behind;
}

}  // namespace dcgn::message
