// A CPU rank's collectives, those that return when they are done and those that go on beside their caller.
#include <dcgn/collective/calls.hpp>
#include <dcgn/collective/reductions.hpp>
#include <dcgn/comm.hpp>

#include "job/cpu_scope.hpp"
#include "job/perform.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace dcgn {

namespace {

using collective::Member;
using message::Call;

// Lists of the caller's, or copies of them.
class Lists {
 public:
  Lists(bool copied, const collective::Parts& parts) : parts_(parts) {
    if (!copied) return;
    const auto copy = [](const std::int64_t*& list, std::int64_t count) {
      auto own = std::make_shared<std::vector<std::int64_t>>(list, list + count);
      list = own->data();
      return own;
    };
    counts_ = copy(parts_.counts, parts_.how_many_counts);
    displacements_ = copy(parts_.displacements, parts_.how_many_displacements);
  }
  operator const collective::Parts&() const { return parts_; }

 private:
  collective::Parts parts_;
  std::shared_ptr<std::vector<std::int64_t>> counts_, displacements_;
};

}  // namespace

Comm& CommCollectives::comm() { return static_cast<Comm&>(*this); }

Request CommCollectives::barrier_any(When when) {
  return perform(when, Call::barrier, any_source, 0, [](const Member& m) { return collective::barrier(cpu_scope, m); });
}

Request CommCollectives::broadcast_any(When when, void* data, std::int64_t bytes, int root) {
  return perform(when, Call::broadcast, root, bytes,
                 [=](const Member& m) { return collective::broadcast(cpu_scope, m, data, bytes, root); });
}

Request CommCollectives::reduce_any(When when, Input in, Output out, int root, const Reducer& op) {
  return perform(when, Call::reduce, root, in.count * op.apply.bytes, [=](const Member& m) {
    return collective::reduce<gpu::ThreadScope>(cpu_scope, m, in, out, root, op.apply);
  });
}

Request CommCollectives::all_reduce_any(When when, Input in, Output out, const Reducer& op) {
  return perform(when, Call::all_reduce, any_source, in.count * op.apply.bytes,
                 [=](const Member& m) { return collective::all_reduce(cpu_scope, m, in, out, op.apply); });
}

Request CommCollectives::reduce_scatter_any(When when, Input in, Output out, const Reducer& op) {
  return perform(when, Call::reduce_scatter, any_source, in.count * op.apply.bytes, [=](const Member& m) {
    return collective::reduce_scatter<gpu::ThreadScope>(cpu_scope, m, in, out, op.apply);
  });
}

Request CommCollectives::reduce_scatterv_any(When when, Input in, Parts parts, Output out, const Reducer& op) {
  const Lists lists(when == When::later, parts);
  return perform(when, Call::reduce_scatterv, any_source, in.count * op.apply.bytes, [=](const Member& m) {
    return collective::reduce_scatterv<gpu::ThreadScope>(cpu_scope, m, in, lists, out, op.apply);
  });
}

Request CommCollectives::gather_any(When when, Input in, Output out, std::int64_t element, int root) {
  return perform(when, Call::gather, root, in.count * element,
                 [=](const Member& m) { return collective::gather(cpu_scope, m, in, out, element, root); });
}

Request CommCollectives::gatherv_any(When when, Input in, Output out, Parts parts, std::int64_t element, int root) {
  const Lists lists(when == When::later, parts);
  return perform(when, Call::gatherv, root, in.count * element,
                 [=](const Member& m) { return collective::gatherv(cpu_scope, m, in, out, lists, element, root); });
}

Request CommCollectives::scatter_any(When when, Input in, Output out, std::int64_t element, int root) {
  return perform(when, Call::scatter, root, out.count * element,
                 [=](const Member& m) { return collective::scatter(cpu_scope, m, in, out, element, root); });
}

Request CommCollectives::scatterv_any(When when, Input in, Parts parts, Output out, std::int64_t element, int root) {
  const Lists lists(when == When::later, parts);
  return perform(when, Call::scatterv, root, out.count * element,
                 [=](const Member& m) { return collective::scatterv(cpu_scope, m, in, lists, out, element, root); });
}

Request CommCollectives::all_gather_any(When when, Input in, Output out, std::int64_t element) {
  return perform(when, Call::all_gather, any_source, in.count * element,
                 [=](const Member& m) { return collective::all_gather(cpu_scope, m, in, out, element); });
}

Request CommCollectives::all_gatherv_any(When when, Input in, Output out, Parts parts, std::int64_t element) {
  const Lists lists(when == When::later, parts);
  return perform(when, Call::all_gatherv, any_source, in.count * element,
                 [=](const Member& m) { return collective::all_gatherv(cpu_scope, m, in, out, lists, element); });
}

Request CommCollectives::all_to_all_any(When when, Input in, Output out, std::int64_t element) {
  return perform(when, Call::all_to_all, any_source, in.count * element,
                 [=](const Member& m) { return collective::all_to_all(cpu_scope, m, in, out, element); });
}

Request CommCollectives::all_to_allv_any(When when, Input in, Parts send, Output out, Parts receive,
                                         std::int64_t element) {
  const Lists from(when == When::later, send), to(when == When::later, receive);
  return perform(when, Call::all_to_allv, any_source, in.count * element,
                 [=](const Member& m) { return collective::all_to_allv(cpu_scope, m, in, from, out, to, element); });
}

Request CommCollectives::scan_any(When when, Input in, Output out, bool exclusive, const Reducer& op) {
  return perform(
      when, exclusive ? Call::exclusive_scan : Call::scan, any_source, in.count * op.apply.bytes,
      [=](const Member& m) { return collective::scan<gpu::ThreadScope>(cpu_scope, m, in, out, exclusive, op.apply); });
}

}  // namespace dcgn
