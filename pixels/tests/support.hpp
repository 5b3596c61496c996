// What the tests of pixels have in common: ranks with contexts, and images made and read by plain GL.
#pragma once

#include <GL/glcorearb.h>

#include "tests/processes.hpp"

#include <dcgn/dcgn.hpp>
#include <dcgn/pixels.hpp>
#include <dcgn/pixels/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dcgn::test {

using pixels::Image, pixels::ImageComm, pixels::Pixels, pixels::Rectangle;
using Bytes = std::vector<unsigned char>;

class PixelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (pixels::Context::devices() == 0) GTEST_SKIP() << "EGL has no device here";
  }
};

// Ranks of CPUs, over the processes there are, each with a context of its own.
inline void in_ranks(int ranks, const std::function<void(Comm&)>& act, const pixels::ContextOptions& options = {}) {
  Config config{.nodes = spread({{.cpus = ranks}})};
  config.deadline_s = 60;
  Job job(config);
  job.cpu([&](Comm& comm) {
    const pixels::Context context(options);
    act(comm);
  });
  job.run();
}

// What an image is made of, and as what it is filled.
struct Kind {
  const char* name;
  GLenum internal, format, type;
  int pixel_bytes;
  // Which bits of a random word of this many bytes stay: no NaNs, no infinities, nothing that GL changes.
  int word_bytes = 1;
  std::uint32_t mask = 0xffffffff;
};

inline Bytes random_bytes(const Kind& kind, std::size_t pixels, std::uint32_t seed) {
  Bytes bytes(pixels * static_cast<std::size_t>(kind.pixel_bytes));
  std::uint32_t state = seed * 2654435761u + 12345;
  const auto word = static_cast<std::size_t>(kind.word_bytes);
  for (std::size_t i = 0; i < bytes.size(); i += word) {
    state = state * 1664525u + 1013904223u;
    const std::uint32_t bits = (state ^ (state >> 15)) & kind.mask;
    for (std::size_t b = 0; b < word; ++b) bytes[i + b] = static_cast<unsigned char>(bits >> (8 * b));
  }
  return bytes;
}

class PlainLayout {  // rows without gaps, in the program's memory
 public:
  PlainLayout() {
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  }
  ~PlainLayout() {
    glPixelStorei(GL_PACK_ALIGNMENT, 4);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  }
};

// A 2D texture full of what the seed gives.
class Texture {
 public:
  Texture(const Kind& kind, int width, int height, std::uint32_t seed) : kind_(kind), width_(width), height_(height) {
    const PlainLayout layout;
    const Bytes bytes = random_bytes(kind, static_cast<std::size_t>(width) * static_cast<std::size_t>(height), seed);
    glGenTextures(1, &name_);
    glBindTexture(GL_TEXTURE_2D, name_);
    glTexImage2D(GL_TEXTURE_2D, 0, static_cast<GLint>(kind.internal), width, height, 0, kind.format, kind.type,
                 bytes.data());
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
    glBindTexture(GL_TEXTURE_2D, 0);
    EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR)) << kind.name;
  }
  Texture(const Texture&) = delete;
  Texture& operator=(const Texture&) = delete;
  ~Texture() { glDeleteTextures(1, &name_); }

  GLuint name() const { return name_; }
  Image image() const { return Image::texture(name_); }
  Pixels pixels(const Rectangle& rectangle) const { return {image(), kind_.format, kind_.type, rectangle}; }
  Pixels pixels() const { return {image(), kind_.format, kind_.type}; }
  // All of it, as the format and type say.
  Bytes read(GLenum format, GLenum type, int pixel_bytes) const {
    const PlainLayout layout;
    Bytes bytes(static_cast<std::size_t>(width_ * height_ * pixel_bytes));
    glBindTexture(GL_TEXTURE_2D, name_);
    glGetTexImage(GL_TEXTURE_2D, 0, format, type, bytes.data());
    glBindTexture(GL_TEXTURE_2D, 0);
    return bytes;
  }
  Bytes read() const { return read(kind_.format, kind_.type, kind_.pixel_bytes); }

 private:
  const Kind& kind_;
  int width_, height_;
  GLuint name_ = 0;
};

// Where two differ first, for a report.
inline std::string difference(const Bytes& a, const Bytes& b) {
  if (a.size() != b.size()) return std::to_string(a.size()) + " bytes, expected " + std::to_string(b.size());
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin());
  if (x == a.end()) return "no difference";
  return "byte " + std::to_string(x - a.begin()) + " is " + std::to_string(*x) + ", expected " + std::to_string(*y);
}

// The rectangle's rows of an image so many pixels wide.
inline Bytes cut(const Bytes& image, int width, int pixel_bytes, const Rectangle& r) {
  Bytes part;
  for (int y = r.y; y < r.y + r.height; ++y) {
    const auto first = image.begin() + static_cast<std::ptrdiff_t>((y * width + r.x) * pixel_bytes);
    part.insert(part.end(), first, first + static_cast<std::ptrdiff_t>(r.width * pixel_bytes));
  }
  return part;
}

inline Bytes pasted(Bytes image, int width, int pixel_bytes, const Rectangle& r, const Bytes& part) {
  auto from = part.begin();
  for (int y = r.y; y < r.y + r.height; ++y) {
    const auto row = static_cast<std::ptrdiff_t>(r.width * pixel_bytes);
    std::copy(from, from + row, image.begin() + static_cast<std::ptrdiff_t>((y * width + r.x) * pixel_bytes));
    from += row;
  }
  return image;
}

inline const Kind& rgba8() {
  static const Kind kind{"RGBA8", GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4};
  return kind;
}
inline const Kind& r32f() {  // from 1 to 2
  static const Kind kind{"R32F", GL_R32F, GL_RED, GL_FLOAT, 4, 4, 0x007fffff};
  return kind;
}

}  // namespace dcgn::test
