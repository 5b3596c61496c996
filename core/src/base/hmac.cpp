#include "base/hmac.hpp"

#include "dcgn/error.hpp"

#if defined(DCGN_HAS_OPENSSL)
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

namespace dcgn::base {
#if defined(DCGN_HAS_OPENSSL)

Digest hmac_sha256(std::string_view key, std::string_view message) {
  Digest digest{};
  const auto* text = reinterpret_cast<const unsigned char*>(message.data());
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text, message.size(), digest.data(), nullptr))
    throw Error(Code::unsupported, "OpenSSL", "it has no HMAC-SHA-256 on this machine; expected one for DCGN_SECRET");
  return digest;
}

bool same(const Digest& a, const Digest& b) { return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0; }

#else

Digest hmac_sha256(std::string_view, std::string_view) {
  throw Error(Code::unsupported, "launch",
              "this build has no OpenSSL for DCGN_SECRET; expected one with it: scripts/install-packages build, "
              "-DDCGN_OPENSSL=ON, or no secret");
}

bool same(const Digest& a, const Digest& b) { return a == b; }

#endif
}  // namespace dcgn::base
