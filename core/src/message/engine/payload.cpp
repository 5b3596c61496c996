// Payloads that take a function of their own.
#include "message/engine/compiled.hpp"

#include <dcgn/message/fast_path.hpp>
#include <dcgn/message/payload.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

DCGN_HOST_DEVICE std::uint32_t join_bytes(const unsigned char* from, std::uint32_t count) {
  std::uint32_t value = 0;
  for (std::uint32_t i = 0; i < count; ++i) value |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return value;
}

DCGN_HOST_DEVICE void split_bytes(unsigned char* to, std::uint32_t count, std::uint32_t value) {
  for (std::uint32_t i = 0; i < count; ++i) to[i] = static_cast<unsigned char>(value >> 8 * i);
}

DCGN_HOST_DEVICE void push_odd(const Payload p, const unsigned char* from, const Hands hands) {
  const std::uint32_t rest = p.rest ? join_bytes(from + std::uint64_t{p.whole} * 4, p.rest) : 0;
  if (p.whole)
    push_payload(p, from, rest, hands);
  else if (hands.turn == 0)
    write_packet(p.at(0), rest, 0, 0, p.epoch(0));
}

DCGN_HOST_DEVICE bool take_odd(const Payload p, const std::uint32_t& phase, unsigned char* to, const Hands hands) {
  if (!take_payload(p, phase, to, hands)) return false;
  if (!p.rest || hands.turn != 0) return true;
  // No wide group has the last bytes: at least one packet comes behind those.
  const std::uint32_t group = p.whole / (3 * 32) * 32, in_group = p.whole % (3 * 32),
                      count = static_cast<std::uint32_t>(least(32, p.packets - group));
  std::uint32_t d[3];
  if (!await_packet(p, group + in_group % count, d, phase)) return false;
  split_bytes(to + std::uint64_t{p.whole} * 4, p.rest, d[in_group / count]);
  return true;
}

DCGN_HOST_DEVICE void push_bytes(const Payload p, const unsigned char* from, const Hands hands) {
  for (std::uint32_t i = hands.turn; i < p.packets; i += hands.count) {
    std::uint32_t d[3];
    for (std::uint32_t w = 0; w < 3; ++w) {
      const std::uint32_t word = word_of(i, w, p.packets);
      d[w] = word > p.whole ? 0 : join_bytes(from + std::uint64_t{word} * 4, word < p.whole ? 4 : p.rest);
    }
    write_packet(p.at(i), d[0], d[1], d[2], p.epoch(i));
  }
}

DCGN_HOST_DEVICE bool take_bytes(const Payload p, const Watch watch, unsigned char* to, const Hands hands) {
  for (std::uint32_t i = hands.turn; i < p.packets; i += hands.count) {
    std::uint32_t d[3];
    if (!await_packet(p, i, d, watch)) return false;
    for (std::uint32_t w = 0; w < 3; ++w)
      if (const std::uint32_t word = word_of(i, w, p.packets); word <= p.whole)
        split_bytes(to + std::uint64_t{word} * 4, word < p.whole ? 4 : p.rest, d[w]);
  }
  return true;
}

}  // namespace dcgn::message

#endif
