// OpenGL's functions, found at run time: who links this library needs no GL, and no GL is opened before it is asked
// for.
#pragma once

#include <GL/glcorearb.h>

#include <dcgn/error.hpp>

#include <string>
#include <utility>

namespace dcgn::pixels {

namespace detail {
// A function by its name, whatever its type. Throws Error(device) where the machine's GL lacks it.
class Found {
 public:
  explicit Found(const char* name);
  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(function_);
  }

 private:
  void* function_;
};
}  // namespace detail

// GL's, named as everything here is: glReadPixels is read_pixels.
struct Gl {
  using Found = detail::Found;
  PFNGLATTACHSHADERPROC attach_shader = Found("glAttachShader");
  PFNGLBINDBUFFERPROC bind_buffer = Found("glBindBuffer");
  PFNGLBINDBUFFERBASEPROC bind_buffer_base = Found("glBindBufferBase");
  PFNGLBINDBUFFERRANGEPROC bind_buffer_range = Found("glBindBufferRange");
  PFNGLBINDFRAMEBUFFERPROC bind_framebuffer = Found("glBindFramebuffer");
  PFNGLBINDIMAGETEXTUREPROC bind_image_texture = Found("glBindImageTexture");
  PFNGLBINDTEXTUREPROC bind_texture = Found("glBindTexture");
  PFNGLBLITNAMEDFRAMEBUFFERPROC blit_named_framebuffer = Found("glBlitNamedFramebuffer");
  PFNGLCLIENTWAITSYNCPROC client_wait_sync = Found("glClientWaitSync");
  PFNGLCOMPILESHADERPROC compile_shader = Found("glCompileShader");
  PFNGLCOPYIMAGESUBDATAPROC copy_image_sub_data = Found("glCopyImageSubData");
  PFNGLCREATEBUFFERSPROC create_buffers = Found("glCreateBuffers");
  PFNGLCREATEFRAMEBUFFERSPROC create_framebuffers = Found("glCreateFramebuffers");
  PFNGLCREATEPROGRAMPROC create_program = Found("glCreateProgram");
  PFNGLCREATESHADERPROC create_shader = Found("glCreateShader");
  PFNGLCREATETEXTURESPROC create_textures = Found("glCreateTextures");
  PFNGLDELETEBUFFERSPROC delete_buffers = Found("glDeleteBuffers");
  PFNGLDELETEFRAMEBUFFERSPROC delete_framebuffers = Found("glDeleteFramebuffers");
  PFNGLDELETEPROGRAMPROC delete_program = Found("glDeleteProgram");
  PFNGLDELETESHADERPROC delete_shader = Found("glDeleteShader");
  PFNGLDELETESYNCPROC delete_sync = Found("glDeleteSync");
  PFNGLDELETETEXTURESPROC delete_textures = Found("glDeleteTextures");
  PFNGLDISABLEPROC disable = Found("glDisable");
  PFNGLDISABLEIPROC disablei = Found("glDisablei");
  PFNGLDISPATCHCOMPUTEPROC dispatch_compute = Found("glDispatchCompute");
  PFNGLENABLEPROC enable = Found("glEnable");
  PFNGLENABLEIPROC enablei = Found("glEnablei");
  PFNGLFENCESYNCPROC fence_sync = Found("glFenceSync");
  PFNGLFINISHPROC finish = Found("glFinish");
  PFNGLFLUSHPROC flush = Found("glFlush");
  PFNGLGETERRORPROC get_error = Found("glGetError");
  PFNGLGETINTEGER64I_VPROC get_integer64i_v = Found("glGetInteger64i_v");
  PFNGLGETINTEGERI_VPROC get_integeri_v = Found("glGetIntegeri_v");
  PFNGLGETINTEGERVPROC get_integerv = Found("glGetIntegerv");
  PFNGLGETNAMEDFRAMEBUFFERATTACHMENTPARAMETERIVPROC get_named_framebuffer_attachment_parameteriv =
      Found("glGetNamedFramebufferAttachmentParameteriv");
  PFNGLGETNAMEDFRAMEBUFFERPARAMETERIVPROC get_named_framebuffer_parameteriv = Found("glGetNamedFramebufferParameteriv");
  PFNGLGETNAMEDRENDERBUFFERPARAMETERIVPROC get_named_renderbuffer_parameteriv =
      Found("glGetNamedRenderbufferParameteriv");
  PFNGLGETPROGRAMINFOLOGPROC get_program_info_log = Found("glGetProgramInfoLog");
  PFNGLGETPROGRAMIVPROC get_programiv = Found("glGetProgramiv");
  PFNGLGETSTRINGPROC get_string = Found("glGetString");
  PFNGLGETTEXTURELEVELPARAMETERIVPROC get_texture_level_parameteriv = Found("glGetTextureLevelParameteriv");
  PFNGLGETTEXTUREPARAMETERIVPROC get_texture_parameteriv = Found("glGetTextureParameteriv");
  PFNGLGETTEXTURESUBIMAGEPROC get_texture_sub_image = Found("glGetTextureSubImage");
  PFNGLGETUNIFORMLOCATIONPROC get_uniform_location = Found("glGetUniformLocation");
  PFNGLISENABLEDPROC is_enabled = Found("glIsEnabled");
  PFNGLISENABLEDIPROC is_enabledi = Found("glIsEnabledi");
  PFNGLISFRAMEBUFFERPROC is_framebuffer = Found("glIsFramebuffer");
  PFNGLISRENDERBUFFERPROC is_renderbuffer = Found("glIsRenderbuffer");
  PFNGLISTEXTUREPROC is_texture = Found("glIsTexture");
  PFNGLLINKPROGRAMPROC link_program = Found("glLinkProgram");
  PFNGLMAPNAMEDBUFFERRANGEPROC map_named_buffer_range = Found("glMapNamedBufferRange");
  PFNGLMEMORYBARRIERPROC memory_barrier = Found("glMemoryBarrier");
  PFNGLNAMEDBUFFERSTORAGEPROC named_buffer_storage = Found("glNamedBufferStorage");
  PFNGLNAMEDFRAMEBUFFERDRAWBUFFERPROC named_framebuffer_draw_buffer = Found("glNamedFramebufferDrawBuffer");
  PFNGLNAMEDFRAMEBUFFERREADBUFFERPROC named_framebuffer_read_buffer = Found("glNamedFramebufferReadBuffer");
  PFNGLNAMEDFRAMEBUFFERTEXTUREPROC named_framebuffer_texture = Found("glNamedFramebufferTexture");
  PFNGLPIXELSTOREIPROC pixel_storei = Found("glPixelStorei");
  PFNGLPROGRAMUNIFORM1IPROC program_uniform_1i = Found("glProgramUniform1i");
  PFNGLPROGRAMUNIFORM4IPROC program_uniform_4i = Found("glProgramUniform4i");
  PFNGLREADPIXELSPROC read_pixels = Found("glReadPixels");
  PFNGLSHADERSOURCEPROC shader_source = Found("glShaderSource");
  PFNGLTEXSUBIMAGE2DPROC tex_sub_image_2d = Found("glTexSubImage2D");
  PFNGLTEXTURESTORAGE2DPROC texture_storage_2d = Found("glTextureStorage2D");
  PFNGLTEXTURESUBIMAGE1DPROC texture_sub_image_1d = Found("glTextureSubImage1D");
  PFNGLTEXTURESUBIMAGE2DPROC texture_sub_image_2d = Found("glTextureSubImage2D");
  PFNGLTEXTURESUBIMAGE3DPROC texture_sub_image_3d = Found("glTextureSubImage3D");
  PFNGLUSEPROGRAMPROC use_program = Found("glUseProgram");
};

