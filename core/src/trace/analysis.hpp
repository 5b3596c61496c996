// What a trace says: which send a receive got, who waited for whom, and what the whole took its time with.
#pragma once

#include "trace/document.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::trace {

// Indices into Document::ranks, and into the events of each.
struct Message {
  int sender, receiver;
  std::size_t send, receive;  // a sendrecv is both
};

// Messages of one sender, receiver, tag and communicator match in order: of the sends, and in which the receives were
// posted. A receive of any source that was waited for in a group stays without a send. By sender, then by send.
std::vector<Message> matched_messages(const Document& document);

// By rank and event, the rank's event with which it is over: itself, or of what it began the call that waited for it.
std::vector<std::vector<std::size_t>> ends_of(const Document& document);

// What a call waited for: until that rank came to that call of its own.
struct Wait {
  std::uint64_t until_ns = 0;  // between the call's begin and end; 0: it did not wait, as far as is known
  std::int32_t rank = -1;
  std::uint32_t event = 0;
};

// Of a rank. The rest of the trace's time it was outside calls.
struct Times {
  std::uint64_t in_calls_ns = 0, waiting_ns = 0;  // the latter is part of the former
};

// Point-to-point messages, by their sends.
struct Flow {
  int sender = 0, receiver = 0;
  std::uint64_t messages = 0, bytes = 0;
};

// Collectives of one kind and communicator, over all ranks.
struct Collective {
  message::Call call = message::Call::none;
  std::int32_t communicator = 0;
  std::uint64_t count = 0;  // as many as the rank has that made most
  std::uint64_t bytes = 0, in_calls_ns = 0, waiting_ns = 0;
};

// A part of the critical path.
struct Step {
  enum class Kind { computing, call, transfer } kind = Kind::computing;  // transfer: a call, once the other had come
  int rank = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::size_t event = 0;  // of a call and a transfer
};

struct Analysis {
  std::uint64_t begin_ns = 0, end_ns = 0;  // of all events and activities
  std::vector<Message> messages;
  std::vector<std::size_t> received_by;  // for each message the receiver's call that ended with it: receive, or a wait
  std::vector<std::vector<Wait>> waits;  // for each rank, for each event
  std::vector<Times> times;              // for each rank
  std::vector<Flow> flows;               // by sender, then by receiver
  std::vector<Collective> collectives;   // the longest first
  // What the end waited for, from begin to end without a gap: backwards from the last call's end, and where that waited
  // for another rank, on there at the time at which it came.
  std::vector<Step> path;

  std::uint64_t duration_ns() const { return end_ns - begin_ns; }
};

// A receive waits until its message's send begins. A call that sends waits until its receiver comes if it ends after
// that; whether the message would have gone without, the trace does not know. A collective, the n-th of its
// communicator on each rank, waits for its last rank, at ranks that are not the root of a rooted one for the root.
// A wait waits for what its request is of; one of several for all that the rank had begun. Takes n log n.
Analysis analyse(const Document& document);

}  // namespace dcgn::trace
