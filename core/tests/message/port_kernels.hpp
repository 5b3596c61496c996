// A rank as a test sees it, the same for a CPU kernel and for a slot: so one script runs as either.
//
// A call returns a code or a Status on both; on the CPU, what the library throws is turned into its code.
#pragma once

#include "begun.hpp"

#include <dcgn/arch/context.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/error.hpp>
#include <dcgn/gpu/comm.hpp>

#include <cstdint>
#include <optional>

// Before a function template that runs on a Port: with a CpuPort it is the host's alone, which nvcc would remark upon.
#if defined(__CUDACC__)
#define DCGN_TEST_ON_PORT _Pragma("nv_exec_check_disable")
#else
#define DCGN_TEST_ON_PORT
#endif

namespace dcgn::test {

enum class ScopeKind : std::int32_t { thread, warp, block, blocks };

inline const char* to_string(ScopeKind scope) {
  switch (scope) {
    case ScopeKind::thread: return "thread";
    case ScopeKind::warp: return "warp";
    case ScopeKind::block: return "block";
    case ScopeKind::blocks: return "blocks";
  }
  return "?";
}

class CpuPort {
 public:
  explicit CpuPort(Comm& comm) : comm_(comm) {}

  int rank() const { return comm_.rank(); }
  int size() const { return comm_.size(); }
  bool leader() const { return true; }
  bool is_slot() const { return false; }
  void sync() const {}
  unsigned thread() const { return 0; }  // of those that make the call
  unsigned threads() const { return 1; }

  // body(port) in the communicator of this rank's color, where it is of one.
  template <class Body>
  Code in_split(int color, int key, const Body& body) const {
    return code_of([&] {
      Comm part = comm_.split(color, key);
      if (part.size()) body(CpuPort(part));
    });
  }
  template <class Body>
  Code in_cart(const Cart& grid, const Body& body) const {
    return code_of([&] {
      Comm part = comm_.cart(grid);
      if (part.size()) body(CpuPort(part));
    });
  }

  // call(comm) here, call(slot, scope) for a slot; in turn with the blocking form of a collective and with the other.
  template <class Call>
  Code call(const Call& call) const {
    const int form = (comm_.rank() + calls_++) % 3;
    return code_of([&] {
      Begun begun(comm_, form == 2);
      if (form)
        call(begun);
      else
        call(comm_);
    });
  }

  Code send(const void* data, std::int64_t bytes, int to, int tag) const {
    return code_of([&] { comm_.send_bytes(data, bytes, to, tag); });
  }
  Code ssend(const void* data, std::int64_t bytes, int to, int tag) const {
    return code_of([&] { comm_.ssend_bytes(data, bytes, to, tag); });
  }
  Code bsend(const void* data, std::int64_t bytes, int to, int tag) const {
    return code_of([&] { comm_.bsend_bytes(data, bytes, to, tag); });
  }
  Request isend(const void* data, std::int64_t bytes, int to, int tag) const {
    return request_of([&] { return comm_.isend_bytes(data, bytes, to, tag); });
  }
  Request irecv(void* data, std::int64_t capacity, int from, int tag) const {
    return request_of([&] { return comm_.irecv_bytes(data, capacity, from, tag); });
  }
  Status recv(void* data, std::int64_t capacity, int from, int tag) const {
    return status_of([&] { return comm_.recv_bytes(data, capacity, from, tag); });
  }
  bool test(const Request& request, Status& status) const {
    bool done = true;  // an error is an end too
    status = status_of([&] {
      const std::optional<Status> s = comm_.test(request);
      done = s.has_value();
      return s.value_or(Status{});
    });
    return done;
  }
  Status wait(const Request& request) const {
    return status_of([&] { return comm_.wait(request); });
  }
  Code wait_all(const Request* requests, std::int64_t count, Status* statuses) const {
    return code_of([&] { comm_.wait_all({requests, static_cast<std::size_t>(count)}, statuses); });
  }
  Status wait_any(const Request* requests, std::int64_t count, std::int64_t& index) const {
    index = -1;
    return status_of([&] {
      const auto [i, s] = comm_.wait_any({requests, static_cast<std::size_t>(count)});
      index = i;
      return s;
    });
  }
  Status probe(int from, int tag) const {
    return status_of([&] { return comm_.probe(from, tag); });
  }
  Status iprobe(int from, int tag, bool& found) const {
    found = false;
    return status_of([&] {
      const std::optional<Status> s = comm_.iprobe(from, tag);
      found = s.has_value();
      return s.value_or(Status{});
    });
  }
  Status sendrecv(const void* out, std::int64_t bytes, int to, int send_tag, void* in, std::int64_t capacity, int from,
                  int recv_tag) const {
    return status_of([&] { return comm_.sendrecv_bytes(out, bytes, to, send_tag, in, capacity, from, recv_tag); });
  }
  Status sendrecv_replace(void* data, std::int64_t bytes, int to, int send_tag, int from, int recv_tag) const {
    return status_of([&] { return comm_.sendrecv_replace_bytes(data, bytes, to, send_tag, from, recv_tag); });
  }
  Code barrier() const {
    return code_of([&] { comm_.barrier(); });
  }
  Code broadcast(void* data, std::int64_t bytes, int root) const {
    return code_of([&] { comm_.broadcast_bytes(data, bytes, root); });
  }
  Code finish() const {
    return code_of([&] { comm_.finish(); });
  }

