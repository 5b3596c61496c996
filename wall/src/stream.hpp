// Messages over file descriptors, each with a deadline.
#pragma once

#include "wall/src/protocol.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace dcgn::wall {

using Clock = std::chrono::steady_clock;

struct Message {
  Kind kind{};
  std::string content;

  // The content's beginning; all zeros where it is too short.
  template <class T>
  T as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (content.size() >= sizeof(T)) std::memcpy(static_cast<void*>(&value), content.data(), sizeof(T));
    return value;
  }
};

template <class T>
std::string bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

template <class T>
std::string bytes_of_all(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// So many of them, which `content` has from there on; none where it is too short.
template <class T>
std::vector<T> values_at(const std::string& content, std::size_t at, std::int32_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t bytes = static_cast<std::size_t>(std::max(0, count)) * sizeof(T);
  std::vector<T> values;
  if (content.size() < at || content.size() - at < bytes || bytes == 0) return values;
  values.resize(bytes / sizeof(T));
  std::memcpy(static_cast<void*>(values.data()), content.data() + at, bytes);
  return values;
}

// Whether there is something to read by then.
bool readable(int fd, Clock::time_point until);

// False where it does not go by then, or nobody takes it.
bool send_message(int fd, Kind kind, const std::string& content, Clock::time_point until);

// None where it does not come whole by then, or the other end is gone.
std::optional<Message> receive_message(int fd, Clock::time_point until);

}  // namespace dcgn::wall
