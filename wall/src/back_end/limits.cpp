// What a wall cannot give, where it can be seen that a program wants it.
#include "clock.hpp"
#include "real.hpp"
#include "state.hpp"

#include <GL/glx.h>
#include <sys/socket.h>

#include <type_traits>

namespace {

void note_thread() {
  if (!dcgn::wall::on_main_thread())
    dcgn::wall::warn("a second thread draws: what it draws is not in step with the other screens");
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  if (domain != AF_UNIX && dcgn::wall::asked_by_program(__builtin_return_address(0)))
    dcgn::wall::warn("the program opens a socket: what comes by it is not the same at the same frame on all screens");
  return DCGN_REAL_AS(int(int, int, int), "socket")(domain, type, protocol);
}

Bool glXMakeCurrent(Display* display, GLXDrawable drawable, GLXContext context) {
  note_thread();
  return DCGN_REAL(glXMakeCurrent)(display, drawable, context);
}

Bool glXMakeContextCurrent(Display* display, GLXDrawable draw, GLXDrawable read, GLXContext context) {
  note_thread();
  return DCGN_REAL(glXMakeContextCurrent)(display, draw, read, context);
}

}  // extern "C"
