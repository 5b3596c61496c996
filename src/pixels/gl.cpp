#include "pixels/gl.hpp"

#include <dlfcn.h>

#include <string_view>

namespace dcgn::pixels {

namespace {

// GL without a window system, then with X's. Functions that neither exports EGL or GLX may still know.
void* gl_library() {
  static void* const library = [] {
    void* found = dlopen("libOpenGL.so.0", RTLD_NOW | RTLD_LOCAL);
    return found ? found : dlopen("libGL.so.1", RTLD_NOW | RTLD_LOCAL);
  }();
  if (!library)
    throw Error(Code::device, "pixels::gl",
                "neither libOpenGL.so.0 nor libGL.so.1 could be loaded: scripts/install-packages pixels");
  return library;
}

// A function of a library that the program uses already; null where it does not.
template <class Function>
Function* find_in_use(const char* library, const char* name) {
  void* const used = dlopen(library, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
  if (!used) return nullptr;
  void* const found = dlsym(used, name);
  dlclose(used);
  return reinterpret_cast<Function*>(found);
}

template <class Function>
Function* find_glx(const char* name) {
  Function* const found = find_in_use<Function>("libGLX.so.0", name);
  return found ? found : find_in_use<Function>("libGL.so.1", name);
}

std::string name_of_error(GLenum error) {
  switch (error) {
    case GL_INVALID_ENUM: return "GL_INVALID_ENUM";
    case GL_INVALID_VALUE: return "GL_INVALID_VALUE";
    case GL_INVALID_OPERATION: return "GL_INVALID_OPERATION";
    case GL_INVALID_FRAMEBUFFER_OPERATION: return "GL_INVALID_FRAMEBUFFER_OPERATION";
    case GL_OUT_OF_MEMORY: return "GL_OUT_OF_MEMORY";
    case GL_CONTEXT_LOST: return "GL_CONTEXT_LOST";
  }
  return "GL error " + std::to_string(error);
}

}  // namespace

detail::Found::Found(const char* name) : function_(dlsym(gl_library(), name)) {
  using Function = void();
  if (!function_)
    if (auto* const find = find_in_use<Function*(const char*)>("libEGL.so.1", "eglGetProcAddress"))
      function_ = reinterpret_cast<void*>(find(name));
  if (!function_)
    if (auto* const find = find_glx<Function*(const unsigned char*)>("glXGetProcAddressARB"))
      function_ = reinterpret_cast<void*>(find(reinterpret_cast<const unsigned char*>(name)));
  if (!function_)
    throw Error(Code::device, "pixels::gl",
                std::string(name) + " was not found in the machine's GL, expected OpenGL 4.5 or newer");
}

const Gl& gl() {
  static const Gl functions;
  return functions;
}

void* current_context() {
  if (auto* const egl = find_in_use<void*()>("libEGL.so.1", "eglGetCurrentContext"))
    if (void* const context = egl()) return context;
  if (auto* const glx = find_glx<void*()>("glXGetCurrentContext")) return glx();
  return nullptr;
}

WindowSize window_size() {
  constexpr int egl_draw = 0x3059, egl_height = 0x3056, egl_width = 0x3057, glx_width = 0x801D, glx_height = 0x801E;
  WindowSize size;
  if (auto* const surface_of = find_in_use<void*(int)>("libEGL.so.1", "eglGetCurrentSurface"))
    if (void* const surface = surface_of(egl_draw)) {
      void* const display = find_in_use<void*()>("libEGL.so.1", "eglGetCurrentDisplay")();
      auto* const query = find_in_use<unsigned(void*, void*, int, int*)>("libEGL.so.1", "eglQuerySurface");
      query(display, surface, egl_width, &size.width);
      query(display, surface, egl_height, &size.height);
      return size;
    }
  if (auto* const drawable_of = find_glx<unsigned long()>("glXGetCurrentDrawable"))
    if (const unsigned long drawable = drawable_of()) {
      void* const display = find_glx<void*()>("glXGetCurrentDisplay")();
      auto* const query = find_glx<void(void*, unsigned long, int, unsigned*)>("glXQueryDrawable");
      unsigned width = 0, height = 0;
      query(display, drawable, glx_width, &width);
      query(display, drawable, glx_height, &height);
      size = {static_cast<int>(width), static_cast<int>(height)};
    }
  return size;
}

void check_context(const char* operation) {
  if (!current_context())
    throw Error(Code::device, operation, "no OpenGL context is current on this thread, expected one of EGL or GLX");
  const int major = get(GL_MAJOR_VERSION), minor = get(GL_MINOR_VERSION);
  if (major * 10 + minor < 45)
    throw Error(
        Code::device, operation,
        "the context is of OpenGL " + std::to_string(major) + "." + std::to_string(minor) + ", expected 4.5 or newer");
}

void check_error(const char* operation, const std::string& after, Code code) {
  const GLenum error = gl().get_error();
  if (error != GL_NO_ERROR) throw Error(code, operation, after + ": " + name_of_error(error));
}

}  // namespace dcgn::pixels
