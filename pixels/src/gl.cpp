#include "pixels/src/gl.hpp"

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

template <class Function>
Function* find_egl(const char* name) {
  static void* const library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<Function*>(dlsym(library, name)) : nullptr;
}

// GLX comes with X's libraries: it is looked for where the program uses it already.
template <class Function>
Function* find_glx(const char* name) {
  void* found = nullptr;
  for (const char* library : {"libGLX.so.0", "libGL.so.1"}) {
    void* const used = found ? nullptr : dlopen(library, RTLD_NOW | RTLD_NOLOAD | RTLD_LOCAL);
    if (!used) continue;
    found = dlsym(used, name);
    dlclose(used);
  }
  return reinterpret_cast<Function*>(found);
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
    if (auto* const find = find_egl<Function*(const char*)>("eglGetProcAddress"))
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
  static auto* const egl = find_egl<void*()>("eglGetCurrentContext");
  if (void* const context = egl ? egl() : nullptr) return context;
  auto* const glx = find_glx<void*()>("glXGetCurrentContext");
  return glx ? glx() : nullptr;
}

WindowSize window_size() {
  constexpr int egl_draw = 0x3059, egl_height = 0x3056, egl_width = 0x3057, glx_width = 0x801D, glx_height = 0x801E;
  WindowSize size;
  if (auto* const surface_of = find_egl<void*(int)>("eglGetCurrentSurface"))
    if (void* const surface = surface_of(egl_draw)) {
      void* const display = find_egl<void*()>("eglGetCurrentDisplay")();
      auto* const query = find_egl<unsigned(void*, void*, int, int*)>("eglQuerySurface");
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
