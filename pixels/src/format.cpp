#include "pixels/src/format.hpp"

#include "pixels/src/gl.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <iterator>

namespace dcgn::pixels {

namespace {

// Of the compatibility profile alone.
constexpr unsigned gl_luminance = 0x1909, gl_luminance_alpha = 0x190A;

struct Format {
  unsigned value;
  const char* name;
  int components;
  Content content;
};
constexpr Format formats[] = {
    {GL_RED, "GL_RED", 1, Content::color},
    {GL_GREEN, "GL_GREEN", 1, Content::color},
    {GL_BLUE, "GL_BLUE", 1, Content::color},
    {GL_ALPHA, "GL_ALPHA", 1, Content::color},
    {gl_luminance, "GL_LUMINANCE", 1, Content::color},
    {gl_luminance_alpha, "GL_LUMINANCE_ALPHA", 2, Content::color},
    {GL_RG, "GL_RG", 2, Content::color},
    {GL_RGB, "GL_RGB", 3, Content::color},
    {GL_BGR, "GL_BGR", 3, Content::color},
    {GL_RGBA, "GL_RGBA", 4, Content::color},
    {GL_BGRA, "GL_BGRA", 4, Content::color},
    {GL_RED_INTEGER, "GL_RED_INTEGER", 1, Content::integer},
    {GL_GREEN_INTEGER, "GL_GREEN_INTEGER", 1, Content::integer},
    {GL_BLUE_INTEGER, "GL_BLUE_INTEGER", 1, Content::integer},
    {GL_RG_INTEGER, "GL_RG_INTEGER", 2, Content::integer},
    {GL_RGB_INTEGER, "GL_RGB_INTEGER", 3, Content::integer},
    {GL_BGR_INTEGER, "GL_BGR_INTEGER", 3, Content::integer},
    {GL_RGBA_INTEGER, "GL_RGBA_INTEGER", 4, Content::integer},
    {GL_BGRA_INTEGER, "GL_BGRA_INTEGER", 4, Content::integer},
    {GL_DEPTH_COMPONENT, "GL_DEPTH_COMPONENT", 1, Content::depth},
    {GL_STENCIL_INDEX, "GL_STENCIL_INDEX", 1, Content::stencil},
    {GL_DEPTH_STENCIL, "GL_DEPTH_STENCIL", 2, Content::depth_stencil},
};

// `packs` components in a word, 0 where each is an element of its own. Of 32 bits of floats and 32 of stencil two
// words.
struct Type {
  unsigned value;
  const char* name;
  ElementKind kind;
  int packs;
  bool floats = false;  // not for integers
  int words = 1;
};
constexpr Type types[] = {
    {GL_UNSIGNED_BYTE, "GL_UNSIGNED_BYTE", ElementKind::uint8, 0},
    {GL_BYTE, "GL_BYTE", ElementKind::int8, 0},
    {GL_UNSIGNED_SHORT, "GL_UNSIGNED_SHORT", ElementKind::uint16, 0},
    {GL_SHORT, "GL_SHORT", ElementKind::int16, 0},
    {GL_UNSIGNED_INT, "GL_UNSIGNED_INT", ElementKind::uint32, 0},
    {GL_INT, "GL_INT", ElementKind::int32, 0},
    {GL_HALF_FLOAT, "GL_HALF_FLOAT", ElementKind::float16, 0, true},
    {GL_FLOAT, "GL_FLOAT", ElementKind::float32, 0, true},
    {GL_UNSIGNED_BYTE_3_3_2, "GL_UNSIGNED_BYTE_3_3_2", ElementKind::uint8, 3},
    {GL_UNSIGNED_BYTE_2_3_3_REV, "GL_UNSIGNED_BYTE_2_3_3_REV", ElementKind::uint8, 3},
    {GL_UNSIGNED_SHORT_5_6_5, "GL_UNSIGNED_SHORT_5_6_5", ElementKind::uint16, 3},
    {GL_UNSIGNED_SHORT_5_6_5_REV, "GL_UNSIGNED_SHORT_5_6_5_REV", ElementKind::uint16, 3},
    {GL_UNSIGNED_SHORT_4_4_4_4, "GL_UNSIGNED_SHORT_4_4_4_4", ElementKind::uint16, 4},
    {GL_UNSIGNED_SHORT_4_4_4_4_REV, "GL_UNSIGNED_SHORT_4_4_4_4_REV", ElementKind::uint16, 4},
    {GL_UNSIGNED_SHORT_5_5_5_1, "GL_UNSIGNED_SHORT_5_5_5_1", ElementKind::uint16, 4},
    {GL_UNSIGNED_SHORT_1_5_5_5_REV, "GL_UNSIGNED_SHORT_1_5_5_5_REV", ElementKind::uint16, 4},
    {GL_UNSIGNED_INT_8_8_8_8, "GL_UNSIGNED_INT_8_8_8_8", ElementKind::uint32, 4},
    {GL_UNSIGNED_INT_8_8_8_8_REV, "GL_UNSIGNED_INT_8_8_8_8_REV", ElementKind::uint32, 4},
    {GL_UNSIGNED_INT_10_10_10_2, "GL_UNSIGNED_INT_10_10_10_2", ElementKind::uint32, 4},
    {GL_UNSIGNED_INT_2_10_10_10_REV, "GL_UNSIGNED_INT_2_10_10_10_REV", ElementKind::uint32, 4},
    {GL_UNSIGNED_INT_10F_11F_11F_REV, "GL_UNSIGNED_INT_10F_11F_11F_REV", ElementKind::uint32, 3, true},
    {GL_UNSIGNED_INT_5_9_9_9_REV, "GL_UNSIGNED_INT_5_9_9_9_REV", ElementKind::uint32, 3, true},
    {GL_UNSIGNED_INT_24_8, "GL_UNSIGNED_INT_24_8", ElementKind::uint32, 2},
    {GL_FLOAT_32_UNSIGNED_INT_24_8_REV, "GL_FLOAT_32_UNSIGNED_INT_24_8_REV", ElementKind::uint32, 2, true, 2},
};

template <class Table>
auto find_in(const Table& table, unsigned value) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const auto& e) { return e.value == value; });
  return found == std::end(table) ? nullptr : &*found;
}

