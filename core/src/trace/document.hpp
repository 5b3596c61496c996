// What a job did, rank by rank: what is recorded while it runs (recorder.hpp), and what is drawn and counted of it.
// Times are nanoseconds of the first process's host clock, from the trace's beginning on.
#pragma once

#include <dcgn/call.hpp>
#include <dcgn/message/reason.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::trace {

// A call of a rank. What it begins (isend, irecv) ends with the call that waits for it, which names the request.
struct Event {
  std::uint64_t begin_ns = 0, end_ns = 0;
  message::Call call = message::Call::none;
  std::int32_t peer = -1;         // rank of the world: to whom; from whom, -1 where it is not known; a root; -1: all
  std::int32_t tag = -1;          // -1: none, or not known
  std::int32_t communicator = 0;  // its number; 0: the world
  std::int64_t bytes = 0;         // of the message, or this rank's part of the collective
  std::uint64_t request = 0;  // isend, irecv, a collective beside others: which it made; wait, test: which it waited
                              // for; 0: none, or several
  // sendrecv: of its receive; the fields above are of its send
  std::int32_t from = -1, from_tag = -1;
  std::int64_t from_bytes = 0;
  message::Reason slow = message::Reason::none;  // of a blocking send or receive: why it took the slow path
};

// A kernel, or a copy, on a device.
struct Activity {
  enum class Kind { kernel, copy } kind = Kind::kernel;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::string name;
  std::int64_t bytes = 0;  // of a copy
};

struct Rank {
  std::int32_t rank = 0;
  std::int32_t process = 0, node = 0;
  std::int32_t device = -1, slot = -1;  // of a slot
  std::int32_t cpu = -1;                // of a CPU rank
  std::vector<Event> events;            // by begin_ns
  std::uint64_t dropped = 0;            // events beyond the room that there was
};

struct Device {
  std::int32_t process = 0, node = 0, device = 0;
  std::string name;
  std::vector<Activity> activities;  // by begin_ns
};

struct Document {
  std::string program;
  std::vector<Rank> ranks;  // of the world, in order
  std::vector<Device> devices;
  std::uint64_t clock_error_ns = 0;  // by which clocks of different GPUs and processes may differ here, at most
};

}  // namespace dcgn::trace
