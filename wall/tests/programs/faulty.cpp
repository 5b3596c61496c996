// What a wall must notice. Of the processes one, which has made the file of the second argument, is the `odd` one: it
// draws in another colour, ends, is killed or sleeps. `threads`, `sockets` and `shader` are what a wall cannot give.
#include "program.hpp"

#include <GL/glx.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

std::string fault;
bool odd = false;
int pictures = 0;

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  glColor3f(1, 0, 0);
  if (pictures >= 3 && odd && fault == "colour") glColor3f(0, 0.5F, 1);
  glRecti(10, 10, 200, 160);
  glutSwapBuffers();
  ++pictures;
}

void idle() {
  if (pictures == 5 && odd) {
    if (fault == "exit") std::exit(0);
    if (fault == "kill") raise(SIGKILL);
    if (fault == "late") pause();
    if (fault == "idle") glutIdleFunc(nullptr);
  }
  glutPostRedisplay();
}

void use_what_is_not_there() {
  if (fault == "sockets") close(socket(AF_INET, SOCK_STREAM, 0));
  if (fault == "threads")
    std::thread([display = glXGetCurrentDisplay()] { glXMakeCurrent(display, None, nullptr); }).join();
  if (fault == "shader") {
    const char* const source = "void main() { gl_FragColor = gl_FragCoord / 240.0; }";
    glShaderSource(glCreateShader(GL_FRAGMENT_SHADER), 1, &source, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  fault = argv[1];
  odd = open(argv[2], O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0;
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glutIdleFunc(idle);
  use_what_is_not_there();
  glutMainLoop();
}
