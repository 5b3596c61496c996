// A framebuffer object, with viewports and scissors of its own, set before and after it is bound; blits to the window.
#include "program.hpp"

#include <array>
#include <cstdlib>

namespace {

GLuint framebuffer = 0, texture = 0;

void draw_into_texture() {
  glViewport(0, 0, 64, 64);  // before it is bound
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  std::array<GLint, 4> view{};
  glGetIntegerv(GL_VIEWPORT, view.data());
  if (view != std::array<GLint, 4>{0, 0, 64, 64}) std::exit(1);
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  glOrtho(0, 64, 0, 64, -1, 1);
  glMatrixMode(GL_MODELVIEW);
  glLoadIdentity();
  glClearColor(0.1F, 0.4F, 0.1F, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glEnable(GL_SCISSOR_TEST);
  glScissor(5, 9, 50, 41);
  glColor3f(1, 0.5F, 0);
  glBegin(GL_TRIANGLES);
  glVertex2i(0, 0);
  glVertex2i(64, 20);
  glVertex2i(20, 64);
  glEnd();
  glDisable(GL_SCISSOR_TEST);
  std::array<GLubyte, 4> pixel{};
  glReadPixels(1, 1, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel.data());
  if (pixel[1] != 102) std::exit(1);
}

void display() {
  draw_into_texture();
  glBindFramebuffer(GL_DRAW_FRAMEBUFFER, 0);
  glViewport(0, 0, glutGet(GLUT_WINDOW_WIDTH), glutGet(GLUT_WINDOW_HEIGHT));
  program::pixel_units();
  glClearColor(0, 0, 0.2F, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glBlitFramebuffer(0, 0, 64, 64, 140, 100, 204, 164, GL_COLOR_BUFFER_BIT, GL_NEAREST);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, 0);
  glEnable(GL_TEXTURE_2D);
  glColor3f(1, 1, 1);
  glBegin(GL_QUADS);
  const int corners[][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  for (const auto& c : corners) {
    glTexCoord2iv(c);
    glVertex2i(20 + 128 * c[0], 20 + 128 * c[1]);
  }
  glEnd();
  glDisable(GL_TEXTURE_2D);
  glutSwapBuffers();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 64, 64, 0, GL_RGBA, GL_UNSIGNED_BYTE, nullptr);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glGenFramebuffers(1, &framebuffer);
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  glutMainLoop();
}