 private:
  template <class Call>
  static Status status_of(const Call& call) {
    try {
      return call();
    } catch (const Error& error) {
      Status s;
      s.code = error.code();
      return s;
    }
  }
  template <class Call>
  static Code code_of(const Call& call) {
    return status_of([&] {
             call();
             return Status{};
           })
        .code;
  }
  template <class Call>
  static Request request_of(const Call& call) {
    try {
      return call();
    } catch (const Error& error) {
      return Request(error.code());
    }
  }

  Comm& comm_;
  mutable int calls_ = 0;
};

template <class Scope>
class SlotPort {
 public:
  DCGN_HOST_DEVICE SlotPort(const gpu::Slot& slot, const Scope& scope) : slot_(slot), scope_(scope) {}

  DCGN_HOST_DEVICE int rank() const { return slot_.rank(); }
  DCGN_HOST_DEVICE int size() const { return slot_.size(); }
  DCGN_HOST_DEVICE bool leader() const { return scope_.leader(); }
  DCGN_HOST_DEVICE bool is_slot() const { return true; }
  DCGN_HOST_DEVICE void sync() const { scope_.sync(); }
  DCGN_HOST_DEVICE unsigned thread() const { return scope_.rank(); }
  DCGN_HOST_DEVICE unsigned threads() const { return scope_.size(); }

  template <class Body>
  DCGN_HOST_DEVICE Code in_split(int color, int key, const Body& body) const {
    return in(slot_.split(scope_, color, key), body);
  }
  template <class Body>
  DCGN_HOST_DEVICE Code in_cart(const Cart& grid, const Body& body) const {
    return in(slot_.cart(scope_, grid), body);
  }

