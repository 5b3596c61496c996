// GL's state is as it was: pixel storage, bindings, tests and buffers, after calls with every kind of image.
#include "pixels/tests/support.hpp"

#include <map>

namespace dcgn::test::state {
namespace {

using pixels::Path;

class PixelState : public PixelTest {};

constexpr GLenum integers[] = {GL_PACK_ALIGNMENT,
                               GL_PACK_ROW_LENGTH,
                               GL_PACK_IMAGE_HEIGHT,
                               GL_PACK_SKIP_PIXELS,
                               GL_PACK_SKIP_ROWS,
                               GL_PACK_SKIP_IMAGES,
                               GL_PACK_SWAP_BYTES,
                               GL_PACK_LSB_FIRST,
                               GL_UNPACK_ALIGNMENT,
                               GL_UNPACK_ROW_LENGTH,
                               GL_UNPACK_IMAGE_HEIGHT,
                               GL_UNPACK_SKIP_PIXELS,
                               GL_UNPACK_SKIP_ROWS,
                               GL_UNPACK_SKIP_IMAGES,
                               GL_UNPACK_SWAP_BYTES,
                               GL_UNPACK_LSB_FIRST,
                               GL_PIXEL_PACK_BUFFER_BINDING,
                               GL_PIXEL_UNPACK_BUFFER_BINDING,
                               GL_ARRAY_BUFFER_BINDING,
                               GL_READ_FRAMEBUFFER_BINDING,
                               GL_DRAW_FRAMEBUFFER_BINDING,
                               GL_RENDERBUFFER_BINDING,
                               GL_ACTIVE_TEXTURE,
                               GL_TEXTURE_BINDING_2D,
                               GL_TEXTURE_BINDING_3D,
                               GL_READ_BUFFER,
                               GL_DRAW_BUFFER,
                               GL_SCISSOR_TEST,
                               GL_FRAMEBUFFER_SRGB,
                               GL_CURRENT_PROGRAM,
                               GL_VERTEX_ARRAY_BINDING,
                               GL_TEXTURE_BINDING_CUBE_MAP,
                               GL_SHADER_STORAGE_BUFFER_BINDING};
constexpr GLenum of_first_place[] = {GL_SHADER_STORAGE_BUFFER_BINDING, GL_SHADER_STORAGE_BUFFER_START,
                                     GL_SHADER_STORAGE_BUFFER_SIZE,    GL_IMAGE_BINDING_NAME,
                                     GL_IMAGE_BINDING_LEVEL,           GL_IMAGE_BINDING_LAYERED,
                                     GL_IMAGE_BINDING_LAYER,           GL_IMAGE_BINDING_ACCESS,
                                     GL_IMAGE_BINDING_FORMAT};

struct State {
  std::map<GLenum, GLint> plain;
  std::map<GLenum, GLint64> first;
  bool operator==(const State&) const = default;
};

State state() {
  State now;
  for (const GLenum what : integers) glGetIntegerv(what, &now.plain[what]);
  for (const GLenum what : of_first_place) glGetInteger64i_v(what, 0, &now.first[what]);
  return now;
}

TEST_F(PixelState, IsAsItWasAfterEveryCall) {
  constexpr int side = 16;
  for (const Path path : {Path::copy, Path::pinned})
    in_ranks(1,
             [&](Comm& comm) {
               ImageComm images(comm, {.path = path});
               const Texture texture(rgba8(), side, side, 1), attached(rgba8(), side, side, 2);
               GLuint renderbuffer = 0, framebuffer = 0, buffers[2] = {};
               glGenRenderbuffers(1, &renderbuffer);
               glBindRenderbuffer(GL_RENDERBUFFER, renderbuffer);
               glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, side, side);
               glGenFramebuffers(1, &framebuffer);
               glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
               glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, attached.name(), 0);
               glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT1, GL_TEXTURE_2D, texture.name(), 0);
               glReadBuffer(GL_COLOR_ATTACHMENT1);
               glDrawBuffer(GL_COLOR_ATTACHMENT1);
               glActiveTexture(GL_TEXTURE3);
               glBindTexture(GL_TEXTURE_2D, attached.name());
               glEnable(GL_SCISSOR_TEST);
               glEnable(GL_FRAMEBUFFER_SRGB);
               glScissor(1, 1, 2, 2);
               const Image all[] = {texture.image(), Image::renderbuffer(renderbuffer),
                                    Image::framebuffer(framebuffer, GL_COLOR_ATTACHMENT0),
                                    Image::framebuffer(0, GL_BACK)};
               glGenBuffers(2, buffers);
               for (const GLuint buffer : buffers) {
                 glBindBuffer(GL_ARRAY_BUFFER, buffer);
                 glBufferData(GL_ARRAY_BUFFER, 64, nullptr, GL_STATIC_DRAW);
               }
               glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, buffers[1], 0, 32);
               glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffers[0]);
               glBindImageTexture(0, attached.name(), 0, GL_FALSE, 0, GL_READ_WRITE, GL_RGBA8);
               glBindBuffer(GL_PIXEL_PACK_BUFFER, buffers[0]);
               glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffers[1]);
               int odd = 3;
               for (const GLenum what : integers) {
                 if (what == GL_PIXEL_PACK_BUFFER_BINDING) break;
                 const bool aligns = what == GL_PACK_ALIGNMENT || what == GL_UNPACK_ALIGNMENT;
                 const bool is_flag = what == GL_PACK_SWAP_BYTES || what == GL_UNPACK_SWAP_BYTES ||
                                      what == GL_PACK_LSB_FIRST || what == GL_UNPACK_LSB_FIRST;
                 glPixelStorei(what, aligns ? 8 : is_flag ? 1 : odd += 2);
               }
               ASSERT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
               const auto before = state();
               for (const Image& from : all)
                 for (const Image& into : all) {
                   const Rectangle r{3, 2, 9, 5};
                   const Pixels out{from, GL_RGBA, GL_UNSIGNED_BYTE, r}, in{into, GL_RGBA, GL_UNSIGNED_BYTE, r};
                   const auto request = images.irecv(in, 0);
                   EXPECT_EQ(images.send(out, 0).bytes, 180);
                   images.wait(request);
                   EXPECT_TRUE(state() == before);
                   images.broadcast(out, 0);
                   images.gather(out, {in}, 0);
                   images.all_reduce(out, in, Max{});
                   EXPECT_TRUE(state() == before);
                   // And it was done in spite of that state: all of these are texture's pixels in the end.
                 }
               for (const Image& image : all) {
                 std::vector<std::uint8_t> came(180);
                 const Request request = comm.irecv(came, 0);
                 images.send({image, GL_RGBA, GL_UNSIGNED_BYTE, Rectangle{3, 2, 9, 5}}, 0);
                 comm.wait(request);
                 std::vector<std::uint8_t> first(180);
                 const Request again = comm.irecv(first, 0);
                 images.send(texture.pixels({3, 2, 9, 5}), 0);
                 comm.wait(again);
                 EXPECT_TRUE(came == first);
               }
               EXPECT_TRUE(state() == before);
               EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR));
               // Plain layout again, for what the fixtures read.
               for (const GLenum what : integers) {
                 if (what == GL_PIXEL_PACK_BUFFER_BINDING) break;
                 glPixelStorei(what, what == GL_PACK_ALIGNMENT || what == GL_UNPACK_ALIGNMENT ? 4 : 0);
               }
             },
             {.width = side, .height = side});
}

}  // namespace
}  // namespace dcgn::test::state
