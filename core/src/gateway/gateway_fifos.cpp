// The gateway's side of the FIFOs, and what becomes of messages that are announced.
#include "gateway.hpp"
#include "transport/mpi_library.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/scope.hpp>
#include <dcgn/error.hpp>
#include "message/engine/copying.hpp"
#include "message/engine/progress.hpp"
#include "message/engine/transfer.hpp"

#include "datatype/packed_view.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace dcgn::transport {

namespace {

using message::InFifo;
using message::OutFifo;
using message::Phase;

constexpr gpu::ThreadScope scope{};
constexpr std::uint64_t staged_fragment = 256u << 10;
constexpr std::uint64_t largest_fragment = 1u << 30;
constexpr std::uint32_t most_fragments = 8;      // of one message at once
constexpr std::uint64_t most_held = 4ull << 30;  // bytes of messages that wait for room

}  // namespace

int Gateway::take_tag(int begin, int end) {
  const auto free = std::find(tags_.begin() + begin, tags_.begin() + end, false);
  if (free == tags_.begin() + end) return 0;
  *free = true;
  return static_cast<int>(free - tags_.begin());
}

// ---- from ranks here

bool Gateway::take_from(int rank) {
  InFifo& fifo = me_.in[rank];
  message::Rx rx(fifo);
  message::Incoming found;
  if (!rx.peek(found)) return false;
  const message::Header& h = found.header;
  const message::Reservation& place = found.place;
  const std::int32_t to = found.rank;
  const auto take = [&](unsigned char* into) {
    return message::take_packets(scope, *me_.phase, message::Payload(fifo.ring, place.begin, place.packets, h.bytes),
                                 into);
  };
  Header wire{};
  wire.context = h.context;
  wire.from = first_ + rank;
  wire.to = to;
  wire.tag = h.tag;
  wire.bytes = h.bytes;
  wire.elements = h.elements;
  switch (h.kind) {
    case message::Kind::small:
    case message::Kind::eager: {
      wire.kind = Kind::eager;
      Buffer message(sizeof wire + h.bytes);
      std::memcpy(message.data(), &wire, sizeof wire);
      unsigned char* const payload = message.data() + sizeof wire;
      if (h.kind == message::Kind::small)
        std::memcpy(payload, &h.address, h.bytes);
      else if (!take(payload))
        return false;
      post(process_of(to), std::move(message));
      break;
    }
    case message::Kind::pull:
    case message::Kind::offer: {
      const bool pull = h.kind == message::Kind::pull;
      const auto* const from = reinterpret_cast<const unsigned char*>(static_cast<std::uintptr_t>(h.address));
      if (pull && h.placeable && h.bytes <= message::gateway_copied && !is_on_device(from)) {
        if (!message::begin_pull(fifo, h.ack)) break;
        wire.kind = Kind::eager;
        const auto* const head = reinterpret_cast<const unsigned char*>(&wire);
        Buffer message;
        message.reserve(sizeof wire + h.bytes);
        message.insert(message.end(), head, head + sizeof wire);
        message.insert(message.end(), from, from + h.bytes);
        message::acknowledge(fifo, h.ack, message::ack_pulled);
        post(process_of(to), std::move(message));
        break;
      }
      wire.kind = Kind::offer;
      wire.sending = next_sending_++;
      if (!pull) {
        const std::uint64_t unit = message::largest_unit(fifo.ring);
        wire.fragment = unit * std::max<std::uint64_t>(1, staged_fragment / unit);
      }
      Sending& s = sendings_[wire.sending];
      s.rank = rank;
      s.to = to;
      s.ack = h.ack;
      s.from = pull ? from : nullptr;
      s.bytes = h.bytes;
      s.process = process_of(to);
      if (pull && h.bytes && h.bytes <= message::gateway_unasked)
        s.payload_tag = take_tag(first_tag_at_once, payload_tags);
      if (s.payload_tag) {
        if (!message::begin_pull(fifo, s.ack)) break;  // the job is being stopped
        wire.payload_tag = s.payload_tag;
        wire.fragment = s.fragment = std::min(h.bytes, static_cast<std::uint64_t>(mpi_.eager_limit));
        s.accepted = true;
      }
      post_header(s.process, wire);
      break;
    }
    case message::Kind::data: {
      const auto sending = sendings_.find(h.record);
      if (sending == sendings_.end()) throw Error(Code::device, "gateway", "a piece of what was not announced");
      Sending& s = sending->second;
      if (s.under_way >= most_fragments) return false;
      const std::size_t at = s.gathered.size();
      s.gathered.resize(at + h.bytes);
      if (!take(s.gathered.data() + at)) return false;
      s.moved += h.bytes;
      if (s.gathered.size() >= s.fragment || s.moved == s.bytes) {
        const std::uint64_t bytes = s.gathered.size();
        post_payload(s.process, s.payload_tag, nullptr, bytes, std::exchange(s.gathered, {}), &s.under_way);
      }
      break;
    }
    case message::Kind::placed: break;
  }
  rx.release(place.all);
  return true;
}

