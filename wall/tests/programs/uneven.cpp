// A disc that costs far more than the rest of the picture and wanders over it, a few pixels a frame; flat discs beside
// it show that all the rest is there. What makes it dear is the first argument: `shader`, a long sum for each of its
// pixels; or `stall`, which waits for each pixel of it that was drawn here, as for a GPU that is slow, and costs no
// processor. The second argument, `still`, leaves it in the upper left quarter.
#include "program.hpp"

#include <poll.h>

#include <cmath>
#include <cstring>

namespace {

bool stall = false, still = false;
int pictures = 0;
GLuint query = 0, shaders = 0;

constexpr const char* fragment =
    "varying vec2 at;\n"
    "void main() {\n"
    "  float sum = 0.0;\n"
    "  for (int i = 1; i < 500; ++i) sum += sin(sum + at.x * float(i)) * cos(at.y + sum);\n"
    "  gl_FragColor = vec4(fract(sum), fract(0.37 * sum), 0.6, 1.0);\n"
    "}\n";
constexpr const char* vertex =
    "varying vec2 at;\n"
    "void main() { at = 0.01 * gl_Vertex.xy; gl_Position = ftransform(); }\n";

void add_shader(GLenum kind, const char* source) {
  const GLuint shader = glCreateShader(kind);
  glShaderSource(shader, 1, &source, nullptr);
  glCompileShader(shader);
  glAttachShader(shaders, shader);
}

void disc(float x, float y, float radius) {
  glBegin(GL_TRIANGLE_FAN);
  glVertex2f(x, y);
  for (int i = 0; i <= 24; ++i) {
    const float turn = 6.2831853F * static_cast<float>(i) / 24;
    glVertex2f(x + radius * std::cos(turn), y + radius * std::sin(turn));
  }
  glEnd();
}

// Waits 100 ms for a tenth of the window.
void wait_for_pixels(float all) {
  GLint drawn = 0;
  glGetQueryObjectiv(query, GL_QUERY_RESULT, &drawn);
  poll(nullptr, 0, static_cast<int>(1000 * static_cast<float>(drawn) / all));
}

void dear_disc(float width, float height) {
  const float turn = 0.05F * static_cast<float>(pictures);
  const float x = still ? 0.25F * width : width * (0.5F + 0.33F * std::cos(turn));
  const float y = still ? 0.75F * height : height * (0.5F + 0.33F * std::sin(turn));
  const float radius = std::sqrt(0.1F * width * height / 3.1415927F);
  if (stall) {
    glColor3ub(240, 90, 60);
    glBeginQuery(GL_SAMPLES_PASSED, query);
    disc(x, y, radius);
    glEndQuery(GL_SAMPLES_PASSED);
    wait_for_pixels(width * height);
  } else {
    glUseProgram(shaders);
    disc(x, y, radius);
    glUseProgram(0);
  }
}

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  const auto width = static_cast<float>(glutGet(GLUT_WINDOW_WIDTH)),
             height = static_cast<float>(glutGet(GLUT_WINDOW_HEIGHT));
  for (int row = 0; row < 5; ++row)
    for (int column = 0; column < 6; ++column) {
      glColor3ub(static_cast<GLubyte>(50 * row), static_cast<GLubyte>(250 - 40 * column), 120);
      disc(width * static_cast<float>(column) / 5, height * static_cast<float>(row) / 4, 0.06F * width);
    }
  dear_disc(width, height);
  glutSwapBuffers();
  ++pictures;
}

void animate() { glutPostRedisplay(); }

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  for (int i = 1; i < argc; ++i) {
    stall = stall || std::strcmp(argv[i], "stall") == 0;
    still = still || std::strcmp(argv[i], "still") == 0;
  }
  glGenQueries(1, &query);
  shaders = glCreateProgram();
  add_shader(GL_VERTEX_SHADER, vertex);
  add_shader(GL_FRAGMENT_SHADER, fragment);
  glLinkProgram(shaders);
  glutIdleFunc(animate);
  glutMainLoop();
}
