// Collectives on the CPU: the part of Comm that every rank of a communicator calls, slots too, in the same order. What
// each does is on the page docs/guide/collectives.md.
//
// Buffers are of one element type, trivially copyable; lengths are the same at all ranks unless said otherwise. In
// place: the input lies where its result goes; otherwise the two must not overlap. A buffer that only the root uses may
// be empty elsewhere. Operations keep the order of ranks (operation.hpp) and work on memory of the host; what only
// moves may be a GPU's. A call returns when its result is there, not when others have theirs. Each throws Error, with
// invalid_rank, invalid_size, null_buffer, mismatch or truncated (the ranks gave sizes that differ), deadline,
// rank_ended or aborted.
//
// Each has a non-blocking form, whose name begins with i and which returns a Request for Comm::test(), wait(),
// wait_all() and wait_any(). Ranks may mix the forms of a call, slots among them. Any number may be under way, of any
// communicators, begun by all ranks of each in the same order. They go on whenever a call of this rank waits or tests.
// The buffers belong to the call until its request has been waited for; operations and lists are copied. What is found
// wrong at once is thrown at once, the rest by the call that waits, with the name of the collective.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/call.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/span.hpp>
#include <dcgn/status.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace dcgn {

class Comm;

// What Comm has besides messages. Each call is by all ranks of the communicator.
class CommCollectives {
  using Counts = Span<const std::int64_t>;

 public:
  // No rank leaves before all have entered.
  void barrier() { barrier_any(When::now); }

  // The root's buffer to all.
  template <MessageBuffer Buffer>
  void broadcast(Buffer&& buffer, int root) {
    broadcast_bytes(as_span(buffer).data(), static_cast<std::int64_t>(as_span(buffer).size_bytes()), root);
  }
  void broadcast_bytes(void* data, std::int64_t bytes, int root) { broadcast_any(When::now, data, bytes, root); }

  // out[i] at the root becomes in[i] of rank 0 op in[i] of rank 1 op ...
  template <MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  void reduce(const In& in, Out&& out, const Op& op, int root) {
    reduce_any(When::now, collective::input(in), collective::output(out), root, reducer<In>(When::now, op));
  }
  // The same at every rank, with the same bits where `op` gives a CPU and a GPU the same.
  template <MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  void all_reduce(const In& in, Out&& out, const Op& op) {
    all_reduce_any(When::now, collective::input(in), collective::output(out), reducer<In>(When::now, op));
  }
  template <MessageBuffer Buffer, class Op>
  void all_reduce(Buffer&& buffer, const Op& op) {
    all_reduce(buffer, buffer, op);
  }
  // `in` holds a block as long as `out` for each rank; this one gets its own block, reduced.
  template <MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  void reduce_scatter(const In& in, Out&& out, const Op& op) {
    reduce_scatter_any(When::now, collective::input(in), collective::output(out), reducer<In>(When::now, op));
  }
  // The same with counts[r] elements for rank r, the same counts at all ranks.
  template <MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  void reduce_scatterv(const In& in, Counts counts, Out&& out, const Op& op) {
    reduce_scatterv_any(When::now, collective::input(in), collective::parts(counts, {}), collective::output(out),
                        reducer<In>(When::now, op));
  }
  // out[i] becomes in[i] of rank 0 op ... op in[i] of this rank; or, exclusive, of the rank before this one, where rank
  // 0 gets nothing.
  template <MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  void scan(const In& in, Out&& out, const Op& op) {
    scan_any(When::now, collective::input(in), collective::output(out), false, reducer<In>(When::now, op));
  }
  template <MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  void exclusive_scan(const In& in, Out&& out, const Op& op) {
    scan_any(When::now, collective::input(in), collective::output(out), true, reducer<In>(When::now, op));
  }

