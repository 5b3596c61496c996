// Animation by the idle callback: turned by the time that five clocks tell.
#include "program.hpp"

#include <sys/time.h>

#include <chrono>
#include <ctime>
#include <thread>

namespace {

double gettimeofday_s() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return static_cast<double>(now.tv_sec % 1000) + 1e-6 * static_cast<double>(now.tv_usec);
}

double steady_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double monotonic_s() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  const double turns[] = {0.001 * glutGet(GLUT_ELAPSED_TIME), gettimeofday_s(), steady_s(), monotonic_s(),
                          static_cast<double>(std::clock()) / CLOCKS_PER_SEC};
  int i = 0;
  for (const double turn : turns) {
    glPushMatrix();
    glTranslatef(40 + 40 * static_cast<float>(i), 90, 0);
    glRotated(90 * turn, 0, 0, 1);
    glColor3ub(static_cast<GLubyte>(50 * i), 200, static_cast<GLubyte>(250 - 50 * i));
    glRectf(-30, -60, 30, 60);
    glPopMatrix();
    ++i;
  }
  glutSwapBuffers();
}

void idle() {
  const double until = steady_s() + 0.002;  // as programs wait that know no better
  while (steady_s() < until) {
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  glutPostRedisplay();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glutIdleFunc(idle);
  glutMainLoop();
}
