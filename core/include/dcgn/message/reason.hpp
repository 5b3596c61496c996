// Why a message took the slow path.
#pragma once

#include <cstdint>

namespace dcgn::message {

// Found by the plans of core/src/message/engine/plan.hpp, counted by each rank, and named in the job's report and in
// traces. In words: describe.hpp.
enum class Reason : std::uint32_t {
  none,
  moved,  // no slow path: a copy engine moves the message, the system, or its sender
  // What the message is:
  tag,            // up to 8 bytes with a tag above 65535, which takes packets of their own
  alignment,      // a GPU's message that does not lie where words do
  mode,           // ssend, bsend
  nonblocking,    // isend, irecv, sendrecv
  datatype,       // the receiver is to check its elements
  device_memory,  // a CPU rank's, in a GPU's memory or with gaps
  process,        // the other rank is of a process that shares no memory with this one
  pieces,         // long, and neither threads nor a copy engine reach both buffers
  // How things stood:
  full,        // the FIFO had no room
  queued,      // other sends waited for room before it
  unanswered,  // long, and not received while the call looked
  late,        // it came after the call had looked for it
  behind,      // another message, which this receive does not match, was before it
  open,        // the rank had other messages open, or kept one that no receive has matched
  longer,      // than the buffer
  requests,    // no request was free
  off,         // fast calls were switched off
};
inline constexpr std::uint32_t reasons = static_cast<std::uint32_t>(Reason::off) + 1;

}  // namespace dcgn::message
