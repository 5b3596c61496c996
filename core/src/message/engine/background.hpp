// What goes on beside a CPU rank's calls: its non-blocking collectives, each a call with a stack of its own. The rank's
// thread does their transfer, too, when one of its calls waits or tests.
#pragma once

namespace dcgn::message {

struct Waited;  // wait.hpp

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  virtual ~Background() = default;

  // Whether the caller is one of these calls rather than one that the rank's program makes.
  virtual bool is_calling() const noexcept = 0;
  // By one of them, which waits for this: the rank's program goes on, and this returns when there may be news.
  virtual void step_back(const Waited& waited) noexcept = 0;
  // By a call of the program: lets each of them do what it can. Whether they did anything.
  virtual bool go_on() noexcept = 0;
};

}  // namespace dcgn::message
