// A core profile: shaders, buffers, vertex arrays; functions by glXGetProcAddress and by dlsym. No shader knows of
// pixels.
#include "program.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace {

GLint turn = -1;
int pictures = 0;

GLuint compile(GLenum kind, const char* source) {
  const GLuint shader = glCreateShader(kind);
  glShaderSource(shader, 1, &source, nullptr);
  glCompileShader(shader);
  GLint good = 0;
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  if (!good) std::exit(1);
  return shader;
}

void reshape(int width, int height) {
  const auto viewport = reinterpret_cast<void (*)(GLint, GLint, GLsizei, GLsizei)>(glutGetProcAddress("glViewport"));
  viewport(0, 0, width, height);
}

void display() {
  const auto clear = reinterpret_cast<void (*)(GLbitfield)>(dlsym(RTLD_DEFAULT, "glClear"));
  clear(GL_COLOR_BUFFER_BIT);
  for (int i = 0; i < 3; ++i) {
    glUniform1f(turn, 0.7F * static_cast<float>(i) + 0.1F * static_cast<float>(pictures));
    glDrawArrays(GL_TRIANGLES, 0, 3);
  }
  // Half a window, named by its pixels through the function that dlsym gives.
  using Viewport = void(GLint, GLint, GLsizei, GLsizei);
  const auto viewport = reinterpret_cast<Viewport*>(dlsym(RTLD_DEFAULT, "glViewport"));
  viewport(97, 61, 70, 50);
  glUniform1f(turn, 0.3F);
  glDrawArrays(GL_TRIANGLES, 0, 3);
  viewport(0, 0, glutGet(GLUT_WINDOW_WIDTH), glutGet(GLUT_WINDOW_HEIGHT));
  glutSwapBuffers();
  ++pictures;
}

}  // namespace

int main(int argc, char** argv) {
  glutInitContextVersion(3, 3);
  glutInitContextProfile(GLUT_CORE_PROFILE);
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glutReshapeFunc(reshape);
  glutIdleFunc(glutPostRedisplay);
  const GLuint linked = glCreateProgram();
  glAttachShader(linked, compile(GL_VERTEX_SHADER,
                                 "#version 330\nin vec2 at; in vec3 colour; flat out vec3 shade; uniform float turn;\n"
                                 "void main() { shade = colour; float c = cos(turn), s = sin(turn);\n"
                                 "gl_Position = vec4(c * at.x - s * at.y, s * at.x + c * at.y, 0, 1); }"));
  glAttachShader(linked, compile(GL_FRAGMENT_SHADER,
                                 "#version 330\nflat in vec3 shade; out vec4 colour; uniform float turn;\n"
                                 "void main() { colour = vec4(fract(shade + turn), 1); }"));
  glBindAttribLocation(linked, 0, "at");
  glBindAttribLocation(linked, 1, "colour");
  glLinkProgram(linked);
  glUseProgram(linked);
  turn = glGetUniformLocation(linked, "turn");
  const float corners[] = {-0.9F, -0.7F, 1, 0, 0, 0.8F, -0.6F, 0, 1, 0, 0.1F, 0.9F, 0.2F, 0.4F, 0.9F};
  GLuint array = 0, buffer = 0;
  glGenVertexArrays(1, &array);
  glBindVertexArray(array);
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_ARRAY_BUFFER, buffer);
  glBufferData(GL_ARRAY_BUFFER, sizeof corners, corners, GL_STATIC_DRAW);
  glVertexAttribPointer(0, 2, GL_FLOAT, GL_FALSE, 5 * sizeof(float), nullptr);
  glVertexAttribPointer(1, 3, GL_FLOAT, GL_FALSE, 5 * sizeof(float), reinterpret_cast<void*>(2 * sizeof(float)));
  glEnableVertexAttribArray(0);
  glEnableVertexAttribArray(1);
  glutMainLoop();
}
