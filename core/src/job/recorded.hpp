// A CPU rank's public call while it lasts: its event in the trace, and its range in a profiler's timeline (NVTX).
#pragma once

#include "message/describe.hpp"
#include "trace/ranges.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/collective/recorded.hpp>
#include <dcgn/message/endpoint.hpp>

namespace dcgn::job {

class Recorded {
 public:
  // `me` and `group` outlast it; what follows is as collective::Recorded has it.
  template <class... Known>
  Recorded(message::Endpoint& me, const collective::Group& group, message::Call call, Known... known)
      : me_(me), group_(group), event_(gpu::ThreadScope(), message::Port(me), group, call, known...) {
    if (event_) [[unlikely]]
      if (me.log.watched & message::TraceLog::has_ranges) trace::begin_range(message::to_string(call));
  }
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  ~Recorded() {
    event_.took(me_.log);
    if (event_) [[unlikely]]
      if (me_.log.watched & message::TraceLog::has_ranges) trace::end_range();
  }

  void names(const Request& request) const { event_.names(request); }
  void got(const Status& status) const { event_.got(message::Port(me_), group_, status); }
  void got_beside(const Status& status) const { event_.got_beside(message::Port(me_), group_, status); }
  void forget() { event_.forget(message::Port(me_)); }

 private:
  message::Endpoint& me_;
  const collective::Group& group_;
  collective::Recorded event_;
};

}  // namespace dcgn::job
