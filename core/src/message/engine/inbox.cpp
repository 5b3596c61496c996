// What a call does whose packets have not come in a while, or are not those that it expects.
#include "message/engine/calls.hpp"
#include "message/engine/compiled.hpp"

#include <dcgn/message/inbox.hpp>

#include <atomic>
#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

namespace {

struct FlightOperation {
  Endpoint& me;
  const AwaitedFlights& awaited;
  int missing = 0;  // all ranks before have been seen

  DCGN_HOST_DEVICE Code begin(Transfer&) { return Code::ok; }
  DCGN_HOST_DEVICE bool done(Result&, Transfer&) {
    for (; missing < awaited.size; ++missing)
      if ((awaited.ranks >> missing & 1) && !is_here(inbox_of(me, awaited.peers[missing]))) return false;
    return true;
  }
  DCGN_HOST_DEVICE Waited waited() const {
    const int k = missing < awaited.size ? missing : 0;
    return {{awaited.peers[k], awaited.tag, awaited.context, 0, static_cast<std::uint64_t>(awaited.bytes)}, true, 0, 0};
  }
  DCGN_HOST_DEVICE int source() const { return any_source; }

 private:
  DCGN_HOST_DEVICE bool is_here(const Inbox& inbox) const {
    const std::uint32_t turn = inbox.turn - awaited.turns_ago;
    const Packet& first = *flight_of(me, inbox, turn).from;
    if (awaited.turns_ago) return static_cast<std::int32_t>(load_acquire(first.epoch) - turn - 1) >= 0;
    std::uint32_t d[3];
    return read_packet(first, turn + 1, d) && awaited.signature.is_of_call(d[2]);
  }
};

}  // namespace

DCGN_HOST_DEVICE Code await_flights(Endpoint& me, Call call, const AwaitedFlights& awaited) {
  const gpu::ThreadScope thread;
  FlightOperation operation{me, awaited};
  const Code code = run(thread, me, call, operation, {}).status.code;
  ++me.statistics.activity;
  return code;
}

DCGN_HOST_DEVICE Code name_mismatch(Endpoint& me, const Peers peers, int k, bool before, Signature its,
                                    std::uint64_t its_value, Signature mine, std::uint64_t my_value) {
  const Inbox& inbox = inbox_of(me, peers[k]);
  if (before) {
    mine = Signature(inbox.signature);
    my_value = inbox.bytes;
  }
  Failure failure{Code::mismatch, mine.call(), 0, 0, {.peer = peers[k]}};
  if (!mine.is_of_call(its.word)) {
    failure.flaw = Flaw::other_call;
  } else if (its.root() != mine.root()) {
    failure.flaw = Flaw::other_root;
    failure.value = its.root();
    failure.expected = mine.root();
  } else if (its.element() != mine.element()) {
    failure.flaw = Flaw::other_element;
    failure.value = its.element();
    failure.expected = mine.element();
  } else {
    // Of those that tell where their buffers are, the bytes are in the third packet.
    const auto bytes_of = [&](Signature s, std::uint64_t value, const Packet* first, std::uint32_t epoch) {
      if (s.form() <= small_bytes) return static_cast<std::int64_t>(s.form());
      if (s.form() != Signature::places || !first) return static_cast<std::int64_t>(value);
      std::uint32_t d[3]{};
      while (!read_packet(first[2], epoch, d) && !aborted(me)) relax();
      return static_cast<std::int64_t>(long_word(d));
    };
    const Flight flight = flight_of(me, inbox, inbox.turn - (before ? 1 : 0));
    failure.flaw = Flaw::shorter;
    failure.value = bytes_of(its, its_value, flight.from, flight.turn + 1);
    failure.expected = bytes_of(mine, my_value, nullptr, 0);
  }
  return fail(me, failure);
}

// All ranks have stored their packets before they look here, so of two ranks one at least sees the other's.
DCGN_HOST_DEVICE Code see_last_turns(Endpoint& me) {
  if (!me.collectives.inboxes) return Code::ok;
#if defined(__CUDA_ARCH__)
  asm volatile("fence.sc.sys;" ::: "memory");
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  for (std::int32_t rank = me.first; rank < me.first + me.near; ++rank) {
    Inbox& inbox = inbox_of(me, rank);
    if (!inbox.to || inbox.seen == inbox.turn) continue;
    std::uint32_t d[3]{};
    if (!read_packet(*flight_of(me, inbox, inbox.turn - 1).from, inbox.turn, d)) continue;
    inbox.seen = inbox.turn;
    const Signature mine(inbox.signature);
    if (d[2] == mine.word && mine.is_alike(d, inbox.bytes)) continue;
    const Code code = name_mismatch(me, Peers{rank}, 0, true, Signature(d[2]), long_word(d), mine, inbox.bytes);
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

DCGN_HOST_DEVICE Code refuse(Endpoint& me, Call call) {
  return load_relaxed(me.stopped) ? Code::aborted : fail(me, Code::concurrent_use, call, 0, 0);
}

DCGN_HOST_DEVICE void abandon(Endpoint& me) {
  if (aborted(me) && !me.stopped) stop(me);
}

}  // namespace dcgn::message

#endif
