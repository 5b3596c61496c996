#include "apps/image/image.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <png.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace dcgn::image {

void Image::fill(int x, int y, int width, int height, Colour colour) {
  for (int v = std::max(y, 0); v < std::min(y + height, height_); ++v)
    for (int u = std::max(x, 0); u < std::min(x + width, width_); ++u) at(u, v) = colour;
}

PngFile::PngFile(std::string path) : path_(std::move(path)) {
  created_ = ::access(path_.c_str(), F_OK) != 0;
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw Error(Code::io, "png", path_ + ": cannot be written: " + std::strerror(errno));
}

PngFile::~PngFile() {
  if (file_ < 0) return;
  ::close(file_);
  if (created_) ::unlink(path_.c_str());
}

void PngFile::write(const Image& image) {
  const auto fail = [this](const std::string& why) { throw Error(Code::io, "png", path_ + ": not written: " + why); };
  // A pipe or a device cannot be cut, and need not be.
  if (::ftruncate(file_, 0) != 0 && errno != EINVAL) fail(std::strerror(errno));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(::fdopen(file_, "wb"), &std::fclose);
  if (!stream) fail(std::strerror(errno));
  file_ = -1;  // the stream's from here on
  png_image header{};
  header.version = PNG_IMAGE_VERSION;
  header.width = static_cast<png_uint_32>(image.width());
  header.height = static_cast<png_uint_32>(image.height());
  header.format = PNG_FORMAT_RGB;
  static_assert(sizeof(Colour) == 3, "libpng takes three bytes a pixel");
  if (!png_image_write_to_stdio(&header, stream.get(), 0, image.data(), 0, nullptr)) fail(header.message);
  if (std::fflush(stream.get()) != 0) fail(std::strerror(errno));
}

}  // namespace dcgn::image
