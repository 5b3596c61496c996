#include "apps/image/image.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace dcgn::image {

void Image::fill(int x, int y, int width, int height, Colour colour) {
  for (int v = std::max(y, 0); v < std::min(y + height, height_); ++v)
    for (int u = std::max(x, 0); u < std::min(x + width, width_); ++u) at(u, v) = colour;
}

namespace {

std::string cannot_be_written(const std::string& path) { return path + ": cannot be written: " + std::strerror(errno); }

// Pipes and devices take a picture as it comes; everything else is replaced whole.
bool takes_a_stream(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
}

// The file that a path means in the end, which need not be there yet.
std::string behind_links(const std::string& path) {
  std::error_code none;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, none);
  return none ? path : real.string();
}

}  // namespace

PngFile::PngFile(std::string path) : path_(std::move(path)) {
  const bool is_new = ::access(path_.c_str(), F_OK) != 0;
  const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) throw Error(Code::io, "png", cannot_be_written(path_));
  // Gone again at once, so that nothing is left of a program that is stopped.
  if (is_new) ::unlink(behind_links(path_).c_str());
  if (takes_a_stream(path_))
    stream_ = file;
  else
    ::close(file);
}

PngFile::~PngFile() {
  if (stream_ >= 0) ::close(stream_);
}

void PngFile::write(const Image& image) {
  const auto fail = [this](const std::string& why) { throw Error(Code::io, "png", path_ + ": not written: " + why); };
  const auto encode = [&](int file) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(::fdopen(file, "wb"), &std::fclose);
    if (!stream) fail(std::strerror(errno));
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    header.width = static_cast<png_uint_32>(image.width());
    header.height = static_cast<png_uint_32>(image.height());
    header.format = PNG_FORMAT_RGB;
    static_assert(sizeof(Colour) == 3, "libpng takes three bytes a pixel");
    if (!png_image_write_to_stdio(&header, stream.get(), 0, image.data(), 0, nullptr)) fail(header.message);
    if (std::fflush(stream.get()) != 0) fail(std::strerror(errno));
  };
  if (stream_ >= 0) return encode(std::exchange(stream_, -1));

  const std::string target = behind_links(path_);
  std::string part = target + ".XXXXXX";
  const int file = ::mkostemp(part.data(), O_CLOEXEC);
  if (file < 0) {  // a folder that takes no new file: the old one is written over
    const int old = ::open(target.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (old < 0) fail(std::strerror(errno));
    return encode(old);
  }
  try {
    struct stat old {};
    if (::stat(target.c_str(), &old) == 0) {
      ::fchmod(file, old.st_mode & 07777);
    } else {
      const mode_t mask = ::umask(0);
      ::umask(mask);
      ::fchmod(file, 0666 & ~mask);
    }
    encode(file);
    if (::rename(part.c_str(), target.c_str()) != 0) fail(std::strerror(errno));
  } catch (...) {
    ::unlink(part.c_str());
    throw;
  }
}

}  // namespace dcgn::image
