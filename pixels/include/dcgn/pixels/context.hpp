// A context of OpenGL without a window or a display, by EGL: for ranks that draw where nobody looks.
//
//   dcgn::pixels::Context context({.device = comm.rank() % dcgn::pixels::Context::devices()});
//
// Programs that have a context, of GLX or EGL, need none of these.
#pragma once

#include <memory>
#include <string>

namespace dcgn::pixels {

// What to ask EGL for.
struct ContextOptions {
  int device = 0;             // of EGL's: 0 .. Context::devices() - 1
  int major = 4, minor = 5;   // OpenGL's version at least
  bool core = true;           // the core profile; else the compatibility profile
  int width = 0, height = 0;  // of an own framebuffer 0; else there is none, and all is drawn to framebuffer objects
};

// OpenGL that draws into its own framebuffer, or into framebuffer objects alone.
class Context {
 public:
  // Makes it and makes it current on the calling thread. Throws Error(device), naming what failed: EGL is not there,
  // there is no such device, it has no OpenGL of that version.
  explicit Context(const ContextOptions& options = {});
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  // Current nowhere, afterwards; what was made in it is gone.
  ~Context();

  // How many devices EGL has; a renderer without a GPU is one, too. 0 where there is no EGL.
  static int devices() noexcept;
  // The CUDA device that EGL device `device` is; -1 where it is none.
  static int cuda_device(int device);

  // One context is current on a thread, on one thread at a time.
  void make_current();
  void release();
  bool is_current() const;

  int device() const noexcept;
  int cuda_device() const { return cuda_device(device()); }
  // What GL says: "llvmpipe (LLVM 15.0.6, 256 bits)", "4.5 (Core Profile) Mesa 22.3.6".
  const std::string& renderer() const noexcept;
  const std::string& version() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dcgn::pixels
