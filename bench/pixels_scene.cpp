#include "bench/pixels_scene.hpp"

#include <dcgn/error.hpp>

#include <string>

namespace dcgn::bench {

namespace {

using Found = pixels::detail::Found;

// What drawing takes besides.
struct DrawingGl {
  PFNGLATTACHSHADERPROC AttachShader = Found("glAttachShader");
  PFNGLBINDFRAMEBUFFERPROC BindFramebuffer = Found("glBindFramebuffer");
  PFNGLBINDVERTEXARRAYPROC BindVertexArray = Found("glBindVertexArray");
  PFNGLCOMPILESHADERPROC CompileShader = Found("glCompileShader");
  PFNGLCREATEPROGRAMPROC CreateProgram = Found("glCreateProgram");
  PFNGLCREATESHADERPROC CreateShader = Found("glCreateShader");
  PFNGLCREATEVERTEXARRAYSPROC CreateVertexArrays = Found("glCreateVertexArrays");
  PFNGLDELETEPROGRAMPROC DeleteProgram = Found("glDeleteProgram");
  PFNGLDELETESHADERPROC DeleteShader = Found("glDeleteShader");
  PFNGLDELETEVERTEXARRAYSPROC DeleteVertexArrays = Found("glDeleteVertexArrays");
  PFNGLDRAWARRAYSPROC DrawArrays = Found("glDrawArrays");
  PFNGLGETPROGRAMIVPROC GetProgramiv = Found("glGetProgramiv");
  PFNGLGETUNIFORMLOCATIONPROC GetUniformLocation = Found("glGetUniformLocation");
  PFNGLLINKPROGRAMPROC LinkProgram = Found("glLinkProgram");
  PFNGLPROGRAMUNIFORM3FPROC ProgramUniform3f = Found("glProgramUniform3f");
  PFNGLSHADERSOURCEPROC ShaderSource = Found("glShaderSource");
  PFNGLUSEPROGRAMPROC UseProgram = Found("glUseProgram");
  PFNGLVIEWPORTPROC Viewport = Found("glViewport");
};

const DrawingGl& drawing() {
  static const DrawingGl functions;
  return functions;
}

constexpr const char* vertex_source = R"(#version 450
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
)";

constexpr const char* fragment_source = R"(#version 450
uniform vec3 picture;  // width, height, first row
out vec4 color;
void main() {
  vec2 at = (gl_FragCoord.xy + vec2(0, picture.z)) / picture.xy;
  vec2 c = vec2(at.x * 3.0 - 2.2, at.y * 2.4 - 1.2), z = vec2(0);
  int n = 0;
  for (; n < 256 && dot(z, z) < 4.0; ++n) z = vec2(z.x * z.x - z.y * z.y, 2.0 * z.x * z.y) + c;
  color = vec4(float(n) / 256.0, float(n % 64) / 64.0, at.x, 1);
}
)";

unsigned shader(GLenum kind, const char* source) {
  const unsigned name = drawing().CreateShader(kind);
  drawing().ShaderSource(name, 1, &source, nullptr);
  drawing().CompileShader(name);
  return name;
}

}  // namespace

PixelsScene::PixelsScene(int width, int height, int first, int rows) : width_(width), rows_(rows) {
  const DrawingGl& d = drawing();
  const pixels::Gl& g = pixels::gl();
  program_ = d.CreateProgram();
  for (const unsigned part : {shader(GL_VERTEX_SHADER, vertex_source), shader(GL_FRAGMENT_SHADER, fragment_source)}) {
    d.AttachShader(program_, part);
    d.DeleteShader(part);  // with the program
  }
  d.LinkProgram(program_);
  int linked = 0;
  d.GetProgramiv(program_, GL_LINK_STATUS, &linked);
  if (!linked) throw Error(Code::device, "bench pixels", "the scene's shader could not be compiled");
  d.ProgramUniform3f(program_, d.GetUniformLocation(program_, "picture"), static_cast<float>(width),
                     static_cast<float>(height), static_cast<float>(first));
  d.CreateVertexArrays(1, &vertices_);
  texture_ = make_texture(width, rows, {});
  g.CreateFramebuffers(1, &framebuffer_);
  g.NamedFramebufferTexture(framebuffer_, GL_COLOR_ATTACHMENT0, texture_, 0);
  pixels::check_error("bench pixels", "setting up the scene");
}

PixelsScene::~PixelsScene() {
  if (!pixels::current_context()) return;
  drawing().DeleteProgram(program_);
  drawing().DeleteVertexArrays(1, &vertices_);
  pixels::gl().DeleteFramebuffers(1, &framebuffer_);
  pixels::gl().DeleteTextures(1, &texture_);
}

void PixelsScene::draw() const {
  drawing().BindFramebuffer(GL_FRAMEBUFFER, framebuffer_);
  drawing().Viewport(0, 0, width_, rows_);
  drawing().UseProgram(program_);
  drawing().BindVertexArray(vertices_);
  drawing().DrawArrays(GL_TRIANGLES, 0, 3);
}

unsigned make_texture(int width, int height, const std::vector<unsigned char>& content) {
  const pixels::Gl& g = pixels::gl();
  unsigned name = 0;
  g.CreateTextures(GL_TEXTURE_2D, 1, &name);
  g.TextureStorage2D(name, 1, GL_RGBA8, width, height);
  if (!content.empty()) g.TextureSubImage2D(name, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, content.data());
  pixels::check_error("bench pixels", "a texture of " + std::to_string(width) + " x " + std::to_string(height));
  return name;
}

}  // namespace dcgn::bench