  // The root's `out` gets every rank's `in`, one after the other.
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void gather(const In& in, Out&& out, int root) {
    gather_any(When::now, collective::input(in), collective::output(out), collective::element_bytes<In>, root);
  }
  // Rank r's `in` of counts[r] elements goes to displacements[r]. The root alone needs `out` and both of these.
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void gatherv(const In& in, Out&& out, Counts counts, Counts displacements, int root) {
    gatherv_any(When::now, collective::input(in), collective::output(out), collective::parts(counts, displacements),
                collective::element_bytes<In>, root);
  }
  // Each rank's `out` gets its part of the root's `in`.
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void scatter(const In& in, Out&& out, int root) {
    scatter_any(When::now, collective::input(in), collective::output(out), collective::element_bytes<In>, root);
  }
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void scatterv(const In& in, Counts counts, Counts displacements, Out&& out, int root) {
    scatterv_any(When::now, collective::input(in), collective::parts(counts, displacements), collective::output(out),
                 collective::element_bytes<In>, root);
  }
  // As gather and gatherv, to every rank.
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void all_gather(const In& in, Out&& out) {
    all_gather_any(When::now, collective::input(in), collective::output(out), collective::element_bytes<In>);
  }
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void all_gatherv(const In& in, Out&& out, Counts counts, Counts displacements) {
    all_gatherv_any(When::now, collective::input(in), collective::output(out), collective::parts(counts, displacements),
                    collective::element_bytes<In>);
  }
  // Block r of `in` goes to rank r, and what comes from rank r is block r of `out`.
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void all_to_all(const In& in, Out&& out) {
    all_to_all_any(When::now, collective::input(in), collective::output(out), collective::element_bytes<In>);
  }
  // Not in place.
  template <MessageBuffer In, collective::AlikeTo<In> Out>
  void all_to_allv(const In& in, Counts send_counts, Counts send_displacements, Out&& out, Counts recv_counts,
                   Counts recv_displacements) {
    all_to_allv_any(When::now, collective::input(in), collective::parts(send_counts, send_displacements),
                    collective::output(out), collective::parts(recv_counts, recv_displacements),
                    collective::element_bytes<In>);
  }

  // ---- of any layout
  // The same with datatypes, in memory of the host or of one of the world's GPUs. A buffer stands for its packed bytes:
  // if a call has a block for each rank, block r is the r-th part of them. Ranks may use different types with the same
  // elements, or none. `stream` as in Comm::send(). Not in place.
  void broadcast(const TypedBuffer& buffer, int root, const Stream* stream = nullptr) {
    broadcast_typed(When::now, buffer, root, stream);
  }
  void gather(const ConstTypedBuffer& in, const TypedBuffer& out, int root, const Stream* stream = nullptr) {
    gather_typed(When::now, in, out, root, stream);
  }
  void scatter(const ConstTypedBuffer& in, const TypedBuffer& out, int root, const Stream* stream = nullptr) {
    scatter_typed(When::now, in, out, root, stream);
  }
  void all_gather(const ConstTypedBuffer& in, const TypedBuffer& out, const Stream* stream = nullptr) {
    all_gather_typed(When::now, in, out, stream);
  }
  void all_to_all(const ConstTypedBuffer& in, const TypedBuffer& out, const Stream* stream = nullptr) {
    all_to_all_typed(When::now, in, out, stream);
  }
  // A buffer for each rank, each of its own type: MPI's all-to-all-w. Throws Error(invalid_size) unless there are as
  // many as ranks.
  void all_to_allw(const std::vector<ConstTypedBuffer>& in, const std::vector<TypedBuffer>& out,
                   const Stream* stream = nullptr) {
    all_to_allw_typed(When::now, in, out, stream);
  }
  // Reductions of elements that are all T: comm.all_reduce<float>(in, out, dcgn::Sum{}). They are computed on the host,
  // in a buffer of their own, so in place is allowed. Throws Error(mismatch) where other elements are there.
  template <class T, class Op>
  void reduce(const ConstTypedBuffer& in, const TypedBuffer& out, const Op& op, int root,
              const Stream* stream = nullptr) {
    std::vector<T> values = elements_of<T>(message::Call::reduce, in, is_root(root) ? &out : nullptr, stream);
    reduce(values, values, op, root);
    if (is_root(root)) put(values.data(), in.bytes(), out);
  }
  template <class T, class Op>
  void all_reduce(const ConstTypedBuffer& in, const TypedBuffer& out, const Op& op, const Stream* stream = nullptr) {
    std::vector<T> values = elements_of<T>(message::Call::all_reduce, in, &out, stream);
    all_reduce(values, op);
    put(values.data(), in.bytes(), out);
  }

