// A menu with one inside: what is chosen changes the picture.
#include "program.hpp"

namespace {

int shape = 0, colour = 0;

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  glColor3ub(colour == 1 ? 255 : 80, colour == 2 ? 255 : 80, 120);
  if (shape == 0)
    glRecti(30, 30, 200, 150);
  else {
    glBegin(GL_TRIANGLES);
    glVertex2i(20, 20);
    glVertex2i(220, 40);
    glVertex2i(100 + shape, 170);
    glEnd();
  }
  glutSwapBuffers();
}

void choose_shape(int value) {
  shape = value;
  glutPostRedisplay();
}

void choose_colour(int value, void* user) {
  colour = value * *static_cast<int*>(user);
  glutPostRedisplay();
}

}  // namespace

int main(int argc, char** argv) {
  static int one = 1;
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  const int colours = glutCreateMenuUcall(choose_colour, &one);
  glutAddMenuEntry("red", 1);
  glutAddMenuEntry("green", 2);
  glutCreateMenu(choose_shape);
  glutAddMenuEntry("rectangle", 0);
  glutAddMenuEntry("triangle", 17);
  glutAddSubMenu("colour", colours);
  glutAttachMenu(GLUT_RIGHT_BUTTON);
  glutMainLoop();
}
