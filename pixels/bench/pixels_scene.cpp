#include "pixels/bench/pixels_scene.hpp"

#include <dcgn/error.hpp>

#include <string>

namespace dcgn::bench {

namespace {

using Found = pixels::detail::Found;

// What drawing takes besides.
struct DrawingGl {
  PFNGLATTACHSHADERPROC attach_shader = Found("glAttachShader");
  PFNGLBINDFRAMEBUFFERPROC bind_framebuffer = Found("glBindFramebuffer");
  PFNGLBINDVERTEXARRAYPROC bind_vertex_array = Found("glBindVertexArray");
  PFNGLCOMPILESHADERPROC compile_shader = Found("glCompileShader");
  PFNGLCREATEPROGRAMPROC create_program = Found("glCreateProgram");
  PFNGLCREATESHADERPROC create_shader = Found("glCreateShader");
  PFNGLCREATEVERTEXARRAYSPROC create_vertex_arrays = Found("glCreateVertexArrays");
  PFNGLDELETEPROGRAMPROC delete_program = Found("glDeleteProgram");
  PFNGLDELETESHADERPROC delete_shader = Found("glDeleteShader");
  PFNGLDELETEVERTEXARRAYSPROC delete_vertex_arrays = Found("glDeleteVertexArrays");
  PFNGLDRAWARRAYSPROC draw_arrays = Found("glDrawArrays");
  PFNGLGETPROGRAMIVPROC get_programiv = Found("glGetProgramiv");
  PFNGLGETUNIFORMLOCATIONPROC get_uniform_location = Found("glGetUniformLocation");
  PFNGLLINKPROGRAMPROC link_program = Found("glLinkProgram");
  PFNGLPROGRAMUNIFORM3FPROC program_uniform_3f = Found("glProgramUniform3f");
  PFNGLSHADERSOURCEPROC shader_source = Found("glShaderSource");
  PFNGLUSEPROGRAMPROC use_program = Found("glUseProgram");
  PFNGLVIEWPORTPROC viewport = Found("glViewport");
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
  const unsigned name = drawing().create_shader(kind);
  drawing().shader_source(name, 1, &source, nullptr);
  drawing().compile_shader(name);
  return name;
}

}  // namespace

PixelsScene::PixelsScene(int width, int height, int first, int rows) : width_(width), rows_(rows) {
  const DrawingGl& d = drawing();
  const pixels::Gl& g = pixels::gl();
  program_ = d.create_program();
  for (const unsigned part : {shader(GL_VERTEX_SHADER, vertex_source), shader(GL_FRAGMENT_SHADER, fragment_source)}) {
    d.attach_shader(program_, part);
    d.delete_shader(part);  // with the program
  }
  d.link_program(program_);
  int linked = 0;
  d.get_programiv(program_, GL_LINK_STATUS, &linked);
  if (!linked) throw Error(Code::device, "bench pixels", "the scene's shader could not be compiled");
  d.program_uniform_3f(program_, d.get_uniform_location(program_, "picture"), static_cast<float>(width),
                       static_cast<float>(height), static_cast<float>(first));
  d.create_vertex_arrays(1, &vertices_);
  texture_ = make_texture(width, rows, {});
  g.create_framebuffers(1, &framebuffer_);
  g.named_framebuffer_texture(framebuffer_, GL_COLOR_ATTACHMENT0, texture_, 0);
  pixels::check_error("bench pixels", "setting up the scene");
}

PixelsScene::~PixelsScene() {
  if (!pixels::current_context()) return;
  drawing().delete_program(program_);
  drawing().delete_vertex_arrays(1, &vertices_);
  pixels::gl().delete_framebuffers(1, &framebuffer_);
  pixels::gl().delete_textures(1, &texture_);
}

void PixelsScene::draw() const {
  drawing().bind_framebuffer(GL_FRAMEBUFFER, framebuffer_);
  drawing().viewport(0, 0, width_, rows_);
  drawing().use_program(program_);
  drawing().bind_vertex_array(vertices_);
  drawing().draw_arrays(GL_TRIANGLES, 0, 3);
}

unsigned make_texture(int width, int height, const std::vector<unsigned char>& content) {
  const pixels::Gl& g = pixels::gl();
  unsigned name = 0;
  g.create_textures(GL_TEXTURE_2D, 1, &name);
  g.texture_storage_2d(name, 1, GL_RGBA8, width, height);
  if (!content.empty()) g.texture_sub_image_2d(name, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, content.data());
  pixels::check_error("bench pixels", "a texture of " + std::to_string(width) + " x " + std::to_string(height));
  return name;
}

}  // namespace dcgn::bench
