// A program's own context, of GLX and with a window, under Xvfb: pixels in it are messages as well as any.
#include "pixels/tests/support.hpp"
#include "wall/src/virtual_display.hpp"

#include <GL/glx.h>
#include <X11/Xlib.h>

#include <memory>

namespace dcgn::test {
namespace {

constexpr int width = 90, height = 60;

class Window {
 public:
  explicit Window(const std::string& display_name) : display_(XOpenDisplay(display_name.c_str())) {
    if (!display_) return;
    const int wanted[] = {GLX_DOUBLEBUFFER, True, GLX_RED_SIZE, 8, GLX_ALPHA_SIZE, 8, GLX_DEPTH_SIZE, 24, None};
    int count = 0;
    GLXFBConfig* const configs = glXChooseFBConfig(display_, DefaultScreen(display_), wanted, &count);
    if (count == 0) return;
    XVisualInfo* const visual = glXGetVisualFromFBConfig(display_, configs[0]);
    const ::Window root = DefaultRootWindow(display_);
    XSetWindowAttributes attributes{};
    attributes.colormap = XCreateColormap(display_, root, visual->visual, AllocNone);
    window_ = XCreateWindow(display_, root, 0, 0, width, height, 0, visual->depth, InputOutput, visual->visual,
                            CWColormap | CWBorderPixel, &attributes);
    XMapWindow(display_, window_);
    const auto create = reinterpret_cast<PFNGLXCREATECONTEXTATTRIBSARBPROC>(
        glXGetProcAddressARB(reinterpret_cast<const GLubyte*>("glXCreateContextAttribsARB")));
    const int version[] = {GLX_CONTEXT_MAJOR_VERSION_ARB, 4, GLX_CONTEXT_MINOR_VERSION_ARB, 5, None};
    context_ = create(display_, configs[0], nullptr, True, version);
    glXMakeCurrent(display_, window_, context_);
    XFree(visual);
    XFree(configs);
  }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  ~Window() {
    if (!display_) return;
    glXMakeCurrent(display_, None, nullptr);
    if (context_) glXDestroyContext(display_, context_);
    XCloseDisplay(display_);
  }
  bool is_there() const { return context_ != nullptr; }

 private:
  Display* display_;
  ::Window window_ = 0;
  GLXContext context_ = nullptr;
};

TEST(PixelsOfGlx, WindowsAndTexturesOfAProgramsOwnContext) {
  XInitThreads();
  std::unique_ptr<wall::VirtualDisplay> server;
  try {
    server = std::make_unique<wall::VirtualDisplay>(320, 200);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([&](Comm& comm) {
    if (comm.rank() == 1) {  // memory, which goes back a row higher
      Bytes memory(width * height * 4);
      comm.recv(memory, 0);
      comm.send_bytes(memory.data(), width * (height - 1) * 4, 0);
      return;
    }
    const Window window(server->name());
    ASSERT_TRUE(window.is_there());
    ImageComm images(comm);
    const Texture texture(rgba8(), width, height, 1);
    images.send(texture.pixels(), 1);
    const Pixels back{Image::framebuffer(0, GL_BACK), GL_RGBA, GL_UNSIGNED_BYTE, Rectangle{0, 1, width, height - 1}};
    glClearColor(0, 1, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    images.recv(back, 1);
    const PlainLayout layout;
    Bytes found(width * height * 4);
    glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, found.data());
    Bytes expected;
    for (int x = 0; x < width; ++x) expected.insert(expected.end(), {0, 255, 0, 255});
    const Bytes sent = texture.read();
    expected.insert(expected.end(), sent.begin(), sent.end() - width * 4);
    EXPECT_TRUE(found == expected);
  });
  job.run();
}

}  // namespace
}  // namespace dcgn::test
