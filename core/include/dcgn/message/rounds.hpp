// Rounds: a rank sends a message to each of several ranks and receives one from each of several, all at once. What
// collectives are made of.
//
// The threads of the scope share the peers among them: one thread for each where the messages are a few packets, else a
// crew of many. A crew sees to its FIFOs by itself: all of its threads decide alike, from what stays as it is until the
// scope has met, and nobody touches what is the rank's alone. First everything is sent, then everything received, and
// the scope meets once. A message is taken only from the head of its FIFO, and only if it is the one that the round
// asks for, with the length that it asks for. Whatever could not be done like this, the ordinary calls see to
// afterwards, peer by peer: so each side decides by itself, and deadlines and reports are as for any message.
#pragma once

#include <dcgn/arch/relax.hpp>
#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/payload.hpp>
#include <dcgn/peers.hpp>
#include <dcgn/status.hpp>

#include <cstdint>
#include <type_traits>

namespace dcgn::message {

// Part k of a buffer: `length` bytes from k * stride on, but none from `end` on; or as the lists have it.
template <class Byte>
struct Spread {
  Byte* base = nullptr;
  std::int64_t stride = 0, length = 0, end = 0;
  // In elements; where there are only counts, the parts follow each other.
  const std::int64_t *counts = nullptr, *displacements = nullptr;
  std::int64_t element = 0;  // bytes of one

  struct Part {
    Byte* data;
    std::int64_t bytes;
  };
  DCGN_HOST_DEVICE Part operator[](int k) const {
    if (counts) {
      std::int64_t at = displacements ? displacements[k] : 0;
      for (int i = 0; i < k && !displacements; ++i) at += counts[i];
      return {base + at * element, counts[k] * element};
    }
    const std::int64_t begin = k * stride < end ? k * stride : end, left = end - begin;
    return {base + begin, left < length ? left : length};
  }
};

// The same bytes for all; equal parts one after the other; so many bytes cut into parts of `each`; as lists say.
template <class Byte>
DCGN_HOST_DEVICE Spread<Byte> whole(Byte* data, std::int64_t bytes) {
  return {data, 0, bytes, bytes};
}
template <class Byte>
DCGN_HOST_DEVICE Spread<Byte> in_row(Byte* data, std::int64_t bytes, std::int64_t stride) {
  return {data, stride, bytes, INT64_MAX};
}
template <class Byte>
DCGN_HOST_DEVICE Spread<Byte> cut(Byte* data, std::int64_t each, std::int64_t bytes) {
  return {data, each, each, bytes};
}
template <class Byte>
DCGN_HOST_DEVICE Spread<Byte> listed(Byte* data, const std::int64_t* counts, const std::int64_t* displacements,
                                     std::int64_t element) {
  return {data, 0, 0, 0, counts, displacements, element};
}

struct Range {
  int begin = 0, end = 0;
  DCGN_HOST_DEVICE int count() const { return end > begin ? end - begin : 0; }
  // `most` of them from the one that comes after `skipped`.
  DCGN_HOST_DEVICE Range piece(int skipped, int most) const {
    const int from = begin + (skipped < count() ? skipped : count());
    return {from, from + most < end ? from + most : end};
  }
};

// One message to each peer in `to`, one from each in `from`; parts of `out` and `in` by the numbers of peers.
struct Round {
  Peers peers;
  Range to{}, from{};
  int spared = -1;  // a number to which nothing goes, though it is in `to`
  Spread<const unsigned char> out{};
  Spread<unsigned char> in{};
  bool keeps = false;   // the part for the calling rank is copied
  bool orders = false;  // what a rank's threads wrote before is visible to those whom its message reaches
};

// Some of a scope's threads.
struct Crew {
  std::uint32_t place, width;

  DCGN_HOST_DEVICE std::uint32_t rank() const { return place; }
  DCGN_HOST_DEVICE std::uint32_t size() const { return width; }
  DCGN_HOST_DEVICE bool leader() const { return place == 0; }
  DCGN_HOST_DEVICE bool alone() const { return width == 1; }
};

// How a scope's threads share so many peers.
struct Crews {
  static constexpr std::uint32_t single_packets = 4;  // of a payload that a thread alone carries
  static constexpr std::uint32_t warp = 32;

  std::uint32_t width, count;

  DCGN_HOST_DEVICE Crews(std::uint32_t threads, const Round& round) : width(1), count(threads) {
    const std::int64_t most = round.out.length > round.in.length ? round.out.length : round.in.length;
    const bool lists = round.out.counts || round.in.counts;
    if (!lists && most <= single_packets * packet_payload) return;
    const int to = round.to.count(), from = round.from.count(), peers = to > from ? to : from;
    const std::uint32_t warps = threads / warp, each = peers ? warps / static_cast<std::uint32_t>(peers) : warps;
    width = warps <= 1 ? threads : warp * (each ? each : 1);
    count = threads / width;
  }
};

// Between GPUs: what the calling thread has seen written comes before the messages that it sends then, what messages
// brought word of before what it reads. On the host packets order memory.
DCGN_HOST_DEVICE inline void order_memory() {
#if defined(__CUDA_ARCH__)
  asm volatile("fence.acq_rel.sys;" ::: "memory");
#endif
}

// Copies what stays with the rank, by all threads of the scope.
template <class Scope>
DCGN_HOST_DEVICE void copy_here(const Scope& scope, [[maybe_unused]] Endpoint& me, unsigned char* to,
                                const unsigned char* from, std::int64_t bytes) {
  if (to == from || bytes <= 0) return;
#if !defined(__CUDA_ARCH__)
  if (is_device_memory(me, to) || is_device_memory(me, from)) {
    me.copies.host->copy(to, from, static_cast<std::uint64_t>(bytes));
    return;
  }
#endif
  copy_bytes(scope, to, from, static_cast<std::uint64_t>(bytes));
}

// A round with all threads of a scope; what they send is visible to all of them. Where it returns false, the lapses say
// what is still to be done.
template <bool Empty, class Scope>
DCGN_HOST_DEVICE bool fast_round(const Scope& scope, const Port& port, const Round& round, std::int32_t tag,
                                 std::uint32_t context);

// What came of a receive of exactly so many bytes.
template <class Scope>
DCGN_HOST_DEVICE Code expect(const Scope& scope, Endpoint& me, Call call, const Status& s, std::int64_t bytes);

// What a round of up to most_at_once peers left undone, by ordinary calls. The first error, and in case of one of a
// single message what remains is seen to all the same: who gets a message may be reading it until then.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code make_up(const Scope& scope, const Port& port, Call call, const Round& round,
                                                std::int32_t tag, std::uint32_t context);

}  // namespace dcgn::message
