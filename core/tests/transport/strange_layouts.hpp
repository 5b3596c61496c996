// Layouts as another process might tell of them, looked at whole: tests and the fuzzer make them up.
#pragma once

#include "transport/exported_layout.hpp"

#include <cstdint>
#include <cstring>
#include <string>

namespace dcgn::test {

struct LookedAt {
  bool let_through = false;  // the first `message` bytes, from `origin` on, were said to be in the allocation
  std::string wrong;         // what must not be; empty
};

// Every row of what is let through is walked, and must lie inside; what is read must be written as it was told.
inline LookedAt look_at(const message::ExportedMemory& told, std::int64_t origin, std::uint64_t message,
                        std::uint64_t allocation) {
  const auto layout = transport::read_layout(told);
  if (!layout) return {};
  message::ExportedMemory again = told;
  if (!transport::write_layout(*layout, again) || std::memcmp(&again, &told, sizeof told) != 0)
    return {false, "what was read is not written as it was told"};
  if (!transport::is_within(*layout, origin, message, allocation)) return {};
  if (layout->leaves.empty()) return {true, ""};  // a row
  if (message > static_cast<std::uint64_t>(layout->bytes())) return {true, "more bytes than the layout has"};
  LookedAt result{true, ""};
  std::int64_t walked = 0;
  datatype::for_each_row(*layout, 0, static_cast<std::int64_t>(message), [&](std::int64_t at, std::int64_t bytes) {
    walked += bytes;
    if (bytes < 1 || origin + at < 0 || origin + at + bytes > static_cast<std::int64_t>(allocation))
      result.wrong =
          std::to_string(bytes) + " bytes at " + std::to_string(origin + at) + " of " + std::to_string(allocation);
  });
  if (walked != static_cast<std::int64_t>(message)) result.wrong = std::to_string(walked) + " bytes were walked";
  return result;
}

}  // namespace dcgn::test
