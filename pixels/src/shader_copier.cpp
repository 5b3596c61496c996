#include "pixels/src/shader_copier.hpp"

#include "pixels/src/gl.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace dcgn::pixels {

namespace {

constexpr int threads = 256;  // of a group
constexpr int most_groups = 32768;

// Programs see the bits of a pixel as an unsigned integer, or several: GL lets images of as many bits stand for each
// other.
const char* const image_names[] = {"r8ui", "r16ui", "r32ui", "rg32ui", "rgba32ui"};
constexpr GLenum image_formats[] = {GL_R8UI, GL_R16UI, GL_R32UI, GL_RG32UI, GL_RGBA32UI};

void append(std::string& text, std::initializer_list<std::string_view> pieces) {
  for (const std::string_view piece : pieces) text += piece;
}

std::string beginning(bool writes, int size_class) {
  const std::string image = writes ? "writeonly" : "readonly", buffer = writes ? "readonly" : "writeonly";
  return "#version 450\nlayout(local_size_x = " + std::to_string(threads) + ") in;\nlayout(" + image_names[size_class] +
         ", binding = 0) " + image + " uniform uimage2D image;\nlayout(std430, binding = 0) " + buffer +
         R"( buffer Bytes { uint words[]; };
uniform ivec4 rectangle;  // x, y, width, height
uniform bool swaps;       // the first and the third of four bytes
uint swapped(uint v) { return swaps ? v & 0xff00ff00u | v >> 16 & 0xffu | (v & 0xffu) << 16 : v; }
ivec2 place(uint i) { return rectangle.xy + ivec2(i % uint(rectangle.z), i / uint(rectangle.z)); }
void main() {
  const uint i = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x + gl_GlobalInvocationID.x;
  const uint pixels = uint(rectangle.z) * uint(rectangle.w);
)";
}

// Each thread writes a word of the buffer, or all words of a pixel that has more.
std::string reading(int size_class) {
  const int bytes = 1 << size_class;
  std::string text = beginning(false, size_class);
  if (bytes < 4) {
    const std::string each = std::to_string(4 / bytes), bits = std::to_string(8 * bytes);
    text += "  const uint first = i * " + each +
            ";\n  if (first >= pixels) return;\n  uint word = 0;\n  for (uint k = 0; k < " + each +
            " && first + k < pixels; ++k) word |= imageLoad(image, place(first + k)).r << (k * " + bits +
            ");\n  words[i] = word;\n";
  } else {
    text += "  if (i >= pixels) return;\n  uvec4 value = imageLoad(image, place(i));\n";
    if (bytes == 4) text += "  value.r = swapped(value.r);\n";
    const std::string words = std::to_string(bytes / 4);
    for (int k = 0; k < bytes / 4; ++k) {
      const std::string at = std::to_string(k);
      append(text, {"  words[i * ", words, " + ", at, "] = value[", at, "];\n"});
    }
  }
  return text + "}\n";
}

// Each thread writes a pixel.
std::string writing(int size_class) {
  const int bytes = 1 << size_class;
  std::string text = beginning(true, size_class) + "  if (i >= pixels) return;\n  uvec4 value = uvec4(0);\n";
  if (bytes < 4) {
    const std::string each = std::to_string(4 / bytes), bits = std::to_string(8 * bytes);
    text += "  value.r = words[i / " + each + "] >> (i % " + each + " * " + bits + ") & " +
            std::to_string((1 << 8 * bytes) - 1) + "u;\n";
  } else {
    const std::string words = std::to_string(bytes / 4);
    for (int k = 0; k < bytes / 4; ++k) {
      const std::string at = std::to_string(k);
      append(text, {"  value[", at, "] = words[i * ", words, " + ", at, "];\n"});
    }
    if (bytes == 4) text += "  value.r = swapped(value.r);\n";
  }
  return text + "  imageStore(image, place(i), value);\n}\n";
}

// Whether pixels of this format and type are a texture's bits as they are; swapped: red and blue the other way.
struct Bits {
  int size_class;
  bool swaps = false;
};
std::optional<Bits> bits_of(unsigned internal_format, unsigned format, unsigned type) {
  struct Row {
    GLenum internal, format, type;
    int size_class;
  };
  static constexpr Row rows[] = {
      {GL_R8, GL_RED, GL_UNSIGNED_BYTE, 0},
      {GL_R8UI, GL_RED_INTEGER, GL_UNSIGNED_BYTE, 0},
      {GL_R8I, GL_RED_INTEGER, GL_BYTE, 0},
      {GL_RG8, GL_RG, GL_UNSIGNED_BYTE, 1},
      {GL_RG8UI, GL_RG_INTEGER, GL_UNSIGNED_BYTE, 1},
      {GL_RG8I, GL_RG_INTEGER, GL_BYTE, 1},
      {GL_R16, GL_RED, GL_UNSIGNED_SHORT, 1},
      {GL_R16UI, GL_RED_INTEGER, GL_UNSIGNED_SHORT, 1},
      {GL_R16I, GL_RED_INTEGER, GL_SHORT, 1},
      {GL_R16F, GL_RED, GL_HALF_FLOAT, 1},
      {GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 2},
      {GL_RGBA8, GL_RGBA, GL_UNSIGNED_INT_8_8_8_8_REV, 2},
      {GL_RGBA8UI, GL_RGBA_INTEGER, GL_UNSIGNED_BYTE, 2},
      {GL_RGBA8I, GL_RGBA_INTEGER, GL_BYTE, 2},
      {GL_RGB10_A2, GL_RGBA, GL_UNSIGNED_INT_2_10_10_10_REV, 2},
      {GL_R11F_G11F_B10F, GL_RGB, GL_UNSIGNED_INT_10F_11F_11F_REV, 2},
      {GL_RG16, GL_RG, GL_UNSIGNED_SHORT, 2},
      {GL_RG16UI, GL_RG_INTEGER, GL_UNSIGNED_SHORT, 2},
      {GL_RG16I, GL_RG_INTEGER, GL_SHORT, 2},
      {GL_RG16F, GL_RG, GL_HALF_FLOAT, 2},
      {GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, 2},
      {GL_R32I, GL_RED_INTEGER, GL_INT, 2},
      {GL_R32F, GL_RED, GL_FLOAT, 2},
      {GL_RGBA16, GL_RGBA, GL_UNSIGNED_SHORT, 3},
      {GL_RGBA16UI, GL_RGBA_INTEGER, GL_UNSIGNED_SHORT, 3},
      {GL_RGBA16I, GL_RGBA_INTEGER, GL_SHORT, 3},
      {GL_RGBA16F, GL_RGBA, GL_HALF_FLOAT, 3},
      {GL_RG32UI, GL_RG_INTEGER, GL_UNSIGNED_INT, 3},
      {GL_RG32I, GL_RG_INTEGER, GL_INT, 3},
      {GL_RG32F, GL_RG, GL_FLOAT, 3},
      {GL_RGBA32UI, GL_RGBA_INTEGER, GL_UNSIGNED_INT, 4},
      {GL_RGBA32I, GL_RGBA_INTEGER, GL_INT, 4},
      {GL_RGBA32F, GL_RGBA, GL_FLOAT, 4},
  };
  for (const Row& row : rows)
    if (row.internal == internal_format && row.format == format && row.type == type) return Bits{row.size_class};
  if (internal_format == GL_RGBA8 && format == GL_BGRA &&
      (type == GL_UNSIGNED_BYTE || type == GL_UNSIGNED_INT_8_8_8_8_REV))
    return Bits{2, true};
  return std::nullopt;
}

GLint parameter(const Checked& pixels, GLenum what) {
  GLint value = 0;
  gl().get_texture_parameteriv(pixels.name, what, &value);
  return value;
}

// Whether shaders see the texture's level, which GL has them find only where the texture is complete.
bool is_complete(const Checked& pixels) {
  switch (pixels.target) {
    case GL_TEXTURE_2D:
    case GL_TEXTURE_2D_ARRAY:
    case GL_TEXTURE_3D:
    case GL_TEXTURE_CUBE_MAP:
    case GL_TEXTURE_CUBE_MAP_ARRAY: break;
    default: return false;  // seen through other types of a shader's
  }
  const GLint least = parameter(pixels, GL_TEXTURE_MIN_FILTER), most = parameter(pixels, GL_TEXTURE_MAG_FILTER);
  if (pixels.format.content == Content::integer &&
      (most != GL_NEAREST || (least != GL_NEAREST && least != GL_NEAREST_MIPMAP_NEAREST)))
    return false;
  if (parameter(pixels, GL_TEXTURE_IMMUTABLE_FORMAT)) return true;
  if (pixels.target == GL_TEXTURE_CUBE_MAP || parameter(pixels, GL_TEXTURE_BASE_LEVEL) != pixels.level) return false;
  return least == GL_NEAREST || least == GL_LINEAR || parameter(pixels, GL_TEXTURE_MAX_LEVEL) == pixels.level;
}

// Which drivers do worse. Tests have the others do so, too.
bool is_forced() { return std::getenv("DCGN_TEST_SHADER_COPIES") != nullptr; }
bool is_slow_driver() {
  const auto* const vendor = reinterpret_cast<const char*>(gl().get_string(GL_VENDOR));
  return vendor && std::strstr(vendor, "NVIDIA");
}

// What a dispatch needs of the context's state, as it was before at the end.
class Bound {
 public:
  Bound(bool writes, const Checked& pixels, int size_class, unsigned buffer, unsigned program)
      : program_(static_cast<GLuint>(get(GL_CURRENT_PROGRAM))),
        generic_(static_cast<GLuint>(get(GL_SHADER_STORAGE_BUFFER_BINDING))) {
    const Gl& g = gl();
    g.get_integeri_v(GL_SHADER_STORAGE_BUFFER_BINDING, 0, &buffer_);
    g.get_integer64i_v(GL_SHADER_STORAGE_BUFFER_START, 0, &start_);
    g.get_integer64i_v(GL_SHADER_STORAGE_BUFFER_SIZE, 0, &size_);
    for (std::size_t i = 0; i < image_.size(); ++i) g.get_integeri_v(image_state[i], 0, &image_[i]);
    g.use_program(program);
    g.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, 0, buffer);
    g.bind_image_texture(0, pixels.name, pixels.level, GL_FALSE, pixels.layer, writes ? GL_WRITE_ONLY : GL_READ_ONLY,
                         image_formats[size_class]);
  }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;
  ~Bound() {
    const Gl& g = gl();
    g.bind_image_texture(0, static_cast<GLuint>(image_[0]), image_[1], static_cast<GLboolean>(image_[2]), image_[3],
                         static_cast<GLenum>(image_[4]), static_cast<GLenum>(image_[5]));
    if (buffer_ && size_)
      g.bind_buffer_range(GL_SHADER_STORAGE_BUFFER, 0, static_cast<GLuint>(buffer_), start_, size_);
    else
      g.bind_buffer_base(GL_SHADER_STORAGE_BUFFER, 0, static_cast<GLuint>(buffer_));
    g.bind_buffer(GL_SHADER_STORAGE_BUFFER, generic_);
    g.use_program(program_);
  }