bool Gateway::advance_sendings() {
  bool any = false;
  for (auto i = sendings_.begin(); i != sendings_.end();) {
    Sending& s = i->second;
    if (s.accepted && s.from)
      while (s.moved < s.bytes && s.under_way < most_fragments) {
        const std::uint64_t bytes = std::min(s.fragment, s.bytes - s.moved);
        post_payload(s.process, s.payload_tag, s.from + s.moved, bytes, {}, &s.under_way);
        s.moved += bytes;
        any = true;
      }
    const bool at_once = s.payload_tag >= first_tag_at_once;
    if (s.accepted && s.moved == s.bytes && !s.under_way && (s.received || !at_once)) {
      if (s.from) message::acknowledge(me_.in[s.rank], s.ack, message::ack_pulled);
      if (at_once) tags_[static_cast<std::size_t>(s.payload_tag)] = false;
      i = sendings_.erase(i);
      any = true;
    } else {
      ++i;
    }
  }
  return any;
}

// ---- to ranks here

bool Gateway::deliver(int rank) {
  auto& queue = arrivals_[static_cast<std::size_t>(rank)];
  bool any = false;
  while (!queue.empty() && deliver(rank, queue.front())) {
    held_ -= queue.front().payload.size();
    queue.pop_front();
    any = true;
  }
  return any;
}

// At once where nothing waits before it and the FIFO has room; else the payload is copied, and it waits.
void Gateway::deliver_or_keep(int rank, Arrival a) {
  auto& queue = arrivals_[static_cast<std::size_t>(rank)];
  if (queue.empty() && deliver(rank, a)) return;
  hold(a.payload.size());
  a.kept.assign(a.payload.begin(), a.payload.end());
  a.payload = a.kept;
  a.slot = nullptr;
  queue.push_back(std::move(a));
  deliver(rank);
}

void Gateway::hold(std::uint64_t bytes) {
  held_ += bytes;
  if (held_ > most_held)
    throw Error(Code::out_of_resources, "gateway",
                std::to_string(held_ >> 20) + " MiB of messages from other processes that ranks here do not " +
                    "receive; expected at most " + std::to_string(most_held >> 20));
}

bool Gateway::deliver(int rank, Arrival& a) {
  OutFifo& fifo = me_.out[rank];
  message::Tx tx(fifo);
  message::Reservation place;
  // A payload that has no place in the FIFO as a whole waits for the rank to say where to; so does one that is not
  // short: its packets would take longer than that.
  const bool reached = direct_ && memory_.host_resident(first_ + rank);
  const std::uint64_t most = message::largest_unit(fifo.ring);
  const bool apart = a.payload.size() > (reached ? std::min<std::uint64_t>(message::gateway_packed, most) : most);
  if (apart) a.header.kind = message::Kind::offer;
  if (!tx.reserve(a.header.kind, apart ? 0 : a.payload.size(), place)) return false;
  if (a.header.kind == message::Kind::offer) {
    if (!message::has_ack(me_)) return false;
    a.header.ack = message::take_ack(me_);
    Receiving& r = receivings_.emplace_back();
    r.is_here = apart;
    if (apart) {
      hold(a.payload.size());
      if (a.slot && a.payload.size() >= a.slot->size() / 4) {
        r.before_payload = static_cast<std::size_t>(a.payload.data() - a.slot->data());
        if (spare_slots_.empty()) spare_slots_.emplace_back(a.slot->size());
        r.staged = std::exchange(*a.slot, std::move(spare_slots_.back()));
        spare_slots_.pop_back();
      } else {
        r.staged.assign(a.payload.begin(), a.payload.end());
      }
      r.arrived = r.in_staged = a.payload.size();
    }
    r.rank = rank;
    r.from = a.from;
    r.process = a.process;
    r.sending = a.sending;
    r.ack = a.header.ack;
    r.bytes = a.header.bytes;
    r.payload_tag = a.payload_tag;
    r.fragment = a.fragment;
  }
  tx.put(place, a.header, a.from);
  if (place.packets)
    message::push_packets(scope, message::Payload(fifo.ring, place.begin, place.packets, a.payload.size()),
                          a.payload.data());
  if (a.header.kind != message::Kind::placed) ++fifo.sent;
  return true;
}

bool Gateway::advance_receivings() {
  bool any = false;
  for (auto i = receivings_.begin(); i != receivings_.end();) {
    Receiving& r = *i;
    if (!r.matched) any |= begin_receiving(r);
    if (r.matched) any |= advance(r);
    const bool over = r.matched && r.passed == r.bytes && !r.posted && !r.to;
    if (over) {
      if (r.is_here) {
        held_ -= r.bytes;
        if (r.before_payload && spare_slots_.size() < slots_.size()) spare_slots_.push_back(std::move(r.staged));
      } else if (r.payload_tag < first_tag_at_once) {
        tags_[static_cast<std::size_t>(r.payload_tag)] = false;
      } else {
        post_header(r.process, answer_to(r, Kind::received));
      }
      i = receivings_.erase(i);
      any = true;
    } else {
      ++i;
    }
  }
  return any;
}

