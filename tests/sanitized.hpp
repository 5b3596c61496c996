// Whether a sanitizer makes everything slow.
#pragma once

namespace dcgn::test {

#if defined(DCGN_SANITIZED)
inline constexpr int fewer = 10;
#else
inline constexpr int fewer = 1;
#endif
inline constexpr bool sanitized = fewer > 1;

}  // namespace dcgn::test
