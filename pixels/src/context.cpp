#include <dcgn/pixels/context.hpp>

#include <dcgn/error.hpp>

#include "pixels/src/gl.hpp"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <dlfcn.h>

#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace dcgn::pixels {

namespace {

constexpr const char* operation = "pixels::Context";

// EGL's functions, loaded where there are any.
struct Egl {
  decltype(&eglGetProcAddress) get_proc_address = nullptr;
  decltype(&eglGetError) get_error = nullptr;
  decltype(&eglInitialize) initialize = nullptr;
  decltype(&eglQueryString) query_string = nullptr;
  decltype(&eglBindAPI) bind_api = nullptr;
  decltype(&eglChooseConfig) choose_config = nullptr;
  decltype(&eglCreateContext) create_context = nullptr;
  decltype(&eglDestroyContext) destroy_context = nullptr;
  decltype(&eglCreatePbufferSurface) create_pbuffer = nullptr;
  decltype(&eglDestroySurface) destroy_surface = nullptr;
  decltype(&eglMakeCurrent) make_current = nullptr;
  decltype(&eglGetCurrentContext) get_current_context = nullptr;
  PFNEGLQUERYDEVICESEXTPROC query_devices = nullptr;
  PFNEGLQUERYDEVICEATTRIBEXTPROC query_device_attribute = nullptr;
  PFNEGLGETPLATFORMDISPLAYEXTPROC get_platform_display = nullptr;
  std::string missing{};  // what, where not all of it is there

  Egl() {
    void* const library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      missing = "libEGL.so.1 could not be loaded";
      return;
    }
    const auto find = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (!function) missing = std::string("libEGL.so.1 has no ") + name;
    };
    find("eglGetProcAddress", get_proc_address);
    find("eglGetError", get_error);
    find("eglInitialize", initialize);
    find("eglQueryString", query_string);
    find("eglBindAPI", bind_api);
    find("eglChooseConfig", choose_config);
    find("eglCreateContext", create_context);
    find("eglDestroyContext", destroy_context);
    find("eglCreatePbufferSurface", create_pbuffer);
    find("eglDestroySurface", destroy_surface);
    find("eglMakeCurrent", make_current);
    find("eglGetCurrentContext", get_current_context);
    if (!missing.empty()) return;
    const auto find_extension = [&](const char* name, auto& function) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(get_proc_address(name));
      if (!function) missing = std::string("EGL has no ") + name + ", expected EGL_EXT_platform_device";
    };
    find_extension("eglQueryDevicesEXT", query_devices);
    find_extension("eglQueryDeviceAttribEXT", query_device_attribute);
    find_extension("eglGetPlatformDisplayEXT", get_platform_display);
  }
};

const Egl& egl() {
  static const Egl functions;
  return functions;
}

std::vector<EGLDeviceEXT> all_devices() {
  if (!egl().missing.empty()) return {};
  EGLint count = 0;
  if (!egl().query_devices(0, nullptr, &count)) return {};
  std::vector<EGLDeviceEXT> devices(static_cast<std::size_t>(count));
  if (!egl().query_devices(count, devices.data(), &count)) return {};
  devices.resize(static_cast<std::size_t>(count));
  return devices;
}

EGLDeviceEXT device_of(int index) {
  if (!egl().missing.empty()) throw Error(Code::device, operation, egl().missing + ": scripts/install-packages pixels");
  const std::vector<EGLDeviceEXT> devices = all_devices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size())
    throw Error(Code::device, operation,
                "EGL device " + std::to_string(index) + " is not there, expected one of the " +
                    std::to_string(devices.size()) + " that EGL has");
  return devices[static_cast<std::size_t>(index)];
}

[[noreturn]] void fail(int device, const std::string& what) {
  constexpr const char* digits = "0123456789abcdef";
  const EGLint error = egl().get_error();
  std::string code;
  for (int shift = 12; shift >= 0; shift -= 4) code += digits[(error >> shift) & 15];
  throw Error(Code::device, operation,
              "EGL device " + std::to_string(device) + ": " + what + " (EGL error 0x" + code + ")");
}

bool has(std::string_view extensions, std::string_view name) {
  for (std::size_t at = 0; (at = extensions.find(name, at)) != std::string_view::npos; at += name.size()) {
    const std::size_t end = at + name.size();
    if ((at == 0 || extensions[at - 1] == ' ') && (end == extensions.size() || extensions[end] == ' ')) return true;
  }
  return false;
}

