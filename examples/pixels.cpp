// OpenGL's memory as messages. Three ranks draw a bar each, at a depth of its own, into a texture of its own
// context; what is nearest comes together in the first one's, and a fourth rank gets that as memory.
#define GL_GLEXT_PROTOTYPES
#include <GL/glcorearb.h>

#include <dcgn/dcgn.hpp>
#include <dcgn/pixels.hpp>
#include <dcgn/pixels/context.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int width = 24, height = 9;

// A texture that is drawn to.
GLuint attach_texture(GLenum attachment, GLenum format) {
  GLuint texture = 0;
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexStorage2D(GL_TEXTURE_2D, 1, format, width, height);
  glFramebufferTexture2D(GL_FRAMEBUFFER, attachment, GL_TEXTURE_2D, texture, 0);
  return texture;
}

// A rectangle of one color and depth, without a shader.
void fill(int x, int y, int w, int h, float red, float depth) {
  glEnable(GL_SCISSOR_TEST);
  glScissor(x, y, w, h);
  glClearColor(red, 0, 0, 1);
  glClearDepth(depth);
  glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
}

int main() {
  using dcgn::pixels::Image;
  if (dcgn::pixels::Context::devices() == 0) {
    std::printf("skipped: EGL has no device here\n");
    return 0;
  }
  int wrong = 0;
  dcgn::Job job({.nodes = {{.cpus = 4}}});
  job.cpu([&](dcgn::Comm& comm) {
    dcgn::Comm drawing = comm.split(comm.rank() < 3 ? 0 : -1, 0);  // the ranks that draw
    if (comm.rank() == 3) {
      std::vector<unsigned char> all(width * height * 4);
      comm.recv(all, 0);
      for (int y = height; y-- > 0;) {
        for (int x = 0; x < width; ++x) std::putchar(".abc"[all[static_cast<std::size_t>(y * width + x) * 4] / 64]);
        std::putchar('\n');
      }
      // The bars are 12 wide: the nearest one is whole, each other one lacks what is before it.
      int seen[4] = {};
      for (std::size_t i = 0; i < all.size(); i += 4) ++seen[all[i] / 64];
      wrong = seen[1] != 12 * 3 || seen[2] != 12 * 3 - 6 || seen[3] != 12 * 3 - 6;
      return;
    }
    const dcgn::pixels::Context context({.device = comm.rank() % dcgn::pixels::Context::devices()});
    dcgn::pixels::ImageComm images(drawing);
    GLuint framebuffer = 0;
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    const GLuint color = attach_texture(GL_COLOR_ATTACHMENT0, GL_RGBA8);
    const GLuint depth = attach_texture(GL_DEPTH_ATTACHMENT, GL_DEPTH_COMPONENT32F);
    fill(0, 0, width, height, 0, 1);
    const int r = comm.rank();
    fill(6 * r, 1 + 2 * r, 12, 3, static_cast<float>(64 * (r + 1) + 10) / 255, 0.25f * static_cast<float>(r + 1));

    images.composite(Image::texture(color), Image::texture(depth), {0, 0, width, height}, 0);
    if (r != 0) return;
    dcgn::pixels::ImageComm to_all(comm);
    to_all.send({Image::texture(color), GL_RGBA, GL_UNSIGNED_BYTE}, 3);
  });
  job.run();
  if (wrong) std::printf("not what was drawn\n");
  return wrong;
}
