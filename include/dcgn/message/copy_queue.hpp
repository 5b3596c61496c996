// How a rank inside a kernel asks for a copy by the host's copy engines: a queue a rank, in memory that both reach.
//
// A rank that has posted n requests so far writes the next one to requests[n % copy_queue_length] and then
// store_release()s n + 1 to its word of an array `posted`, which lies apart from the queues so that the host looks at
// all ranks in few cache lines. The request is done when its `done` word holds `value`; a rank has at most
// copy_queue_length requests that are not.
#pragma once

#include <cstdint>

namespace dcgn::message {

// Addresses are as the rank's kernel and the host know them alike.
struct alignas(64) CopyRequest {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t bytes;
  std::uint64_t done;   // of a std::uint32_t
  std::uint32_t value;  // what it becomes when the bytes have arrived
  std::uint32_t padding[7];
};
static_assert(sizeof(CopyRequest) == 64);

inline constexpr std::uint32_t copy_queue_length = 16;
static_assert((1ull << 32) % copy_queue_length == 0, "the count of requests wraps around");

struct CopyQueue {
  CopyRequest requests[copy_queue_length];
};

}  // namespace dcgn::message
