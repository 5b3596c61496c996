// Points, bitmaps, raster text, pixels that are drawn and zoomed; positions of the raster and of the window.
#include "program.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace {

constexpr GLubyte arrow[] = {0x18, 0x3c, 0x7e, 0xff, 0x3c, 0x3c, 0x3c, 0x3c};

void display() {
  program::pixel_units();
  glClear(GL_COLOR_BUFFER_BIT);
  glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
  glBegin(GL_POINTS);
  for (int i = 0; i < 400; ++i) {
    glColor3ub(static_cast<GLubyte>(i), static_cast<GLubyte>(7 * i), 200);
    glVertex2f(static_cast<float>(i * 37 % 240) + 0.5F, static_cast<float>(i * 53 % 180) + 0.5F);
  }
  glEnd();
  glColor3f(1, 0.8F, 0.2F);
  program::text(6, 160, "raster text over\nmany a screen");
  // Bitmaps that move on by themselves, across all edges between screens.
  glRasterPos2i(2, 87);
  for (int i = 0; i < 24; ++i) glBitmap(8, 8, 4, 4, 9.7F, i % 2 ? 3 : -2, arrow);
  std::vector<std::uint8_t> pixels;
  for (int y = 0; y < 40; ++y)
    for (int x = 0; x < 50; ++x)
      for (const int c : {5 * x, 6 * y, 128}) pixels.push_back(static_cast<std::uint8_t>(c));
  glRasterPos2i(95, 70);
  glDrawPixels(50, 40, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  glPixelZoom(2, -2);
  glWindowPos2i(150, 50);
  glDrawPixels(20, 15, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  glPixelZoom(1, 1);
  glWindowPos2f(-20, -7);  // begins outside of the window
  glDrawPixels(50, 40, GL_RGB, GL_UNSIGNED_BYTE, pixels.data());
  // What GL says of the position is the window's, wherever it is drawn.
  std::array<float, 4> at{};
  glWindowPos2i(100, 10);
  glGetFloatv(GL_CURRENT_RASTER_POSITION, at.data());
  if (at[0] == 100 && at[1] == 10)
    glutBitmapString(GLUT_BITMAP_HELVETICA_12, reinterpret_cast<const unsigned char*>("here"));
  glutSwapBuffers();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB, display);
  glutMainLoop();
}
