// Collectives from inside a kernel: the part of gpu::Slot that every rank of a communicator calls, CPU ranks too, in
// the same order. What each does is on the page docs/guide/collectives.md.
//
// A call is made by all threads of its scope with the same arguments. Buffers are of one element type, trivially
// copyable, in memory that all threads of the scope reach; lengths are the same at all ranks unless said otherwise. In
// place: the input lies where its result goes; otherwise the two must not overlap. A buffer that only the root uses may
// be empty elsewhere. Operations keep the order of ranks (operation.hpp). When a call returns, its result is visible
// to every thread of the scope. Errors: invalid_rank, invalid_size, null_buffer, mismatch and truncated (the ranks gave
// sizes that differ), not_attached (the slot is not of the communicator), deadline, rank_ended, aborted.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/calls.hpp>
#include <dcgn/collective/recorded.hpp>
#include <dcgn/collective/reductions.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/operation.hpp>
#include <dcgn/span.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::gpu {

// `Slot` derives from this and has a member().
template <class Slot>
class Collectives {
  template <class In, class Op>
  using Reducer = collective::Reducer<collective::Element<In>, Op>;
  using Counts = Span<const std::int64_t>;
  using Call = message::Call;

 public:
  // No rank leaves before all have entered.
  template <class Scope>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code barrier(const Scope& scope) const {
    return by(scope, Call::barrier, any_source, 0,
              [&](const auto& s) { return collective::barrier_by_few(s, member()); });
  }

  // The root's buffer to all.
  template <class Scope, MessageBuffer Buffer>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code broadcast(const Scope& scope, Buffer&& buffer, int root) const {
    return by(scope, Call::broadcast, root, size_of(buffer), [&](const auto& s) {
      return collective::move_by(
          s, member(), size_of(buffer), size_of(buffer),
          [&](collective::Moved& a) {
            return collective::plan_broadcast(s, member(), as_span(buffer).data(), size_of(buffer), root, a);
          },
          [&](const auto& few) {
            return collective::broadcast(detail::kept(few), member(), as_span(buffer).data(), size_of(buffer), root);
          });
    });
  }

