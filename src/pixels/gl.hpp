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

// Named as in GL, without its prefix.
struct Gl {
  using Found = detail::Found;
  PFNGLBINDBUFFERPROC BindBuffer = Found("glBindBuffer");
  PFNGLBINDFRAMEBUFFERPROC BindFramebuffer = Found("glBindFramebuffer");
  PFNGLBLITNAMEDFRAMEBUFFERPROC BlitNamedFramebuffer = Found("glBlitNamedFramebuffer");
  PFNGLCLIENTWAITSYNCPROC ClientWaitSync = Found("glClientWaitSync");
  PFNGLCOPYIMAGESUBDATAPROC CopyImageSubData = Found("glCopyImageSubData");
  PFNGLCREATEBUFFERSPROC CreateBuffers = Found("glCreateBuffers");
  PFNGLCREATEFRAMEBUFFERSPROC CreateFramebuffers = Found("glCreateFramebuffers");
  PFNGLCREATETEXTURESPROC CreateTextures = Found("glCreateTextures");
  PFNGLDELETEBUFFERSPROC DeleteBuffers = Found("glDeleteBuffers");
  PFNGLDELETEFRAMEBUFFERSPROC DeleteFramebuffers = Found("glDeleteFramebuffers");
  PFNGLDELETESYNCPROC DeleteSync = Found("glDeleteSync");
  PFNGLDELETETEXTURESPROC DeleteTextures = Found("glDeleteTextures");
  PFNGLDISABLEPROC Disable = Found("glDisable");
  PFNGLENABLEPROC Enable = Found("glEnable");
  PFNGLFENCESYNCPROC FenceSync = Found("glFenceSync");
  PFNGLFINISHPROC Finish = Found("glFinish");
  PFNGLFLUSHPROC Flush = Found("glFlush");
  PFNGLGETERRORPROC GetError = Found("glGetError");
  PFNGLGETINTEGERVPROC GetIntegerv = Found("glGetIntegerv");
  PFNGLGETNAMEDFRAMEBUFFERATTACHMENTPARAMETERIVPROC GetNamedFramebufferAttachmentParameteriv =
      Found("glGetNamedFramebufferAttachmentParameteriv");
  PFNGLGETNAMEDFRAMEBUFFERPARAMETERIVPROC GetNamedFramebufferParameteriv = Found("glGetNamedFramebufferParameteriv");
  PFNGLGETNAMEDRENDERBUFFERPARAMETERIVPROC GetNamedRenderbufferParameteriv = Found("glGetNamedRenderbufferParameteriv");
  PFNGLGETSTRINGPROC GetString = Found("glGetString");
  PFNGLGETTEXTURELEVELPARAMETERIVPROC GetTextureLevelParameteriv = Found("glGetTextureLevelParameteriv");
  PFNGLGETTEXTUREPARAMETERIVPROC GetTextureParameteriv = Found("glGetTextureParameteriv");
  PFNGLGETTEXTURESUBIMAGEPROC GetTextureSubImage = Found("glGetTextureSubImage");
  PFNGLISENABLEDPROC IsEnabled = Found("glIsEnabled");
  PFNGLISFRAMEBUFFERPROC IsFramebuffer = Found("glIsFramebuffer");
  PFNGLISRENDERBUFFERPROC IsRenderbuffer = Found("glIsRenderbuffer");
  PFNGLISTEXTUREPROC IsTexture = Found("glIsTexture");
  PFNGLMAPNAMEDBUFFERRANGEPROC MapNamedBufferRange = Found("glMapNamedBufferRange");
  PFNGLNAMEDBUFFERSTORAGEPROC NamedBufferStorage = Found("glNamedBufferStorage");
  PFNGLNAMEDFRAMEBUFFERDRAWBUFFERPROC NamedFramebufferDrawBuffer = Found("glNamedFramebufferDrawBuffer");
  PFNGLNAMEDFRAMEBUFFERREADBUFFERPROC NamedFramebufferReadBuffer = Found("glNamedFramebufferReadBuffer");
  PFNGLNAMEDFRAMEBUFFERTEXTUREPROC NamedFramebufferTexture = Found("glNamedFramebufferTexture");
  PFNGLPIXELSTOREIPROC PixelStorei = Found("glPixelStorei");
  PFNGLREADPIXELSPROC ReadPixels = Found("glReadPixels");
  PFNGLTEXTURESTORAGE2DPROC TextureStorage2D = Found("glTextureStorage2D");
  PFNGLTEXTURESUBIMAGE1DPROC TextureSubImage1D = Found("glTextureSubImage1D");
  PFNGLTEXTURESUBIMAGE2DPROC TextureSubImage2D = Found("glTextureSubImage2D");
  PFNGLTEXTURESUBIMAGE3DPROC TextureSubImage3D = Found("glTextureSubImage3D");
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
  gl().GetIntegerv(what, &value);
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
