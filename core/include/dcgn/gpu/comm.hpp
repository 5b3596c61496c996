// Messages from inside a kernel: a communicator's device handle and the slots that it serves.
//
//   struct Ping {
//     DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
//       auto me = comm.slot(ctx.block_rank());        // this block is the rank of that slot
//       auto block = dcgn::gpu::this_block(ctx);      // all of its threads take part in the calls
//       int* x = ctx.shared<int>();
//       me.recv(block, *x, 0);
//       me.send(block, *x, 0);
//     }
//   };
//
// Semantics are MPI's. A call is made by all threads of its scope with the same arguments, and one call at a time per
// slot. Calls return Code::ok or what went wrong; the job's report names the first error of each slot, and stops the
// job unless Config::errors_fatal says otherwise. Buffers may be in any memory that the calling threads reach; long
// messages are fastest in global memory, from and to which copy engines move them.
//
// Errors, beside those that a call names. All calls: concurrent_use, not_attached (the slot is not of the
// communicator), aborted. Calls with a rank or a tag: invalid_rank, invalid_tag. Calls with a buffer: invalid_size,
// null_buffer. Calls that begin something: out_of_resources. Calls that wait for another rank: rank_ended, deadline.
//
// Memory order: what any thread of the scope wrote before a send is sent; when a receive has returned, or the wait for
// one, the message is visible to all threads of the scope. Other memory that the sender wrote is ordered by fence().
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/arch/scope.hpp>
#include <dcgn/cart.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/communicators.hpp>
#include <dcgn/collective/messages.hpp>
#include <dcgn/collective/recorded.hpp>
#include <dcgn/gpu/collectives.hpp>
#include <dcgn/gpu/typed_messages.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/blocks_scope.hpp>
#include <dcgn/message/calls.hpp>
#include <dcgn/message/rounds.hpp>
#include <dcgn/span.hpp>
#include <dcgn/status.hpp>

#include <cstdint>
#include <cstdio>

namespace dcgn::detail {
[[noreturn]] void slot_out_of_range(unsigned index, int slots);
}

namespace dcgn::gpu {

// One slot, a rank of a communicator: the world's, or one that split(), dup() or cart() made. Trivially copyable. Its
// collectives are in collectives.hpp, messages with datatypes in typed_messages.hpp.
class Slot : public Collectives<Slot>, public TypedMessages<Slot> {
 public:
  using TypedMessages<Slot>::send, TypedMessages<Slot>::recv, TypedMessages<Slot>::sendrecv;

  // Made by Comm::slot().
  DCGN_HOST_DEVICE explicit Slot(message::Endpoint& endpoint) : port_(endpoint) {}

  // In the communicator; -1 where the slot is not of it.
  DCGN_HOST_DEVICE int rank() const { return group_.is_world() ? port_.me->rank : group_.rank; }
  DCGN_HOST_DEVICE int size() const { return group_.is_world() ? port_.size : group_.size; }
  // The rank of the world that rank `r` is.
  DCGN_HOST_DEVICE int in_world(int r) const { return group_.is_world() ? r : group_.in_world(r); }
  DCGN_HOST_DEVICE int slot() const { return port_.me->slot; }      // on this GPU
  DCGN_HOST_DEVICE int device() const { return port_.me->device; }  // of this node
  DCGN_HOST_DEVICE int node() const { return port_.me->node; }

