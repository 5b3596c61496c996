// Every common format and type, by every path there is: what comes is what GL itself reads, and nothing around it
// changes.
#include "pixels/tests/support.hpp"

namespace dcgn::test::formats {
namespace {

using pixels::Options, pixels::Path;

constexpr std::uint32_t no_sign = 0x7f;                    // of bytes from 0 to 127: -128 is read as -127
constexpr std::uint32_t finite_half = 0x3bff;              // below 1
constexpr std::uint32_t finite_float = 0x3f7fffff;         // below 1
constexpr std::uint32_t finite_small_floats = 0x3bdef7bd;  // of 11, 11 and 10 bits: no exponent is full

const Kind kinds[] = {
    {"R8", GL_R8, GL_RED, GL_UNSIGNED_BYTE, 1},
    {"RG8", GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 2},
    {"RGB8", GL_RGB8, GL_RGB, GL_UNSIGNED_BYTE, 3},
    {"RGB8 as BGR", GL_RGB8, GL_BGR, GL_UNSIGNED_BYTE, 3},
    {"RGBA8", GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 4},
    {"RGBA8 as BGRA", GL_RGBA8, GL_BGRA, GL_UNSIGNED_BYTE, 4},
    {"RGBA8 in words", GL_RGBA8, GL_RGBA, GL_UNSIGNED_INT_8_8_8_8, 4},
    {"RGBA8 in reversed words", GL_RGBA8, GL_BGRA, GL_UNSIGNED_INT_8_8_8_8_REV, 4},
    {"SRGB8_ALPHA8", GL_SRGB8_ALPHA8, GL_RGBA, GL_UNSIGNED_BYTE, 4},
    {"R8_SNORM", GL_R8_SNORM, GL_RED, GL_BYTE, 1, 1, no_sign},
    {"RGBA8_SNORM", GL_RGBA8_SNORM, GL_RGBA, GL_BYTE, 4, 1, no_sign},
    {"R16", GL_R16, GL_RED, GL_UNSIGNED_SHORT, 2},
    {"RG16", GL_RG16, GL_RG, GL_UNSIGNED_SHORT, 4},
    {"RGBA16", GL_RGBA16, GL_RGBA, GL_UNSIGNED_SHORT, 8},
    {"RGBA16_SNORM", GL_RGBA16_SNORM, GL_RGBA, GL_SHORT, 8, 2, 0x7fff},
    {"R16F", GL_R16F, GL_RED, GL_HALF_FLOAT, 2, 2, finite_half},
    {"RGB16F", GL_RGB16F, GL_RGB, GL_HALF_FLOAT, 6, 2, finite_half},
    {"RGBA16F", GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT, 8, 2, finite_half},
    {"R32F", GL_R32F, GL_RED, GL_FLOAT, 4, 4, finite_float},
    {"RG32F", GL_RG32F, GL_RG, GL_FLOAT, 8, 4, finite_float},
    {"RGB32F", GL_RGB32F, GL_RGB, GL_FLOAT, 12, 4, finite_float},
    {"RGBA32F", GL_RGBA32F, GL_RGBA, GL_FLOAT, 16, 4, finite_float},
    {"R11F_G11F_B10F", GL_R11F_G11F_B10F, GL_RGB, GL_UNSIGNED_INT_10F_11F_11F_REV, 4, 4, finite_small_floats},
    {"RGB9_E5", GL_RGB9_E5, GL_RGB, GL_UNSIGNED_INT_5_9_9_9_REV, 4, 4},
    {"RGB565", GL_RGB565, GL_RGB, GL_UNSIGNED_SHORT_5_6_5, 2},
    {"RGB565 reversed", GL_RGB565, GL_RGB, GL_UNSIGNED_SHORT_5_6_5_REV, 2},
    {"RGB5_A1", GL_RGB5_A1, GL_RGBA, GL_UNSIGNED_SHORT_5_5_5_1, 2},
    {"RGB5_A1 reversed", GL_RGB5_A1, GL_BGRA, GL_UNSIGNED_SHORT_1_5_5_5_REV, 2},
    {"RGBA4", GL_RGBA4, GL_RGBA, GL_UNSIGNED_SHORT_4_4_4_4, 2},
    {"RGBA4 reversed", GL_RGBA4, GL_BGRA, GL_UNSIGNED_SHORT_4_4_4_4_REV, 2},
    {"R3_G3_B2", GL_R3_G3_B2, GL_RGB, GL_UNSIGNED_BYTE_3_3_2, 1},
    {"R3_G3_B2 reversed", GL_R3_G3_B2, GL_RGB, GL_UNSIGNED_BYTE_2_3_3_REV, 1},
    {"RGB10_A2", GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV, 4},
    {"RGB10_A2 in words", GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_INT_10_10_10_2, 4},
    {"R8UI", GL_R8UI, GL_RED_INTEGER, GL_UNSIGNED_BYTE, 1},
    {"R8I", GL_R8I, GL_RED_INTEGER, GL_BYTE, 1},
    {"RG8UI", GL_RG8UI, GL_RG_INTEGER, GL_UNSIGNED_BYTE, 2},
    {"RGB8UI", GL_RGB8UI, GL_RGB_INTEGER, GL_UNSIGNED_BYTE, 3},
    {"RGBA8UI", GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE, 4},
    {"RGBA8UI as BGRA", GL_RGBA8UI, GL_BGRA_INTEGER, GL_UNSIGNED_BYTE, 4},
    {"RGBA8I", GL_RGBA8I, GL_RGBA_INTEGER, GL_BYTE, 4},
    {"R16UI", GL_R16UI, GL_RED_INTEGER, GL_UNSIGNED_SHORT, 2},
    {"RGBA16I", GL_RGBA16I, GL_RGBA_INTEGER, GL_SHORT, 8},
    {"R32UI", GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, 4},
    {"R32I", GL_R32I, GL_RED_INTEGER, GL_INT, 4},
    {"RGBA32UI", GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT, 16},
    {"RGBA32I", GL_RGBA32I, GL_RGBA_INTEGER, GL_INT, 16},
    {"RGB10_A2UI", GL_RGB10_A2UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT_2_10_10_10_REV, 4},
    {"DEPTH16", GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, 2},
    {"DEPTH24", GL_DEPTH_COMPONENT24, GL_DEPTH_COMPONENT, GL_UNSIGNED_INT, 4, 4, 0xffffff00},
    {"DEPTH32F", GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT, 4, 4, finite_float},
    {"DEPTH24_STENCIL8", GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8, 4},
    {"STENCIL8", GL_STENCIL_INDEX8, GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, 1},
};

constexpr int width = 13, height = 9;
constexpr Rectangle sent{3, 1, 7, 5}, received{5, 3, 7, 5};

std::vector<Options> all_options() {
  return {{.path = Path::copy},
          {.path = Path::pinned},
          {.path = Path::automatic},
          {.path = Path::pinned, .tile_bytes = 20}};
}

class PixelFormats : public PixelTest {};

TEST_F(PixelFormats, RectanglesArriveByteForByteAndNothingAroundThemChanges) {
  for (const Options& options : all_options())
    in_ranks(2, [&](Comm& comm) {
      ImageComm images(comm, options);
      for (const Kind& kind : kinds) {
        SCOPED_TRACE(std::string(kind.name) + " by " + to_string(options.path));
        const Texture from(kind, width, height, 1);
        if (comm.rank() == 0) {
          images.send(from.pixels(sent), 1);
          continue;
        }
        const Texture into(kind, width, height, 2);
        const Bytes before = into.read();
        const pixels::Moved moved = images.recv(into.pixels(received), 0);
        EXPECT_EQ(moved.bytes, 35 * kind.pixel_bytes);
        EXPECT_EQ(moved.source, 0);
        EXPECT_NE(moved.path, Path::automatic);
        const Bytes came = cut(from.read(), width, kind.pixel_bytes, sent);
        EXPECT_TRUE(into.read() == pasted(before, width, kind.pixel_bytes, received, came));
      }
    });
}

// DEPTH32F_STENCIL8 has 24 bits in each pixel that nobody uses.
TEST_F(PixelFormats, DepthOf32BitsWithStencil) {
  const Kind kind{"DEPTH32F_STENCIL8", GL_DEPTH32F_STENCIL8, GL_DEPTH_STENCIL, GL_FLOAT_32_UNSIGNED_INT_24_8_REV, 8, 4,
                  finite_float};
  in_ranks(2, [&](Comm& comm) {
    ImageComm images(comm);
    const Texture from(kind, width, height, 1);
    if (comm.rank() == 0) return static_cast<void>(images.send(from.pixels(), 1));
    const Texture into(kind, width, height, 2);
    EXPECT_EQ(images.recv(into.pixels(), 0).bytes, width * height * 8);
    const Bytes expected = from.read(), found = into.read();
    for (std::size_t i = 0; i < found.size(); i += 8) {
      ASSERT_TRUE(std::equal(found.begin() + static_cast<std::ptrdiff_t>(i),
                             found.begin() + static_cast<std::ptrdiff_t>(i + 5),
                             expected.begin() + static_cast<std::ptrdiff_t>(i)))
          << i;
    }
  });
}

// What is sent is what GL makes of the pixels: the other end is memory.
TEST_F(PixelFormats, PixelsTravelAsWhatIsAskedFor) {
  struct As {
    GLenum format, type;
    int pixel_bytes;
  };
  struct Conversion {
    Kind kind;
    std::vector<As> as;
  };
  const Conversion conversions[] = {
      {rgba8(),
       {{GL_RGBA, GL_FLOAT, 16},
        {GL_RGBA, GL_HALF_FLOAT, 8},
        {GL_RGB, GL_UNSIGNED_SHORT, 6},
        {GL_GREEN, GL_UNSIGNED_BYTE, 1},
        {GL_BLUE, GL_BYTE, 1},
        {GL_RGB, GL_UNSIGNED_SHORT_5_6_5, 2}}},
      {{"RGBA32F", GL_RGBA32F, GL_RGBA, GL_FLOAT, 16, 4, finite_float},
       {{GL_RGBA, GL_UNSIGNED_BYTE, 4}, {GL_BGR, GL_UNSIGNED_INT, 12}}},
      {{"RGBA8UI", GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE, 4},
       {{GL_RED_INTEGER, GL_INT, 4}, {GL_RG_INTEGER, GL_UNSIGNED_SHORT, 4}}},
      {{"DEPTH24_STENCIL8", GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL, GL_UNSIGNED_INT_24_8, 4},
       {{GL_DEPTH_COMPONENT, GL_FLOAT, 4},
        {GL_DEPTH_COMPONENT, GL_UNSIGNED_SHORT, 2},
        {GL_STENCIL_INDEX, GL_UNSIGNED_BYTE, 1}}},
  };
  for (const Options& options : all_options()) {
    if (options.tile_bytes) continue;
    in_ranks(2, [&](Comm& comm) {
      ImageComm images(comm, options);
      for (const Conversion& conversion : conversions)
        for (const As& as : conversion.as) {
          const Texture from(conversion.kind, width, height, 1);
          if (comm.rank() == 0) {
            images.send({from.image(), as.format, as.type, sent}, 1);
            continue;
          }
          Bytes came(static_cast<std::size_t>(35 * as.pixel_bytes));
          EXPECT_EQ(comm.recv(came, 0).bytes, 35 * as.pixel_bytes);
          EXPECT_TRUE(came == cut(from.read(as.format, as.type, as.pixel_bytes), width, as.pixel_bytes, sent))
              << conversion.kind.name << " as " << as.format << " " << as.type;
        }
    });
  }
}

}  // namespace
}  // namespace dcgn::test::formats
