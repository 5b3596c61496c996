// Messages on the CPU: a communicator as one CPU rank sees it.
//
// Semantics are MPI's; the receiver of a message may be another CPU rank or a slot of a GPU. A Comm belongs to the
// thread that attached it (in a job: the kernel's), and a call by any other thread throws Error(not_attached). Buffers
// may be in the memory of the world's GPUs: then use the calls that take a pointer and a number of bytes.
//
// Errors, beside those that a call names. All calls: not_attached, aborted. Calls with a rank or a tag: invalid_rank,
// invalid_tag. Calls with a buffer: invalid_size, null_buffer. Calls that begin something: out_of_resources. Calls that
// wait for another rank: rank_ended, deadline; a wait that outlasts the deadline stops the whole job.
//
// Memory order: when a receive has returned, or the wait for one, the message is visible to the thread, and so is all
// that a CPU rank wrote before it sent it. A slot calls gpu::fence() before the send for that.
#pragma once

#include <dcgn/call.hpp>
#include <dcgn/cart.hpp>
#include <dcgn/comm_collectives.hpp>
#include <dcgn/group.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/placement.hpp>
#include <dcgn/span.hpp>
#include <dcgn/status.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace dcgn {

namespace collective {
struct Member;  // collective/channel.hpp
}
namespace message {
struct Endpoint;  // message/endpoint.hpp
}
namespace job {
class WorldState;  // core/src/job/world_state.hpp
}

// Its collectives are in comm_collectives.hpp.
class Comm : public CommCollectives {
 public:
  Comm(Comm&&) noexcept;
  Comm& operator=(Comm&&) noexcept;
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  // Detaches: waits until what this rank has sent no longer needs it, then the rank has ended. It cannot throw: where
  // the wait fails, by the deadline say, a line on stderr tells why. finish() throws instead.
  ~Comm();

  // In the communicator. -1, and no ranks, once it has been moved from, and where the calling rank is not of it.
  int rank() const noexcept;
  int size() const noexcept;
  // The rank of the world that rank `r` is.
  int in_world(int r) const noexcept { return group_.is_world() ? r : group_.in_world(r); }
  // How long a call may wait (Config::deadline_s).
  std::uint64_t deadline_ns() const noexcept;
  Place place() const noexcept;
  // Whether rank `r` is of this process.
  bool is_here(int r) const noexcept;
  // Whether buffers may be in the memory of this device: it is one of the world's, in this process.
  bool reaches(const Device& device) const noexcept;

