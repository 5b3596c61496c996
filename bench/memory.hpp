// Host memory for messages, and looks into device memory.
#pragma once

#include <dcgn/device.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace dcgn::bench {

// Whole pages.
class Pages {
 public:
  explicit Pages(std::size_t bytes) : memory_(static_cast<unsigned char*>(::operator new(bytes, alignment))) {
    std::memset(memory_.get(), 0, bytes);  // every page is there
  }
  unsigned char* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t alignment{4096};
  struct Free {
    void operator()(unsigned char* memory) const { ::operator delete(memory, alignment); }
  };
  std::unique_ptr<unsigned char, Free> memory_;
};

// How many bytes of what a device can copy are not `expected`.
inline std::uint64_t count_other(const Device& device, const unsigned char* memory, std::size_t bytes,
                                 unsigned char expected) {
  std::vector<unsigned char> piece(std::min<std::size_t>(bytes, std::size_t{4} << 20));
  std::uint64_t other = 0;
  for (std::size_t begin = 0; begin < bytes; begin += piece.size()) {
    const std::size_t count = std::min(piece.size(), bytes - begin);
    device.copy(piece.data(), memory + begin, count);
    other += count - static_cast<std::size_t>(std::count(piece.data(), piece.data() + count, expected));
  }
  return other;
}

}  // namespace dcgn::bench