  // Sends to rank `to`. Returns when the buffer may be used again, which for a message above the eager threshold is
  // when it has been received. Errors: invalid_rank, invalid_tag, invalid_size, null_buffer, out_of_resources,
  // rank_ended, deadline, aborted.
  template <class Scope, MessageBuffer Buffer>
  DCGN_HOST_DEVICE Code send(const Scope& scope, const Buffer& buffer, int to, int tag = 0) const {
    return send_bytes(scope, as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Code send_bytes(const Scope& scope, const void* data, std::int64_t bytes, int to,
                                   int tag = 0) const {
    return send_as(scope, message::Call::send, message::SendMode::standard, data, bytes, to, tag);
  }

  // Synchronous: returns once the matching receive has begun and the buffer may be used again.
  template <class Scope, MessageBuffer Buffer>
  DCGN_HOST_DEVICE Code ssend(const Scope& scope, const Buffer& buffer, int to, int tag = 0) const {
    return ssend_bytes(scope, as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Code ssend_bytes(const Scope& scope, const void* data, std::int64_t bytes, int to,
                                    int tag = 0) const {
    return send_as(scope, message::Call::ssend, message::SendMode::synchronous, data, bytes, to, tag);
  }

  // Buffered: never waits for the receiver; the message is copied into the slot's space for buffered sends
  // (Config::buffered_bytes). out_of_resources where it does not fit.
  template <class Scope, MessageBuffer Buffer>
  DCGN_HOST_DEVICE Code bsend(const Scope& scope, const Buffer& buffer, int to, int tag = 0) const {
    return bsend_bytes(scope, as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Code bsend_bytes(const Scope& scope, const void* data, std::int64_t bytes, int to,
                                    int tag = 0) const {
    return send_as(scope, message::Call::bsend, message::SendMode::buffered, data, bytes, to, tag);
  }

  // Receives from rank `from` or any_source, a message of tag `tag` or any_tag, the earliest that matches. Where it is
  // longer than the buffer the code is truncated and the buffer holds its beginning.
  template <class Scope, MessageBuffer Buffer>
  DCGN_HOST_DEVICE Status recv(const Scope& scope, Buffer&& buffer, int from, int tag = 0) const {
    return recv_bytes(scope, as_span(buffer).data(), bytes_of(buffer), from, tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Status recv_bytes(const Scope& scope, void* data, std::int64_t capacity, int from,
                                     int tag = 0) const {
    const collective::RecordedMessage recorded(port_);
    Status s;
    if (from == any_source) {
      if (message::recv_any_at_once(scope, port_, data, capacity, tag, group_.user_context(), s)) {
        recorded.end(scope, port_, message::Call::recv, group_.pair, s.source, s.tag, s.bytes);
        return here(s);
      }
    } else if (message::recv_at_once(scope, port_, data, capacity, named(from), tag, group_.user_context(), s))
        [[likely]] {
      recorded.end(scope, port_, message::Call::recv, group_.pair, named(from), s.tag, s.bytes);
      s.source = from;
      return s;
    }
    s = group_.is_world() ? message::recv_any(detail::kept(scope), *port_.me, message::Call::recv, {data, capacity},
                                              from, tag, message::user_context)
                          : collective::recv(detail::kept(scope), member(), {data, capacity}, from, tag);
    const bool came = s.code == Code::ok || s.code == Code::truncated;
    recorded.end_late(scope, port_, group_, message::Call::recv, came ? s.source : from, came ? s.tag : tag,
                      came ? s.bytes : capacity);
    return s;
  }

  // The longest message that a blocking send of this scope to rank `to` sends eagerly: without waiting for its receive,
  // if earlier messages to that rank have been received. Up to this size, ranks that all send before they receive do
  // not wait for each other. 0 if there is no such rank.
  template <class Scope>
  DCGN_HOST_DEVICE std::int64_t eager_limit(const Scope& scope, int to) const {
    if (to < 0 || to >= size()) return 0;
    return static_cast<std::int64_t>(
        message::eager_limit(message::fifo_to(*port_.me, group_.in_world(to)), scope.size()));
  }

  // Begins a send or a receive; the buffer belongs to it until it has been waited for, by the same scope. No
  // temporary is taken, but for spans.
  template <class Scope, LastingBuffer Buffer>
  DCGN_HOST_DEVICE Request isend(const Scope& scope, Buffer&& buffer, int to, int tag = 0) const {
    return isend_bytes(scope, as_span(buffer).data(), bytes_of(buffer), to, tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Request isend_bytes(const Scope& scope, const void* data, std::int64_t bytes, int to,
                                       int tag = 0) const {
    const Recorded recorded(scope, port_, group_, message::Call::isend, to, tag, bytes);
    const Request request = group_.is_world()
                                ? message::isend(detail::kept(scope), port_, message::SendMode::standard, {data, bytes},
                                                 to, tag, message::user_context)
                                : collective::isend(detail::kept(scope), member(), {data, bytes}, to, tag);
    recorded.names(request);
    return request;
  }
  template <class Scope, LastingBuffer Buffer>
  DCGN_HOST_DEVICE Request irecv(const Scope& scope, Buffer&& buffer, int from, int tag = 0) const {
    return irecv_bytes(scope, as_span(buffer).data(), bytes_of(buffer), from, tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Request irecv_bytes(const Scope& scope, void* data, std::int64_t capacity, int from,
                                       int tag = 0) const {
    const Recorded recorded(scope, port_, group_, message::Call::irecv, from, tag, capacity);
    const Request request =
        group_.is_world()
            ? message::irecv(detail::kept(scope), port_, {data, capacity}, from, tag, message::user_context)
            : collective::irecv(detail::kept(scope), member(), {data, capacity}, from, tag);
    recorded.names(request);
    return request;
  }

  // Whether the request is complete; if so it is done with and `status` is filled.
  template <class Scope>
  DCGN_HOST_DEVICE bool test(const Scope& scope, const Request& request, Status* status = nullptr) const {
    Recorded recorded(scope, port_, group_, message::Call::test);
    recorded.names(request);
    bool done = false;
    const Status s =
        here(message::wait_all(detail::kept(scope), port_, message::Call::test, true, &request, 1, nullptr, done));
    if (status) *status = s;
    if (done)
      recorded.got(port_, group_, s);
    else
      recorded.forget(port_);
    return done || s.code != Code::ok;
  }
  // Waits until the request is complete. A null request, or one that has been waited for, is complete.
  template <class Scope>
  DCGN_HOST_DEVICE Status wait(const Scope& scope, const Request& request) const {
    const Recorded recorded(scope, port_, group_, message::Call::wait);
    recorded.names(request);
    bool done = false;
    const Status s =
        here(message::wait_all(detail::kept(scope), port_, message::Call::wait, false, &request, 1, nullptr, done));
    recorded.got(port_, group_, s);
    return s;
  }
  // Waits for all; returns the first error, or ok. `statuses`, if given, has one for each and is filled by the first
  // thread of the scope.
  template <class Scope>
  DCGN_HOST_DEVICE Code wait_all(const Scope& scope, Span<const Request> requests, Status* statuses = nullptr) const {
    const Recorded recorded(scope, port_, group_, message::Call::wait_all);
    if (requests.data() && requests.size() == 1) recorded.names(requests[0]);
    bool done = false;
    const Status s = message::wait_all(detail::kept(scope), port_, message::Call::wait_all, false, requests.data(),
                                       static_cast<std::int64_t>(requests.size()), statuses, done);
    if (!group_.is_world() && statuses && done && scope.leader())
      for (std::size_t i = 0; i < requests.size(); ++i) statuses[i] = here(statuses[i]);
    return s.code;
  }
  // Waits for one and says which: -1 where none is active. Those that are complete take turns.
  template <class Scope>
  DCGN_HOST_DEVICE Status wait_any(const Scope& scope, Span<const Request> requests, std::int64_t& index) const {
    const Recorded recorded(scope, port_, group_, message::Call::wait_any);
    const Status s = here(message::wait_any(detail::kept(scope), port_, message::Call::wait_any, false, requests.data(),
                                            static_cast<std::int64_t>(requests.size()), index));
    recorded.got(port_, group_, s);
    if (index >= 0) recorded.names(requests[static_cast<std::size_t>(index)]);
    return s;
  }

  // Waits until a message could be received, and tells its envelope; the message stays.
  template <class Scope>
  DCGN_HOST_DEVICE Status probe(const Scope& scope, int from, int tag) const {
    bool found = false;
    return probe_as(scope, message::Call::probe, from, tag, found);
  }
  // The same without waiting; `found` says whether there is one.
  template <class Scope>
  DCGN_HOST_DEVICE Status iprobe(const Scope& scope, int from, int tag, bool& found) const {
    return probe_as(scope, message::Call::iprobe, from, tag, found);
  }

  // A send and a receive at once. The buffers must not overlap.
  template <class Scope, MessageBuffer Out, MessageBuffer In>
  DCGN_HOST_DEVICE Status sendrecv(const Scope& scope, const Out& out, int to, int send_tag, In&& in, int from,
                                   int recv_tag) const {
    return sendrecv_bytes(scope, as_span(out).data(), bytes_of(out), to, send_tag, as_span(in).data(), bytes_of(in),
                          from, recv_tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Status sendrecv_bytes(const Scope& scope, const void* out, std::int64_t bytes, int to, int send_tag,
                                         void* in, std::int64_t capacity, int from, int recv_tag) const {
    return sendrecv_as(scope, message::Call::sendrecv, message::SendMode::standard, out, bytes, to, send_tag, in,
                       capacity, from, recv_tag);
  }
  // The same in one buffer. What is sent is copied into the slot's space for buffered sends first.
  template <class Scope, MessageBuffer Buffer>
  DCGN_HOST_DEVICE Status sendrecv_replace(const Scope& scope, Buffer&& buffer, int to, int send_tag, int from,
                                           int recv_tag) const {
    return sendrecv_replace_bytes(scope, as_span(buffer).data(), bytes_of(buffer), to, send_tag, from, recv_tag);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Status sendrecv_replace_bytes(const Scope& scope, void* data, std::int64_t bytes, int to,
                                                 int send_tag, int from, int recv_tag) const {
    return sendrecv_as(scope, message::Call::sendrecv_replace, message::SendMode::buffered, data, bytes, to, send_tag,
                       data, bytes, from, recv_tag);
  }

  // Makes a communicator, by all ranks of this one. split(): the ranks that give the same color, in order of key, then
  // of rank; a slot that gives a negative color is of none. dup(): the same ranks. cart(): the first grid.size() ranks,
  // as the grid numbers them. Its messages match its own receives only. If something is wrong, the slot is of none and
  // code() says why: invalid_size if the grid has more ranks than this communicator, out_of_resources if there are 255
  // communicators already or the table of members has no space (Config::communicator_bytes), or a collective's error.
  template <class Scope>
  DCGN_HOST_DEVICE Slot split(const Scope& scope, int color, int key) const {
    const Recorded recorded(scope, port_, group_, message::Call::split);
    return Slot(port_, collective::split(detail::kept(scope), member(), color, key));
  }
  template <class Scope>
  DCGN_HOST_DEVICE Slot dup(const Scope& scope) const {
    const Recorded recorded(scope, port_, group_, message::Call::dup);
    return Slot(port_, collective::dup(detail::kept(scope), member()));
  }
  template <class Scope>
  DCGN_HOST_DEVICE Slot cart(const Scope& scope, const Cart& grid) const {
    const Recorded recorded(scope, port_, group_, message::Call::cart);
    return Slot(port_, collective::cart(detail::kept(scope), member(), grid.size()));
  }
  DCGN_HOST_DEVICE Code code() const { return group_.code; }
  // Gives back what the slot has for the communicator, once all that was sent in it has been received; other copies of
  // this Slot are of no use then. Until it is called a communicator stays, from one kernel to the next.
  template <class Scope>
  DCGN_HOST_DEVICE void release(const Scope& scope) {
    collective::release(detail::kept(scope), member());
    if (!group_.is_world()) group_ = {.pair = -1};
  }

  // Waits until nothing that this slot has begun to send depends on it any more. A job does this after the last kernel.
  // Errors: deadline, aborted; mismatch where the slot was a root in its last call, and another one that has made it
  // gave other arguments.
  template <class Scope>
  DCGN_HOST_DEVICE Code finish(const Scope& scope) const {
    const Recorded recorded(scope, port_, group_, message::Call::finish);
    return message::flush(detail::kept(scope), port_);
  }

 private:
  using Recorded = collective::Recorded;
  friend DCGN_HOST_DEVICE BlocksScope these_blocks(const Context& context, const Slot& slot, unsigned first,
                                                   unsigned count);
  friend DCGN_HOST_DEVICE BlocksScope this_grid(const Context& context, const Slot& slot);
  friend class Collectives<Slot>;
  friend class TypedMessages<Slot>;
  DCGN_HOST_DEVICE Slot(const message::Port& port, const collective::Group& group) : port_(port), group_(group) {}
  DCGN_HOST_DEVICE message::Endpoint& endpoint() const { return *port_.me; }
  DCGN_HOST_DEVICE collective::Member member() const {
    return {port_, group_.is_world() ? collective::whole_world(port_) : group_};
  }
  // The world's rank that a call names; none of the world's where it names none of this communicator's.
  DCGN_HOST_DEVICE int named(int r) const {
    if (group_.is_world()) return r;
    return group_.has(r) ? group_.in_world(r) : any_source - 1;
  }
  // With the ranks of this communicator.
  DCGN_HOST_DEVICE Status here(const Status& s) const {
    return group_.is_world() ? s : collective::status_in(group_, s);
  }
  template <class Scope>
  DCGN_HOST_DEVICE Code send_as(const Scope& scope, message::Call call, message::SendMode mode, const void* data,
                                std::int64_t bytes, int to, int tag) const {
    const collective::RecordedMessage recorded(port_);
    if (message::send_at_once(scope, port_, mode, data, bytes, named(to), tag, group_.user_context())) [[likely]] {
      recorded.end(scope, port_, call, group_.pair, named(to), tag, bytes);
      return Code::ok;
    }
    const Code code = group_.is_world()
                          ? message::send_any(detail::kept(scope), *port_.me, call, mode, {data, bytes}, to, tag,
                                              message::user_context)
                          : collective::send(detail::kept(scope), member(), call, mode, {data, bytes}, to, tag);
    recorded.end_late(scope, port_, group_, call, to, tag, bytes);
    return code;
  }
  template <class Scope>
  DCGN_HOST_DEVICE Status probe_as(const Scope& scope, message::Call call, int from, int tag, bool& found) const {
    Recorded recorded(scope, port_, group_, call, from, tag);
    const bool once = call == message::Call::iprobe;
    const Status s = group_.is_world()
                         ? message::probe(detail::kept(scope), port_, once, from, tag, message::user_context, found)
                         : collective::probe(detail::kept(scope), member(), once, from, tag, found);
    if (found)
      recorded.got(port_, group_, s);
    else if (once)
      recorded.forget(port_);
    return s;
  }
  template <class Scope>
  DCGN_HOST_DEVICE Status sendrecv_as(const Scope& scope, message::Call call, message::SendMode mode, const void* out,
                                      std::int64_t bytes, int to, int send_tag, void* in, std::int64_t capacity,
                                      int from, int recv_tag) const {
    const Recorded recorded(scope, port_, group_, call, to, send_tag, bytes, from, recv_tag, capacity);
    const Status s = group_.is_world()
                         ? message::sendrecv(detail::kept(scope), port_, call, mode, {out, bytes}, to, send_tag,
                                             {in, capacity}, from, recv_tag, message::user_context)
                         : collective::sendrecv(detail::kept(scope), member(), call, mode, {out, bytes}, to, send_tag,
                                                {in, capacity}, from, recv_tag);
    if (s.code == Code::ok || s.code == Code::truncated) recorded.got_beside(port_, group_, s);
    return s;
  }
  template <class Buffer>
  DCGN_HOST_DEVICE static std::int64_t bytes_of(const Buffer& buffer) {
    return static_cast<std::int64_t>(as_span(buffer).size_bytes());
  }

  message::Port port_;
  collective::Group group_;  // comm.slot() leaves it at the world's, which the compiler sees
};

// `count` blocks of the grid from block `first` on, together on one message of `slot`; they and nobody else call for
// it. Where the grid ends before them, or there are none, their calls are refused: invalid_size.
DCGN_HOST_DEVICE inline BlocksScope these_blocks(const Context& context, const Slot& slot, unsigned first,
                                                 unsigned count) {
  return {context, *slot.port_.me, first, count, count - 1 < context.num_blocks() - first};
}
// All blocks of the grid.
DCGN_HOST_DEVICE inline BlocksScope this_grid(const Context& context, const Slot& slot) {
  return {context, *slot.port_.me, 0, context.num_blocks(), true};
}

// Orders all memory with messages; by all threads of the scope. Before a send: whoever receives the message sees what
// these threads wrote before, in pinned memory and in that of other GPUs too. After a receive: these threads see what
// the sender wrote before its fence. A CPU rank needs no fence: its messages order all memory.
template <class Scope>
DCGN_HOST_DEVICE void fence(const Scope& scope) {
  scope.sync();
  message::order_memory();
  scope.sync();
}

// A communicator on one GPU: what World::handle() gives and kernels take by value.
class Comm {
 public:
  // Without slots; or made by World::handle().
  DCGN_HOST_DEVICE Comm() : slots_(nullptr), count_(0), size_(0) {}
  DCGN_HOST_DEVICE Comm(message::Endpoint* slots, int count, int size) : slots_(slots), count_(count), size_(size) {}

  // Slots on this GPU.
  DCGN_HOST_DEVICE int slots() const { return count_; }
  // Slot `index`, from 0 to slots() - 1. Any other ends the launch, as Error(kernel_failed): on an emulated GPU it
  // names the slot, on CUDA a line on stdout does, before a trap.
  DCGN_HOST_DEVICE Slot slot(unsigned index) const {
    if (index >= static_cast<unsigned>(count_)) {
#if defined(__CUDA_ARCH__)
      printf("dcgn: slot %u is out of range, expected 0..%d\n", index, count_ - 1);
      __trap();
#else
      detail::slot_out_of_range(index, count_);
#endif
    }
    return Slot(slots_[index]);
  }
  // Where each slot has as many blocks of the grid as the others, one after the other: the slot of the calling block,
  // and all its blocks. The grid has a multiple of slots() blocks.
  DCGN_HOST_DEVICE Slot slot(const Context& context) const { return slot(context.block_rank() / blocks_each(context)); }
  DCGN_HOST_DEVICE BlocksScope blocks(const Context& context) const {
    const unsigned each = blocks_each(context);
    return these_blocks(context, slot(context), context.block_rank() / each * each, each);
  }
  DCGN_HOST_DEVICE int size() const { return size_; }  // ranks

 private:
  DCGN_HOST_DEVICE unsigned blocks_each(const Context& context) const {
    const unsigned slots = count_ > 0 ? static_cast<unsigned>(count_) : 1;
    return context.num_blocks() < slots ? 1 : context.num_blocks() / slots;
  }

  message::Endpoint* slots_;
  int count_;
  int size_;
};

}  // namespace dcgn::gpu
