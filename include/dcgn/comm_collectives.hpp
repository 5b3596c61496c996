// Collectives on the CPU: the part of Comm that every rank of a communicator calls, slots too, in the same order. What
// each does is on the page docs/guide/collectives.md.
//
// Buffers are of one element type, trivially copyable; lengths are the same at all ranks unless said otherwise. In
// place: the input lies where its result goes; otherwise the two must not overlap. A buffer that only the root uses may
// be empty elsewhere. Operations keep the order of ranks (operation.hpp) and work on memory of the host; what only
// moves may be a GPU's. A call returns when its result is there, not when others have theirs. Each throws Error, with
// invalid_rank, invalid_size, null_buffer, mismatch or truncated (the ranks gave sizes that differ), deadline,
// rank_ended or aborted.
#pragma once

#include <dcgn/collective/buffers.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/span.hpp>

#include <cstdint>

namespace dcgn {

class Comm;

class CommCollectives {
  using Counts = Span<const std::int64_t>;

 public:
  // No rank leaves before all have entered.
  void barrier();

  // The root's buffer to all.
  template <MessageBuffer Buffer>
  void broadcast(Buffer&& buffer, int root) {
    broadcast_bytes(as_span(buffer).data(), static_cast<std::int64_t>(as_span(buffer).size_bytes()), root);
  }
  void broadcast_bytes(void* data, std::int64_t bytes, int root);

  // out[i] at the root becomes in[i] of rank 0 op in[i] of rank 1 op ...
  template <class In, class Out, class Op>
    requires collective::AlikeBuffers<In, Out>
  void reduce(const In& in, Out&& out, const Op& op, int root) {
    reduce_any(collective::input(in), collective::output(out), root, reducer<In>(op));
  }
  // The same at every rank, with the same bits where `op` gives a CPU and a GPU the same.
  template <class In, class Out, class Op>
    requires collective::AlikeBuffers<In, Out>
  void all_reduce(const In& in, Out&& out, const Op& op) {
    all_reduce_any(collective::input(in), collective::output(out), reducer<In>(op));
  }
  template <MessageBuffer Buffer, class Op>
  void all_reduce(Buffer&& buffer, const Op& op) {
    all_reduce(buffer, buffer, op);
  }
  // `in` holds a block as long as `out` for each rank; this one gets its own block, reduced.
  template <class In, class Out, class Op>
    requires collective::AlikeBuffers<In, Out>
  void reduce_scatter(const In& in, Out&& out, const Op& op) {
    reduce_scatter_any(collective::input(in), collective::output(out), reducer<In>(op));
  }
  // The same with counts[r] elements for rank r, the same counts at all ranks.
  template <class In, class Out, class Op>
    requires collective::AlikeBuffers<In, Out>
  void reduce_scatterv(const In& in, Counts counts, Out&& out, const Op& op) {
    reduce_scatterv_any(collective::input(in), collective::parts(counts, {}), collective::output(out), reducer<In>(op));
  }
  // out[i] becomes in[i] of rank 0 op ... op in[i] of this rank; or, exclusive, of the rank before this one, where rank
  // 0 gets nothing.
  template <class In, class Out, class Op>
    requires collective::AlikeBuffers<In, Out>
  void scan(const In& in, Out&& out, const Op& op) {
    scan_any(collective::input(in), collective::output(out), false, reducer<In>(op));
  }
  template <class In, class Out, class Op>
    requires collective::AlikeBuffers<In, Out>
  void exclusive_scan(const In& in, Out&& out, const Op& op) {
    scan_any(collective::input(in), collective::output(out), true, reducer<In>(op));
  }

  // The root's `out` gets every rank's `in`, one after the other.
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void gather(const In& in, Out&& out, int root) {
    gather_any(collective::input(in), collective::output(out), collective::element_bytes<In>, root);
  }
  // Rank r's `in` of counts[r] elements goes to displacements[r]. The root alone needs `out` and both of these.
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void gatherv(const In& in, Out&& out, Counts counts, Counts displacements, int root) {
    gatherv_any(collective::input(in), collective::output(out), collective::parts(counts, displacements),
                collective::element_bytes<In>, root);
  }
  // Each rank's `out` gets its part of the root's `in`.
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void scatter(const In& in, Out&& out, int root) {
    scatter_any(collective::input(in), collective::output(out), collective::element_bytes<In>, root);
  }
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void scatterv(const In& in, Counts counts, Counts displacements, Out&& out, int root) {
    scatterv_any(collective::input(in), collective::parts(counts, displacements), collective::output(out),
                 collective::element_bytes<In>, root);
  }
  // As gather and gatherv, to every rank.
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void all_gather(const In& in, Out&& out) {
    all_gather_any(collective::input(in), collective::output(out), collective::element_bytes<In>);
  }
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void all_gatherv(const In& in, Out&& out, Counts counts, Counts displacements) {
    all_gatherv_any(collective::input(in), collective::output(out), collective::parts(counts, displacements),
                    collective::element_bytes<In>);
  }
  // Block r of `in` goes to rank r, and what comes from rank r is block r of `out`.
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void all_to_all(const In& in, Out&& out) {
    all_to_all_any(collective::input(in), collective::output(out), collective::element_bytes<In>);
  }
  // Not in place.
  template <class In, class Out>
    requires collective::AlikeBuffers<In, Out>
  void all_to_allv(const In& in, Counts send_counts, Counts send_displacements, Out&& out, Counts recv_counts,
                   Counts recv_displacements) {
    all_to_allv_any(collective::input(in), collective::parts(send_counts, send_displacements), collective::output(out),
                    collective::parts(recv_counts, recv_displacements), collective::element_bytes<In>);
  }

 private:
  friend class Comm;
  CommCollectives() = default;
  template <class In, class Op>
  static collective::HostReducer reducer(const Op& op) {
    return collective::host_reducer<collective::Element<In>>(op);
  }
  Comm& comm();

  using Input = collective::Input;
  using Output = collective::Output;
  using Parts = collective::Parts;
  using Reducer = collective::HostReducer;
  void reduce_any(Input in, Output out, int root, const Reducer& op);
  void all_reduce_any(Input in, Output out, const Reducer& op);
  void reduce_scatter_any(Input in, Output out, const Reducer& op);
  void reduce_scatterv_any(Input in, Parts parts, Output out, const Reducer& op);
  void scan_any(Input in, Output out, bool exclusive, const Reducer& op);
  void gather_any(Input in, Output out, std::int64_t element, int root);
  void gatherv_any(Input in, Output out, Parts parts, std::int64_t element, int root);
  void scatter_any(Input in, Output out, std::int64_t element, int root);
  void scatterv_any(Input in, Parts parts, Output out, std::int64_t element, int root);
  void all_gather_any(Input in, Output out, std::int64_t element);
  void all_gatherv_any(Input in, Output out, Parts parts, std::int64_t element);
  void all_to_all_any(Input in, Output out, std::int64_t element);
  void all_to_allv_any(Input in, Parts send, Output out, Parts receive, std::int64_t element);
};

}  // namespace dcgn
