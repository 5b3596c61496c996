// Calls that a trace has no room for in its own words.
#include "message/engine/compiled.hpp"

#include <dcgn/collective/recorded.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::collective {

DCGN_HOST_DEVICE message::TraceEvent* begin_event(const message::Port& port, const Group& group, message::Call call,
                                                  Ends ends, Ends beside) {
  message::TraceEvent* const event = port.me->log.begin();
  *event = {message::trace_ticks(),
            0,
            message::TraceEvent::what_of(call, group.pair, ends.bytes),
            traced_rank(port, group, ends.peer),
            ends.tag,
            0,
            beside.bytes,
            traced_rank(port, group, beside.peer),
            beside.tag,
            message::Reason::none};
  return event;
}

DCGN_HOST_DEVICE void RecordedMessage::drop(bool leader, message::TraceLog& log) {
  if (leader) ++log.dropped;
}

DCGN_HOST_DEVICE void RecordedMessage::write_late(bool leader, message::TraceLog& log, std::uint64_t begin,
                                                  message::TwoWords place, message::Call call,
                                                  std::int32_t communicator, int peer, int tag, std::int64_t bytes) {
  write(leader, log, begin, place, call, communicator, peer, tag, bytes);
  if (!leader) return;
  const message::Reason slow = log.take_slow();
  if (place.first != place.second) reinterpret_cast<message::TraceEvent*>(place.first)->slow = slow;
}

}  // namespace dcgn::collective

#endif