std::string string_of(GLenum what) {
  const auto* const text = reinterpret_cast<const char*>(gl().get_string(what));
  return text ? text : "";
}

}  // namespace

// A device's display is one for the process, and other contexts may be of it: it is never terminated.
struct Context::State {
  int device = 0;
  EGLDisplay display = EGL_NO_DISPLAY;
  EGLContext context = EGL_NO_CONTEXT;
  EGLSurface surface = EGL_NO_SURFACE;
  std::string renderer{}, version{};

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (context != EGL_NO_CONTEXT) {
      if (egl().get_current_context() == context)
        egl().make_current(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
      egl().destroy_context(display, context);
    }
    if (surface != EGL_NO_SURFACE) egl().destroy_surface(display, surface);
  }
};

Context::Context(const ContextOptions& options) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.device = options.device;
  EGLDeviceEXT const device = device_of(options.device);
  s.display = egl().get_platform_display(EGL_PLATFORM_DEVICE_EXT, device, nullptr);
  if (s.display == EGL_NO_DISPLAY) fail(s.device, "no display");
  if (!egl().initialize(s.display, nullptr, nullptr)) fail(s.device, "its display could not be initialized");
  const char* const extensions = egl().query_string(s.display, EGL_EXTENSIONS);
  const bool has_window = options.width > 0 && options.height > 0;
  if (!has_window && !has(extensions ? extensions : "", "EGL_KHR_surfaceless_context"))
    fail(s.device, "it has no EGL_KHR_surfaceless_context, expected that, or a width and height");
  if (!egl().bind_api(EGL_OPENGL_API)) fail(s.device, "it has no OpenGL");
  const EGLint wanted[] = {EGL_SURFACE_TYPE,
                           EGL_PBUFFER_BIT,
                           EGL_RENDERABLE_TYPE,
                           EGL_OPENGL_BIT,
                           EGL_RED_SIZE,
                           8,
                           EGL_GREEN_SIZE,
                           8,
                           EGL_BLUE_SIZE,
                           8,
                           EGL_ALPHA_SIZE,
                           8,
                           EGL_DEPTH_SIZE,
                           24,
                           EGL_STENCIL_SIZE,
                           8,
                           EGL_NONE};
  EGLConfig config = nullptr;
  EGLint found = 0;
  if (!egl().choose_config(s.display, wanted, &config, 1, &found) || found == 0)
    fail(s.device, "it has no configuration with colors of 8 bits, depth and stencil");
  const EGLint attributes[] = {
      EGL_CONTEXT_MAJOR_VERSION,
      options.major,
      EGL_CONTEXT_MINOR_VERSION,
      options.minor,
      EGL_CONTEXT_OPENGL_PROFILE_MASK,
      options.core ? EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT : EGL_CONTEXT_OPENGL_COMPATIBILITY_PROFILE_BIT,
      EGL_NONE};
  s.context = egl().create_context(s.display, config, EGL_NO_CONTEXT, attributes);
  if (s.context == EGL_NO_CONTEXT)
    fail(s.device, "no context of OpenGL " + std::to_string(options.major) + "." + std::to_string(options.minor) +
                       " could be made");
  if (has_window) {
    const EGLint size[] = {EGL_WIDTH, options.width, EGL_HEIGHT, options.height, EGL_NONE};
    s.surface = egl().create_pbuffer(s.display, config, size);
    if (s.surface == EGL_NO_SURFACE)
      fail(s.device, "no framebuffer of " + std::to_string(options.width) + " x " + std::to_string(options.height));
  }
  make_current();
  s.renderer = string_of(GL_RENDERER);
  s.version = string_of(GL_VERSION);
}

Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

int Context::devices() noexcept { return static_cast<int>(all_devices().size()); }

int Context::cuda_device(int device) {
  EGLAttrib number = 0;
  // Of NVIDIA's devices alone.
  return egl().query_device_attribute(device_of(device), EGL_CUDA_DEVICE_NV, &number) ? static_cast<int>(number) : -1;
}

void Context::make_current() {
  if (!egl().make_current(state_->display, state_->surface, state_->surface, state_->context))
    fail(state_->device, "the context could not be made current on this thread: it may be on another one");
}

void Context::release() {
  if (is_current()) egl().make_current(state_->display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
}

bool Context::is_current() const { return egl().get_current_context() == state_->context; }

int Context::device() const noexcept { return state_->device; }
const std::string& Context::renderer() const noexcept { return state_->renderer; }
const std::string& Context::version() const noexcept { return state_->version; }

}  // namespace dcgn::pixels
