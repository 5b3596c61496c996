// Pixels of the window read, copied and made a texture of: each across the edges between screens.
#include "program.hpp"

#include <cstdint>
#include <vector>

namespace {

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  glBegin(GL_TRIANGLES);
  for (int i = 0; i < 30; ++i) {
    glColor3ub(static_cast<GLubyte>(8 * i), static_cast<GLubyte>(40 * i), static_cast<GLubyte>(255 - 8 * i));
    glVertex3f(static_cast<float>(i * 37 % 120), static_cast<float>(i * 19 % 90), 0.03F * static_cast<float>(i) - 0.5F);
    glVertex3f(static_cast<float>(i * 31 % 120), static_cast<float>(i * 17 % 90), 0.2F);
    glVertex3f(static_cast<float>(i * 23 % 120), static_cast<float>(i * 29 % 90), -0.3F);
  }
  glEnd();
  // Read with an odd layout, and drawn where it is none of it.
  std::vector<std::uint8_t> pixels(101 * 3 * 80);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glPixelStorei(GL_PACK_ROW_LENGTH, 101);
  glPixelStorei(GL_PACK_SKIP_PIXELS, 3);
  glReadPixels(11, 7, 91, 77, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glPixelStorei(GL_UNPACK_ROW_LENGTH, 101);
  glPixelStorei(GL_UNPACK_SKIP_PIXELS, 3);
  glWindowPos2i(130, 5);
  glDrawPixels(91, 77, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  for (const GLenum name : {GL_PACK_ROW_LENGTH, GL_PACK_SKIP_PIXELS, GL_UNPACK_ROW_LENGTH, GL_UNPACK_SKIP_PIXELS})
    glPixelStorei(name, 0);
  glWindowPos2i(3, 97);
  glCopyPixels(20, 10, 99, 80, GL_COLOR);
  // Depth as light.
  std::vector<float> depth(60 * 40);
  glReadPixels(40, 30, 60, 40, GL_DEPTH_COMPONENT, GL_FLOAT, depth.data());
  glWindowPos2i(110, 100);
  glDrawPixels(60, 40, GL_LUMINANCE, GL_FLOAT, depth.data());
  // Into a buffer object, and from it.
  GLuint buffer = 0;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
  glBufferData(GL_PIXEL_PACK_BUFFER, 48 * 30 * 4, nullptr, GL_STREAM_COPY);
  glReadPixels(60, 20, 48, 30, GL_BGRA, GL_UNSIGNED_BYTE, nullptr);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glWindowPos2i(110, 145);
  glDrawPixels(48, 30, GL_BGRA, GL_UNSIGNED_BYTE, nullptr);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  glDeleteBuffers(1, &buffer);
  glEnable(GL_TEXTURE_2D);
  glCopyTexImage2D(GL_TEXTURE_2D, 0, GL_RGB, 30, 12, 64, 64, 0);
  glCopyTexSubImage2D(GL_TEXTURE_2D, 0, 10, 20, 100, 90, 30, 25);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glColor3f(1, 1, 1);
  glBegin(GL_QUADS);
  const int corners[][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  for (const auto& c : corners) {
    glTexCoord2iv(c);
    glVertex2i(172 + 64 * c[0], 100 + 64 * c[1]);
  }
  glEnd();
  glDisable(GL_TEXTURE_2D);
  glutSwapBuffers();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB | GLUT_DEPTH, display);
  glShadeModel(GL_FLAT);
  glEnable(GL_DEPTH_TEST);
  glutMainLoop();
}
