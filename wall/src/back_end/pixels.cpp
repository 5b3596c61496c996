// Pixels of the window that the program asks for: each screen has its part, and all get the whole.
#include "adjusted.hpp"
#include "balance.hpp"
#include "drawing.hpp"
#include "link.hpp"
#include "real.hpp"
#include "state.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace dcgn::wall {

namespace {

// How GL lays pixels out in memory.
struct PixelStore {
  static constexpr std::array pack_names = {GL_PACK_ALIGNMENT, GL_PACK_ROW_LENGTH, GL_PACK_SKIP_ROWS,
                                            GL_PACK_SKIP_PIXELS};
  static constexpr std::array unpack_names = {GL_UNPACK_ALIGNMENT, GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_ROWS,
                                              GL_UNPACK_SKIP_PIXELS};

  const std::array<int, 4>& names;
  GLenum buffer_target, buffer_name;
  std::array<GLint, 4> values{};
  GLint buffer = 0;

  // Tight rows in the caller's memory, as long as this lives.
  explicit PixelStore(bool pack)
      : names(pack ? pack_names : unpack_names),
        buffer_target(pack ? GL_PIXEL_PACK_BUFFER : GL_PIXEL_UNPACK_BUFFER),
        buffer_name(pack ? GL_PIXEL_PACK_BUFFER_BINDING : GL_PIXEL_UNPACK_BUFFER_BINDING) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      DCGN_REAL(glGetIntegerv)(static_cast<GLenum>(names[i]), &values[i]);
      DCGN_REAL(glPixelStorei)(static_cast<GLenum>(names[i]), i == 0 ? 1 : 0);
    }
    DCGN_REAL(glGetIntegerv)(buffer_name, &buffer);
    if (buffer) DCGN_REAL(glBindBuffer)(buffer_target, 0);
  }
  PixelStore(const PixelStore&) = delete;
  PixelStore& operator=(const PixelStore&) = delete;
  ~PixelStore() {
    for (std::size_t i = 0; i < names.size(); ++i) DCGN_REAL(glPixelStorei)(static_cast<GLenum>(names[i]), values[i]);
    if (buffer) DCGN_REAL(glBindBuffer)(buffer_target, static_cast<GLuint>(buffer));
  }
};

// Of a pixel; 0: pixels that share bytes, or of kinds unknown.
unsigned pixel_bytes(GLenum format, GLenum type) {
  unsigned parts = 0;
  switch (format) {
    case GL_RED:
    case GL_GREEN:
    case GL_BLUE:
    case GL_ALPHA:
    case GL_LUMINANCE:
    case GL_COLOR_INDEX:
    case GL_STENCIL_INDEX:
    case GL_DEPTH_COMPONENT:
    case GL_RED_INTEGER: parts = 1; break;
    case GL_LUMINANCE_ALPHA:
    case GL_RG:
    case GL_RG_INTEGER: parts = 2; break;
    case GL_RGB:
    case GL_BGR:
    case GL_RGB_INTEGER: parts = 3; break;
    case GL_RGBA:
    case GL_BGRA:
    case GL_RGBA_INTEGER: parts = 4; break;
    case GL_DEPTH_STENCIL: parts = 1; break;
    default: return 0;  // not among GL's for windows
  }
  switch (type) {
    case GL_UNSIGNED_BYTE:
    case GL_BYTE: return parts;
    case GL_UNSIGNED_SHORT:
    case GL_SHORT:
    case GL_HALF_FLOAT: return parts * 2;
    case GL_UNSIGNED_INT:
    case GL_INT:
    case GL_FLOAT: return parts * 4;
    case GL_UNSIGNED_BYTE_3_3_2:
    case GL_UNSIGNED_BYTE_2_3_3_REV: return 1;
    case GL_UNSIGNED_SHORT_5_6_5:
    case GL_UNSIGNED_SHORT_5_6_5_REV:
    case GL_UNSIGNED_SHORT_4_4_4_4:
    case GL_UNSIGNED_SHORT_4_4_4_4_REV:
    case GL_UNSIGNED_SHORT_5_5_5_1:
    case GL_UNSIGNED_SHORT_1_5_5_5_REV: return 2;
    case GL_UNSIGNED_INT_8_8_8_8:
    case GL_UNSIGNED_INT_8_8_8_8_REV:
    case GL_UNSIGNED_INT_10_10_10_2:
    case GL_UNSIGNED_INT_2_10_10_10_REV:
    case GL_UNSIGNED_INT_24_8: return 4;
    case GL_FLOAT_32_UNSIGNED_INT_24_8_REV: return 8;
    default: return 0;
  }
}

