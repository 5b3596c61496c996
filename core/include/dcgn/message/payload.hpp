// Payloads: bytes in a FIFO's packets.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/message/copy_bytes.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::message {

DCGN_HOST_DEVICE inline std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// Whether others, threads and copy engines, can use this memory at the address that I use.
DCGN_HOST_DEVICE inline bool reachable([[maybe_unused]] const void* memory) {
#if defined(__CUDA_ARCH__)
  return __isGlobal(memory);
#else
  return true;
#endif
}

// The words of a payload lie in its packets so that neighbouring threads find neighbouring words. A group of up to 32
// packets holds up to 96 words in a row, the first words of its packets first, then their second ones, then their
// third. But a long payload begins with wide groups, where it is neighbouring 16 bytes: 128 packets hold 3 x 32 times
// 16 bytes, and four packets, 32 apart, the 48 bytes that one thread reads and writes.
inline constexpr std::uint32_t wide_packets = 128, wide_words = 3 * wide_packets;  // of such a group
inline constexpr std::uint32_t wide_from = 3 * wide_packets;  // payloads of so many packets have them

// Packets in wide groups; all of these are whole words, and at least one more packet comes behind them.
DCGN_HOST_DEVICE inline std::uint32_t in_wide_groups(std::uint32_t packets) {
  return packets < wide_from ? 0 : (packets - 1) & ~(wide_packets - 1);
}

// Which words a packet holds that is in no wide group.
struct PacketWords {
  std::uint32_t first;   // word of the packet
  std::uint32_t stride;  // to its next

  DCGN_HOST_DEVICE PacketWords(std::uint32_t packet, std::uint32_t packets) {
    const std::uint32_t group = packet & ~31u, left = packets - group;
    first = group * 2 + packet;
    stride = left < 32 ? left : 32;
  }
};

// Which word is the one of this number in any packet.
DCGN_HOST_DEVICE inline std::uint32_t word_of(std::uint32_t packet, std::uint32_t number, std::uint32_t packets) {
  if (packet >= in_wide_groups(packets)) {
    const PacketWords words(packet, packets);
    return words.first + number * words.stride;
  }
  const std::uint32_t of_thread = packet % wide_packets / 32 * 3 + number;
  return packet / wide_packets * wide_words + of_thread / 4 * 128 + packet % 32 * 4 + of_thread % 4;
}

// Bytes as one word, the first one lowest, and back: for the end of a message and for buffers that are not aligned.
DCGN_HOST_DEVICE std::uint32_t join_bytes(const unsigned char* from, std::uint32_t count);

DCGN_HOST_DEVICE void split_bytes(unsigned char* to, std::uint32_t count, std::uint32_t value);

// Up to 8 bytes as a number, and back.
DCGN_HOST_DEVICE inline std::uint64_t load_small(const void* from, std::uint64_t bytes) {
  std::uint64_t value = 0;
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  if (bytes == 8 && (address & 7) == 0) return *static_cast<const std::uint64_t*>(from);
  if (bytes == 4 && (address & 3) == 0) return *static_cast<const std::uint32_t*>(from);
  for (std::uint32_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<const unsigned char*>(from)[i]) << 8 * i;
#else
  if (bytes) memcpy(&value, from, bytes);
#endif
  return value;
}