  // out[i] at the root becomes in[i] of rank 0 op in[i] of rank 1 op ...
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code reduce(const Scope& scope, const In& in, Out&& out, Op op,
                                                      int root) const {
    return by(scope, Call::reduce, root, size_of(in), [&](const auto& s) {
      return collective::reduce(s, member(), collective::input(in), collective::output(out), root, Reducer<In, Op>{op});
    });
  }
  // The same at every rank, with the same bits where `op` gives a CPU and a GPU the same.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code all_reduce(const Scope& scope, const In& in, Out&& out, Op op) const {
    return by(scope, Call::all_reduce, any_source, size_of(in), [&](const auto& s) {
      return collective::all_reduce(s, member(), collective::input(in), collective::output(out), Reducer<In, Op>{op});
    });
  }
  template <class Scope, MessageBuffer Buffer, class Op>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code all_reduce(const Scope& scope, Buffer&& buffer, Op op) const {
    return all_reduce(scope, buffer, buffer, op);
  }
  // `in` holds a block as long as `out` for each rank; this one gets its own block, reduced.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code reduce_scatter(const Scope& scope, const In& in, Out&& out,
                                                              Op op) const {
    return by(scope, Call::reduce_scatter, any_source, size_of(in), [&](const auto& s) {
      return collective::reduce_scatter(s, member(), collective::input(in), collective::output(out),
                                        Reducer<In, Op>{op});
    });
  }
  // The same with counts[r] elements for rank r, the same counts at all ranks.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  DCGN_HOST_DEVICE Code reduce_scatterv(const Scope& scope, const In& in, Counts counts, Out&& out, Op op) const {
    return by_first(scope, Call::reduce_scatterv, any_source, size_of(in), longest(in, out), [&]<class S>(const S& s) {
      return collective::reduce_scatterv<S>(s, member(), collective::input(in), collective::parts(counts, {}),
                                            collective::output(out), Reducer<In, Op>{op});
    });
  }
  // out[i] becomes in[i] of rank 0 op ... op in[i] of this rank; or, exclusive, of the rank before this one, where rank
  // 0 gets nothing.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code scan(const Scope& scope, const In& in, Out&& out, Op op) const {
    return by(scope, Call::scan, any_source, size_of(in), [&](const auto& s) {
      return collective::scan(s, member(), collective::input(in), collective::output(out), false, Reducer<In, Op>{op});
    });
  }
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out, class Op>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code exclusive_scan(const Scope& scope, const In& in, Out&& out,
                                                              Op op) const {
    return by(scope, Call::exclusive_scan, any_source, size_of(in), [&](const auto& s) {
      return collective::scan(s, member(), collective::input(in), collective::output(out), true, Reducer<In, Op>{op});
    });
  }

  // The root's `out` gets every rank's `in`, one after the other.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code gather(const Scope& scope, const In& in, Out&& out, int root) const {
    return by(scope, Call::gather, root, size_of(in), [&](const auto& s) {
      return collective::move_by(
          s, member(), size_of(in), longest(in, out),
          [&](collective::Moved& a) {
            return collective::plan_gather(s, member(), collective::input(in), collective::output(out),
                                           collective::element_bytes<In>, root, a);
          },
          [&](const auto& few) {
            return collective::gather(detail::kept(few), member(), collective::input(in), collective::output(out),
                                      collective::element_bytes<In>, root);
          });
    });
  }
  // Rank r's `in` of counts[r] elements goes to displacements[r]. The root alone needs `out` and both of these.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  DCGN_HOST_DEVICE Code gatherv(const Scope& scope, const In& in, Out&& out, Counts counts, Counts displacements,
                                int root) const {
    return by_first(scope, Call::gatherv, root, size_of(in), longest(in, out), [&](const auto& s) {
      return collective::gatherv(detail::kept(s), member(), collective::input(in), collective::output(out),
                                 collective::parts(counts, displacements), collective::element_bytes<In>, root);
    });
  }
  // Each rank's `out` gets its part of the root's `in`.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code scatter(const Scope& scope, const In& in, Out&& out, int root) const {
    return by(scope, Call::scatter, root, size_of(out), [&](const auto& s) {
      return collective::move_by(
          s, member(), size_of(out), longest(in, out),
          [&](collective::Moved& a) {
            return collective::plan_scatter(s, member(), collective::input(in), collective::output(out),
                                            collective::element_bytes<In>, root, a);
          },
          [&](const auto& few) {
            return collective::scatter(detail::kept(few), member(), collective::input(in), collective::output(out),
                                       collective::element_bytes<In>, root);
          });
    });
  }
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  DCGN_HOST_DEVICE Code scatterv(const Scope& scope, const In& in, Counts counts, Counts displacements, Out&& out,
                                 int root) const {
    return by_first(scope, Call::scatterv, root, size_of(out), longest(in, out), [&](const auto& s) {
      return collective::scatterv(detail::kept(s), member(), collective::input(in),
                                  collective::parts(counts, displacements), collective::output(out),
                                  collective::element_bytes<In>, root);
    });
  }
  // As gather and gatherv, to every rank.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code all_gather(const Scope& scope, const In& in, Out&& out) const {
    return by(scope, Call::all_gather, any_source, size_of(in), [&](const auto& s) {
      return collective::move_by(
          s, member(), size_of(in), longest(in, out),
          [&](collective::Moved& a) {
            return collective::plan_parts(s, member(), Call::all_gather, collective::input(in), collective::output(out),
                                          collective::element_bytes<In>, a);
          },
          [&](const auto& few) {
            return collective::all_gather(detail::kept(few), member(), collective::input(in), collective::output(out),
                                          collective::element_bytes<In>);
          });
    });
  }
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  DCGN_HOST_DEVICE Code all_gatherv(const Scope& scope, const In& in, Out&& out, Counts counts,
                                    Counts displacements) const {
    return by_first(scope, Call::all_gatherv, any_source, size_of(in), longest(in, out), [&](const auto& s) {
      return collective::all_gatherv(detail::kept(s), member(), collective::input(in), collective::output(out),
                                     collective::parts(counts, displacements), collective::element_bytes<In>);
    });
  }
  // Block r of `in` goes to rank r, and what comes from rank r is block r of `out`.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code all_to_all(const Scope& scope, const In& in, Out&& out) const {
    return by(scope, Call::all_to_all, any_source, size_of(in), [&](const auto& s) {
      return collective::move_by(
          s, member(), size_of(in) / most(1, static_cast<const Slot*>(this)->size()), longest(in, out),
          [&](collective::Moved& a) {
            return collective::plan_parts(s, member(), Call::all_to_all, collective::input(in), collective::output(out),
                                          collective::element_bytes<In>, a);
          },
          [&](const auto& few) {
            return collective::all_to_all(detail::kept(few), member(), collective::input(in), collective::output(out),
                                          collective::element_bytes<In>);
          });
    });
  }
  // Not in place.
  template <class Scope, MessageBuffer In, collective::AlikeTo<In> Out>
  DCGN_HOST_DEVICE Code all_to_allv(const Scope& scope, const In& in, Counts send_counts, Counts send_displacements,
                                    Out&& out, Counts recv_counts, Counts recv_displacements) const {
    return by_first(scope, Call::all_to_allv, any_source, size_of(in), longest(in, out), [&](const auto& s) {
      return collective::all_to_allv(detail::kept(s), member(), collective::input(in),
                                     collective::parts(send_counts, send_displacements), collective::output(out),
                                     collective::parts(recv_counts, recv_displacements), collective::element_bytes<In>);
    });
  }

 private:
  // Bytes of this rank's longest buffer.
  template <class... Buffers>
  DCGN_HOST_DEVICE static std::int64_t longest(const Buffers&... buffers) {
    std::int64_t bytes = 0;
    ((bytes = size_of(buffers) > bytes ? size_of(buffers) : bytes), ...);
    return bytes;
  }
  template <class Buffer>
  DCGN_HOST_DEVICE static std::int64_t size_of(const Buffer& buffer) {
    return static_cast<std::int64_t>(as_span(buffer).size_bytes());
  }
  DCGN_HOST_DEVICE static int most(int a, int b) { return a < b ? b : a; }
  // act(scope), and a note of the call in the trace. `part`: bytes of this rank's part.
  template <class Scope, class Act>
  [[gnu::always_inline]] DCGN_HOST_DEVICE Code by(const Scope& scope, Call call, int root, std::int64_t part,
                                                  const Act& act) const {
    const Slot& slot = static_cast<const Slot&>(*this);
    const collective::Recorded recorded(scope, slot.port_, slot.group_, call, root, any_tag, part);
    return act(scope);
  }
  // The same, but the first of several blocks runs act(block) for all if the call is short.
  template <class Scope, class Act>
  DCGN_HOST_DEVICE Code by_first(const Scope& scope, Call call, int root, std::int64_t part, std::int64_t bytes,
                                 const Act& act) const {
    return by(scope, call, root, part, [&](const auto& s) { return collective::by_first_if_short(s, bytes, act); });
  }
  DCGN_HOST_DEVICE collective::Member member() const { return static_cast<const Slot*>(this)->member(); }
};

}  // namespace dcgn::gpu
