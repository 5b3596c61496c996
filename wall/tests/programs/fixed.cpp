// The fixed pipeline: lights, materials, fog, depth, a texture, smooth shading, lines and wide points.
#include "program.hpp"

#include <cstdint>
#include <vector>

namespace {

GLuint checks = 0;

void reshape(int width, int height) {
  glViewport(0, 0, width, height);
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  gluPerspective(50, static_cast<double>(width) / height, 1, 30);
  glMatrixMode(GL_MODELVIEW);
}

void display() {
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  glLoadIdentity();
  gluLookAt(0, 3, 8, 0, 0, 0, 0, 1, 0);
  glEnable(GL_LIGHTING);
  for (int i = 0; i < 5; ++i) {
    const float colour[] = {0.2F * static_cast<float>(i), 0.7F, 1 - 0.2F * static_cast<float>(i), 1};
    glMaterialfv(GL_FRONT, GL_DIFFUSE, colour);
    glPushMatrix();
    glTranslatef(-4 + 2 * static_cast<float>(i), 0.3F * static_cast<float>(i), -static_cast<float>(i));
    if (i % 2)
      glutSolidTorus(0.3, 0.7, 12, 24);
    else
      glutSolidSphere(1, 24, 16);
    glPopMatrix();
  }
  glDisable(GL_LIGHTING);
  glEnable(GL_TEXTURE_2D);
  glBindTexture(GL_TEXTURE_2D, checks);
  glColor3f(1, 1, 1);
  glBegin(GL_QUADS);
  const float floor[][2] = {{-6, 4}, {6, 4}, {6, -8}, {-6, -8}};
  for (const auto& v : floor) {
    glTexCoord2fv(v);
    glVertex3f(v[0], -1.2F, v[1]);
  }
  glEnd();
  glDisable(GL_TEXTURE_2D);
  glColor3f(1, 1, 0);
  glutWireCube(4.5);
  glPointSize(5);
  glBegin(GL_POINTS);
  for (int i = 0; i < 20; ++i) glVertex3f(-5 + 0.5F * static_cast<float>(i), 2, 0);
  glEnd();
  glutSwapBuffers();
}

}  // namespace

int main(int argc, char** argv) {
  program::open(argc, argv, GLUT_DOUBLE | GLUT_RGB | GLUT_DEPTH, display);
  glutReshapeFunc(reshape);
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_LIGHT0);
  glEnable(GL_FOG);
  glFogi(GL_FOG_MODE, GL_LINEAR);
  glFogf(GL_FOG_START, 6);
  glFogf(GL_FOG_END, 16);
  std::vector<std::uint32_t> texels;
  for (int i = 0; i < 64; ++i) texels.push_back((i ^ i / 8) & 1 ? 0xff4080c0 : 0xff202020);
  glGenTextures(1, &checks);
  glBindTexture(GL_TEXTURE_2D, checks);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  gluBuild2DMipmaps(GL_TEXTURE_2D, GL_RGBA, 8, 8, GL_RGBA, GL_UNSIGNED_BYTE, texels.data());
  glutMainLoop();
}
