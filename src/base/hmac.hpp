// Proof of a secret that is not told: HMAC-SHA-256 (RFC 2104, FIPS 180-4).
#pragma once

#include <array>
#include <string_view>

namespace dcgn::base {

using Digest = std::array<unsigned char, 32>;

Digest sha256(std::string_view message);
Digest hmac_sha256(std::string_view key, std::string_view message);
// In a time that does not tell how much of the two is alike.
bool same(const Digest& a, const Digest& b) noexcept;

}  // namespace dcgn::base
