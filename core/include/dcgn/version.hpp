// The version of Decagon. The build reads it from here.
#pragma once

#include <string_view>

namespace dcgn {

inline constexpr int version_major = 0;
inline constexpr int version_minor = 1;
inline constexpr int version_patch = 0;
inline constexpr std::string_view version = "0.1.0";

}  // namespace dcgn
