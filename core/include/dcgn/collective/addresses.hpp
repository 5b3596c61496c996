// Direct algorithms for large data. First all ranks exchange the addresses of their buffers. Then each does its share:
// it loads operands from the other ranks' buffers, and stores data and results into them. A barrier ends the call. If a
// rank cannot reach a buffer, all ranks learn so and go on with messages.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/collective/turn.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/payload.hpp>
#include <dcgn/message/rounds.hpp>

#include <cstdint>
#include <exception>

namespace dcgn::collective {

// True if all ranks can read and write these buffers of the calling rank.
template <class Scope>
DCGN_HOST_DEVICE bool in_reach(const Channel<Scope>& c, const void* in, const void* out) {
  bool all = message::reachable(in) && message::reachable(out) && !message::is_device_memory(c.me(), in) &&
             !message::is_device_memory(c.me(), out);
  for (int r = 0; r < c.size(); ++r) {
    const int rank = c.group().in_world(r);
    const bool direct = message::fifo_to(c.me(), rank).reach == message::Reach::direct;
    all = all && ((direct && message::is_at_home(c.me(), rank)) || r == c.rank());
  }
  return all;
}

#if !defined(__CUDA_ARCH__)
template <class Act>
std::exception_ptr thrown_by(const Act& act) {
  try {
    act();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

// Marks the time in which a rank uses the others' buffers; by the leader. A CPU rank of a stopped job frees its
// buffers, and waits before that for the ranks that still use them (see withdraw() in
// core/src/message/engine/progress.hpp).
template <class Scope>
class Visit {
 public:
  explicit Visit(const Channel<Scope>& c) : c_(c) { count(1); }
  ~Visit() { count(static_cast<std::uint32_t>(-1)); }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // True if no rank has left.
  bool may() const {
    return c_.scope().lead(
        [&] { return load_in_order(*c_.me().phase) != static_cast<std::uint32_t>(message::Phase::aborted); });
  }

 private:
  void count(std::uint32_t change) const {
    if (!c_.scope().leader()) return;
    for (int r = 0; r < c_.size(); ++r) add_in_order(c_.me().lent[c_.group().in_world(r) - c_.me().rank], change);
  }

  const Channel<Scope>& c_;
};
#endif

// Exchanges addresses. `target` is the address of the output, or Place::out_of_reach.
template <class Scope>
DCGN_HOST_DEVICE Code tell_place(const Channel<Scope>& c, const void* in, std::uint64_t target, const Alike& alike) {
  const std::uint64_t mine[] = {reinterpret_cast<std::uintptr_t>(in), target, alike.bytes,
                                static_cast<std::uint32_t>(alike.root) | static_cast<std::uint64_t>(alike.element)
                                                                             << 32};
  static_assert(sizeof mine == sizeof(Place));
  auto* const places = reinterpret_cast<Place*>(c.scratch());
  return c.exchange(mine, [&](int r) { return reinterpret_cast<std::uint64_t*>(places + r); });
}

// Compares the arguments of all ranks, before any rank touches another's buffer.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code all_alike(const Channel<Scope>& c, const Place* places) {
  const Alike& mine = places[c.rank()].alike;
  for (int r = 0; r < c.size(); ++r) {
    const Alike& its = places[r].alike;
    if (its.bytes != mine.bytes)
      return c.mismatch(Flaw::shorter, static_cast<std::int64_t>(its.bytes), static_cast<std::int64_t>(mine.bytes), r);
    if (its.root != mine.root) return c.mismatch(Flaw::other_root, its.root, mine.root, r);
    if (its.element != mine.element) return c.mismatch(Flaw::other_element, its.element, mine.element, r);
  }
  return Code::ok;
}

// Tells all ranks that this one no longer uses their buffers, and waits until they say so too.
template <class Scope>
DCGN_HOST_DEVICE Outcome say_done(const Channel<Scope>& c) {
  auto* const places = reinterpret_cast<Place*>(c.scratch());
  constexpr std::uint64_t done_word[] = {0};
  return {c.exchange(done_word, [&](int r) { return &places[r].in; }), true};
}
// Calls act(places) on all threads of the scope, then meet(), the barrier at the end.
template <class Scope, class Act, class Meet>
DCGN_HOST_DEVICE Code visit(const Channel<Scope>& c, const Act& act, const Meet& meet) {
  const auto* const places = reinterpret_cast<const Place*>(c.scratch());
#if defined(__CUDA_ARCH__)
  act(places);
  if constexpr (!message::plans_ahead<Scope>) c.scope().sync();  // blocks meet to meet the others
  return meet();
#else
  // If the user's operation throws, the buffers may go with the exception: so it waits for the other ranks first.
  std::exception_ptr thrown;
  {
    const Visit<Scope> visit(c);
    if (visit.may()) thrown = thrown_by([&] { act(places); });
    c.scope().sync();
  }
  const Code met = meet();
  if (thrown) std::rethrow_exception(thrown);
  return met;
#endif
}

// Runs act(places) on all threads of the scope if all ranks are able to and in reach; otherwise `done` is false.
template <class Scope, class Act>
DCGN_HOST_DEVICE Code by_addresses(const Channel<Scope>& c, const void* in, void* out, const Alike& alike, bool able,
                                   bool& done, const Act& act) {
  const Outcome told = c.in_first_block([&](const auto& part) {
    auto* const places = reinterpret_cast<Place*>(part.scratch());
    const std::uint64_t target =
        able && in_reach(c, in, out) ? reinterpret_cast<std::uintptr_t>(out) : Place::out_of_reach;
    Outcome outcome{tell_place(part, in, target, alike), true};
    if (outcome.code == Code::ok) outcome.code = all_alike(part, places);
    for (int r = 0; r < part.size() && outcome.code == Code::ok; ++r)
      outcome.done = outcome.done && places[r].out != Place::out_of_reach;
    return outcome;
  });
  done = told.done || told.code != Code::ok;
  if (told.code != Code::ok || !done) return told.code;
  return visit(c, act, [&] { return c.in_first_block([](const auto& part) { return say_done(part); }).code; });
}

// True if this rank's threads copy so many bytes for each peer faster than a copy engine would.
template <class Scope>
DCGN_HOST_DEVICE bool copies_faster(const Channel<Scope>& c, std::int64_t bytes, std::uint32_t threads) {
  const message::InFifo& fifo = message::fifo_from(c.me(), c.group().in_world(c.beside(1)));
  return static_cast<std::uint64_t>(bytes) < message::copy_engine_limit(fifo, threads, true);
}
template <class Scope>
DCGN_HOST_DEVICE bool copies_faster(const Channel<Scope>& c, std::int64_t bytes) {
  return copies_faster(c, bytes, c.scope().size());
}

// True if a call of so many bytes should use the buffers directly.
template <class Scope>
DCGN_HOST_DEVICE bool goes_by_addresses(const Channel<Scope>& c, std::int64_t bytes, std::int64_t from_bytes) {
  return c.at_once() && c.size() > 1 && bytes >= from_bytes && !c.without(message::without_addresses);
}

// From so many bytes of a rank's part on, calls that move data use the buffers directly.
DCGN_HOST_DEVICE inline std::int64_t least_by_addresses(const Endpoint& me) {
  return me.collectives.slots_reach_all ? slots_parts_by_addresses : parts_by_addresses;
}

// ---- the same among slots with inboxes of each other

struct Told {
  Code code = Code::aborted;
  bool reached = false;  // all ranks can use all buffers
  Code late = Code::ok;  // a mismatch in the call before: see Turn::late()

  // As a rule: see BlocksScope::lead_warp().
  DCGN_HOST_DEVICE static Told usual() { return {Code::ok, true}; }
  DCGN_HOST_DEVICE bool is_usual() const { return code == Code::ok && reached && late == Code::ok; }
};

// Exchanges addresses in a turn, by a warp or a thread. `threads` will copy `copied` bytes to each other rank; if a
// copy engine would be faster, the rank says that it is out of reach. `blocks`: those that make the call, if several;
// then the others are awaited in the function, which prepares meanwhile.
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Told tell_in_turn(Few scope, const Member m, Call call, const void* in,
                                                     const void* out, const Alike alike, std::int64_t copied,
                                                     std::uint32_t threads, const gpu::BlocksScope* blocks);
// The barrier at the end, in a turn.
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Outcome say_done_in_turn(Few scope, const Member m, Call call,
                                                            const gpu::BlocksScope* blocks);

template <class Scope>
DCGN_HOST_DEVICE Told tell_straight(const Scope& scope, const Member& m, Call call, const void* in, const void* out,
                                    const Alike& alike, std::int64_t copied = 0) {
  return lead_few_at_once(scope, m.group.size, [&](const auto& few, const gpu::BlocksScope* blocks) {
    return tell_in_turn(few, m, call, in, out, alike, copied, scope.size(), blocks);
  });
}
template <class Scope, class Act>
DCGN_HOST_DEVICE Code visit_straight(const Channel<Scope>& c, const Member& m, Call call, const Act& act) {
  return visit(c, act, [&] {
    return lead_few_at_once(
               c.scope(), m.group.size,
               [&](const auto& few, const gpu::BlocksScope* blocks) { return say_done_in_turn(few, m, call, blocks); })
        .code;
  });
}

// ---- the work on the buffers

// Stores the calling rank's part, `bytes` from in + r * step, into every rank r's output as part number rank(). Links
// between GPUs carry stores faster than loads.
template <class Scope>
DCGN_HOST_DEVICE void push_parts(const Channel<Scope>& c, const Place* places, const unsigned char* in,
                                 std::int64_t step, std::int64_t bytes) {
  const unsigned ranks = static_cast<unsigned>(c.size()), threads = c.scope().size(),
                 width = threads >= 32 * ranks ? threads / ranks / 32 * 32 : threads, crews = threads / width,
                 number = c.scope().rank() / width;
  const message::Crew crew{c.scope().rank() % width, width};
  for (unsigned i = number; number < crews && i < ranks; i += crews) {
    const int r = c.beside(static_cast<int>(i));
    unsigned char* const to = places[r].to() + c.rank() * bytes;
    const unsigned char* const from = in + r * step;
    if (to != from) message::copy_bytes(crew, to, from, static_cast<std::uint64_t>(bytes));
  }
}

// Copies a piece of the root's input, from `begin` on, to the outputs of all ranks.
template <class Scope>
DCGN_HOST_DEVICE void push_piece(const Channel<Scope>& c, const Place* places, int root, std::int64_t begin,
                                 std::int64_t bytes) {
  const unsigned char* const from = places[root].from() + begin;
#if defined(__CUDA_ARCH__)
  std::uint64_t together = places[root].in | static_cast<std::uint64_t>(begin | bytes);
  for (int r = 0; r < c.size(); ++r) together |= places[r].out;
  if ((together & 15) == 0) {
    constexpr int depth = 4;
    const auto* const lines = reinterpret_cast<const uint4*>(from);
    const std::int64_t count = bytes / 16, stride = c.scope().size();
    for (std::int64_t i = c.scope().rank(); i < count; i += depth * stride) {
      uint4 line[depth];
#pragma unroll
      for (int k = 0; k < depth; ++k)
        if (i + k * stride < count) line[k] = message::load_line(lines + i + k * stride);
      for (int j = 1; j <= c.size(); ++j) {
        const int r = c.beside(j == c.size() ? 0 : j);
        auto* const to = reinterpret_cast<uint4*>(places[r].to() + begin);
        if (r == root) continue;
#pragma unroll
        for (int k = 0; k < depth; ++k)
          if (i + k * stride < count) to[i + k * stride] = line[k];
      }
    }
    return;
  }
#endif
  for (int j = 0; j < c.size(); ++j)
    if (const int r = c.beside(j); r != root)
      message::copy_bytes(c.scope(), places[r].to() + begin, from, static_cast<std::uint64_t>(bytes));
}

}  // namespace dcgn::collective
