// What the programs on the wall have in common: each is an ordinary GLUT program of 240 x 180 pixels.
#pragma once

#define GL_GLEXT_PROTOTYPES
#include <GL/freeglut.h>
#include <GL/glext.h>

namespace program {

inline void open(int argc, char** argv, unsigned mode, void (*display)()) {
  glutInit(&argc, argv);
  glutInitDisplayMode(mode);
  glutInitWindowPosition(0, 0);
  glutInitWindowSize(240, 180);
  glutCreateWindow(argv[0]);
  glutDisplayFunc(display);
}

// A pixel of the window is a unit, from the bottom left.
inline void pixel_units() {
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  glOrtho(0, glutGet(GLUT_WINDOW_WIDTH), 0, glutGet(GLUT_WINDOW_HEIGHT), -1, 1);
  glMatrixMode(GL_MODELVIEW);
  glLoadIdentity();
}

inline void text(int x, int y, const char* what) {
  glRasterPos2i(x, y);
  glutBitmapString(GLUT_BITMAP_8_BY_13, reinterpret_cast<const unsigned char*>(what));
}

}  // namespace program
