#include "base/hmac.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dcgn::base {

namespace {

constexpr std::size_t block = 64;

// The first 32 bits of fractions of roots of the first primes, as the standard makes its constants.
struct Constants {
  std::array<std::uint32_t, 8> start{};   // square roots
  std::array<std::uint32_t, 64> round{};  // cube roots
};

Constants make_constants() {
  Constants c;
  const auto fraction = [](long double root) {
    return static_cast<std::uint32_t>((root - std::floor(root)) * 4294967296.0L);
  };
  std::size_t count = 0;
  for (int n = 2; count < c.round.size(); ++n) {
    bool prime = true;
    for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    if (count < c.start.size()) c.start[count] = fraction(std::sqrt(static_cast<long double>(n)));
    c.round[count++] = fraction(std::cbrt(static_cast<long double>(n)));
  }
  return c;
}

void take_block(std::array<std::uint32_t, 8>& state, const unsigned char* bytes, const Constants& c) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t i = 0; i < 16; ++i)
    w[i] = static_cast<std::uint32_t>(bytes[4 * i]) << 24 | static_cast<std::uint32_t>(bytes[4 * i + 1]) << 16 |
           static_cast<std::uint32_t>(bytes[4 * i + 2]) << 8 | bytes[4 * i + 3];
  for (std::size_t i = 16; i < 64; ++i) {
    const std::uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, d, e, f, g, h, i] = state;
  for (std::size_t r = 0; r < 64; ++r) {
    const std::uint32_t one =
        i + (std::rotr(f, 6) ^ std::rotr(f, 11) ^ std::rotr(f, 25)) + ((f & g) ^ (~f & h)) + c.round[r] + w[r];
    const std::uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & d) ^ (b & d));
    i = h, h = g, g = f, f = e + one, e = d, d = b, b = a, a = one + two;
  }
  const std::array<std::uint32_t, 8> next = {a, b, d, e, f, g, h, i};
  for (std::size_t k = 0; k < 8; ++k) state[k] += next[k];
}

std::string_view bytes_of(const Digest& d) { return {reinterpret_cast<const char*>(d.data()), d.size()}; }

}  // namespace

Digest sha256(std::string_view message) {
  static const Constants constants = make_constants();
  std::string all(message);  // then a bit, zeros, and the length in bits
  all += '\x80';
  while (all.size() % block != block - 8) all += '\0';
  const std::uint64_t bits = 8 * static_cast<std::uint64_t>(message.size());
  for (int shift = 56; shift >= 0; shift -= 8) all += static_cast<char>(bits >> shift);
  std::array<std::uint32_t, 8> state = constants.start;
  for (std::size_t at = 0; at < all.size(); at += block)
    take_block(state, reinterpret_cast<const unsigned char*>(all.data()) + at, constants);
  Digest digest;
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<unsigned char>(state[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

Digest hmac_sha256(std::string_view key, std::string_view message) {
  std::string padded(key.size() > block ? std::string(bytes_of(sha256(key))) : std::string(key));
  padded.resize(block);
  std::string inner = padded, outer = padded;
  for (char& c : inner) c = static_cast<char>(c ^ 0x36);
  for (char& c : outer) c = static_cast<char>(c ^ 0x5c);
  return sha256(outer + std::string(bytes_of(sha256(inner + std::string(message)))));
}

bool same(const Digest& a, const Digest& b) noexcept {
  unsigned char differs = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differs = static_cast<unsigned char>(differs | (a[i] ^ b[i]));
  return differs == 0;
}

}  // namespace dcgn::base
