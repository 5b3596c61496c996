// A communicator as Python sees it, and what a CPU rank has under way while its kernel runs.
#pragma once

#include "buffer.hpp"

#include <dcgn/comm.hpp>

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace dcgn::python {

// The buffers of a request, until it has been waited for.
struct Pending {
  Request request;
  std::optional<Buffer> out, in;
  std::vector<std::unique_ptr<Buffer>> parts;  // of an object that is sent
};

// What lasts as long as the kernel of a CPU rank, whatever Python still refers to; guarded by the GIL.
struct Rank {
  std::vector<std::shared_ptr<dcgn::Comm>> comms;     // the world's first, which the job owns
  std::vector<std::shared_ptr<void>> steppers;        // which end before the communicators
  std::unordered_set<std::shared_ptr<Pending>> open;  // its buffers stay until the job has ended
};

// Throws Error(not_attached) in each call once the kernel has ended or the communicator has been freed.
class Comm {
 public:
  Comm(std::shared_ptr<Rank> rank, const std::shared_ptr<dcgn::Comm>& comm) : rank_(std::move(rank)), comm_(comm) {}

  std::shared_ptr<dcgn::Comm> get() const;
  const std::shared_ptr<Rank>& rank() const { return rank_; }
  // Makes a communicator that lasts until free() or the kernel's end.
  Comm add(dcgn::Comm&& made) const;
  void free();

 private:
  std::shared_ptr<Rank> rank_;
  std::weak_ptr<dcgn::Comm> comm_;
};

inline void wait_for_stream(const Buffer& buffer) { buffer.wait_for_stream(); }
inline void wait_for_stream(const std::optional<Buffer>& buffer) {
  if (buffer) buffer->wait_for_stream();
}
// What a call does that may wait: without the GIL, after the streams of its buffers.
template <class Act, class... Buffers>
auto without_gil(const Comm& comm, const Act& act, const Buffers&... buffers) {
  const std::shared_ptr<dcgn::Comm> c = comm.get();
  const nb::gil_scoped_release released;
  (wait_for_stream(buffers), ...);
  return act(*c);
}

// A request with what comes of it: `decode(status)`, where it is given, else None.
class PendingCall {
 public:
  PendingCall(Comm comm, std::shared_ptr<Pending> pending) : comm_(std::move(comm)), pending_(std::move(pending)) {}

  void set_decode(nb::object decode) { decode_ = std::move(decode); }
  nb::object wait(Status* status);
  // Whether it is complete, and what came of it.
  std::pair<bool, nb::object> test(Status* status);
  static nb::list wait_all(const std::vector<PendingCall*>& calls);

 private:
  nb::object finish(const Status& status);

  Comm comm_;
  std::shared_ptr<Pending> pending_;
  nb::object decode_;
  bool done_ = false;
  Status status_;
  nb::object result_;
};

// Begins a call whose buffers are kept until it has been waited for, or the job has ended.
template <class Act>
PendingCall begin(const Comm& comm, std::shared_ptr<Pending> pending, const Act& act) {
  pending->request = without_gil(comm, act, pending->out, pending->in);
  comm.rank()->open.insert(pending);
  return {comm, std::move(pending)};
}

void bind_errors(nb::module_& m);
void bind_datatype(nb::module_& m);
void bind_requests(nb::module_& m);
void bind_messages(nb::class_<Comm>& comm);
void bind_collectives(nb::module_& m, nb::class_<Comm>& comm);
void bind_job(nb::module_& m);
void bind_stencil(nb::module_& m);
void bind_virtual_gpu(nb::module_& m);

}  // namespace dcgn::python
