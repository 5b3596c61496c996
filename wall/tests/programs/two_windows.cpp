// A second window over the first, with a context and a size of its own; it goes at a key.
#include "program.hpp"

namespace {

int second = 0;

void fill(float r, float g, float b) {
  const int width = glutGet(GLUT_WINDOW_WIDTH), height = glutGet(GLUT_WINDOW_HEIGHT);
  program::pixel_units();
  glClearColor(r, g, b, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glColor3f(1, 1, 0);
  glRecti(5, 5, width / 2, height / 2);
  program::text(10, height - 20, second ? "two windows" : "one window");
  glutSwapBuffers();
}

void display() { fill(0.2F, 0.2F, 0.4F); }
void display_second() { fill(0.4F, 0.2F, 0.2F); }

void key(unsigned char k, int, int) {
  if (k != 'd' || !second) return;
  glutDestroyWindow(second);
  second = 0;
  glutSetWindow(1);
  glutPostRedisplay();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glutKeyboardFunc(key);
  glutInitWindowPosition(100, 60);
  glutInitWindowSize(110, 95);
  second = glutCreateWindow("second");
  glutDisplayFunc(display_second);
  glutMainLoop();
}
