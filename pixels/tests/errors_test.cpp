// What cannot be is refused, by name, and nothing has been written then.
#include "pixels/tests/support.hpp"
#include "tests/expect.hpp"

namespace dcgn::test::errors {
namespace {

using pixels::Compression, pixels::Path;

class PixelErrors : public PixelTest {};

constexpr int width = 10, height = 6;

TEST_F(PixelErrors, AreSaidBeforeAnythingIsSent) {
  in_ranks(1, [](Comm& comm) {
    ImageComm images(comm);
    const Texture texture(rgba8(), width, height, 1);
    const Texture integers({"RGBA8UI", GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE, 4}, width, height, 1);
    const Texture depth({"DEPTH16", GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, 2}, width, height, 1);
    GLuint samples = 0, framebuffer = 0;
    glGenTextures(1, &samples);
    glBindTexture(GL_TEXTURE_2D_MULTISAMPLE, samples);
    glTexImage2DMultisample(GL_TEXTURE_2D_MULTISAMPLE, 4, GL_RGBA8, width, height, GL_TRUE);
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    const GLenum bytes = GL_UNSIGNED_BYTE;
    struct Case {
      Pixels pixels;
      Code code;
      const char* said;
    };
    const Case cases[] = {
        {texture.pixels({4, 0, 7, 6}), Code::invalid_size, "7 x 6 at (4, 0), is not inside the image, 10 x 6"},
        {texture.pixels({-1, 0, 3, 3}), Code::invalid_size, "3 x 3 at (-1, 0)"},
        {texture.pixels({0, 0, 3, -3}), Code::invalid_size, "3 x -3"},
        {texture.pixels({2147483647, 0, 3, 3}), Code::invalid_size, "at (2147483647, 0)"},
        {{texture.image(), 4711, bytes}, Code::invalid_type, "format 4711 is unknown"},
        {{texture.image(), GL_RGBA, 4711}, Code::invalid_type, "type 4711 is unknown"},
        {{texture.image(), GL_RGBA, GL_UNSIGNED_SHORT_5_6_5},
         Code::invalid_type,
         "no pixels of format GL_RGBA and type GL_UNSIGNED_SHORT_5_6_5"},
        {{texture.image(), GL_RGBA_INTEGER, GL_FLOAT}, Code::invalid_type, "GL_RGBA_INTEGER and type GL_FLOAT"},
        {{texture.image(), GL_DEPTH_STENCIL, GL_FLOAT}, Code::invalid_type, "GL_DEPTH_STENCIL and type GL_FLOAT"},
        {{texture.image(), GL_DEPTH_COMPONENT, GL_FLOAT},
         Code::invalid_type,
         "the image holds color, expected depth for GL_DEPTH_COMPONENT"},
        {{depth.image(), GL_RGBA, bytes}, Code::invalid_type, "the image holds depth, expected color"},
        {{integers.image(), GL_RGBA, bytes}, Code::invalid_type, "the image holds integers, expected color"},
        {{texture.image(), GL_RGBA_INTEGER, bytes}, Code::invalid_type, "the image holds color, expected integers"},
        {{Image::texture(4711), GL_RGBA, bytes}, Code::device, "texture 4711 is none of the context"},
        {{Image::texture(texture.name(), 3), GL_RGBA, bytes}, Code::invalid_size, "has no level 3"},
        {{Image::texture(texture.name(), -1), GL_RGBA, bytes}, Code::invalid_size, "level -1"},
        {{Image::texture(texture.name(), 0, 1), GL_RGBA, bytes},
         Code::invalid_size,
         "layer 1 is out of range, expected 0..0"},
        {{Image::texture(samples), GL_RGBA, bytes}, Code::unsupported, "is of several samples"},
        {{Image::renderbuffer(4711), GL_RGBA, bytes}, Code::device, "renderbuffer 4711 is none"},
        {{Image::framebuffer(4711, GL_COLOR_ATTACHMENT0), GL_RGBA, bytes}, Code::device, "framebuffer 4711 is none"},
        {{Image::framebuffer(framebuffer, GL_COLOR_ATTACHMENT0), GL_RGBA, bytes},
         Code::invalid_type,
         "nothing is attached"},
        {{Image::framebuffer(framebuffer, 4711), GL_RGBA, bytes}, Code::invalid_type, "attachment 4711"},
        {{Image::framebuffer(0, GL_BACK), GL_RGBA, bytes}, Code::device, "the context has no window"},
    };
    for (const Case& c : cases) {
      for (int call = 0; call < 4; ++call) {
        const Error error = error_of([&] {
          if (call == 0) images.send(c.pixels, 0);
          if (call == 1) images.irecv(c.pixels, 0);
          if (call == 2) images.broadcast(c.pixels, 0);
          if (call == 3) images.all_reduce(c.pixels, Sum{});
        });
        EXPECT_EQ(error.code(), c.code) << error.what();
        EXPECT_TRUE(contains(error.what(), c.said));
        EXPECT_TRUE(contains(error.what(), "pixels::"));
      }
      EXPECT_EQ(glGetError(), static_cast<GLenum>(GL_NO_ERROR)) << c.said;
    }
    glDeleteTextures(1, &samples);
    glDeleteFramebuffers(1, &framebuffer);
  });
}

TEST_F(PixelErrors, ReductionsSayWhatTheyDoNotTake) {
  in_ranks(1, [](Comm& comm) {
    ImageComm images(comm);
    const Texture texture(rgba8(), width, height, 1), floats(r32f(), width, height, 1);
    Error error = error_of([&] { images.all_reduce({texture.image(), GL_RGB, GL_UNSIGNED_SHORT_5_6_5}, Sum{}); });
    EXPECT_EQ(error.code(), Code::invalid_type);
    EXPECT_TRUE(contains(error.what(), "GL_UNSIGNED_SHORT_5_6_5 packs components"));
    error = error_of([&] { images.all_reduce(floats.pixels(), BitXor{}); });
    EXPECT_EQ(error.code(), Code::invalid_type);
    EXPECT_TRUE(contains(error.what(), "does not take elements of 4 bytes"));
    error = error_of([&] { images.all_reduce(texture.pixels(), floats.pixels(), Sum{}); });
    EXPECT_EQ(error.code(), Code::mismatch);
    EXPECT_TRUE(contains(error.what(), "240 elements of uint8 for a rectangle of 60 of float32"));
    error = error_of([&] { images.gather(texture.pixels(), {}, 0); });
    EXPECT_EQ(error.code(), Code::invalid_size);
    EXPECT_TRUE(contains(error.what(), "0 places for the pixels of 1 ranks"));
  });
}

// A longer message stops at the rectangle's end, as Comm's do; a shorter one is refused, and nothing drawn.
TEST_F(PixelErrors, SizesThatDifferAtTheTwoEnds) {
  for (const Path path : {Path::copy, Path::pinned})
    in_ranks(1, [&](Comm& comm) {
      ImageComm images(comm, {.path = path});
      const Texture from(rgba8(), width, height, 1), into(rgba8(), width, height, 2);
      const Bytes before = into.read();
      const auto move = [&](const Rectangle& out, const Rectangle& in) {
        const pixels::ImageRequest sent = images.isend(from.pixels(out), 0);
        Error error = error_of([&] { images.recv(into.pixels(in), 0); });
        images.wait(sent);
        return error;
      };
      Error error = move({0, 0, 5, 4}, {0, 0, 4, 4});
      EXPECT_EQ(error.code(), Code::truncated);
      EXPECT_TRUE(contains(error.what(), "80"));
      EXPECT_TRUE(contains(error.what(), "64"));
      error = move({0, 0, 4, 4}, {0, 0, 5, 4});
      EXPECT_EQ(error.code(), Code::mismatch);
      EXPECT_TRUE(contains(error.what(), "the message has 64 bytes, the rectangle, 5 x 4, 80"));
      EXPECT_TRUE(into.read() == before);
    });
}

// What an error leaves open is received, later, into memory that is there.
TEST_F(PixelErrors, TilesThatAnErrorLeavesOpenKeepTheirMemory) {
  in_ranks(2, [](Comm& comm) {
    ImageComm images(comm, {.tile_bytes = width * 4});
    const Texture texture(rgba8(), width, height, 1);
    const Bytes row(width * 4, 7);
    int go = 0;
    if (comm.rank() == 1) {
      comm.send_bytes(row.data(), 8, 0);  // too short for a tile
      comm.recv(go, 0);
      for (int y = 1; y < height; ++y) comm.send(row, 0);
      comm.barrier();
      return;
    }
    const pixels::ImageRequest request = images.irecv(texture.pixels(), 1);
    EXPECT_EQ(error_of([&] { images.wait(request); }).code(), Code::mismatch);
    comm.send(go, 1);
    comm.barrier();
    // The same memory, where it had been given back, would have been overwritten.
    const Texture other(rgba8(), width, height, 3);
    const Bytes before = other.read();
    const pixels::ImageRequest sent = images.isend(other.pixels(), 0, 5);
    images.recv(texture.pixels(), 0, 5);
    images.wait(sent);
    EXPECT_TRUE(texture.read() == before);
  });
}

TEST_F(PixelErrors, ContextsThatAreNotThere) {
  Job job({.nodes = {{.cpus = 1}}});
  job.cpu([](Comm& comm) {
    Error error = error_of([&] { ImageComm images(comm); });
    EXPECT_EQ(error.code(), Code::device);
    EXPECT_TRUE(contains(error.what(), "no OpenGL context is current on this thread"));
    pixels::Context first;
    ImageComm images(comm);
    const Texture texture(rgba8(), width, height, 1);
    {
      pixels::Context second;
      EXPECT_FALSE(first.is_current());
      error = error_of([&] { images.send(texture.pixels(), 0); });
      EXPECT_EQ(error.code(), Code::device);
      EXPECT_TRUE(contains(error.what(), "another OpenGL context is current"));
    }
    error = error_of([&] { images.send(texture.pixels(), 0); });
    EXPECT_TRUE(contains(error.what(), "no OpenGL context is current"));
    first.make_current();
    EXPECT_TRUE(first.is_current());
    glEnable(4711);
    error = error_of([&] { images.send(texture.pixels(), 0); });
    EXPECT_EQ(error.code(), Code::device);
    EXPECT_TRUE(contains(error.what(), "an error of before this call: GL_INVALID_ENUM"));
  });
  job.run();
}

TEST_F(PixelErrors, OfContexts) {
  Error error = error_of([] { pixels::Context context({.device = 4711}); });
  EXPECT_EQ(error.code(), Code::device);
  EXPECT_TRUE(contains(error.what(), "EGL device 4711 is not there, expected one of the"));
  error = error_of([] { pixels::Context context({.major = 9}); });
  EXPECT_TRUE(contains(error.what(), "no context of OpenGL 9.5 could be made"));
  error = error_of([] { pixels::Context::cuda_device(-1); });
  EXPECT_TRUE(contains(error.what(), "EGL device -1 is not there"));
  Job job({.nodes = {{.cpus = 1}}});
  job.cpu([](Comm& comm) {
    const pixels::Context old({.major = 3, .minor = 3, .core = false});
    if (old.version().starts_with("4.5") || old.version().starts_with("4.6")) return;  // drivers may give more
    EXPECT_TRUE(contains(error_of([&] { ImageComm images(comm); }).what(), "expected 4.5 or newer"));
  });
  job.run();
}

TEST_F(PixelErrors, OfOptions) {
  in_ranks(1, [](Comm& comm) {
    const auto said = [&](const pixels::Options& options) {
      return std::string(error_of([&] { ImageComm images(comm, options); }).what());
    };
    EXPECT_TRUE(contains(said({.tile_bytes = -1}), "tile_bytes is -1"));
    EXPECT_TRUE(contains(said({.jpeg_quality = 101}), "jpeg_quality is 101"));
    EXPECT_TRUE(contains(said({.compression = Compression::jpeg}), "jpeg loses"));
    const Error error = error_of([&] { ImageComm images(comm, {.path = Path::interop}); });
    if (Device::count() == 0 || Device(0).kind() != DeviceKind::cuda) {
      EXPECT_EQ(error.code(), Code::unsupported);
      EXPECT_TRUE(contains(error.what(), "the path interop cannot be taken: Decagon drives no CUDA device here"));
    }
    ImageComm tiles(comm, {.tile_bytes = 16});
    const Texture texture(rgba8(), width, height, 1);
    EXPECT_TRUE(contains(error_of([&] { tiles.irecv(texture.pixels(), any_source); }).what(), "a message of 6 tiles"));
    if (!pixels::is_available(Compression::jpeg)) return;
    ImageComm jpeg(comm, {.compression = Compression::jpeg, .jpeg_quality = 90});
    const Texture floats(r32f(), width, height, 1);
    EXPECT_TRUE(contains(error_of([&] { jpeg.send(floats.pixels(), 0); }).what(), "not GL_RED of GL_FLOAT"));
    ImageComm automatic(comm, {.compression = Compression::automatic});
    EXPECT_TRUE(contains(error_of([&] { automatic.send(texture.pixels(), 0); }).what(), "weighs the link's speed"));
  });
}

}  // namespace
}  // namespace dcgn::test::errors
