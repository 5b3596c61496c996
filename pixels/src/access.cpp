#include "pixels/src/access.hpp"

#include "pixels/src/gl.hpp"
#include "pixels/src/shader_copier.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::pixels {

namespace {

// How rows lie in memory, one way, and which buffer that memory is of: without gaps, and as it was before, at the end.
class Layout {
 public:
  Layout(bool packs, unsigned buffer)
      : parameters_(packs ? pack : unpack),
        target_(packs ? GL_PIXEL_PACK_BUFFER : GL_PIXEL_UNPACK_BUFFER),
        buffer_(static_cast<GLuint>(get(packs ? GL_PIXEL_PACK_BUFFER_BINDING : GL_PIXEL_UNPACK_BUFFER_BINDING))) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      values_[i] = get(parameters_[i]);
      gl().pixel_storei(parameters_[i], i == 0 ? 1 : 0);
    }
    gl().bind_buffer(target_, buffer);
  }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  ~Layout() {
    for (std::size_t i = 0; i < values_.size(); ++i) gl().pixel_storei(parameters_[i], values_[i]);
    gl().bind_buffer(target_, buffer_);
  }

 private:
  using Parameters = std::array<GLenum, 8>;
  static constexpr Parameters pack = {GL_PACK_ALIGNMENT, GL_PACK_ROW_LENGTH,  GL_PACK_IMAGE_HEIGHT, GL_PACK_SKIP_PIXELS,
                                      GL_PACK_SKIP_ROWS, GL_PACK_SKIP_IMAGES, GL_PACK_SWAP_BYTES,   GL_PACK_LSB_FIRST};
  static constexpr Parameters unpack = {GL_UNPACK_ALIGNMENT,   GL_UNPACK_ROW_LENGTH, GL_UNPACK_IMAGE_HEIGHT,
                                        GL_UNPACK_SKIP_PIXELS, GL_UNPACK_SKIP_ROWS,  GL_UNPACK_SKIP_IMAGES,
                                        GL_UNPACK_SWAP_BYTES,  GL_UNPACK_LSB_FIRST};
  const Parameters& parameters_;
  GLenum target_;
  GLuint buffer_;
  std::array<GLint, 8> values_;
};

std::string text(const Checked& pixels) {
  return name_of_format(pixels.format.format) + " " + name_of_type(pixels.format.type);
}

Owned made_framebuffer() {
  GLuint name = 0;
  gl().create_framebuffers(1, &name);
  return {name, gl().delete_framebuffers};
}

// A texture of one level that holds what the image does: GL fills and reads textures by name, and copies between these
// and renderbuffers bit by bit.
unsigned sized(unsigned internal_format) {
  switch (internal_format) {
    case GL_RED: return GL_R8;
    case GL_RG: return GL_RG8;
    case GL_RGB: return GL_RGB8;
    case GL_RGBA: return GL_RGBA8;
    case GL_DEPTH_COMPONENT: return GL_DEPTH_COMPONENT24;
    case GL_DEPTH_STENCIL: return GL_DEPTH24_STENCIL8;
    case GL_STENCIL_INDEX: return GL_STENCIL_INDEX8;
  }
  return internal_format;
}

class Between {
 public:
  Between(const char* operation, const Checked& pixels, unsigned internal_format)
      : operation_(operation), image_(pixels), texture_(made(), gl().delete_textures) {
    gl().texture_storage_2d(texture_.name(), 1, sized(internal_format), pixels.rectangle.width,
                            pixels.rectangle.height);
    check_error(operation, "a texture of the image's format, " + std::to_string(internal_format), Code::unsupported);
  }

  // The pixels, as they are in the texture.
  Checked pixels() const {
    Checked in = image_;
    in.kind = Checked::Kind::texture;
    in.name = texture_.name();
    in.target = GL_TEXTURE_2D;
    in.level = in.layer = 0;
    in.rectangle.x = in.rectangle.y = 0;
    return in;
  }
  void from_renderbuffer() const { copy(image_, pixels()); }
  void to_renderbuffer() const { copy(pixels(), image_); }

  // By drawing. What is drawn of depth or stencil must be of this texture's format.
  void to_window() const {
    const Gl& g = gl();
    const GLuint bound = static_cast<GLuint>(get(GL_DRAW_FRAMEBUFFER_BINDING));
    g.bind_framebuffer(GL_DRAW_FRAMEBUFFER, 0);
    const GLint draw_buffer = get(GL_DRAW_BUFFER);
    g.bind_framebuffer(GL_DRAW_FRAMEBUFFER, bound);
    if (mask() == GL_COLOR_BUFFER_BIT) g.named_framebuffer_draw_buffer(0, image_.buffer);
    draw(0);
    if (mask() == GL_COLOR_BUFFER_BIT) g.named_framebuffer_draw_buffer(0, static_cast<GLenum>(draw_buffer));
    check_error(operation_, "drawing to the window", Code::unsupported);
  }

