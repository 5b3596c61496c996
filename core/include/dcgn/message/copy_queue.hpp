// How a rank inside a kernel asks for a copy by the host's copy engines: a queue a rank, in memory that both reach.
//
// A rank that has posted n requests so far writes the next one to requests[n % copy_queue_length] and then
// store_release()s n + 1 to its word of an array `posted`, which lies apart from the queues so that the host looks at
// all ranks in few cache lines. The request is done when its `done` word holds `value`; a rank has at most
// copy_queue_length requests that are not. One that would hold up all others is refused: its word becomes ~value.
#pragma once

#include <dcgn/message/exports.hpp>

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

// What does the same for a rank that is a thread of the host, and what that cannot do itself: a thread must not touch a
// GPU's memory. Implemented by core/src/transport/host_copier.hpp.
class HostCopier {
 public:
  HostCopier() = default;
  HostCopier(const HostCopier&) = delete;
  HostCopier& operator=(const HostCopier&) = delete;
  virtual ~HostCopier() = default;

  virtual bool is_device_memory(const void* memory) = 0;
  // Which of the process's GPUs has the memory, of a view its first bytes; -1 where a thread may touch it.
  virtual int gpu_of(const void* memory) = 0;
  // Before any copy: this memory of another process, which that GPU has opened, counts as the GPU's.
  virtual void adopt(const void* memory, std::uint64_t bytes, int gpu) = 0;
  // Whether kernels of the device of this rank can read the memory; false where the rank is the host's. Of a rank
  // elsewhere: whether the gateway may pass the memory to MPI.
  virtual bool rank_can_read(const void* memory, int rank) = 0;
  // Where so many bytes of memory or of a view are, for processes that share memory with this one; false where they
  // cannot read them there. And what another one has told of them, for a GPU here that reaches the one that has them:
  // memory or a view, until close(); null where it cannot be. Both stop the job where the driver fails.
  virtual bool describe(const void* memory, std::uint64_t bytes, ExportedMemory& told) = 0;
  virtual const void* open(const ExportedMemory& told, std::uint64_t bytes, int process, int gpu) = 0;
  virtual void close(const void* opened) = 0;
  // Both stop the job where they fail: then what was to be copied is not.
  virtual void copy(void* to, const void* from, std::uint64_t bytes) = 0;
  virtual void start(const CopyRequest& request) = 0;
};

}  // namespace dcgn::message
