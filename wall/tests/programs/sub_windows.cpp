// Windows in the window: one over all edges, one that moves, one within another; each with callbacks of its own.
#include "program.hpp"

namespace {

int middle = 0, moving = 0, clicks = 0;

void fill(float r, float g, float b, const char* name) {
  const int width = glutGet(GLUT_WINDOW_WIDTH), height = glutGet(GLUT_WINDOW_HEIGHT);
  glViewport(0, 0, width, height);
  program::pixel_units();
  glClearColor(r, g, b, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glColor3f(1, 1, 1);
  glBegin(GL_TRIANGLES);
  glVertex2i(2, 2);
  glVertex2i(width - 2, 5);
  glVertex2i(width / 3, height - 3);
  glEnd();
  glColor3f(0, 0, 0);
  program::text(4, 4, name);
  for (int i = 0; i < clicks; ++i) glRecti(4 + 6 * i, height - 8, 8 + 6 * i, height - 4);
  glutSwapBuffers();
}

void display() { fill(0.2F, 0.3F, 0.4F, "wall"); }
void display_middle() { fill(0.5F, 0.2F, 0.1F, "middle"); }
void display_inner() { fill(0.1F, 0.5F, 0.2F, "in"); }
void display_moving() { fill(0.4F, 0.1F, 0.5F, "moves"); }

void mouse(int, int state, int x, int y) {
  if (state != GLUT_DOWN) return;
  ++clicks;
  glutSetWindow(moving);
  glutPositionWindow(x, y);
  glutReshapeWindow(60 + clicks, 30);
  glutPostWindowRedisplay(middle);
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  const int wall = glutGetWindow();
  middle = glutCreateSubWindow(wall, 60, 40, 120, 100);
  glutDisplayFunc(display_middle);
  glutMouseFunc(mouse);
  glutCreateSubWindow(middle, 45, 30, 50, 45);
  glutDisplayFunc(display_inner);
  moving = glutCreateSubWindow(wall, 10, 140, 60, 30);
  glutDisplayFunc(display_moving);
  glutMainLoop();
}
