// A GLUT program for a powerwall, by its first line: DCGN_WALL_LAYOUT=powerwall.toml ./mpiglut shows it on the wall,
// and without that it is in a window. It ends after as many turns as it is told.
#include <dcgn/mpiglut.h>

#include <stdlib.h>

static int degrees = 0, turns = 0;

static void display() {
  glClear(GL_COLOR_BUFFER_BIT);
  glLoadIdentity();
  glRotatef(static_cast<GLfloat>(degrees), 0, 0, 1);
  glBegin(GL_TRIANGLES);
  glColor3f(1, 0.3F, 0);
  glVertex2f(-0.8F, -0.5F);
  glColor3f(0, 0.8F, 0.4F);
  glVertex2f(0.8F, -0.5F);
  glColor3f(0.2F, 0.3F, 1);
  glVertex2f(0, 0.9F);
  glEnd();
  glutSwapBuffers();
  degrees += 3;
  if (turns > 0 && degrees >= 360 * turns) exit(0);
}

static void reshape(int width, int height) { glViewport(0, 0, width, height); }

int main(int argc, char** argv) {
  glutInit(&argc, argv);
  if (argc > 1) turns = atoi(argv[1]);
  glutInitDisplayMode(GLUT_DOUBLE | GLUT_RGB);
  glutCreateWindow("MPIglut");
  glutDisplayFunc(display);
  glutReshapeFunc(reshape);
  glutIdleFunc(glutPostRedisplay);
  glutMainLoop();
}