  // Begun: as their blocking forms, which see. What `stream` is given after the wait finds the buffer filled.
  Request ibroadcast(const TypedBuffer& buffer, int root, const Stream* stream = nullptr) {
    return broadcast_typed(When::later, buffer, root, stream);
  }
  Request igather(const ConstTypedBuffer& in, const TypedBuffer& out, int root, const Stream* stream = nullptr) {
    return gather_typed(When::later, in, out, root, stream);
  }
  Request iscatter(const ConstTypedBuffer& in, const TypedBuffer& out, int root, const Stream* stream = nullptr) {
    return scatter_typed(When::later, in, out, root, stream);
  }
  Request iall_gather(const ConstTypedBuffer& in, const TypedBuffer& out, const Stream* stream = nullptr) {
    return all_gather_typed(When::later, in, out, stream);
  }
  Request iall_to_all(const ConstTypedBuffer& in, const TypedBuffer& out, const Stream* stream = nullptr) {
    return all_to_all_typed(When::later, in, out, stream);
  }
  Request iall_to_allw(const std::vector<ConstTypedBuffer>& in, const std::vector<TypedBuffer>& out,
                       const Stream* stream = nullptr) {
    return all_to_allw_typed(When::later, in, out, stream);
  }

  // ---- non-blocking
  // As their blocking forms, which see; each returns once it has begun, and its buffers last until it has been waited
  // for.
  Request ibarrier() { return barrier_any(When::later); }
  template <LastingBuffer Buffer>
  Request ibroadcast(Buffer&& buffer, int root) {
    return ibroadcast_bytes(as_span(buffer).data(), static_cast<std::int64_t>(as_span(buffer).size_bytes()), root);
  }
  Request ibroadcast_bytes(void* data, std::int64_t bytes, int root) {
    return broadcast_any(When::later, data, bytes, root);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out, class Op>
  Request ireduce(In&& in, Out&& out, const Op& op, int root) {
    return reduce_any(When::later, collective::input(in), collective::output(out), root, reducer<In>(When::later, op));
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out, class Op>
  Request iall_reduce(In&& in, Out&& out, const Op& op) {
    return all_reduce_any(When::later, collective::input(in), collective::output(out), reducer<In>(When::later, op));
  }
  template <LastingBuffer Buffer, class Op>
  Request iall_reduce(Buffer&& buffer, const Op& op) {
    return iall_reduce(buffer, buffer, op);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out, class Op>
  Request ireduce_scatter(In&& in, Out&& out, const Op& op) {
    return reduce_scatter_any(When::later, collective::input(in), collective::output(out),
                              reducer<In>(When::later, op));
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out, class Op>
  Request ireduce_scatterv(In&& in, Counts counts, Out&& out, const Op& op) {
    return reduce_scatterv_any(When::later, collective::input(in), collective::parts(counts, {}),
                               collective::output(out), reducer<In>(When::later, op));
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out, class Op>
  Request iscan(In&& in, Out&& out, const Op& op) {
    return scan_any(When::later, collective::input(in), collective::output(out), false, reducer<In>(When::later, op));
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out, class Op>
  Request iexclusive_scan(In&& in, Out&& out, const Op& op) {
    return scan_any(When::later, collective::input(in), collective::output(out), true, reducer<In>(When::later, op));
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request igather(In&& in, Out&& out, int root) {
    return gather_any(When::later, collective::input(in), collective::output(out), collective::element_bytes<In>, root);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request igatherv(In&& in, Out&& out, Counts counts, Counts displacements, int root) {
    return gatherv_any(When::later, collective::input(in), collective::output(out),
                       collective::parts(counts, displacements), collective::element_bytes<In>, root);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request iscatter(In&& in, Out&& out, int root) {
    return scatter_any(When::later, collective::input(in), collective::output(out), collective::element_bytes<In>,
                       root);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request iscatterv(In&& in, Counts counts, Counts displacements, Out&& out, int root) {
    return scatterv_any(When::later, collective::input(in), collective::parts(counts, displacements),
                        collective::output(out), collective::element_bytes<In>, root);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request iall_gather(In&& in, Out&& out) {
    return all_gather_any(When::later, collective::input(in), collective::output(out), collective::element_bytes<In>);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request iall_gatherv(In&& in, Out&& out, Counts counts, Counts displacements) {
    return all_gatherv_any(When::later, collective::input(in), collective::output(out),
                           collective::parts(counts, displacements), collective::element_bytes<In>);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request iall_to_all(In&& in, Out&& out) {
    return all_to_all_any(When::later, collective::input(in), collective::output(out), collective::element_bytes<In>);
  }
  template <LastingBuffer In, collective::LastingAlikeTo<In> Out>
  Request iall_to_allv(In&& in, Counts send_counts, Counts send_displacements, Out&& out, Counts recv_counts,
                       Counts recv_displacements) {
    return all_to_allv_any(When::later, collective::input(in), collective::parts(send_counts, send_displacements),
                           collective::output(out), collective::parts(recv_counts, recv_displacements),
                           collective::element_bytes<In>);
  }

 private:
  friend class Comm;
  CommCollectives() = default;
  Comm& comm();

  using Input = collective::Input;
  using Output = collective::Output;
  using Parts = collective::Parts;
  enum class When { now, later };

  // An operation, and where it must last longer than its caller's, a copy of it.
  struct Reducer {
    collective::HostReducer apply;
    std::shared_ptr<const void> copy;
  };
  template <class In, class Op>
  static Reducer reducer(When when, const Op& op) {
    using T = collective::Element<In>;
    if (when == When::now) return {collective::host_reducer<T>(op), nullptr};
    const auto copy = std::make_shared<const Op>(op);
    return {collective::host_reducer<T>(*copy), copy};
  }

  // Each makes the call, and returns null; or begins it.
  Request barrier_any(When when);
  Request broadcast_any(When when, void* data, std::int64_t bytes, int root);
  Request reduce_any(When when, Input in, Output out, int root, const Reducer& op);
  Request all_reduce_any(When when, Input in, Output out, const Reducer& op);
  Request reduce_scatter_any(When when, Input in, Output out, const Reducer& op);
  Request reduce_scatterv_any(When when, Input in, Parts parts, Output out, const Reducer& op);
  Request scan_any(When when, Input in, Output out, bool exclusive, const Reducer& op);
  Request gather_any(When when, Input in, Output out, std::int64_t element, int root);
  Request gatherv_any(When when, Input in, Output out, Parts parts, std::int64_t element, int root);
  Request scatter_any(When when, Input in, Output out, std::int64_t element, int root);
  Request scatterv_any(When when, Input in, Parts parts, Output out, std::int64_t element, int root);
  Request all_gather_any(When when, Input in, Output out, std::int64_t element);
  Request all_gatherv_any(When when, Input in, Output out, Parts parts, std::int64_t element);
  Request all_to_all_any(When when, Input in, Output out, std::int64_t element);
  Request all_to_allv_any(When when, Input in, Parts send, Output out, Parts receive, std::int64_t element);
  Request broadcast_typed(When when, const TypedBuffer& buffer, int root, const Stream* stream);
  Request gather_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out, int root, const Stream* stream);
  Request scatter_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out, int root, const Stream* stream);
  Request all_gather_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out, const Stream* stream);
  Request all_to_all_typed(When when, const ConstTypedBuffer& in, const TypedBuffer& out, const Stream* stream);
  Request all_to_allw_typed(When when, const std::vector<ConstTypedBuffer>& in, const std::vector<TypedBuffer>& out,
                            const Stream* stream);
  // The packed elements of a typed buffer, wherever it is, in memory of the host. Throws where what comes of them does
  // not fit `out`, if there is one.
  template <class T>
  std::vector<T> elements_of(message::Call call, const ConstTypedBuffer& in, const TypedBuffer* out,
                             const Stream* stream) {
    check_elements(call, Datatype::of<T>(), in, out);
    std::vector<T> values(static_cast<std::size_t>(in.bytes()) / sizeof(T));
    fetch(call, in, values.data(), stream);
    return values;
  }
  static void check_elements(message::Call call, const Datatype& element, const ConstTypedBuffer& in,
                             const TypedBuffer* out);
  void fetch(message::Call call, const ConstTypedBuffer& in, void* values, const Stream* stream);
  // Which has been checked.
  void put(const void* values, std::int64_t bytes, const TypedBuffer& out);
  bool is_root(int root);
  // `part`: the bytes of this rank's; `root`: any_source where there is none.
  template <class Act>
  Request perform(When when, message::Call call, int root, std::int64_t part, const Act& act);
};

}  // namespace dcgn