// Whether the window is read, and not a framebuffer object of the program's.
bool reads_window() { return connected && current && !inside_glut && current->read_framebuffer == 0; }

// What of the window this back end has to be read: of a front buffer, what is on its screen.
Rect part_read(const Window& window) {
  if (!window.balanced) return window.seen;
  GLint buffer = 0;
  DCGN_REAL(glGetIntegerv)(GL_READ_BUFFER, &buffer);
  return buffer == GL_FRONT || buffer == GL_FRONT_LEFT ? window.seen : part_drawn(window);
}

constexpr const char* own_pixels_alone =
    "the program reads pixels that each screen has for itself: the wall is not balanced any more";

// Tight rows of that rectangle of the whole window, whatever screens it is on; nothing where GL cannot read it.
std::string read_from_all(const Rect& area, GLenum format, GLenum type, unsigned bytes) {
  Read read;
  read.window = current->id;
  read.area = area;
  read.mine = intersection(area, current->in_gl(part_read(*current)));
  read.pixel_bytes = bytes;
  if (read.mine.empty()) read.mine = {area.x, area.y, 0, 0};
  std::string rows(static_cast<std::size_t>(read.mine.width) * static_cast<std::size_t>(read.mine.height) * bytes,
                   '\0');
  const Offset by = read_offset();
  const PixelStore tight(true);
  if (!rows.empty()) DCGN_REAL(glReadPixels)
  (read.mine.x - by.x, read.mine.y - by.y, read.mine.width, read.mine.height, format, type, rows.data());
  return share_pixels(read, rows);
}

// As the program wants them laid out, in its memory or in its buffer.
void hand_over(const std::string& rows, int width, int height, unsigned bytes, void* to) {
  std::array<GLint, 4> store{};
  for (std::size_t i = 0; i < store.size(); ++i)
    DCGN_REAL(glGetIntegerv)(static_cast<GLenum>(PixelStore::pack_names[i]), &store[i]);
  const auto align = static_cast<std::size_t>(std::max(1, store[0]));
  const std::size_t row = static_cast<std::size_t>(width) * bytes;
  const std::size_t pitch =
      (static_cast<std::size_t>(store[1] > 0 ? store[1] : width) * bytes + align - 1) / align * align;
  const std::size_t first = static_cast<std::size_t>(store[2]) * pitch + static_cast<std::size_t>(store[3]) * bytes;
  GLint buffer = 0;
  DCGN_REAL(glGetIntegerv)(GL_PIXEL_PACK_BUFFER_BINDING, &buffer);
  for (int y = 0; y < height; ++y) {
    const char* const from = rows.data() + static_cast<std::size_t>(y) * row;
    const std::size_t at = first + static_cast<std::size_t>(y) * pitch;
    if (buffer) DCGN_REAL(glBufferSubData)
    (GL_PIXEL_PACK_BUFFER, static_cast<GLintptr>(reinterpret_cast<std::uintptr_t>(to) + at),
     static_cast<GLsizeiptr>(row), from);
    else std::memcpy(static_cast<char*>(to) + at, from, row);
  }
}

struct Copied {
  GLenum format, type;
  std::string rows;
};

