// The public calls by name, and what they are given.
#pragma once

#include <dcgn/host_device.hpp>

#include <cstdint>

namespace dcgn::message {

// The public call that a rank is in; for reports.
enum class Call : std::uint32_t {
  none,
  send,
  ssend,
  bsend,
  isend,
  recv,
  irecv,
  sendrecv,
  sendrecv_replace,
  probe,
  iprobe,
  test,
  wait,
  wait_any,
  wait_all,
  finish,
  // Collectives, from here to the end: messages of theirs say in their tag which.
  barrier,
  broadcast,
  reduce,
  all_reduce,
  reduce_scatter,
  reduce_scatterv,
  gather,
  gatherv,
  scatter,
  scatterv,
  all_gather,
  all_gatherv,
  all_to_all,
  all_to_allv,
  scan,
  exclusive_scan,
  split,
  dup,
  cart,
};

DCGN_HOST_DEVICE constexpr bool is_collective(Call call) { return call >= Call::barrier; }

enum class SendMode : std::uint32_t { standard, synchronous, buffered };

// Bytes to send. What a CPU rank's datatype says goes with them.
struct ConstBufferRef {
  const void* data = nullptr;
  std::int64_t bytes = 0;
  std::uint32_t elements = 0;  // which the receiver compares: as in a header
};

// Room for a message.
struct BufferRef {
  void* data = nullptr;
  std::int64_t bytes = 0;
  std::uint32_t elements = 0;  // 0: the receiver takes any
};

}  // namespace dcgn::message
