#include "wall/src/shared_picture.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dcgn::wall {

SharedPicture SharedPicture::make(int width, int height) {
  const int fd = memfd_create("dcgn wall", MFD_CLOEXEC);
  const std::size_t bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 8;
  if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0) return open(fd, width, height);
  if (fd >= 0) close(fd);
  return {};
}

SharedPicture SharedPicture::open(int fd, int width, int height) {
  SharedPicture picture;
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  picture.fd_ = fd;
  picture.width_ = width;
  picture.height_ = height;
  void* const memory = mmap(nullptr, 2 * picture.bytes_of_one(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory != MAP_FAILED) picture.memory_ = static_cast<std::uint8_t*>(memory);
  return picture;
}

SharedPicture::~SharedPicture() {
  if (memory_) munmap(memory_, 2 * bytes_of_one());
  if (fd_ >= 0) close(fd_);
}

}  // namespace dcgn::wall