  // Sends to rank `to`. Returns when the buffer may be used again, which for a message above the eager threshold is
  // when it has been received.
  template <MessageBuffer Buffer>
  void send(const Buffer& buffer, int to, int tag = 0) {
    send_bytes(as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  void send_bytes(const void* data, std::int64_t bytes, int to, int tag = 0);

  // Synchronous: returns once the matching receive has begun and the buffer may be used again.
  template <MessageBuffer Buffer>
  void ssend(const Buffer& buffer, int to, int tag = 0) {
    ssend_bytes(as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  void ssend_bytes(const void* data, std::int64_t bytes, int to, int tag = 0);

  // Buffered: never waits for the receiver; copies into the rank's space for buffered sends (Config::buffered_bytes).
  template <MessageBuffer Buffer>
  void bsend(const Buffer& buffer, int to, int tag = 0) {
    bsend_bytes(as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  void bsend_bytes(const void* data, std::int64_t bytes, int to, int tag = 0);

  // Receives from rank `from` or any_source, a message of tag `tag` or any_tag, the earliest that matches. Where it is
  // longer than the buffer, the buffer holds its beginning and Error(truncated) is thrown.
  template <MessageBuffer Buffer>
  Status recv(Buffer&& buffer, int from, int tag = 0) {
    return recv_bytes(as_span(buffer).data(), bytes_of(buffer), from, tag);
  }
  Status recv_bytes(void* data, std::int64_t capacity, int from, int tag = 0);

  // The most bytes that send() to rank `to` puts on their way at once, whether or not they are waited for there, as
  // long as what it sent there before has been received. Throws Error(invalid_rank) where there is no such rank.
  std::int64_t eager_limit(int to) const;

  // Begins a send or a receive. The buffer belongs to it until it has been waited for. It must last that long even if
  // an exception leaves the kernel, because the other rank may be using it. A temporary does not compile, unless it is
  // a span.
  template <LastingBuffer Buffer>
  Request isend(Buffer&& buffer, int to, int tag = 0) {
    return isend_bytes(as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  Request isend_bytes(const void* data, std::int64_t bytes, int to, int tag = 0);
  template <LastingBuffer Buffer>
  Request irecv(Buffer&& buffer, int from, int tag = 0) {
    return irecv_bytes(as_span(buffer).data(), bytes_of(buffer), from, tag);
  }
  Request irecv_bytes(void* data, std::int64_t capacity, int from, int tag = 0);

  // The result if the request is complete (it is then done with), nothing otherwise. A null request, or one that has
  // been waited for, is complete.
  std::optional<Status> test(const Request& request);
  Status wait(const Request& request);
  // Waits for all. `statuses`, if given, has one for each. Throws the first error once all are complete.
  void wait_all(Span<const Request> requests, Status* statuses = nullptr);
  // Waits for one and says which: -1 where none is active. Those that are complete take turns.
  std::pair<std::int64_t, Status> wait_any(Span<const Request> requests);

  // Waits until a message could be received, and tells its envelope; the message stays.
  Status probe(int from, int tag);
  // The same without waiting.
  std::optional<Status> iprobe(int from, int tag);

  // A send and a receive at once. The buffers must not overlap.
  template <MessageBuffer Out, MessageBuffer In>
  Status sendrecv(const Out& out, int to, int send_tag, In&& in, int from, int recv_tag) {
    return sendrecv_bytes(as_span(out).data(), bytes_of(out), to, send_tag, as_span(in).data(), bytes_of(in), from,
                          recv_tag);
  }
  Status sendrecv_bytes(const void* out, std::int64_t bytes, int to, int send_tag, void* in, std::int64_t capacity,
                        int from, int recv_tag);
  // The same in one buffer. What is sent is copied into the rank's space for buffered sends first.
  template <MessageBuffer Buffer>
  Status sendrecv_replace(Buffer&& buffer, int to, int send_tag, int from, int recv_tag) {
    return sendrecv_replace_bytes(as_span(buffer).data(), bytes_of(buffer), to, send_tag, from, recv_tag);
  }
  Status sendrecv_replace_bytes(void* data, std::int64_t bytes, int to, int send_tag, int from, int recv_tag);

  // ---- of any layout
  // The same with datatypes, in memory of the host or of one of the world's GPUs. A message is its packed bytes, the
  // elements in the type's order; the other side may use another type or none. Kernels of the GPU pack and unpack
  // beside those that run, which must leave room for a block. `stream`, if given, orders the buffer: its work so far is
  // done before the call touches the buffer, and its later work, after the call or after the wait of a request, finds
  // the buffer as the call leaves it. Also throws what pack() and unpack() throw. If the receiver knows both types and
  // their elements differ, the job stops with Error(mismatch).
  void send(const ConstTypedBuffer& buffer, int to, int tag = 0, const Stream* stream = nullptr);
  void ssend(const ConstTypedBuffer& buffer, int to, int tag = 0, const Stream* stream = nullptr);
  void bsend(const ConstTypedBuffer& buffer, int to, int tag = 0, const Stream* stream = nullptr);
  Status recv(const TypedBuffer& buffer, int from, int tag = 0, const Stream* stream = nullptr);
  Request isend(const ConstTypedBuffer& buffer, int to, int tag = 0, const Stream* stream = nullptr);
  Request irecv(const TypedBuffer& buffer, int from, int tag = 0, const Stream* stream = nullptr);
  Status sendrecv(const ConstTypedBuffer& out, int to, int send_tag, const TypedBuffer& in, int from, int recv_tag,
                  const Stream* stream = nullptr);
  Status sendrecv_replace(const TypedBuffer& buffer, int to, int send_tag, int from, int recv_tag,
                          const Stream* stream = nullptr);
  // Waits until the stream has done what it was given, while what this rank has begun goes on. Throws Error(deadline),
  // aborted, or what Stream::idle() throws.
  void wait_for(const Stream& stream);

  // Makes a communicator, by all ranks of this one. split(): the ranks that give the same color, in order of key, then
  // of rank; a negative color gives a Comm without ranks. dup(): the same ranks. cart(): the first grid.size() ranks,
  // as the grid numbers them. Its messages match its own receives only; ranks, in statuses too, are its own. The thread
  // stays the same rank of the world. The communicator lasts at most as long as the Comm that the thread attached with;
  // all messages in it must have been received when it goes. Throws Error(invalid_size) if the grid has more ranks than
  // this communicator, out_of_resources if there are 255 communicators already or the table of members has no space
  // (Config::communicator_bytes).
  Comm split(int color, int key);
  Comm dup();
  Comm cart(const Cart& grid);

  // Waits until nothing that this rank has begun to send depends on it any more, and for collectives that nobody has
  // waited for. Detaching does it too, but cannot throw.
  void finish();

 private:
  friend class job::WorldState;
  friend class CommCollectives;
  Comm(std::shared_ptr<job::WorldState> world, message::Endpoint& me, const collective::Group& group = {});
  Comm made(const collective::Group& group, message::Call call);
  template <class Buffer>
  static std::int64_t bytes_of(const Buffer& buffer) {
    return static_cast<std::int64_t>(as_span(buffer).size_bytes());
  }
  // Throws unless the calling thread is this rank.
  message::Endpoint& mine(message::Call call) const;
  collective::Member member(message::Call call) const;
  void check(Code code, message::Call call) const;
  // The same for one that has waited: what it waited for may have failed.
  void check_waited(Span<const Request> requests, Code code, message::Call call) const;
  // Throws what went wrong in a call that goes on beside others: in this one, or in any that nobody has waited for.
  void check_background(const Request* request) const;
  void wait_for(message::Call call, const Stream* stream);
  Status wait_untold(const Request& request);
  // Begins a call that goes on beside others.
  Request begin(message::Call call, std::function<Code()> act);
  void send_as(message::Call call, message::SendMode mode, const message::ConstBufferRef& buffer, int to, int tag);
  Status recv_to(const message::BufferRef& buffer, int from, int tag);
  Request isend_as(const message::ConstBufferRef& buffer, int to, int tag);
  Status sendrecv_as(message::Call call, message::SendMode mode, const message::ConstBufferRef& out, int to,
                     int send_tag, const message::BufferRef& in, int from, int recv_tag);

  std::shared_ptr<job::WorldState> world_;
  message::Endpoint* me_;  // null once moved from
  const void* owner_;
  int exceptions_;  // under way when this was made
  collective::Group group_;
};

}  // namespace dcgn