// What a texture of that kind is made of.
Copied copy_from_all(GLenum internal, const Rect& area) {
  switch (internal) {
    case GL_DEPTH_COMPONENT:
    case GL_DEPTH_COMPONENT16:
    case GL_DEPTH_COMPONENT24:
    case GL_DEPTH_COMPONENT32:
      return {GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, read_from_all(area, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, 4)};
    default: return {GL_RGBA, GL_UNSIGNED_BYTE, read_from_all(area, GL_RGBA, GL_UNSIGNED_BYTE, 4)};
  }
}

GLenum internal_format(GLenum target, GLint level) {
  GLint format = GL_RGBA;
  DCGN_REAL(glGetTexLevelParameteriv)(target, level, GL_TEXTURE_INTERNAL_FORMAT, &format);
  return static_cast<GLenum>(format);
}

}  // namespace

void read_own_pixels(const Window& window, bool back_buffer, std::uint8_t* bgra) {
  const Rect seen = window.seen_in_gl();
  const Offset by = window.whole ? Offset{} : Offset{seen.x, seen.y};
  GLint buffer = 0;
  DCGN_REAL(glGetIntegerv)(GL_READ_BUFFER, &buffer);
  if (window.read_framebuffer) DCGN_REAL(glBindFramebuffer)(GL_READ_FRAMEBUFFER, 0);
  DCGN_REAL(glReadBuffer)(back_buffer ? GL_BACK : GL_FRONT);
  {
    const PixelStore tight(true);
    DCGN_REAL(glReadPixels)(seen.x - by.x, seen.y - by.y, seen.width, seen.height, GL_BGRA, GL_UNSIGNED_BYTE, bgra);
  }
  if (window.read_framebuffer) DCGN_REAL(glBindFramebuffer)(GL_READ_FRAMEBUFFER, window.read_framebuffer);
  DCGN_REAL(glReadBuffer)(static_cast<GLenum>(buffer));
}

