#include "drawing.hpp"

#include "adjusted.hpp"
#include "balance.hpp"
#include "real.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace dcgn::wall {

namespace {

// Window coordinates mean nothing to a program's framebuffer objects.
bool draws_to_window() { return current && !inside_glut && current->draw_framebuffer == 0; }

// Whether ours is beneath the program's scissor test.
bool scissor_is_kept() { return draws_to_window() && current->whole; }

Rect get_box(GLenum which) {
  GLint v[4] = {};
  DCGN_REAL(glGetIntegerv)(which, v);
  return {v[0], v[1], v[2], v[3]};
}

// GL's window coordinates of the current state, by so much.
void move_state(int x, int y) {
  if (x == 0 && y == 0) return;
  const Rect view = get_box(GL_VIEWPORT), box = get_box(GL_SCISSOR_BOX);
  DCGN_REAL(glViewport)(view.x + x, view.y + y, view.width, view.height);
  DCGN_REAL(glScissor)(box.x + x, box.y + y, box.width, box.height);
}

// The raster position that a program has not set since, too: it begins in the window's corner.
void move_raster(int x, int y) {
  if (x == 0 && y == 0) return;
  GLint profile = 0;
  DCGN_REAL(glGetIntegerv)(GL_CONTEXT_PROFILE_MASK, &profile);
  while (DCGN_REAL(glGetError)() != GL_NO_ERROR) {
  }  // older contexts do not know the question
  if (profile & GL_CONTEXT_CORE_PROFILE_BIT) return;
  GLfloat at[4] = {};
  DCGN_REAL(glGetFloatv)(GL_CURRENT_RASTER_POSITION, at);
  DCGN_REAL(glWindowPos3f)(at[0] + static_cast<GLfloat>(x), at[1] + static_cast<GLfloat>(y), at[2]);
}

// Between the window and a framebuffer object of the program GL's state stays, as the program knows it.
void bind(GLenum target, GLuint framebuffer) {
  if (!current || inside_glut) return;
  const Offset before = draw_offset();
  const bool kept = scissor_is_kept();
  if (target != GL_READ_FRAMEBUFFER) current->draw_framebuffer = framebuffer;
  if (target != GL_DRAW_FRAMEBUFFER) current->read_framebuffer = framebuffer;
  const Offset after = draw_offset();
  move_state(before.x - after.x, before.y - after.y);
  if (kept != scissor_is_kept()) apply_scissor(*current);
}

void forget(GLsizei n, const GLuint* framebuffers) {
  if (!current || inside_glut) return;
  for (GLsizei i = 0; i < n; ++i) {
    if (framebuffers[i] == 0) continue;
    if (current->draw_framebuffer == framebuffers[i]) bind(GL_DRAW_FRAMEBUFFER, 0);
    if (current->read_framebuffer == framebuffers[i]) bind(GL_READ_FRAMEBUFFER, 0);
  }
}

// What the program has set, of what GL has been told. False: GL's own is right.
template <class T>
bool get_adjusted(GLenum what, T* to) {
  if (!current || inside_glut) return false;
  const Offset by = draw_offset();
  switch (what) {
    case GL_VIEWPORT:
    case GL_CURRENT_RASTER_POSITION:
      to[0] += static_cast<T>(by.x);
      to[1] += static_cast<T>(by.y);
      return true;
    case GL_SCISSOR_BOX:
      if (current->whole) {
        const Rect& box = current->scissor.box;
        to[0] = static_cast<T>(box.x);
        to[1] = static_cast<T>(box.y);
        to[2] = static_cast<T>(box.width);
        to[3] = static_cast<T>(box.height);
      } else {
        to[0] += static_cast<T>(by.x);
        to[1] += static_cast<T>(by.y);
      }
      return true;
    case GL_SCISSOR_TEST:
      if (current->whole) to[0] = static_cast<T>(current->scissor.enabled);
      return true;
    default: return false;  // all else of GL's
  }
}

constexpr const char* scissor_in_list =
    "the scissor test is set in a display list, which no other region could follow: the wall is not balanced any more";
constexpr const char* scissors_of_viewports =
    "the program has scissor boxes of several viewports: the wall is not balanced any more";

bool compiling = false;  // a display list

GLbitfield buffer_of_clear(GLenum buffer) {
  if (buffer == GL_COLOR) return GL_COLOR_BUFFER_BIT;
  return buffer == GL_DEPTH ? GL_DEPTH_BUFFER_BIT : GL_STENCIL_BUFFER_BIT;
}

// The program changes the scissor test of a window that is larger than the screen.
void set_scissor() {
  if (compiling && current->balanced) keep_cut(scissor_in_list);
  apply_scissor(*current);
}

// Clears what the program clears, of a window larger than the screen too: GL may round a colour in another way where
// the scissor test is on than where it is off, and a whole buffer costs it the least.
template <class Clear>
void clear_as_program(GLbitfield buffers, Clear&& clear) {
  if (!scissor_is_kept()) return clear();
  if (!current->scissor.enabled && !compiling) note_clear(*current, buffers);
  if (compiling) DCGN_REAL(glPushAttrib)(GL_SCISSOR_BIT);  // what it will be when the list is called
  if (current->scissor.enabled) {
    const Rect& box = current->scissor.box;
    DCGN_REAL(glScissor)(box.x, box.y, box.width, box.height);
  } else {
    DCGN_REAL(glDisable)(GL_SCISSOR_TEST);
  }
  clear();
  if (compiling)
    DCGN_REAL(glPopAttrib)();
  else
    apply_scissor(*current);
}

void refuse_size(int size, int most) {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "the wall has %d pixels in a row or column, and GL's viewports here have %d at most: expected a smaller one",
      size, most);
  die(text);
}

}  // namespace

