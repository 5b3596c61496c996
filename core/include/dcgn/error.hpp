// What can go wrong: codes for kernels, one exception type for the host.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace dcgn {

// Calls in kernels return one of these; calls on the host throw an Error that carries it.
enum class Code : std::int32_t {
  ok = 0,
  invalid_rank,  // a destination, source or root that is not a rank of the communicator
  invalid_tag,   // a tag outside 0 .. max_tag
  invalid_size,  // a negative byte count, or one that does not fit
  invalid_type,  // a datatype that cannot be: a negative count, lists of different lengths; or that cannot be so used
  null_buffer,   // a null pointer with bytes to carry
  truncated,     // the message was longer than the buffer; nothing past the buffer's end was written
  mismatch,      // the ranks of a collective gave sizes that do not fit each other, or two types other elements
  invalid_request,   // a request that is not pending at this rank
  not_attached,      // the calling thread is not a rank of this communicator
  concurrent_use,    // two threads made calls for one rank at the same time
  rank_ended,        // the other side has ended, so the message can never be received
  out_of_resources,  // requests, buffered-send space or another configured limit is used up
  deadline,          // a wait lasted longer than the job's deadline
  deadlock,          // every rank that could still act was waiting for another one
  aborted,           // the job is stopping because of an error elsewhere
  unreceived,        // the job ended with messages that nobody received
  too_many_blocks,   // a launch asked for more blocks than the device can hold at once
  kernel_failed,     // a kernel threw or faulted
  configuration,     // an option, variable or file that makes no sense
  device,            // the device or its driver reported an error
  unsupported,       // a request that this build cannot serve
  io,                // a file could not be read or written
  unstable,          // a time step that is too long: a field that is not finite any more, or would come to be
};

// The code's name as it is spelt above.
std::string_view to_string(Code code) noexcept;

// The one exception type of the library. what() is one line; a report of who waits, or of what was never received, has
// more:
// "dcgn: send: rank 12 is out of range, expected 0..7 [rank 3: slot 1 of GPU 0, node 0]".
class Error : public std::runtime_error {
 public:
  // `operation` is the public call ("send"), `detail` names the bad value and what was expected; `rank` is -1 and
  // `place` empty where no rank is concerned.
  Error(Code code, std::string operation, const std::string& detail, int rank = -1, std::string place = {});

  Code code() const noexcept { return code_; }
  const std::string& operation() const noexcept { return operation_; }
  int rank() const noexcept { return rank_; }
  const std::string& place() const noexcept { return place_; }

 private:
  Code code_;
  std::string operation_;
  int rank_;
  std::string place_;
};

}  // namespace dcgn
