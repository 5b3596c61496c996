// Proof of a secret that is not told: HMAC-SHA-256 (RFC 2104), by OpenSSL.
#pragma once

#include <array>
#include <string_view>

namespace dcgn::base {

using Digest = std::array<unsigned char, 32>;

// Error(unsupported) where Decagon was built without OpenSSL.
Digest hmac_sha256(std::string_view key, std::string_view message);
// In a time that does not tell how much of the two is alike.
bool same(const Digest& a, const Digest& b);

}  // namespace dcgn::base