Offset draw_offset() {
  if (!draws_to_window() || current->whole) return {};
  const Rect seen = current->seen_in_gl();
  return {seen.x, seen.y};
}

Offset read_offset() {
  if (!current || inside_glut || current->read_framebuffer != 0 || current->whole) return {};
  const Rect seen = current->seen_in_gl();
  return {seen.x, seen.y};
}

void start_drawing(const Window& window) {
  GLint most[2] = {};
  DCGN_REAL(glGetIntegerv)(GL_MAX_VIEWPORT_DIMS, most);
  if (window.place.width > most[0]) refuse_size(window.place.width, most[0]);
  if (window.place.height > most[1]) refuse_size(window.place.height, most[1]);
  const Offset by = draw_offset();
  DCGN_REAL(glViewport)(-by.x, -by.y, window.place.width, window.place.height);
  DCGN_REAL(glScissor)(-by.x, -by.y, window.place.width, window.place.height);
  current->scissor.box = {0, 0, window.place.width, window.place.height};
  apply_scissor(window);
  move_raster(-by.x, -by.y);
}

void follow_window(const Offset& before) {
  const Offset now = draw_offset();
  move_state(before.x - now.x, before.y - now.y);
  move_raster(before.x - now.x, before.y - now.y);
}

void apply_scissor(const Window& window) {
  if (!window.whole) return;
  const Scissor& program = window.scissor;
  Rect box = program.box;
  const bool kept = window.draw_framebuffer == 0;
  const Rect drawn = window.in_gl(part_drawn(window));
  if (kept) box = program.enabled ? intersection(program.box, drawn) : drawn;
  if (kept || program.enabled)
    DCGN_REAL(glEnable)(GL_SCISSOR_TEST);
  else
    DCGN_REAL(glDisable)(GL_SCISSOR_TEST);
  DCGN_REAL(glScissor)(box.x, box.y, std::max(0, box.width), std::max(0, box.height));
}