DCGN_HOST_DEVICE inline void store_small(void* to, std::uint64_t bytes, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  const auto address = reinterpret_cast<std::uintptr_t>(to);
  if (bytes == 8 && (address & 7) == 0)
    *static_cast<std::uint64_t*>(to) = value;
  else if (bytes == 4 && (address & 3) == 0)
    *static_cast<std::uint32_t*>(to) = static_cast<std::uint32_t>(value);
  else
    for (std::uint32_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(to)[i] = static_cast<unsigned char>(value >> 8 * i);
#else
  if (bytes) memcpy(to, &value, bytes);
#endif
}

// Whether memory begins where words do.
DCGN_HOST_DEVICE inline bool lies_on_words(const void* memory) {
  return (reinterpret_cast<std::uintptr_t>(memory) & 3) == 0;
}

// Whether this side reads and writes words there: the host does anywhere.
DCGN_HOST_DEVICE inline bool has_words([[maybe_unused]] const void* buffer) {
#if defined(__CUDA_ARCH__)
  return lies_on_words(buffer);
#else
  return true;
#endif
}

// How a GPU's thread loads from a buffer. Fresh loads go past the multiprocessor's own cache, and see what others wrote
// before a meeting that does not clear it.
enum class Loads { cached, fresh };

template <Loads L = Loads::cached>
DCGN_HOST_DEVICE inline std::uint32_t load_word(const unsigned char* from) {
#if defined(__CUDA_ARCH__)
  const auto& word = *reinterpret_cast<const std::uint32_t*>(from);
  return L == Loads::fresh ? load_relaxed(word) : word;
#else
  std::uint32_t value;
  memcpy(&value, from, 4);
  return value;
#endif
}

DCGN_HOST_DEVICE inline void store_word(unsigned char* to, std::uint32_t value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<std::uint32_t*>(to) = value;
#else
  memcpy(to, &value, 4);
#endif
}

// Four words, at once where they lie on 16 bytes.
struct FourWords {
  std::uint32_t word[4];
};

DCGN_HOST_DEVICE inline bool lies_on_16(const void* memory) {
  return (reinterpret_cast<std::uintptr_t>(memory) & 15) == 0;
}

template <Loads L = Loads::cached>
DCGN_HOST_DEVICE inline FourWords load_four(const unsigned char* from, [[maybe_unused]] bool at_once) {
  FourWords v;
#if defined(__CUDA_ARCH__)
  if (at_once) {
    const auto* const place = reinterpret_cast<const uint4*>(from);
    const uint4 line = L == Loads::fresh ? load_line(place) : *place;
    return {{line.x, line.y, line.z, line.w}};
  }
  for (int i = 0; i < 4; ++i) v.word[i] = load_word<L>(from + 4 * i);
#else
  memcpy(&v, from, sizeof v);
#endif
  return v;
}

DCGN_HOST_DEVICE inline void store_four(unsigned char* to, const FourWords& v, [[maybe_unused]] bool at_once) {
#if defined(__CUDA_ARCH__)
  if (at_once)
    *reinterpret_cast<uint4*>(to) = make_uint4(v.word[0], v.word[1], v.word[2], v.word[3]);
  else
    for (int i = 0; i < 4; ++i) store_word(to + 4 * i, v.word[i]);
#else
  memcpy(to, &v, sizeof v);
#endif
}

// How a payload of so many bytes lies in so many packets, which may be those of a longer one; at most 4 GiB.
struct PayloadLayout {
  std::uint32_t packets;
  std::uint32_t whole, rest;  // words, and bytes after them
  std::uint32_t wide;         // packets in wide groups

  DCGN_HOST_DEVICE PayloadLayout(std::uint32_t count, std::uint64_t bytes)
      : packets(count),
        whole(static_cast<std::uint32_t>(bytes / 4)),
        rest(static_cast<std::uint32_t>(bytes % 4)),
        wide(in_wide_groups(count)) {}

  // Where the bytes of the packets from this one on, the first of a group, begin; at most the end.
  DCGN_HOST_DEVICE std::uint64_t begin_of(std::uint32_t packet) const {
    return least(std::uint64_t{packet} * packet_payload, std::uint64_t{whole} * 4 + rest);
  }
  // The whole words of a packet that is in no wide group; of one behind the last, none.
  DCGN_HOST_DEVICE void store(unsigned char* to, std::uint32_t packet, const std::uint32_t (&d)[3]) const {
    const PacketWords words(packet, packets);
    for (std::uint32_t w = 0; w < 3; ++w) {
      const std::uint32_t word = words.first + w * words.stride;
      if ((packet < packets) & (word < whole)) store_word(to + std::uint64_t{word} * 4, d[w]);
    }
  }
};

// A part is the packets that a thread has under way at once, d[k] what its packet k holds.

// The 48 bytes, in four packets, that are one thread's share of a wide group.
struct Share {
  std::uint32_t byte;   // the first of them; the others are 512 and 1024 further
  std::uint32_t first;  // the first packet; the others are 32, 64 and 96 further

  DCGN_HOST_DEVICE explicit Share(std::uint32_t number)
      : byte(number / 32 * (wide_words * 4) + number % 32 * 16), first(number / 32 * wide_packets + number % 32) {}

  DCGN_HOST_DEVICE std::uint32_t packet(std::uint32_t k) const { return first + 32 * k; }
  DCGN_HOST_DEVICE static bool has(std::uint32_t) { return true; }
  template <Loads L = Loads::cached>
  DCGN_HOST_DEVICE void load(const unsigned char* from, std::uint32_t, std::uint32_t (&d)[4][3]) const {
    for (std::uint32_t v = 0; v < 3; ++v) {
      const FourWords four = load_four<L>(from + byte + 512 * v, lies_on_16(from));
      for (std::uint32_t i = 4 * v; i < 4 * v + 4; ++i) d[i / 3][i % 3] = four.word[i % 4];
    }
  }
  template <Loads L = Loads::cached>
  DCGN_HOST_DEVICE void load_own(const unsigned char* from, std::uint32_t (&d)[4][3]) const {
    load<L>(from, 0, d);
  }
  DCGN_HOST_DEVICE void store(unsigned char* to, const std::uint32_t (&d)[4][3]) const {
    for (std::uint32_t v = 0; v < 3; ++v) {
      FourWords four;
      for (std::uint32_t i = 4 * v; i < 4 * v + 4; ++i) four.word[i % 4] = d[i / 3][i % 3];
      store_four(to + byte + 512 * v, four, lies_on_16(to));
    }
  }
};

// Packets in no wide group, the first of them one of the payload's. Few branches: a warp takes longer for one than for
// a dozen instructions.
struct Strided {
  const PayloadLayout& payload;
  std::uint32_t first, stride;

  DCGN_HOST_DEVICE std::uint32_t packet(std::uint32_t k) const { return first + k * stride; }
  DCGN_HOST_DEVICE bool has(std::uint32_t k) const { return packet(k) < payload.packets; }
  // `last` is the word after the whole ones, of which there is at least one.
  template <std::uint32_t Count>
  DCGN_HOST_DEVICE void load(const unsigned char* from, std::uint32_t last, std::uint32_t (&d)[Count][3]) const {
    for (std::uint32_t k = 0; k < Count; ++k) {
      const PacketWords words(packet(k), payload.packets);
      for (std::uint32_t w = 0; w < 3; ++w) {
        const std::uint32_t word = words.first + w * words.stride;
        d[k][w] = load_word(from + std::uint64_t{word < payload.whole ? word : payload.whole - 1} * 4);
        if (word == payload.whole) d[k][w] = last;
      }
    }
  }
  // Of whole words, while other threads may be writing theirs: what load() reads where there is no word is one of
  // those.
  template <Loads L = Loads::cached, std::uint32_t Count>
  DCGN_HOST_DEVICE void load_own(const unsigned char* from, std::uint32_t (&d)[Count][3]) const {
    for (std::uint32_t k = 0; k < Count; ++k) {
      const PacketWords words(packet(k), payload.packets);
      for (std::uint32_t w = 0; w < 3; ++w) {
        const std::uint32_t word = words.first + w * words.stride;
        d[k][w] = word < payload.whole ? load_word<L>(from + std::uint64_t{word} * 4) : 0;
      }
    }
  }
  template <std::uint32_t Count>
  DCGN_HOST_DEVICE void store(unsigned char* to, const std::uint32_t (&d)[Count][3]) const {
    for (std::uint32_t k = 0; k < Count; ++k) payload.store(to, packet(k), d[k]);
  }
};

// The threads that see to a payload together: the last ones take its first packets, for the first ones have the
// leader's business to see to.
template <class Scope>
DCGN_HOST_DEVICE std::uint32_t turn_of(const Scope& scope) {
  return scope.size() - 1 - scope.rank();
}

struct Hands {
  std::uint32_t turn, count;

  template <class Scope>
  DCGN_HOST_DEVICE static Hands all_of(const Scope& scope) {
    return {turn_of(scope), scope.size()};
  }
};

// act(part, d) for each part that one of the hands has, with room for its words, until one returns false. If a hand has
// several packets in no wide group, `AtOnce` of them are a part.
template <std::uint32_t AtOnce, class Act>
DCGN_HOST_DEVICE bool each_strided(const PayloadLayout& payload, std::uint32_t begin, std::uint32_t stride,
                                   const Act& act) {
  for (std::uint32_t i = begin; i < payload.packets; i += AtOnce * stride) {
    std::uint32_t d[AtOnce][3];
    if (!act(Strided{payload, i, stride}, d)) return false;
  }
  return true;
}

template <std::uint32_t AtOnce, class Act>
DCGN_HOST_DEVICE bool each_part(const PayloadLayout& payload, const Hands hands, const Act& act) {
  const std::uint32_t shares = payload.wide / 4;
  std::uint32_t i = hands.turn;
  if (shares)
    for (; i < shares; i += hands.count) {
      std::uint32_t d[4][3];
      if (!act(Share(i), d)) return false;
    }
  // Threads that had fewer shares come first.
  const std::uint32_t begin = payload.wide + (i - shares);
  if (AtOnce == 1 || payload.packets - payload.wide <= hands.count)
    return each_strided<1>(payload, begin, hands.count, act);
  return each_strided<AtOnce>(payload, begin, hands.count, act);
}

// How many packets a thread of a lone message has under way at once.
#if defined(__CUDA_ARCH__)
inline constexpr std::uint32_t packets_at_once = 4;
#else
inline constexpr std::uint32_t packets_at_once = 1;
#endif

// Where the packets of a payload are.
struct Row {
  Ring ring;
  std::uint32_t position;  // of the first one
  std::uint32_t epoch_before = 0;

  DCGN_HOST_DEVICE Packet& at(std::uint32_t packet) const { return ring.at(position + packet); }
  DCGN_HOST_DEVICE std::uint32_t epoch(std::uint32_t packet) const {
    return epoch_before + ring.epoch(position + packet);
  }
  template <class Part, std::uint32_t Count>
  DCGN_HOST_DEVICE void write(const Part& part, const std::uint32_t (&d)[Count][3]) const {
    for (std::uint32_t k = 0; k < Count; ++k)
      if (part.has(k)) write_packet(at(part.packet(k)), d[k][0], d[k][1], d[k][2], epoch(part.packet(k)));
  }
  // Whether all of them are there.
  template <class Part, std::uint32_t Count>
  DCGN_HOST_DEVICE bool read(const Part& part, std::uint32_t (&d)[Count][3]) const {
    bool here = true;
    for (std::uint32_t k = 0; k < Count; ++k)
      if (part.has(k)) here = static_cast<int>(read_packet(at(part.packet(k)), epoch(part.packet(k)), d[k])) & here;
    return here;
  }
};

DCGN_HOST_DEVICE inline Row Flight::sent(std::uint32_t at) const { return {{to, 31}, at, turn}; }
DCGN_HOST_DEVICE inline Row Flight::came(std::uint32_t at) const { return {{from, 31}, at, turn}; }

// A payload and the packets that carry it.
struct Payload : Row, PayloadLayout {
  DCGN_HOST_DEVICE Payload(const Row& row, std::uint32_t count, std::uint64_t bytes)
      : Row(row), PayloadLayout(count, bytes) {}
  DCGN_HOST_DEVICE Payload(const Ring& r, std::uint32_t at, std::uint32_t count, std::uint64_t bytes)
      : Row{r, at}, PayloadLayout(count, bytes) {}
};

// All packets, from a buffer of words; for `last` see Strided::load().
DCGN_HOST_DEVICE inline void push_payload(const Payload& p, const unsigned char* from, std::uint32_t last,
                                          const Hands hands) {
  each_part<packets_at_once>(p, hands, [&](const auto& part, auto& d) {
    part.load(from, last, d);
    p.write(part, d);
    return true;
  });
}

#if !defined(__CUDA_ARCH__)
// All packets, by one thread of the host: a group's words by way of an array, for a look at each word would take longer
// than to copy it.
inline void push_alone(const Payload& p, const unsigned char* from) {
  for (std::uint32_t i = 0; i < p.wide / 4; ++i) {
    std::uint32_t d[4][3];
    Share(i).load(from, 0, d);
    p.write(Share(i), d);
  }
  for (std::uint32_t group = p.wide; group < p.packets; group += 32) {
    const std::uint32_t count = static_cast<std::uint32_t>(least(32, p.packets - group));
    std::uint32_t words[3 * 32] = {};
    memcpy(words, from + p.begin_of(group), p.begin_of(group + count) - p.begin_of(group));
    for (std::uint32_t k = 0; k < count; ++k)
      write_packet(p.at(group + k), words[k], words[count + k], words[2 * count + k], p.epoch(group + k));
  }
}
#endif

// Payloads that need not lie on words nor end with one, packet by packet, out of line.
DCGN_HOST_DEVICE void push_bytes(const Payload p, const unsigned char* from, const Hands hands);

// Writes a payload's packets with all threads of the scope.
template <class Scope>
DCGN_HOST_DEVICE void push_packets(const Scope& scope, const Payload p, const unsigned char* from) {
#if !defined(__CUDA_ARCH__)
  if (scope.size() == 1) return push_alone(p, from);
#endif
  const Hands hands = Hands::all_of(scope);
  if (has_words(from) && p.whole) {
    const std::uint32_t last = p.rest ? join_bytes(from + std::uint64_t{p.whole} * 4, p.rest) : 0;
    push_payload(p, from, last, hands);
    return;
  }
  push_bytes(p, from, hands);
}

// Whether a wait is to be given up: the job is aborted.
DCGN_HOST_DEVICE inline bool is_over(const std::uint32_t& phase) {
  return load_relaxed(phase) == static_cast<std::uint32_t>(Phase::aborted);
}

// Or a call of this rank's is not to be ended: its leader has said so.
struct Watch {
  const std::uint32_t& phase;
  const std::uint32_t& given_up;
};
DCGN_HOST_DEVICE inline bool is_over(const Watch& watch) { return is_over(watch.phase) || is_over(watch.given_up); }

// Calls look() until it returns true; false if the wait is to be given up, as is_over(watched) says. What has not come
// in a while is looked for less often.
template <class Watched, class Look>
DCGN_HOST_DEVICE bool await(const Watched& watched, const Look& look) {
  constexpr std::uint32_t most_briefly = 4096;
  for (std::uint32_t looks = 1; !look(); ++looks) {
    if (looks % 256 == 0 && is_over(watched)) return false;
    if (looks < most_briefly)
      relax_briefly();
    else
      relax();
  }
  return true;
}

// Reads one packet that must be about to come; false if the wait is given up.
template <class Watched>
DCGN_HOST_DEVICE bool await_packet(const Row& row, std::uint32_t packet, std::uint32_t (&d)[3],
                                   const Watched& watched) {
  return await(watched, [&] { return read_packet(row.at(packet), row.epoch(packet), d); });
}

// Reads the packets of a part, likewise.
template <class Part, std::uint32_t Count, class Watched>
DCGN_HOST_DEVICE bool await_part(const Row& row, const Part& part, std::uint32_t (&d)[Count][3],
                                 const Watched& watched) {
  return await(watched, [&] { return row.read(part, d); });
}

// The whole words of all packets, into a buffer of words that takes all that wide groups hold; false where the job is
// aborted meanwhile.
template <std::uint32_t AtOnce = packets_at_once, class Watched>
DCGN_HOST_DEVICE bool take_payload(const Payload& p, const Watched& watched, unsigned char* to, const Hands hands) {
  return each_part<AtOnce>(p, hands, [&](const auto& part, auto& d) {
    if (!await_part(p, part, d, watched)) return false;
    part.store(to, d);
    return true;
  });
}

#if !defined(__CUDA_ARCH__)
// As push_alone().
inline bool take_alone(const Payload& p, const std::uint32_t& phase, unsigned char* to) {
  for (std::uint32_t i = 0; i < p.wide / 4; ++i) {
    std::uint32_t d[4][3];
    if (!await_part(p, Share(i), d, phase)) return false;
    Share(i).store(to, d);
  }
  for (std::uint32_t group = p.wide; group < p.packets; group += 32) {
    const std::uint32_t count = static_cast<std::uint32_t>(least(32, p.packets - group));
    std::uint32_t words[3 * 32];
    for (std::uint32_t k = 0; k < count; ++k) {
      std::uint32_t d[3];
      if (!await_packet(p, group + k, d, phase)) return false;
      for (std::uint32_t w = 0; w < 3; ++w) words[w * count + k] = d[w];
    }
    const std::uint64_t begin = p.begin_of(group);
    if (const std::uint64_t bytes = p.begin_of(group + count) - begin) memcpy(to + begin, words, bytes);
  }
  return true;
}
#endif

// As push_bytes(); false where the wait is given up.
DCGN_HOST_DEVICE bool take_bytes(const Payload p, const Watch watch, unsigned char* to, const Hands hands);

// Reads a payload's packets with all threads of the scope, of which as much is wanted as `p` says. They may still be on
// their way, written by threads that are in their call now; false where the job is aborted meanwhile.
template <class Scope>
DCGN_HOST_DEVICE bool take_packets(const Scope& scope, const std::uint32_t& phase, const Payload p, unsigned char* to) {
  const Hands hands = Hands::all_of(scope);
  if (!has_words(to) || p.wide * 3 > p.whole) return take_bytes(p, {phase, phase}, to, hands);
#if !defined(__CUDA_ARCH__)
  if (hands.count == 1) return take_alone(p, phase, to);
#endif
  if (!take_payload(p, phase, to, hands)) return false;
  if (!p.rest) return true;
  // The bytes after the whole words, once more from their packet.
  for (std::uint32_t i = hands.turn + p.whole / 96 * 32; i < p.packets; i += hands.count) {
    std::uint32_t d[3];
    if (!await_packet(p, i, d, phase)) return false;
    for (std::uint32_t w = 0; w < 3; ++w)
      if (word_of(i, w, p.packets) == p.whole) split_bytes(to + std::uint64_t{p.whole} * 4, p.rest, d[w]);
  }
  return true;
}

// Whether a scope is of several blocks.
template <class Scope>
inline constexpr bool plans_ahead = !Scope::single && !Scope::in_block;

}  // namespace dcgn::message
