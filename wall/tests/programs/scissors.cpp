// Four views in one window, scissors within attributes that are pushed and popped, stippled polygons, feedback; and
// what GL says of all of them.
#include "program.hpp"

#include <array>
#include <cmath>
#include <cstdlib>

namespace {

void expect(GLenum what, std::array<GLint, 4> wanted) {
  std::array<GLint, 4> found{};
  std::array<GLfloat, 4> real{};
  glGetIntegerv(what, found.data());
  glGetFloatv(what, real.data());
  if (found != wanted || real[0] != static_cast<float>(wanted[0])) std::exit(1);
}

void draw() {
  glBegin(GL_TRIANGLES);
  glVertex2f(-0.9F, -0.9F);
  glVertex2f(0.9F, -0.4F);
  glVertex2f(-0.2F, 0.9F);
  glEnd();
}

void show_feedback() {
  std::array<GLfloat, 32> found{};
  glFeedbackBuffer(32, GL_2D, found.data());
  glRenderMode(GL_FEEDBACK);
  glBegin(GL_POINTS);
  glVertex2f(0.5F, 0.25F);
  glEnd();
  const bool good =
      glRenderMode(GL_RENDER) == 3 && std::abs(found[1] - 180) < 0.1F && std::abs(found[2] - 112.5F) < 0.1F;
  if (!good) std::exit(2);
}

void display() {
  const int width = glutGet(GLUT_WINDOW_WIDTH), height = glutGet(GLUT_WINDOW_HEIGHT);
  glDisable(GL_SCISSOR_TEST);
  glViewport(0, 0, width, height);
  glClearColor(0.1F, 0.1F, 0.1F, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  if (width == 240) show_feedback();
  for (int i = 0; i < 4; ++i) {
    const int x = i % 2 * 110 + 11, y = i / 2 * 85 + 7;
    glViewport(x, y, 100, 75);
    expect(GL_VIEWPORT, {x, y, 100, 75});
    glPushAttrib(GL_SCISSOR_BIT | GL_VIEWPORT_BIT);
    glEnable(GL_SCISSOR_TEST);
    glScissor(x + 5, y + 5, 80, 60);
    expect(GL_SCISSOR_BOX, {x + 5, y + 5, 80, 60});
    glClearColor(0.2F * static_cast<float>(i), 0.3F, 0.5F, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    glColor3f(1, 1, 0.2F * static_cast<float>(i));
    if (i == 2) glEnable(GL_POLYGON_STIPPLE);
    draw();
    glDisable(GL_POLYGON_STIPPLE);
    glPopAttrib();
    if (glIsEnabled(GL_SCISSOR_TEST)) std::exit(1);
    expect(GL_VIEWPORT, {x, y, 100, 75});
    glColor3f(0, 1, 1);
    glRectf(-1, -1, -0.9F, -0.9F);
  }
  glutSwapBuffers();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  std::array<GLubyte, 128> pattern{}, back{};
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<GLubyte>(i * 37 ^ i / 4);
  glPolygonStipple(pattern.data());
  glGetPolygonStipple(back.data());
  if (pattern != back) std::exit(1);
  glutMainLoop();
}