// The process's. Throws Error(device), naming the library, where there is no GL, or none with all of these.
const Gl& gl();

// The calling thread's context, EGL's or GLX's; null where it has none.
void* current_context();
// The size of the window, or of what stands for one, that the context draws to; 0 x 0 where there is none.
struct WindowSize {
  int width = 0, height = 0;
};
WindowSize window_size();

// Throws Error(device) unless a context is current, and it is one of OpenGL 4.5 or newer.
void check_context(const char* operation);
// Throws Error(device) where GL has an error to tell: it says after what.
void check_error(const char* operation, const std::string& after, Code code = Code::device);

// What glGet tells of one integer.
inline GLint get(GLenum what) {
  GLint value = 0;
  gl().get_integerv(what, &value);
  return value;
}

// An object of GL's that goes with this, if its context is current then; else it goes with the context.
class Owned {
 public:
  using Delete = void(APIENTRY*)(GLsizei, const GLuint*);
  Owned() = default;
  Owned(GLuint name, Delete remove) : name_(name), delete_(remove), context_(current_context()) {}
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(delete_, other.delete_);
    std::swap(context_, other.context_);
    return *this;
  }
  ~Owned() {
    if (name_ && current_context() == context_) delete_(1, &name_);
  }
  GLuint name() const { return name_; }

 private:
  GLuint name_ = 0;
  Delete delete_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace dcgn::pixels
