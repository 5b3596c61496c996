// Memory of each kind, and bytes to know again.
#pragma once

#include <dcgn/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace dcgn::test {

using Bytes = std::vector<unsigned char>;

// Bytes that repeat nowhere near, so that one in the wrong place is seen.
inline Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint64_t x = seed * 2654435761u + 1;
  for (std::size_t at = 0; at < size; at += sizeof x) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t word = x ^ x >> 32;
    std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
  }
  return bytes;
}

// Where a copy begins or ends: host memory of the system, pinned memory, or a device's.
struct Kind {
  enum { pageable, pinned, device } what;
  int index = 0;
};

inline std::string to_string(Kind k) {
  if (k.what == Kind::pageable) return "pageable";
  return k.what == Kind::pinned ? "pinned" : "device " + std::to_string(k.index);
}

// All that this machine has, of two devices at most.
inline std::vector<Kind> kinds() {
  std::vector<Kind> all = {{Kind::pageable}, {Kind::pinned}};
  for (int d = 0; d < std::min(Device::count(), 2); ++d) all.push_back({Kind::device, d});
  return all;
}

inline std::vector<Device> two_devices() {
  std::vector<Device> devices;
  for (int d = 0; d < std::min(Device::count(), 2); ++d) devices.emplace_back(d);
  return devices;
}

// Pinned memory, cleared.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) : data_(Device(0).allocate_host(bytes)) {}
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { Device(0).free_host(data_); }

  template <class T = unsigned char>
  T* get() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_;
};

// Memory of a kind with the given contents. What it holds is read and written by other means than a CopyEngine.
class Memory {
 public:
  Memory(Kind kind, const Bytes& contents) : kind_(kind), size_(contents.size()) {
    switch (kind.what) {
      case Kind::pageable:
        pageable_.resize(size_);
        data_ = pageable_.data();
        break;
      case Kind::pinned: data_ = Device(0).allocate_host(size_); break;
      case Kind::device: data_ = Device(kind.index).allocate(size_); break;
    }
    if (kind.what == Kind::device)
      Device(kind.index).copy(data_, contents.data(), size_);
    else
      std::memcpy(data_, contents.data(), size_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (kind_.what == Kind::pinned) Device(0).free_host(data_);
    if (kind_.what == Kind::device) Device(kind_.index).free(data_);
  }

  unsigned char* data() const { return static_cast<unsigned char*>(data_); }

  Bytes contents() const {
    Bytes bytes(size_);
    if (kind_.what == Kind::device)
      Device(kind_.index).copy(bytes.data(), data_, size_);
    else
      std::memcpy(bytes.data(), data_, size_);
    return bytes;
  }

 private:
  const Kind kind_;
  const std::size_t size_;
  Bytes pageable_;  // of that kind
  void* data_ = nullptr;
};

}  // namespace dcgn::test
