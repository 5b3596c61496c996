// Raster positions in the window, patterns that lie in it, and what cannot be shifted.
#include "adjusted.hpp"
#include "real.hpp"
#include "state.hpp"

#include <cstring>
#include <string_view>

namespace dcgn::wall {

namespace {

// Bit x of row y, of 32 rows of 32 bits as glPolygonStipple takes them, is to lie where the program's window has it.
void rotate_pattern(const GLubyte* from, GLubyte* to, Offset by) {
  std::memset(to, 0, 128);
  for (int y = 0; y < 32; ++y)
    for (int x = 0; x < 32; ++x) {
      const int from_x = (x + by.x) & 31, from_y = (y + by.y) & 31;
      if (from[from_y * 4 + from_x / 8] >> (7 - from_x % 8) & 1)
        to[y * 4 + x / 8] |= static_cast<GLubyte>(1 << (7 - x % 8));
    }
}

GLfloat* feedback = nullptr;
GLsizei feedback_size = 0;
GLenum feedback_type = 0;

// Vertices that GL has written are the window's here.
void move_feedback(GLint count) {
  const Offset by = draw_offset();
  if (!feedback || (by.x == 0 && by.y == 0)) return;
  GLint rgba = 1;
  if (feedback_type == GL_3D_COLOR_TEXTURE || feedback_type == GL_3D_COLOR || feedback_type == GL_4D_COLOR_TEXTURE)
    DCGN_REAL(glGetIntegerv)(GL_RGBA_MODE, &rgba);
  const int colour = rgba ? 4 : 1;
  int vertex = 2;
  switch (feedback_type) {
    case GL_3D: vertex = 3; break;
    case GL_3D_COLOR: vertex = 3 + colour; break;
    case GL_3D_COLOR_TEXTURE: vertex = 7 + colour; break;
    case GL_4D_COLOR_TEXTURE: vertex = 8 + colour; break;
    default: break;  // GL_2D
  }
  const GLfloat* const end = feedback + (count < 0 ? feedback_size : count);
  for (GLfloat* at = feedback; at < end;) {
    int vertices = 1;
    switch (static_cast<int>(*at++)) {
      case GL_PASS_THROUGH_TOKEN: ++at; continue;
      case GL_LINE_TOKEN:
      case GL_LINE_RESET_TOKEN: vertices = 2; break;
      case GL_POLYGON_TOKEN: vertices = at < end ? static_cast<int>(*at++) : 0; break;
      default: break;  // a point, a bitmap, pixels
    }
    for (; vertices > 0 && at + vertex <= end; --vertices, at += vertex) {
      at[0] += static_cast<GLfloat>(by.x);
      at[1] += static_cast<GLfloat>(by.y);
    }
    if (vertices > 0) return;
  }
}

}  // namespace

namespace adjusted {

void glWindowPos3d(GLdouble x, GLdouble y, GLdouble z) {
  const Offset by = draw_offset();
  DCGN_REAL(glWindowPos3d)(x - by.x, y - by.y, z);
}
void glWindowPos2d(GLdouble x, GLdouble y) { glWindowPos3d(x, y, 0); }
void glWindowPos2dv(const GLdouble* v) { glWindowPos3d(v[0], v[1], 0); }
void glWindowPos2f(GLfloat x, GLfloat y) { glWindowPos3d(x, y, 0); }
void glWindowPos2fv(const GLfloat* v) { glWindowPos3d(v[0], v[1], 0); }
void glWindowPos2i(GLint x, GLint y) { glWindowPos3d(x, y, 0); }
void glWindowPos2iv(const GLint* v) { glWindowPos3d(v[0], v[1], 0); }
void glWindowPos2s(GLshort x, GLshort y) { glWindowPos3d(x, y, 0); }
void glWindowPos2sv(const GLshort* v) { glWindowPos3d(v[0], v[1], 0); }
void glWindowPos3dv(const GLdouble* v) { glWindowPos3d(v[0], v[1], v[2]); }
void glWindowPos3f(GLfloat x, GLfloat y, GLfloat z) { glWindowPos3d(x, y, z); }
void glWindowPos3fv(const GLfloat* v) { glWindowPos3d(v[0], v[1], v[2]); }
void glWindowPos3i(GLint x, GLint y, GLint z) { glWindowPos3d(x, y, z); }
void glWindowPos3iv(const GLint* v) { glWindowPos3d(v[0], v[1], v[2]); }
void glWindowPos3s(GLshort x, GLshort y, GLshort z) { glWindowPos3d(x, y, z); }
void glWindowPos3sv(const GLshort* v) { glWindowPos3d(v[0], v[1], v[2]); }

void glPolygonStipple(const GLubyte* mask) {
  const Offset by = draw_offset();
  if ((by.x & 31) == 0 && (by.y & 31) == 0) return DCGN_REAL(glPolygonStipple)(mask);
  GLubyte rotated[128];
  rotate_pattern(mask, rotated, by);
  DCGN_REAL(glPolygonStipple)(rotated);
}

void glGetPolygonStipple(GLubyte* mask) {
  const Offset by = draw_offset();
  GLubyte rotated[128];
  DCGN_REAL(glGetPolygonStipple)(rotated);
  rotate_pattern(rotated, mask, {-by.x, -by.y});
}

GLint glRenderMode(GLenum mode) {
  GLint before = GL_RENDER;
  DCGN_REAL(glGetIntegerv)(GL_RENDER_MODE, &before);
  const GLint count = DCGN_REAL(glRenderMode)(mode);
  if (before == GL_FEEDBACK) move_feedback(count);
  return count;
}

void glFeedbackBuffer(GLsizei size, GLenum type, GLfloat* buffer) {
  feedback = buffer;
  feedback_size = size;
  feedback_type = type;
  DCGN_REAL(glFeedbackBuffer)(size, type, buffer);
}

void glShaderSource(GLuint shader, GLsizei count, const GLchar* const* string, const GLint* length) {
  for (GLsizei i = 0; i < count && !setup.exact; ++i) {
    const std::string_view text = length && length[i] >= 0
                                      ? std::string_view(string[i], static_cast<std::size_t>(length[i]))
                                      : std::string_view(string[i]);
    if (text.find("gl_FragCoord") != std::string_view::npos)
      warn(
          "a shader reads gl_FragCoord, which counts from each screen's own corner: expected --exact, where it is the "
          "wall's");
  }
  DCGN_REAL(glShaderSource)(shader, count, string, length);
}

}  // namespace adjusted

}  // namespace dcgn::wall