namespace adjusted {

void glReadPixels(GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, void* pixels) {
  const unsigned bytes = pixel_bytes(format, type);
  if (!reads_window() || width <= 0 || height <= 0)
    return DCGN_REAL(glReadPixels)(x, y, width, height, format, type, pixels);
  if (bytes == 0) {
    warn("glReadPixels of a format that the wall does not know reads this screen's own part");
    keep_cut(own_pixels_alone);
    const Offset by = read_offset();
    return DCGN_REAL(glReadPixels)(x - by.x, y - by.y, width, height, format, type, pixels);
  }
  hand_over(read_from_all({x, y, width, height}, format, type, bytes), width, height, bytes, pixels);
}

void glReadnPixels(GLint x, GLint y, GLsizei width, GLsizei height, GLenum format, GLenum type, GLsizei size,
                   void* pixels) {
  if (!reads_window()) return DCGN_REAL(glReadnPixels)(x, y, width, height, format, type, size, pixels);
  glReadPixels(x, y, width, height, format, type, pixels);
}

void glCopyPixels(GLint x, GLint y, GLsizei width, GLsizei height, GLenum type) {
  if (!reads_window() || width <= 0 || height <= 0 || type == GL_DEPTH_STENCIL)
    return DCGN_REAL(glCopyPixels)(x, y, width, height, type);
  const Rect area{x, y, width, height};
  Copied copied{GL_RGBA, GL_UNSIGNED_BYTE, {}};
  if (type == GL_DEPTH) copied = {GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, {}};
  if (type == GL_STENCIL) copied = {GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, {}};
  // The program's changes of pixels on their way come with drawing them, once.
  DCGN_REAL(glPushAttrib)(GL_PIXEL_MODE_BIT);
  for (const GLenum scale : {GL_RED_SCALE, GL_GREEN_SCALE, GL_BLUE_SCALE, GL_ALPHA_SCALE, GL_DEPTH_SCALE})
    DCGN_REAL(glPixelTransferf)(scale, 1);
  for (const GLenum bias : {GL_RED_BIAS, GL_GREEN_BIAS, GL_BLUE_BIAS, GL_ALPHA_BIAS, GL_DEPTH_BIAS})
    DCGN_REAL(glPixelTransferf)(bias, 0);
  DCGN_REAL(glPixelTransferi)(GL_MAP_COLOR, GL_FALSE);
  copied.rows = read_from_all(area, copied.format, copied.type, pixel_bytes(copied.format, copied.type));
  DCGN_REAL(glPopAttrib)();
  const PixelStore tight(false);
  DCGN_REAL(glDrawPixels)(width, height, copied.format, copied.type, copied.rows.data());
}

void glCopyTexImage1D(GLenum target, GLint level, GLenum internal, GLint x, GLint y, GLsizei width, GLint border) {
  if (!reads_window()) return DCGN_REAL(glCopyTexImage1D)(target, level, internal, x, y, width, border);
  const Copied copied = copy_from_all(internal, {x, y, width, 1});
  const PixelStore tight(false);
  DCGN_REAL(glTexImage1D)
  (target, level, static_cast<GLint>(internal), width, border, copied.format, copied.type, copied.rows.data());
}

void glCopyTexImage2D(GLenum target, GLint level, GLenum internal, GLint x, GLint y, GLsizei width, GLsizei height,
                      GLint border) {
  if (!reads_window()) return DCGN_REAL(glCopyTexImage2D)(target, level, internal, x, y, width, height, border);
  const Copied copied = copy_from_all(internal, {x, y, width, height});
  const PixelStore tight(false);
  DCGN_REAL(glTexImage2D)
  (target, level, static_cast<GLint>(internal), width, height, border, copied.format, copied.type, copied.rows.data());
}

void glCopyTexSubImage1D(GLenum target, GLint level, GLint xoffset, GLint x, GLint y, GLsizei width) {
  if (!reads_window()) return DCGN_REAL(glCopyTexSubImage1D)(target, level, xoffset, x, y, width);
  const Copied copied = copy_from_all(internal_format(target, level), {x, y, width, 1});
  const PixelStore tight(false);
  DCGN_REAL(glTexSubImage1D)(target, level, xoffset, width, copied.format, copied.type, copied.rows.data());
}

void glCopyTexSubImage2D(GLenum target, GLint level, GLint xoffset, GLint yoffset, GLint x, GLint y, GLsizei width,
                         GLsizei height) {
  if (!reads_window()) return DCGN_REAL(glCopyTexSubImage2D)(target, level, xoffset, yoffset, x, y, width, height);
  const Copied copied = copy_from_all(internal_format(target, level), {x, y, width, height});
  const PixelStore tight(false);
  DCGN_REAL(glTexSubImage2D)
  (target, level, xoffset, yoffset, width, height, copied.format, copied.type, copied.rows.data());
}

void glCopyTexSubImage3D(GLenum target, GLint level, GLint xoffset, GLint yoffset, GLint zoffset, GLint x, GLint y,
                         GLsizei width, GLsizei height) {
  if (!reads_window())
    return DCGN_REAL(glCopyTexSubImage3D)(target, level, xoffset, yoffset, zoffset, x, y, width, height);
  const Copied copied = copy_from_all(internal_format(target, level), {x, y, width, height});
  const PixelStore tight(false);
  DCGN_REAL(glTexSubImage3D)
  (target, level, xoffset, yoffset, zoffset, width, height, 1, copied.format, copied.type, copied.rows.data());
}

void glBlitFramebuffer(GLint x0, GLint y0, GLint x1, GLint y1, GLint to_x0, GLint to_y0, GLint to_x1, GLint to_y1,
                       GLbitfield mask, GLenum filter) {
  if (reads_window() && setup.screen != setup.wall) {
    warn("glBlitFramebuffer from the window copies what is this screen's own");
    keep_cut(own_pixels_alone);
  }
  const Offset from = read_offset(), to = draw_offset();
  DCGN_REAL(glBlitFramebuffer)
  (x0 - from.x, y0 - from.y, x1 - from.x, y1 - from.y, to_x0 - to.x, to_y0 - to.y, to_x1 - to.x, to_y1 - to.y, mask,
   filter);
}

}  // namespace adjusted

}  // namespace dcgn::wall