  template <class Call>
  DCGN_HOST_DEVICE Code call(const Call& call) const {
    return call(slot_, scope_);
  }
  DCGN_HOST_DEVICE Code send(const void* data, std::int64_t bytes, int to, int tag) const {
    return slot_.send_bytes(scope_, data, bytes, to, tag);
  }
  DCGN_HOST_DEVICE Code ssend(const void* data, std::int64_t bytes, int to, int tag) const {
    return slot_.ssend_bytes(scope_, data, bytes, to, tag);
  }
  DCGN_HOST_DEVICE Code bsend(const void* data, std::int64_t bytes, int to, int tag) const {
    return slot_.bsend_bytes(scope_, data, bytes, to, tag);
  }
  DCGN_HOST_DEVICE Request isend(const void* data, std::int64_t bytes, int to, int tag) const {
    return slot_.isend_bytes(scope_, data, bytes, to, tag);
  }
  DCGN_HOST_DEVICE Request irecv(void* data, std::int64_t capacity, int from, int tag) const {
    return slot_.irecv_bytes(scope_, data, capacity, from, tag);
  }
  DCGN_HOST_DEVICE Status recv(void* data, std::int64_t capacity, int from, int tag) const {
    return slot_.recv_bytes(scope_, data, capacity, from, tag);
  }
  DCGN_HOST_DEVICE bool test(const Request& request, Status& status) const {
    return slot_.test(scope_, request, &status);
  }
  DCGN_HOST_DEVICE Status wait(const Request& request) const { return slot_.wait(scope_, request); }
  DCGN_HOST_DEVICE Code wait_all(const Request* requests, std::int64_t count, Status* statuses) const {
    return slot_.wait_all(scope_, Span<const Request>(requests, static_cast<std::size_t>(count)), statuses);
  }
  DCGN_HOST_DEVICE Status wait_any(const Request* requests, std::int64_t count, std::int64_t& index) const {
    return slot_.wait_any(scope_, Span<const Request>(requests, static_cast<std::size_t>(count)), index);
  }
  DCGN_HOST_DEVICE Status probe(int from, int tag) const { return slot_.probe(scope_, from, tag); }
  DCGN_HOST_DEVICE Status iprobe(int from, int tag, bool& found) const {
    return slot_.iprobe(scope_, from, tag, found);
  }
  DCGN_HOST_DEVICE Status sendrecv(const void* out, std::int64_t bytes, int to, int send_tag, void* in,
                                   std::int64_t capacity, int from, int recv_tag) const {
    return slot_.sendrecv_bytes(scope_, out, bytes, to, send_tag, in, capacity, from, recv_tag);
  }
  DCGN_HOST_DEVICE Status sendrecv_replace(void* data, std::int64_t bytes, int to, int send_tag, int from,
                                           int recv_tag) const {
    return slot_.sendrecv_replace(scope_, bytes_at(data, bytes), to, send_tag, from, recv_tag);
  }
  DCGN_HOST_DEVICE Code barrier() const { return slot_.barrier(scope_); }
  DCGN_HOST_DEVICE Code broadcast(void* data, std::int64_t bytes, int root) const {
    return slot_.broadcast(scope_, bytes_at(data, bytes), root);
  }
  DCGN_HOST_DEVICE Code finish() const { return slot_.finish(scope_); }

 private:
  DCGN_HOST_DEVICE static Span<unsigned char> bytes_at(void* data, std::int64_t bytes) {
    return {static_cast<unsigned char*>(data), static_cast<std::size_t>(bytes)};
  }
  DCGN_HOST_DEVICE static Span<const unsigned char> bytes_at(const void* data, std::int64_t bytes) {
    return {static_cast<const unsigned char*>(data), static_cast<std::size_t>(bytes)};
  }

  template <class Body>
  DCGN_HOST_DEVICE Code in(gpu::Slot part, const Body& body) const {
    if (part.size()) body(SlotPort(part, scope_));
    const Code code = part.code();
    part.release(scope_);
    return code;
  }

  const gpu::Slot& slot_;
  const Scope& scope_;
};

// Calls body(port) with those threads that take part in the slot's calls, of the `blocks` blocks that each slot has.
DCGN_TEST_ON_PORT
template <class Body>
DCGN_HOST_DEVICE void with_port(gpu::Context& context, const gpu::Slot& slot, unsigned blocks, ScopeKind kind,
                                const Body& body) {
  const unsigned block = context.block_rank();
  if (kind != ScopeKind::blocks && block % blocks) return;
  switch (kind) {
    case ScopeKind::thread:
      if (context.thread_rank() == 0) body(SlotPort<gpu::ThreadScope>(slot, gpu::this_thread()));
      return;
    case ScopeKind::warp:
      if (context.warp() == 0) body(SlotPort<gpu::WarpScope>(slot, gpu::this_warp(context)));
      return;
    case ScopeKind::block: body(SlotPort<gpu::BlockScope>(slot, gpu::this_block(context))); return;
    case ScopeKind::blocks:
      body(SlotPort<gpu::BlocksScope>(slot, gpu::these_blocks(context, slot, block - block % blocks, blocks)));
      return;
  }
}

}  // namespace dcgn::test
