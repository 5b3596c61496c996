// What a receive, a probe or a wait says, and the wildcards.
#pragma once

#include <dcgn/error.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn {

// Of a receive or a probe: from whichever rank, of whichever tag.
inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;
// Tags are 0 .. max_tag.
inline constexpr int max_tag = 0x7fffffff;

// Of a message: by whom, of which tag, how long; and what went wrong.
struct Status {
  int source = any_source;  // in the communicator of the call
  int tag = any_tag;
  std::int64_t bytes = 0;      // of the message as it was sent, which a truncated receive did not get in full
  Code code = Code::ok;        // on the host always ok: what is not is thrown
  std::uint32_t elements = 0;  // which elements it has, boiled down, where a call with a datatype sent it; else 0

  // How many whole objects of T the message holds.
  template <class T>
  DCGN_HOST_DEVICE std::int64_t count() const {
    return bytes / static_cast<std::int64_t>(sizeof(T));
  }
  DCGN_HOST_DEVICE explicit operator bool() const { return code == Code::ok; }
};

// A pending send or receive of one rank: a handle, cheap to copy. Calls do not change it: once it has been waited for,
// every copy of it is inactive, and waiting for one again returns at once.
class Request {
 public:
  Request() = default;
  // Made by the calls that begin something.
  DCGN_HOST_DEVICE Request(int rank, std::uint32_t index, std::uint32_t generation)
      : rank_(rank), index_(index), generation_(generation) {}
  // A request that could not be made: carries the reason until it is waited for. Only kernels see one.
  DCGN_HOST_DEVICE explicit Request(Code code) : code_(code) {}

  // Nothing to wait for.
  DCGN_HOST_DEVICE bool is_null() const { return generation_ == 0; }
  DCGN_HOST_DEVICE int rank() const { return rank_; }  // whose it is
  DCGN_HOST_DEVICE std::uint32_t index() const { return index_; }
  DCGN_HOST_DEVICE std::uint32_t generation() const { return generation_; }
  DCGN_HOST_DEVICE Code code() const { return code_; }

 private:
  std::int32_t rank_ = -1;
  std::uint32_t index_ = 0;
  std::uint32_t generation_ = 0;  // 0 where null
  Code code_ = Code::ok;
};

}  // namespace dcgn
