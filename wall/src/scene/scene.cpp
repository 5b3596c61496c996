// The scene of `dcgn wall demo`: a ring of lit solids over a floor of tiles, with text, as GLUT programs have been
// written for thirty years. Nothing here knows of a wall.
#define GL_GLEXT_PROTOTYPES
#include <GL/freeglut.h>
#include <GL/glext.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace {

constexpr int solids = 12;
constexpr float full_turn = 6.2831853F;

int pictures = 0;

void reshape(int width, int height) {
  glViewport(0, 0, width, height);
  glMatrixMode(GL_PROJECTION);
  glLoadIdentity();
  gluPerspective(38, static_cast<double>(width) / height, 1, 60);
  glMatrixMode(GL_MODELVIEW);
}

// Hues around the circle, all equally light.
void set_colour(float turn) {
  std::array<float, 4> colour{};
  for (int i = 0; i < 3; ++i)
    colour[static_cast<std::size_t>(i)] = 0.55F + 0.4F * std::cos(full_turn * (turn - static_cast<float>(i) / 3));
  colour[3] = 1;
  glMaterialfv(GL_FRONT_AND_BACK, GL_AMBIENT_AND_DIFFUSE, colour.data());
}

void draw_floor() {
  glDisable(GL_LIGHTING);
  glBegin(GL_QUADS);
  for (int x = -12; x < 12; ++x)
    for (int z = -12; z < 12; ++z) {
      const float distance = std::hypot(static_cast<float>(x) + 0.5F, static_cast<float>(z) + 0.5F);
      const float light = ((x + z) & 1 ? 0.16F : 0.22F) * std::max(0.0F, 1 - distance / 13);
      glColor3f(light, light, light * 1.4F);
      glVertex3i(x, 0, z);
      glVertex3i(x + 1, 0, z);
      glVertex3i(x + 1, 0, z + 1);
      glVertex3i(x, 0, z + 1);
    }
  glEnd();
  glEnable(GL_LIGHTING);
}

void draw_solid(int number, float time) {
  const float share = static_cast<float>(number) / solids, angle = full_turn * share + 0.25F * time;
  glPushMatrix();
  glTranslatef(5.2F * std::cos(angle), 1.15F + 0.35F * std::sin(3 * angle), 5.2F * std::sin(angle));
  glRotatef(40 * time + 90 * share, 0.3F, 1, 0.2F);
  set_colour(share);
  switch (number % 4) {
    case 0: glutSolidTorus(0.28, 0.72, 20, 40); break;
    case 1: glutSolidIcosahedron(); break;
    case 2: glutSolidSphere(0.85, 40, 24); break;
    default: glutSolidCube(1.3); break;
  }
  glPopMatrix();
}

// Lit and at the right size whatever the window: the teapot of all demonstrations.
void draw_middle(float time) {
  glPushMatrix();
  glTranslatef(0, 1.6F, 0);
  glRotatef(-20 * time, 0, 1, 0);
  set_colour(0.08F);
  glFrontFace(GL_CW);  // as its patches are wound
  glutSolidTeapot(1.7);
  glFrontFace(GL_CCW);
  glPopMatrix();
}

void draw_text(float time) {
  std::array<int, 4> view{};
  glGetIntegerv(GL_VIEWPORT, view.data());
  std::array<char, 80> text{};
  std::snprintf(text.data(), text.size(), "%d x %d pixels, %.2f s, picture %d", view[2], view[3],
                static_cast<double>(time), pictures);
  glDisable(GL_LIGHTING);
  glDisable(GL_DEPTH_TEST);
  glColor3f(0.9F, 0.9F, 0.9F);
  glWindowPos2i(
      (view[2] - glutBitmapLength(GLUT_BITMAP_HELVETICA_18, reinterpret_cast<const unsigned char*>(text.data()))) / 2,
      14);
  glutBitmapString(GLUT_BITMAP_HELVETICA_18, reinterpret_cast<const unsigned char*>(text.data()));
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_LIGHTING);
}

void display() {
  const float time = static_cast<float>(glutGet(GLUT_ELAPSED_TIME)) * 0.001F;
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
  glLoadIdentity();
  gluLookAt(0, 6.2, 14.5, 0, 0.9, 0, 0, 1, 0);
  const std::array<float, 4> above{4, 9, 8, 1};
  glLightfv(GL_LIGHT0, GL_POSITION, above.data());
  draw_floor();
  for (int i = 0; i < solids; ++i) draw_solid(i, time);
  draw_middle(time);
  draw_text(time);
  glutSwapBuffers();
  ++pictures;
}

void animate() { glutPostRedisplay(); }

void press(unsigned char key, int, int) {
  if (key == 'q' || key == 27) glutLeaveMainLoop();
}

}  // namespace

int main(int argc, char** argv) {
  glutInit(&argc, argv);
  glutInitDisplayMode(GLUT_DOUBLE | GLUT_RGB | GLUT_DEPTH);
  glutInitWindowSize(960, 540);
  glutCreateWindow("A scene");
  glutReshapeFunc(reshape);
  glutDisplayFunc(display);
  glutIdleFunc(animate);
  glutKeyboardFunc(press);
  glClearColor(0.02F, 0.02F, 0.05F, 1);
  glEnable(GL_DEPTH_TEST);
  glEnable(GL_LIGHTING);
  glEnable(GL_LIGHT0);
  glEnable(GL_NORMALIZE);
  glShadeModel(GL_SMOOTH);
  const std::array<float, 4> shine{0.6F, 0.6F, 0.6F, 1};
  glMaterialfv(GL_FRONT_AND_BACK, GL_SPECULAR, shine.data());
  glMaterialf(GL_FRONT_AND_BACK, GL_SHININESS, 50);
  glutMainLoop();
}