 private:
  static constexpr std::array<GLenum, 6> image_state = {GL_IMAGE_BINDING_NAME,    GL_IMAGE_BINDING_LEVEL,
                                                        GL_IMAGE_BINDING_LAYERED, GL_IMAGE_BINDING_LAYER,
                                                        GL_IMAGE_BINDING_ACCESS,  GL_IMAGE_BINDING_FORMAT};
  GLuint program_, generic_;
  GLint buffer_ = 0;
  GLint64 start_ = 0, size_ = 0;
  std::array<GLint, 6> image_{};
};

}  // namespace

ShaderCopier::~ShaderCopier() {
  if (context_ && current_context() == context_)
    for (const auto& programs : programs_)
      for (const unsigned program : programs)
        if (program) gl().delete_program(program);
}

unsigned ShaderCopier::program(bool writes, int size_class) {
  unsigned& program = programs_[writes][static_cast<std::size_t>(size_class)];
  if (program) return program;
  const Gl& g = gl();
  context_ = current_context();
  const std::string text = writes ? writing(size_class) : reading(size_class);
  const char* const lines = text.c_str();
  const GLuint shader = g.create_shader(GL_COMPUTE_SHADER);
  g.shader_source(shader, 1, &lines, nullptr);
  g.compile_shader(shader);
  program = g.create_program();
  g.attach_shader(program, shader);
  g.link_program(program);
  g.delete_shader(shader);
  GLint linked = 0;
  g.get_programiv(program, GL_LINK_STATUS, &linked);
  if (!linked) {
    std::string log(4096, '\0');
    GLsizei length = 0;
    g.get_program_info_log(program, static_cast<GLsizei>(log.size()), &length, log.data());
    log.resize(static_cast<std::size_t>(length));
    g.delete_program(program);
    program = 0;
    throw Error(Code::device, "pixels::ImageComm", "a shader that copies pixels was refused by GL: " + log);
  }
  return program;
}

