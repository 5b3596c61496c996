#include "own_context.hpp"

#include "real.hpp"

#include <GL/glx.h>

#include <map>
#include <type_traits>

namespace dcgn::wall {

namespace {

// Current when nobody needs the own one.
struct Current {
  Display* display = nullptr;
  GLXDrawable draw = 0, read = 0;
  GLXContext context = nullptr;
};
Current programs;

// Of the same kind of pixels as the program's, so that both may draw in its window.
GLXContext make_context(const Current& like) {
  int config = 0;
  DCGN_REAL(glXQueryContext)(like.display, like.context, GLX_FBCONFIG_ID, &config);
  const int wanted[] = {GLX_FBCONFIG_ID, config, None};
  int count = 0;
  GLXFBConfig* const found = DCGN_REAL(glXChooseFBConfig)(like.display, DefaultScreen(like.display), wanted, &count);
  GLXContext made = nullptr;
  if (found && count > 0) made = DCGN_REAL(glXCreateNewContext)(like.display, found[0], GLX_RGBA_TYPE, nullptr, True);
  if (found) XFree(found);
  if (!made) die("no second GL context for the window: expected GLX 1.3, or --balance off");
  return made;
}

GLXContext context_of(const Window& window) {
  static std::map<unsigned long, GLXContext> made;
  GLXContext& context = made[window.x_window];
  if (!context) context = make_context(programs);
  return context;
}

}  // namespace

OwnContext::OwnContext(const Window& window) {
  programs = {DCGN_REAL(glXGetCurrentDisplay)(), DCGN_REAL(glXGetCurrentDrawable)(),
              DCGN_REAL(glXGetCurrentReadDrawable)(), DCGN_REAL(glXGetCurrentContext)()};
  if (!DCGN_REAL(glXMakeContextCurrent)(programs.display, window.x_window, window.x_window, context_of(window)))
    die("the wall's own GL context cannot draw in the window: expected one that can, or --balance off");
}

OwnContext::~OwnContext() {
  DCGN_REAL(glFinish)();
  DCGN_REAL(glXMakeContextCurrent)(programs.display, programs.draw, programs.read, programs.context);
}

}  // namespace dcgn::wall
