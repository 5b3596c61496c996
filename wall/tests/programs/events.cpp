// Keys, special keys, buttons, motion, the wheel, modifiers and sizes, all of which leave their trace; one buffer only.
#include "program.hpp"

#include <cstdio>
#include <string>

namespace {

unsigned trace = 1;
int x = 0, y = 0;

void note(unsigned a, unsigned b, unsigned c) {
  trace = ((trace * 31 + a) * 31 + b) * 31 + c + static_cast<unsigned>(glutGetModifiers());
  glutPostRedisplay();
}

void display() {
  glViewport(0, 0, glutGet(GLUT_WINDOW_WIDTH), glutGet(GLUT_WINDOW_HEIGHT));
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  glColor3ub(static_cast<GLubyte>(trace), static_cast<GLubyte>(trace >> 8), static_cast<GLubyte>(trace >> 16));
  glRecti(x - 20, glutGet(GLUT_WINDOW_HEIGHT) - y - 15, x + 20, glutGet(GLUT_WINDOW_HEIGHT) - y + 15);
  char text[64];
  std::snprintf(text, sizeof text, "%08x at %d,%d\nof %d x %d", trace, x, y, glutGet(GLUT_WINDOW_WIDTH),
                glutGet(GLUT_WINDOW_HEIGHT));
  glColor3f(1, 1, 1);
  program::text(30, 100, text);
  glFlush();
}

void key(unsigned char k, int, int) {
  note(1, k, 0);
  if (k == 27) glutLeaveMainLoop();
}
void key_up(unsigned char k, int, int) { note(2, k, 0); }
void special(int k, int at_x, int at_y) { note(3, static_cast<unsigned>(k), static_cast<unsigned>(at_x + at_y)); }
void mouse(int button, int state, int at_x, int at_y) {
  x = at_x;
  y = at_y;
  note(4, static_cast<unsigned>(button), static_cast<unsigned>(state));
}
void move(int at_x, int at_y) {
  x = at_x;
  y = at_y;
  note(5, 0, 0);
}
void wheel(int which, int way, int, int) { note(6, static_cast<unsigned>(which), static_cast<unsigned>(way)); }
void reshape(int width, int height) { note(7, static_cast<unsigned>(width), static_cast<unsigned>(height)); }

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_SINGLE | GLUT_RGB, display);
  glutReshapeFunc(reshape);
  glutKeyboardFunc(key);
  glutKeyboardUpFunc(key_up);
  glutSpecialFunc(special);
  glutMouseFunc(mouse);
  glutMotionFunc(move);
  glutPassiveMotionFunc(move);
  glutMouseWheelFunc(wheel);
  glutMainLoop();
}
