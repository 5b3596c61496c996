// What becomes of a message that arrives: it meets its receive, or is kept until there is one; then it is taken off its
// FIFO, fetched from where it is, or accepted piece by piece.
//
// Bytes in quantity are not moved here but returned as Transfer for all threads of the call.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exports.hpp>
#include <dcgn/message/fifo.hpp>
#include "message/engine/copying.hpp"
#include "message/engine/fragments.hpp"
#include "message/engine/records.hpp"
#include "message/engine/transfer.hpp"

#include <cstdint>
#include <cstring>

namespace dcgn::message {

// Whether a message from another process had better come in fragments than be read by a thread here.
DCGN_HOST_DEVICE inline bool is_for_fragments([[maybe_unused]] const Endpoint& me, [[maybe_unused]] const InFifo& fifo,
                                              [[maybe_unused]] const Record* r) {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return me.fragments && fifo.process && r->flags & Record::on_device && r->capacity &&
         me.fragments->reaches(static_cast<std::int32_t>(&fifo - me.in));
#endif
}

// Whether what another process offers can be read where it is.
DCGN_HOST_DEVICE inline bool is_opened([[maybe_unused]] Endpoint& me, [[maybe_unused]] const InFifo& fifo,
                                       [[maybe_unused]] Record* r, [[maybe_unused]] const Header& h) {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return me.exports && h.kind == Kind::offer && fifo.process && r->flags & Record::on_device && r->capacity &&
         me.copies.queue && me.exports->open(static_cast<std::int32_t>(&fifo - me.in), *r);
#endif
}

// A receive has met its message, announced by `h`: fetch the payload.
DCGN_HOST_DEVICE void fetch(Endpoint& me, Record* r, const Header& h, Transfer& transfer);

// Puts a small message's payload into the receive's buffer.
DCGN_HOST_DEVICE inline void receive_small(Endpoint& me, Record* r, std::uint64_t payload, Transfer& transfer) {
  const std::uint64_t bytes = least(r->envelope.bytes, r->capacity);
  if (bytes && r->flags & Record::on_device) {
    r->state = State::streaming;
    r->address = payload;
    transfer.action = Action::copy;
    transfer.after = After::received;
    transfer.to = r->buffer;
    transfer.from = reinterpret_cast<const unsigned char*>(&r->address);
    transfer.bytes = bytes;
    transfer.record = r;
    return;
  }
  if (bytes) memcpy(r->buffer, &payload, bytes);
  complete(me, r);
}

// The first posted receive that this message matches, and the record in front of it in the list.
DCGN_HOST_DEVICE inline Record* find_posted(const Endpoint& me, std::int32_t source, const Header& h, Record** before) {
  *before = nullptr;
  for (Record* r = me.posted.first; r; *before = r, r = r->next)
    if (matches(r->envelope, source, h.tag, h.context)) return r;
  return nullptr;
}

// Takes it off the list.
DCGN_HOST_DEVICE inline Record* match_posted(Endpoint& me, std::int32_t source, const Header& h) {
  Record* before;
  Record* const r = find_posted(me, source, h, &before);
  if (!r) return nullptr;
  me.posted.remove(before, r);
  r->envelope.peer = source;
  r->envelope.tag = h.tag;
  r->envelope.bytes = h.bytes;
  r->envelope.elements = h.elements;
  return r;
}

// Keeps a message that no receive has asked for yet; false where there is no space.
DCGN_HOST_DEVICE inline bool keep(Endpoint& me, std::int32_t source, const Header& h, Transfer& transfer) {
  unsigned char* storage = nullptr;
  if (h.kind == Kind::eager) {
    storage = static_cast<unsigned char*>(me.arrivals.allocate(h.bytes));
    if (!storage) return false;
  }
  Record* r = take_record(me);
  if (!r) {
    if (storage) me.arrivals.free(storage);
    return false;
  }
  r->state = State::unexpected;
  r->envelope = {source, h.tag, h.context, h.elements, h.bytes};
  r->kind = h.kind;
  r->flags = (h.readable ? Record::readable : 0) | (h.placeable ? Record::placed : 0);
  r->buffer = storage;
  r->address = h.address;
  r->ack = h.ack;
  r->order = ++me.arrivals_counted;
  me.unexpected[unexpected_list(h.context, h.tag)].append(r);
  ++me.unexpected_count;
  if (storage) {
    transfer.after = After::stored;
    transfer.to = storage;
    transfer.bytes = h.bytes;
  }
  return true;
}

// Takes the message at the head of the FIFO of this number, if there is one.
DCGN_HOST_DEVICE bool poll_fifo(Endpoint& me, std::int32_t index, Transfer& transfer);

// Has a copy engine begin with the message that comes next from this rank, if a receive has been posted for it: it is
// under way then while the rank begins other sends and receives. `bytes`: of what is begun now; who sends and receives
// short messages does not look. A CPU rank leaves it to the call that waits, since some copies of its take their time.
DCGN_HOST_DEVICE void begin_copy(Endpoint& me, std::int32_t source, std::uint64_t bytes);

// The earliest unexpected message that matches, and the record in front of it in its list.
DCGN_HOST_DEVICE inline Record* find_unexpected(const Endpoint& me, const Envelope& wanted, Record** before) {
  *before = nullptr;
  if (!me.unexpected_count) return nullptr;
  const bool any = wanted.tag == any_tag;
  const std::uint32_t first = any ? 0 : unexpected_list(wanted.context, wanted.tag);
  const std::uint32_t last = any ? unexpected_lists - 1 : first;
  Record* found = nullptr;
  for (std::uint32_t list = first; list <= last; ++list) {
    Record* previous = nullptr;
    for (Record* u = me.unexpected[list].first; u; previous = u, u = u->next) {
      if (found && u->order > found->order) break;
      if (!matches(wanted, u->envelope.peer, u->envelope.tag, u->envelope.context)) continue;
      found = u;
      *before = previous;
      break;
    }
  }
  return found;
}

// Posts a receive; a message that came unexpected is matched at once.
DCGN_HOST_DEVICE void start_receive(Endpoint& me, Record* r, Transfer& transfer);

}  // namespace dcgn::message
