#include "wall/src/virtual_display.hpp"

#include "wall/src/stream.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <vector>

namespace dcgn::wall {

VirtualDisplay::VirtualDisplay(int width, int height) {
  int number[2];  // which display it has taken
  if (pipe2(number, O_CLOEXEC) != 0) throw Error(Code::io, "wall", "no pipe for Xvfb");
  const std::string size = std::to_string(width) + "x" + std::to_string(height) + "x24";
  const std::string fd = std::to_string(number[1]);
  const std::vector<std::string> command = {"Xvfb", "-displayfd", fd,    "-screen", "0",
                                            size,   "-nolisten",  "tcp", "-noreset"};
  try {
    server_ = Child(command, [&number] {
      prctl(PR_SET_PDEATHSIG, SIGTERM);  // so that it gives its number back
      fcntl(number[1], F_SETFD, 0);
      const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
      dup2(nowhere, STDERR_FILENO);  // what it says of keyboards is of no use here
    });
  } catch (const Error&) {
    close(number[0]);
    close(number[1]);
    throw Error(Code::io, "wall", "Xvfb is not there: expected it for a wall without a display; the package is xvfb");
  }
  close(number[1]);
  std::string text;
  char next = 0;
  const auto until = Clock::now() + std::chrono::seconds(30);
  while (readable(number[0], until) && read(number[0], &next, 1) == 1 && next != '\n') text += next;
  close(number[0]);
  if (next != '\n')
    throw Error(Code::io, "wall",
                "Xvfb for " + size + " pixels did not start within 30 s, or ended: expected a display");
  name_ = ":" + text;
}

}  // namespace dcgn::wall
