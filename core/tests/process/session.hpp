// For programs whose processes fare badly on purpose.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace dcgn::test {

// Goes on in a session of its own, out of reach of a launcher that would end the others first: what is looked at is
// what they do by themselves. False in the process that the launcher knows, once the other one has ended.
inline bool enter_session() {
  if (const pid_t child = fork()) {
    int status = 0;
    waitpid(child, &status, 0);
    return false;
  }
  setsid();
  alarm(90);  // and not for ever, where whoever was to end it is gone
  return true;
}

}  // namespace dcgn::test
