// Display lists of flat triangles; viewports and scissors within lists; a picture that stays.
#include "program.hpp"

namespace {

GLuint fan = 0, quarter = 0;

void display() {
  program::pixel_units();
  glViewport(0, 0, glutGet(GLUT_WINDOW_WIDTH), glutGet(GLUT_WINDOW_HEIGHT));
  glClear(GL_COLOR_BUFFER_BIT);
  glPushMatrix();
  for (int i = 0; i < 5; ++i) {
    glCallList(fan);
    glTranslatef(43, 27, 0);
  }
  glPopMatrix();
  glCallList(quarter);
  glutSwapBuffers();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glShadeModel(GL_FLAT);
  fan = glGenLists(2);
  quarter = fan + 1;
  glNewList(fan, GL_COMPILE);
  glBegin(GL_TRIANGLES);
  for (int i = 0; i < 12; ++i) {
    glColor3ub(static_cast<GLubyte>(20 * i), static_cast<GLubyte>(255 - 20 * i), static_cast<GLubyte>(90 * i));
    glVertex2f(30, 30);
    glVertex2f(30 + static_cast<float>(i * 7 % 31), static_cast<float>(i * 5 % 29));
    glVertex2f(static_cast<float>(i * 11 % 37), 30 + static_cast<float>(i * 3 % 23));
  }
  glEnd();
  glEndList();
  glNewList(quarter, GL_COMPILE);
  glViewport(130, 20, 90, 77);
  glScissor(140, 25, 71, 60);
  glEnable(GL_SCISSOR_TEST);
  glClearColor(0.2F, 0.2F, 0.5F, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glClearColor(0, 0, 0, 1);
  glCallList(fan);
  glDisable(GL_SCISSOR_TEST);
  glEndList();
  glutMainLoop();
}