template <class Table>
std::string name_in(const Table& table, unsigned value) {
  const auto* const found = find_in(table, value);
  return found ? found->name : std::to_string(value);
}

// GL's tables 8.3 and 8.5 of its specification: a word takes the formats of so many components, in either order.
bool fit(const Format& format, const Type& type) {
  const bool both = format.content == Content::depth_stencil;
  if (both || type.packs == 2) return both && type.packs == 2;
  if (format.content == Content::integer && type.floats) return false;
  if (type.packs == 0) return true;
  if (format.components != type.packs || format.content == Content::depth || format.content == Content::stencil)
    return false;
  const bool reversed = format.value == GL_BGR || format.value == GL_BGR_INTEGER;
  return !reversed;
}

}  // namespace

PixelFormat pixel_format(const char* operation, unsigned format, unsigned type) {
  const Format* const f = find_in(formats, format);
  const Type* const t = find_in(types, type);
  if (!f)
    throw Error(Code::invalid_type, operation,
                "format " + std::to_string(format) + " is unknown, expected one of GL's, as GL_RGBA");
  if (!t)
    throw Error(Code::invalid_type, operation,
                "type " + std::to_string(type) + " is unknown, expected one of GL's, as GL_UNSIGNED_BYTE");
  if (!fit(*f, *t))
    throw Error(Code::invalid_type, operation,
                std::string("there are no pixels of format ") + f->name + " and type " + t->name);
  return {.format = format,
          .type = type,
          .content = f->content,
          .elements = t->packs ? t->words : f->components,
          .kind = t->kind,
          .packed = t->packs != 0};
}

Content content_of(unsigned internal_format) {
  switch (internal_format) {
    case GL_R8I:
    case GL_R8UI:
    case GL_R16I:
    case GL_R16UI:
    case GL_R32I:
    case GL_R32UI:
    case GL_RG8I:
    case GL_RG8UI:
    case GL_RG16I:
    case GL_RG16UI:
    case GL_RG32I:
    case GL_RG32UI:
    case GL_RGB8I:
    case GL_RGB8UI:
    case GL_RGB16I:
    case GL_RGB16UI:
    case GL_RGB32I:
    case GL_RGB32UI:
    case GL_RGBA8I:
    case GL_RGBA8UI:
    case GL_RGBA16I:
    case GL_RGBA16UI:
    case GL_RGBA32I:
    case GL_RGBA32UI:
    case GL_RGB10_A2UI: return Content::integer;
    case GL_DEPTH_COMPONENT:
    case GL_DEPTH_COMPONENT16:
    case GL_DEPTH_COMPONENT24:
    case GL_DEPTH_COMPONENT32:
    case GL_DEPTH_COMPONENT32F: return Content::depth;
    case GL_STENCIL_INDEX:
    case GL_STENCIL_INDEX1:
    case GL_STENCIL_INDEX4:
    case GL_STENCIL_INDEX8:
    case GL_STENCIL_INDEX16: return Content::stencil;
    case GL_DEPTH_STENCIL:
    case GL_DEPTH24_STENCIL8:
    case GL_DEPTH32F_STENCIL8: return Content::depth_stencil;
  }
  return Content::color;
}

std::string to_string(Content content) {
  switch (content) {
    case Content::color: return "color";
    case Content::integer: return "integers";
    case Content::depth: return "depth";
    case Content::stencil: return "stencil";
    case Content::depth_stencil: return "depth and stencil";
  }
  return "";
}

std::string name_of_format(unsigned format) { return name_in(formats, format); }
std::string name_of_type(unsigned type) { return name_in(types, type); }

}  // namespace dcgn::pixels