namespace adjusted {

void glViewport(GLint x, GLint y, GLsizei width, GLsizei height) {
  const Offset by = draw_offset();
  DCGN_REAL(glViewport)(x - by.x, y - by.y, width, height);
}

void glViewportArrayv(GLuint first, GLsizei count, const GLfloat* v) {
  const Offset by = draw_offset();
  std::vector<GLfloat> moved(v, v + 4 * std::max(0, count));
  for (std::size_t i = 0; i + 3 < moved.size(); i += 4) {
    moved[i] -= static_cast<GLfloat>(by.x);
    moved[i + 1] -= static_cast<GLfloat>(by.y);
  }
  DCGN_REAL(glViewportArrayv)(first, count, moved.data());
}

void glViewportIndexedf(GLuint index, GLfloat x, GLfloat y, GLfloat w, GLfloat h) {
  const Offset by = draw_offset();
  DCGN_REAL(glViewportIndexedf)(index, x - static_cast<GLfloat>(by.x), y - static_cast<GLfloat>(by.y), w, h);
}

void glViewportIndexedfv(GLuint index, const GLfloat* v) { glViewportIndexedf(index, v[0], v[1], v[2], v[3]); }

void glScissor(GLint x, GLint y, GLsizei width, GLsizei height) {
  if (current && !inside_glut && current->whole) {
    if (width < 0 || height < 0) return DCGN_REAL(glScissor)(x, y, width, height);  // GL says what it thinks of it
    current->scissor.box = {x, y, width, height};
    return set_scissor();
  }
  const Offset by = draw_offset();
  DCGN_REAL(glScissor)(x - by.x, y - by.y, width, height);
}

void glScissorArrayv(GLuint first, GLsizei count, const GLint* v) {
  for (GLsizei i = 0; i < count; ++i) glScissorIndexedv(first + static_cast<GLuint>(i), v + 4 * i);
}

void glScissorIndexed(GLuint index, GLint left, GLint bottom, GLsizei width, GLsizei height) {
  if (scissor_is_kept()) {
    if (current->balanced) keep_cut(scissors_of_viewports);
    const Rect box = intersection({left, bottom, width, height}, current->in_gl(part_drawn(*current)));
    return DCGN_REAL(glScissorIndexed)(index, box.x, box.y, box.width, box.height);
  }
  const Offset by = draw_offset();
  DCGN_REAL(glScissorIndexed)(index, left - by.x, bottom - by.y, width, height);
}

void glScissorIndexedv(GLuint index, const GLint* v) { glScissorIndexed(index, v[0], v[1], v[2], v[3]); }

void glEnable(GLenum cap) {
  if (current && current->balanced) note_test(*current, cap);
  if (cap != GL_SCISSOR_TEST || !current || inside_glut || !current->whole) return DCGN_REAL(glEnable)(cap);
  current->scissor.enabled = true;
  set_scissor();
}

void glDisable(GLenum cap) {
  if (cap != GL_SCISSOR_TEST || !current || inside_glut || !current->whole) return DCGN_REAL(glDisable)(cap);
  current->scissor.enabled = false;
  set_scissor();
}

void glClear(GLbitfield mask) {
  clear_as_program(mask, [=] { DCGN_REAL(glClear)(mask); });
}

void glClearBufferiv(GLenum buffer, GLint drawbuffer, const GLint* value) {
  clear_as_program(buffer_of_clear(buffer), [=] { DCGN_REAL(glClearBufferiv)(buffer, drawbuffer, value); });
}

void glClearBufferuiv(GLenum buffer, GLint drawbuffer, const GLuint* value) {
  clear_as_program(buffer_of_clear(buffer), [=] { DCGN_REAL(glClearBufferuiv)(buffer, drawbuffer, value); });
}

void glClearBufferfv(GLenum buffer, GLint drawbuffer, const GLfloat* value) {
  clear_as_program(buffer_of_clear(buffer), [=] { DCGN_REAL(glClearBufferfv)(buffer, drawbuffer, value); });
}

void glClearBufferfi(GLenum buffer, GLint drawbuffer, GLfloat depth, GLint stencil) {
  clear_as_program(GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT, [=] {
    DCGN_REAL(glClearBufferfi)(buffer, drawbuffer, depth, stencil);
  });
}

void glNewList(GLuint list, GLenum mode) {
  DCGN_REAL(glNewList)(list, mode);
  compiling = true;
}

void glEndList() {
  DCGN_REAL(glEndList)();
  compiling = false;
}

void glAccum(GLenum op, GLfloat value) {
  keep_cut("the program uses the accumulation buffer, which has more pictures than one: the wall is not balanced");
  DCGN_REAL(glAccum)(op, value);
}

void glDrawBuffer(GLenum buffer) {
  DCGN_REAL(glDrawBuffer)(buffer);
  if (!draws_to_window() || !current->balanced) return;
  const bool front = buffer == GL_FRONT || buffer == GL_FRONT_LEFT || buffer == GL_FRONT_AND_BACK || buffer == GL_LEFT;
  if (front) keep_cut("the program draws to the front buffer: the wall is not balanced any more");
  if (front == current->front) return;
  current->front = front;
  apply_scissor(*current);
}

GLboolean glIsEnabled(GLenum cap) {
  if (cap == GL_SCISSOR_TEST && current && !inside_glut && current->whole) return current->scissor.enabled;
  return DCGN_REAL(glIsEnabled)(cap);
}

void glPushAttrib(GLbitfield mask) {
  DCGN_REAL(glPushAttrib)(mask);
  if (current && !inside_glut && current->whole) current->attributes.push_back({mask, current->scissor});
}

void glPopAttrib() {
  DCGN_REAL(glPopAttrib)();
  if (!current || inside_glut || !current->whole || current->attributes.empty()) return;
  const Window::Saved saved = current->attributes.back();
  current->attributes.pop_back();
  if (saved.mask & (GL_SCISSOR_BIT | GL_ENABLE_BIT)) current->scissor.enabled = saved.scissor.enabled;
  if (saved.mask & GL_SCISSOR_BIT) current->scissor.box = saved.scissor.box;
  apply_scissor(*current);
}

void glGetIntegerv(GLenum pname, GLint* params) {
  DCGN_REAL(glGetIntegerv)(pname, params);
  get_adjusted(pname, params);
}

void glGetFloatv(GLenum pname, GLfloat* params) {
  DCGN_REAL(glGetFloatv)(pname, params);
  get_adjusted(pname, params);
}

void glGetDoublev(GLenum pname, GLdouble* params) {
  DCGN_REAL(glGetDoublev)(pname, params);
  get_adjusted(pname, params);
}

void glGetBooleanv(GLenum pname, GLboolean* params) {
  DCGN_REAL(glGetBooleanv)(pname, params);
  GLint all[16] = {};
  const int count = pname == GL_SCISSOR_TEST ? 1 : pname == GL_VIEWPORT || pname == GL_SCISSOR_BOX ? 4 : 0;
  if (count == 0) return;
  glGetIntegerv(pname, all);
  for (int i = 0; i < count; ++i) params[i] = all[i] != 0;
}

void glBindFramebuffer(GLenum target, GLuint framebuffer) {
  DCGN_REAL(glBindFramebuffer)(target, framebuffer);
  bind(target, framebuffer);
}

void glBindFramebufferEXT(GLenum target, GLuint framebuffer) {
  DCGN_REAL(glBindFramebufferEXT)(target, framebuffer);
  bind(target, framebuffer);
}

void glDeleteFramebuffers(GLsizei n, const GLuint* framebuffers) {
  DCGN_REAL(glDeleteFramebuffers)(n, framebuffers);
  forget(n, framebuffers);
}

void glDeleteFramebuffersEXT(GLsizei n, const GLuint* framebuffers) {
  DCGN_REAL(glDeleteFramebuffersEXT)(n, framebuffers);
  forget(n, framebuffers);
}

}  // namespace adjusted

}  // namespace dcgn::wall
