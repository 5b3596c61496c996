// Memory that the back ends of one host have in common: the wall's pixels, twice, where each leaves what it drew of
// others' screens. BGRA, rows from the bottom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace dcgn::wall {

class SharedPicture {
 public:
  SharedPicture() = default;
  // For a wall of that size, or that of the process that made it, whose descriptor becomes this one's. Not valid where
  // there is no memory for it.
  static SharedPicture make(int width, int height);
  static SharedPicture open(int fd, int width, int height);
  SharedPicture(SharedPicture&& o) noexcept { *this = std::move(o); }
  SharedPicture& operator=(SharedPicture&& o) noexcept {
    std::swap(fd_, o.fd_);
    std::swap(width_, o.width_);
    std::swap(height_, o.height_);
    std::swap(memory_, o.memory_);
    return *this;
  }
  ~SharedPicture();

  bool valid() const { return memory_ != nullptr; }
  int fd() const { return fd_; }
  int width() const { return width_; }
  // The pixel of the wall, whose y counts from the bottom, of every other picture: what is read of one is not written
  // over by who is ahead with the next.
  std::uint8_t* at(std::int64_t picture, int x, int y) const {
    return memory_ + static_cast<std::size_t>(picture & 1) * bytes_of_one() +
           (static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)) * 4;
  }

 private:
  std::size_t bytes_of_one() const { return static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * 4; }

  int fd_ = -1, width_ = 0, height_ = 0;
  std::uint8_t* memory_ = nullptr;
};

}  // namespace dcgn::wall