 private:
  static GLuint made() {
    GLuint name = 0;
    gl().create_textures(GL_TEXTURE_2D, 1, &name);
    return name;
  }
  GLenum mask() const {
    switch (image_.format.content) {
      case Content::color:
      case Content::integer: return GL_COLOR_BUFFER_BIT;
      case Content::depth: return GL_DEPTH_BUFFER_BIT;
      case Content::stencil: return GL_STENCIL_BUFFER_BIT;
      case Content::depth_stencil: return GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT;
    }
    return 0;
  }
  void draw(GLuint framebuffer) const {
    const Gl& g = gl();
    const Owned source = made_framebuffer();
    const GLenum attachment = mask() == GL_COLOR_BUFFER_BIT     ? GL_COLOR_ATTACHMENT0
                              : mask() == GL_DEPTH_BUFFER_BIT   ? GL_DEPTH_ATTACHMENT
                              : mask() == GL_STENCIL_BUFFER_BIT ? GL_STENCIL_ATTACHMENT
                                                                : GL_DEPTH_STENCIL_ATTACHMENT;
    g.named_framebuffer_texture(source.name(), attachment, texture_.name(), 0);
    const Rectangle& r = image_.rectangle;
    // What would come between, of the first viewport.
    const bool scissor = g.is_enabledi(GL_SCISSOR_TEST, 0), converts = g.is_enabled(GL_FRAMEBUFFER_SRGB);
    if (scissor) g.disablei(GL_SCISSOR_TEST, 0);
    if (converts) g.disable(GL_FRAMEBUFFER_SRGB);
    g.blit_named_framebuffer(source.name(), framebuffer, 0, 0, r.width, r.height, r.x, r.y, r.x + r.width,
                             r.y + r.height, mask(), GL_NEAREST);
    if (scissor) g.enablei(GL_SCISSOR_TEST, 0);
    if (converts) g.enable(GL_FRAMEBUFFER_SRGB);
  }
  void copy(const Checked& from, const Checked& to) const {
    gl().copy_image_sub_data(from.name, from.target, from.level, from.rectangle.x, from.rectangle.y, from.layer,
                             to.name, to.target, to.level, to.rectangle.x, to.rectangle.y, to.layer, to.rectangle.width,
                             to.rectangle.height, 1);
    check_error(operation_, "copying renderbuffer " + std::to_string(image_.name), Code::unsupported);
  }

  const char* operation_;
  const Checked& image_;
  Owned texture_;
};

void read_window(const Checked& p, void* memory) {
  const Gl& g = gl();
  const GLuint framebuffer = static_cast<GLuint>(get(GL_READ_FRAMEBUFFER_BINDING));
  g.bind_framebuffer(GL_READ_FRAMEBUFFER, 0);
  const GLint read_buffer = get(GL_READ_BUFFER);
  if (p.format.content == Content::color) g.named_framebuffer_read_buffer(0, p.buffer);
  g.read_pixels(p.rectangle.x, p.rectangle.y, p.rectangle.width, p.rectangle.height, p.format.format, p.format.type,
                memory);
  g.named_framebuffer_read_buffer(0, static_cast<GLenum>(read_buffer));
  g.bind_framebuffer(GL_READ_FRAMEBUFFER, framebuffer);
}

// In a buffer of GL's, `memory` is an offset.
void read_in_layout(const Checked& p, void* memory) {
  if (p.kind == Checked::Kind::window) return read_window(p, memory);
  const Rectangle& r = p.rectangle;
  gl().get_texture_sub_image(p.name, p.level, r.x, r.y, p.layer, r.width, r.height, 1, p.format.format, p.format.type,
                             static_cast<GLsizei>(p.bytes()), memory);
}

void write_in_layout(const Checked& p, const void* memory) {
  const Gl& g = gl();
  const Rectangle& r = p.rectangle;
  const GLenum format = p.format.format, type = p.format.type;
  switch (p.target) {
    case GL_TEXTURE_1D: return g.texture_sub_image_1d(p.name, p.level, r.x, r.width, format, type, memory);
    case GL_TEXTURE_2D:
    case GL_TEXTURE_RECTANGLE:
    case GL_TEXTURE_1D_ARRAY:
      return g.texture_sub_image_2d(p.name, p.level, r.x, r.y, r.width, r.height, format, type, memory);
    case GL_TEXTURE_CUBE_MAP: {
      // Not by glTextureSubImage3D(): given a cube that glTexImage2D() made, NVIDIA's 580 writes where it should not.
      const GLuint bound = static_cast<GLuint>(get(GL_TEXTURE_BINDING_CUBE_MAP));
      g.bind_texture(GL_TEXTURE_CUBE_MAP, p.name);
      g.tex_sub_image_2d(GL_TEXTURE_CUBE_MAP_POSITIVE_X + static_cast<GLenum>(p.layer), p.level, r.x, r.y, r.width,
                         r.height, format, type, memory);
      g.bind_texture(GL_TEXTURE_CUBE_MAP, bound);
      return;
    }
  }
  g.texture_sub_image_3d(p.name, p.level, r.x, r.y, p.layer, r.width, r.height, 1, format, type, memory);
}

