// Picking by selection and by the colour under the pointer: what was hit turns white, what was read is shown large.
#include "program.hpp"

#include <array>

namespace {

int chosen = -1;
std::array<GLubyte, 4> under{};

void draw() {
  for (int i = 0; i < 12; ++i) {
    const auto shade = static_cast<GLubyte>(20 * i + 30);
    if (i == chosen)
      glColor3ub(255, 255, 255);
    else
      glColor3ub(shade, static_cast<GLubyte>(255 - shade), 120);
    glLoadName(static_cast<GLuint>(i));
    glRecti(i % 4 * 60 + 5, i / 4 * 60 + 5, i % 4 * 60 + 55, i / 4 * 60 + 55);
  }
}

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  draw();
  glColor4ubv(under.data());
  glRecti(100, 70, 140, 110);
  glutSwapBuffers();
}

void mouse(int, int state, int x, int y) {
  if (state != GLUT_DOWN) return;
  std::array<GLint, 4> view{};
  glGetIntegerv(GL_VIEWPORT, view.data());
  const int from_bottom = view[3] - y - 1;
  glReadBuffer(GL_FRONT);
  glReadPixels(x, from_bottom, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, under.data());
  std::array<GLuint, 64> hits{};
  glSelectBuffer(64, hits.data());
  glRenderMode(GL_SELECT);
  glInitNames();
  glPushName(0);
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  gluPickMatrix(x, from_bottom, 3, 3, view.data());
  glOrtho(0, view[2], 0, view[3], -1, 1);
  glMatrixMode(GL_MODELVIEW);
  draw();
  chosen = glRenderMode(GL_RENDER) > 0 ? static_cast<int>(hits[3]) : -1;
  glutPostRedisplay();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glutMouseFunc(mouse);
  glutMainLoop();
}
