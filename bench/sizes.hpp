// Message sizes as they are typed: 8, 4K, 1M, 2G are powers of 1024. Numbers of messages: there they are of 1000.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::bench {

// Nothing where the text is no size, or one above 2^40.
inline std::optional<std::int64_t> parse_size(std::string_view text) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0 || value > most) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix.empty()) return value;
  if (suffix.size() > 1) return std::nullopt;
  int shift = 0;
  switch (suffix[0]) {
    case 'K':
    case 'k': shift = 10; break;
    case 'M':
    case 'm': shift = 20; break;
    case 'G':
    case 'g': shift = 30; break;
    default: return std::nullopt;
  }
  return value <= most >> shift ? std::optional(value << shift) : std::nullopt;
}

// Nothing where the text is no number, or not from 1 to 10^12.
inline std::optional<std::uint64_t> parse_count(std::string_view text) {
  constexpr std::uint64_t most = 1'000'000'000'000;
  std::uint64_t value = 0, unit = 1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
  if (suffix == "K" || suffix == "k")
    unit = 1'000;
  else if (suffix == "M" || suffix == "m")
    unit = 1'000'000;
  else if (suffix == "G" || suffix == "g")
    unit = 1'000'000'000;
  else if (!suffix.empty())
    return std::nullopt;
  return value >= 1 && value <= most / unit ? std::optional(value * unit) : std::nullopt;
}

// The shortest way to write a size: 4096 is 4K.
inline std::string size_text(std::int64_t bytes) {
  constexpr std::string_view suffixes = " KMG";
  std::size_t s = 0;
  while (s + 1 < suffixes.size() && bytes >= 1024 && bytes % 1024 == 0) {
    bytes /= 1024;
    ++s;
  }
  return std::to_string(bytes) + (s ? std::string(1, suffixes[s]) : "");
}

// From `begin` to `end`, each `factor` times the one before.
inline std::vector<std::int64_t> size_range(std::int64_t begin, std::int64_t end, std::int64_t factor) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = begin; size <= end; size *= factor) sizes.push_back(size);
  return sizes;
}

}  // namespace dcgn::bench
