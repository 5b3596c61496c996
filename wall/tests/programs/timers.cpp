// Timers, and chance from every source that programs take it from: the seconds, the process, the system, the processor.
#include "program.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <random>

namespace {

int ticks = 0;

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  std::random_device device;
  unsigned system = 0;
  if (getrandom(&system, sizeof system, 0) != sizeof system) std::exit(1);
  glBegin(GL_POINTS);
  for (int i = 0; i < 300; ++i) {
    glColor3ub(static_cast<GLubyte>(std::rand()), static_cast<GLubyte>(device()),
               static_cast<GLubyte>(system >> i % 24));
    glVertex2f(static_cast<float>(std::rand() % 240) + 0.5F, static_cast<float>(std::rand() % 180) + 0.5F);
  }
  glEnd();
  glColor3f(1, 1, 1);
  for (int i = 0; i < ticks; ++i) glRecti(4 * i, 4 * i, 4 * i + 20, 4 * i + 3);
  glutSwapBuffers();
}

void tick(int left) {
  ++ticks;
  glutPostRedisplay();
  if (left > 0) glutTimerFunc(20, tick, left - 1);
}

void tock(int) {
  ticks += 3;
  glutTimerFunc(55, tock, 0);
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  std::srand(static_cast<unsigned>(std::time(nullptr)) ^ static_cast<unsigned>(getpid()));
  glutTimerFunc(10, tick, 100);
  glutTimerFunc(33, tock, 0);
  glutMainLoop();
}