bool ShaderCopier::copy(bool writes, const Checked& pixels, unsigned buffer) {
  if (pixels.kind != Checked::Kind::texture) return false;
  const std::optional<Bits> bits = bits_of(pixels.internal_format, pixels.format.format, pixels.format.type);
  if (!bits || !is_complete(pixels) || pixels.bytes() > get(GL_MAX_SHADER_STORAGE_BLOCK_SIZE)) return false;
  const Gl& g = gl();
  const unsigned by = program(writes, bits->size_class);
  const Rectangle& r = pixels.rectangle;
  g.program_uniform_4i(by, g.get_uniform_location(by, "rectangle"), r.x, r.y, r.width, r.height);
  if (bits->size_class == 2) g.program_uniform_1i(by, g.get_uniform_location(by, "swaps"), bits->swaps);
  const Bound bound(writes, pixels, bits->size_class, buffer, by);
  const std::int64_t pixel_bytes = std::int64_t{1} << bits->size_class;
  const std::int64_t each = writes ? pixel_bytes : std::max<std::int64_t>(pixel_bytes, 4);  // bytes of a thread
  const std::int64_t groups = ((pixels.bytes() + each - 1) / each + threads - 1) / threads;
  const std::int64_t across = std::min<std::int64_t>(groups, most_groups);
  g.memory_barrier(GL_ALL_BARRIER_BITS);
  g.dispatch_compute(static_cast<GLuint>(across), static_cast<GLuint>((groups + across - 1) / across), 1);
  g.memory_barrier(GL_ALL_BARRIER_BITS);
  return true;
}

bool ShaderCopier::read(const Checked& pixels, unsigned buffer) {
  return (is_forced() || is_slow_driver()) && copy(false, pixels, buffer);
}

bool ShaderCopier::write(const Checked& pixels, unsigned buffer) {
  return (is_forced() || (where_ == Buffers::on_gpu && is_slow_driver())) && copy(true, pixels, buffer);
}

}  // namespace dcgn::pixels