// Looks whether the rank has matched the offer.
bool Gateway::begin_receiving(Receiving& r) {
  const std::uint64_t answer =
      message::ack_answer(r.ack, load_acquire(me_.out[r.rank].acks[message::ack_index(r.ack)]));
  if (answer < message::ack_pulled) return false;
  if (answer == message::ack_pulled) {
    r.passed = r.bytes;
    post_header(r.process, answer_to(r, Kind::received));
  } else {
    const bool asks = !r.payload_tag && !r.is_here;
    if (asks) r.payload_tag = take_tag(1, first_tag_at_once);
    if (asks && !r.payload_tag) return false;
    r.record = static_cast<std::uint32_t>(answer - message::ack_accepted);
    r.to = borrow(r);
    if (r.to && load_in_order(memory_.phase()) == static_cast<std::uint32_t>(Phase::aborted)) return false;
    if (!r.fragment) r.fragment = r.to ? std::min(largest_fragment, r.bytes) : staged_fragment;
    if (r.is_here && r.to) {
      std::memcpy(r.to, r.staged.data() + r.before_payload, r.bytes);
      r.passed = r.bytes;
    }
    if (asks) post_header(r.process, answer_to(r, Kind::accept));
  }
  message::free_ack(me_, r.ack);
  r.matched = true;
  return true;
}

Gateway::Header Gateway::answer_to(const Receiving& r, Kind kind) {
  Header wire{};
  wire.kind = kind;
  wire.sending = r.sending;
  wire.payload_tag = r.payload_tag;
  wire.fragment = r.fragment;
  return wire;
}

// The buffer of the receive that has been matched, which is the gateway's until it gives it back, where the payload can
// go there as a whole; else null. See withdraw(): either the rank waits for that, or the job is found aborted next.
unsigned char* Gateway::borrow(const Receiving& r) {
  const int rank = first_ + r.rank;
  if (!direct_ || !memory_.host_resident(rank)) return nullptr;
  const message::Record& record = memory_.endpoint(rank)->records[r.record];
  if (r.bytes > record.capacity || datatype::is_view(record.buffer)) return nullptr;
  if (record.flags & message::Record::on_device && (!devices_ || r.is_here)) return nullptr;
  add_in_order(memory_.lent(rank), 1);
  return record.buffer;
}

bool Gateway::advance(Receiving& r) {
  bool any = false;
  if (r.posted) {
    MpiStatus status;
    if (!test(r.request, status)) return false;
    r.posted = false;
    r.in_staged = static_cast<std::uint64_t>(status.bytes);
    r.arrived += r.in_staged;
    if (r.to) r.passed = r.arrived;
    any = true;
  }
  if (!r.to && r.passed < r.arrived) any |= pass_on(r);
  if (r.passed < r.arrived) return any;
  if (r.arrived < r.bytes) {
    const std::uint64_t bytes = std::min(r.fragment, r.bytes - r.arrived);
    if (!r.to) r.staged.resize(bytes);
    check_mpi(mpi_,
              mpi_.irecv(processes_.communicator(), r.to ? r.to + r.arrived : r.staged.data(),
                         static_cast<std::int64_t>(bytes), r.process, r.payload_tag, &r.request),
              "MPI_Irecv");
    r.posted = true;
    return true;
  }
  if (r.to) arrived_all(r);
  return true;
}

// Through the FIFO, as far as there is room.
bool Gateway::pass_on(Receiving& r) {
  OutFifo& fifo = me_.out[r.rank];
  message::Tx tx(fifo);
  bool any = false;
  while (r.passed < r.arrived) {
    const std::uint64_t left = r.arrived - r.passed;
    message::Header h;
    h.kind = message::Kind::data;
    h.record = r.record;
    h.bytes = std::min(left, message::largest_unit(fifo.ring));
    message::Reservation place;
    if (!tx.reserve(h.kind, h.bytes, place)) break;
    tx.put(place, h, r.from);
    message::push_packets(scope, message::Payload(fifo.ring, place.begin, place.packets, h.bytes),
                          r.staged.data() + r.before_payload + (r.in_staged - left));
    r.passed += h.bytes;
    any = true;
  }
  return any;
}

// All is in the receiver's buffer.
void Gateway::arrived_all(Receiving& r) {
  r.to = nullptr;
  add_in_order(memory_.lent(first_ + r.rank), static_cast<std::uint32_t>(-1));
  Arrival a{};
  a.header.kind = message::Kind::placed;
  a.header.record = r.record;
  a.from = r.from;
  deliver_or_keep(r.rank, std::move(a));
}

}  // namespace dcgn::transport
