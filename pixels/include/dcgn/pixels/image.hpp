// Rectangles of OpenGL's images: what pixels::ImageComm sends and fills.
//
// Nothing here includes OpenGL: its enumerants and names are `unsigned`, as GLenum and GLuint are.
#pragma once

#include <optional>

namespace dcgn::pixels {

// Of pixels, from the image's pixel (0, 0) on, as GL counts: the first row is the lowest of a framebuffer.
struct Rectangle {
  int x = 0, y = 0, width = 0, height = 0;
  friend bool operator==(const Rectangle&, const Rectangle&) = default;
};

// One image of the current context: a level and layer of a texture, a renderbuffer, or what is attached to a
// framebuffer.
struct Image {
  enum class Kind { texture, renderbuffer, framebuffer };
  Kind kind = Kind::texture;
  unsigned name = 0;
  int level = 0, layer = 0;  // of a texture
  unsigned attachment = 0;   // of a framebuffer

  // Of any target but those of several samples and of buffers. `layer` is that of an array, the slice of a 3D texture,
  // the face of a cube map in the order +x -x +y -y +z -z, or 6 times the layer of an array of these and the face. The
  // rows of a 1D array are its layers.
  static Image texture(unsigned name, int level = 0, int layer = 0) {
    return {.kind = Kind::texture, .name = name, .level = level, .layer = layer};
  }
  static Image renderbuffer(unsigned name) { return {.kind = Kind::renderbuffer, .name = name}; }
  // GL_COLOR_ATTACHMENT0 + i, GL_DEPTH_ATTACHMENT, GL_STENCIL_ATTACHMENT or GL_DEPTH_STENCIL_ATTACHMENT of a
  // framebuffer object; of the window, which is framebuffer 0, GL_BACK, GL_FRONT, GL_BACK_LEFT, GL_DEPTH and so on.
  static Image framebuffer(unsigned name, unsigned attachment) {
    return {.kind = Kind::framebuffer, .name = name, .attachment = attachment};
  }
};

// A rectangle of an image, and as what its pixels travel: GL converts between what the image holds and that. In memory
// they are rows one after the other, from the lowest on, without any gap.
struct Pixels {
  Image image;
  unsigned format = 0;                   // GL_RGBA, GL_DEPTH_COMPONENT, GL_RED_INTEGER, ...
  unsigned type = 0;                     // GL_UNSIGNED_BYTE, GL_FLOAT, GL_UNSIGNED_SHORT_5_6_5, ...
  std::optional<Rectangle> rectangle{};  // all of the image where there is none
};

}  // namespace dcgn::pixels