// GL counts the bytes that it reads with 32 bits.
void check_bytes(const char* operation, const Checked& pixels) {
  constexpr std::int64_t most = 0x7fffffff;
  if (pixels.bytes() > most)
    throw Error(Code::invalid_size, operation,
                "the rectangle has " + std::to_string(pixels.bytes()) + " bytes, expected " + std::to_string(most) +
                    " at most at a time: tile_bytes has it go in parts");
}

void read(const char* operation, const Checked& pixels, unsigned buffer, void* memory, ShaderCopier* copier = nullptr) {
  if (pixels.bytes() == 0) return;
  check_bytes(operation, pixels);
  if (pixels.kind == Checked::Kind::renderbuffer) {
    const Between texture(operation, pixels, pixels.internal_format);
    texture.from_renderbuffer();
    return read(operation, texture.pixels(), buffer, memory, copier);
  }
  if (!copier || !copier->read(pixels, buffer)) {
    const Layout layout(true, buffer);
    read_in_layout(pixels, memory);
  }
  check_error(operation, "reading " + text(pixels), Code::unsupported);
}

void fill(const char* operation, const Checked& pixels, unsigned buffer, const void* memory, ShaderCopier* copier) {
  if (!copier || !copier->write(pixels, buffer)) {
    const Layout layout(false, buffer);
    write_in_layout(pixels, memory);
  }
  check_error(operation, "filling with " + text(pixels), Code::unsupported);
}

void write(const char* operation, const Checked& pixels, unsigned buffer, const void* memory,
           ShaderCopier* copier = nullptr);

// Depth or stencil, where the image has both: GL would lose the other one. What comes becomes what the image has by way
// of a texture, so that it is GL that converts.
void write_half(const char* operation, const Checked& pixels, unsigned buffer, const void* memory) {
  const bool is_depth = pixels.format.content == Content::depth;
  const bool is_float = pixels.internal_format == GL_DEPTH32F_STENCIL8;
  const unsigned type = is_float ? GL_FLOAT_32_UNSIGNED_INT_24_8_REV : GL_UNSIGNED_INT_24_8;
  const std::size_t words = is_float ? 2 : 1;
  Checked both = pixels;
  both.format = pixel_format(operation, GL_DEPTH_STENCIL, type);
  std::vector<std::uint32_t> values(static_cast<std::size_t>(both.bytes()) / sizeof(std::uint32_t));
  read(operation, both, 0, values.data());

  const Between texture(operation, pixels, is_depth ? pixels.internal_format : GL_STENCIL_INDEX8);
  fill(operation, texture.pixels(), buffer, memory, nullptr);
  Checked come = texture.pixels();
  if (is_depth) {
    come.format = both.format;
    std::vector<std::uint32_t> depths(values.size());
    read(operation, come, 0, depths.data());
    for (std::size_t i = 0; i < values.size(); i += words)
      values[i] = is_float ? depths[i] : (depths[i] & 0xffffff00) | (values[i] & 0xff);
  } else {
    come.format = pixel_format(operation, GL_STENCIL_INDEX, GL_UNSIGNED_BYTE);
    std::vector<unsigned char> stencils(values.size() / words);
    read(operation, come, 0, stencils.data());
    for (std::size_t i = 0; i < stencils.size(); ++i) {
      std::uint32_t& word = values[i * words + words - 1];
      word = (word & 0xffffff00) | stencils[i];
    }
  }
  write(operation, both, 0, values.data());
}

void write(const char* operation, const Checked& pixels, unsigned buffer, const void* memory, ShaderCopier* copier) {
  if (pixels.bytes() == 0) return;
  if (content_of(pixels.internal_format) == Content::depth_stencil && pixels.format.content != Content::depth_stencil)
    return write_half(operation, pixels, buffer, memory);
  if (pixels.kind != Checked::Kind::texture) {
    const Between texture(operation, pixels, pixels.internal_format);
    fill(operation, texture.pixels(), buffer, memory, copier);
    return pixels.kind == Checked::Kind::window ? texture.to_window() : texture.to_renderbuffer();
  }
  fill(operation, pixels, buffer, memory, copier);
}

}  // namespace

void read_image(const char* operation, const Checked& pixels, void* memory) { read(operation, pixels, 0, memory); }
void read_image_to_buffer(const char* operation, const Checked& pixels, unsigned buffer, ShaderCopier& copier) {
  read(operation, pixels, buffer, nullptr, &copier);
}
void write_image(const char* operation, const Checked& pixels, const void* memory) {
  write(operation, pixels, 0, memory);
}
void write_image_from_buffer(const char* operation, const Checked& pixels, unsigned buffer, ShaderCopier& copier) {
  write(operation, pixels, buffer, nullptr, &copier);
}

}  // namespace dcgn::pixels
