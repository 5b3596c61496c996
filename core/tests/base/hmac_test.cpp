// HMAC-SHA-256 against the vectors of RFC 4231.
#include "base/hmac.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "dcgn/error.hpp"

namespace {

using dcgn::base::Digest, dcgn::base::hmac_sha256, dcgn::base::same;

std::string hex(const Digest& digest) {
  std::string text;
  for (const unsigned char c : digest) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", c);
    text += two;
  }
  return text;
}

// Why there is none, where Decagon was built without OpenSSL.
std::string missing() {
  try {
    hmac_sha256("", "");
  } catch (const dcgn::Error& e) {
    EXPECT_EQ(e.code(), dcgn::Code::unsupported);
    return e.what();
  }
  return "";
}

TEST(Hmac, ProvesKeysOfAnyLength) {
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
  EXPECT_EQ(hex(hmac_sha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Hmac, TellsProofsApart) {
  if (const std::string why = missing(); !why.empty()) GTEST_SKIP() << why;
  const Digest proof = hmac_sha256("one", "text");
  EXPECT_TRUE(same(proof, hmac_sha256("one", "text")));
  for (std::size_t i = 0; i < proof.size(); ++i) {
    Digest other = proof;
    other[i] ^= 1;
    EXPECT_FALSE(same(proof, other));
  }
}

}  // namespace
