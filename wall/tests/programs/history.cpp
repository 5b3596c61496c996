// Pictures that build on earlier ones: six that begin anew, then two that keep the depths, then one upon the other.
#include "program.hpp"

namespace {

int pictures = 0;

void triangles(int first) {
  glBegin(GL_TRIANGLES);
  for (int i = first; i < first + 9; ++i) {
    glColor3ub(static_cast<GLubyte>(23 * i), static_cast<GLubyte>(41 * i), static_cast<GLubyte>(255 - 17 * i));
    glVertex3f(static_cast<float>(i * 67 % 240), static_cast<float>(i * 49 % 180), 0.01F * static_cast<float>(i % 90));
    glVertex3f(static_cast<float>(i * 31 % 240), static_cast<float>(i * 77 % 180), 0.4F);
    glVertex3f(static_cast<float>(i * 113 % 240), static_cast<float>(i * 29 % 180), -0.3F);
  }
  glEnd();
}

void display() {
  program::pixel_units();
  if (pictures < 6) glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  if (pictures == 6 || pictures == 7) glClear(GL_COLOR_BUFFER_BIT);
  triangles(13 * pictures);
  glutSwapBuffers();
  ++pictures;
}

void animate() { glutPostRedisplay(); }

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB | GLUT_DEPTH, display);
  glShadeModel(GL_FLAT);
  glEnable(GL_DEPTH_TEST);
  glutIdleFunc(animate);
  glutMainLoop();
}
