// The kernels of a measurement of collectives: slots, at any scope.
#pragma once

#include "core/bench/coll_ranks.hpp"
#include "core/bench/slot_end_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

#include <cstddef>
#include <iterator>
#include <utility>

namespace dcgn::bench {

// A slot as an end that makes one kind of call: it is compiled into the kernel, as in a user's.
template <class Group, Collective Op>
class SlotCollEnd : public Group {
 public:
  DCGN_HOST_DEVICE SlotCollEnd(const Group& group, const gpu::Slot& slot) : Group(group), slot_(slot) {}
  DCGN_HOST_DEVICE int me() const { return slot_.rank(); }
  DCGN_HOST_DEVICE int ranks() const { return slot_.size(); }
  DCGN_HOST_DEVICE bool barrier() const { return slot_.barrier(group()) == Code::ok; }
  DCGN_HOST_DEVICE bool broadcast(Span<std::uint64_t> words) const {
    return slot_.broadcast(group(), words, 0) == Code::ok;
  }
  DCGN_HOST_DEVICE bool call(Collective, const float* in, std::int64_t in_count, float* out,
                             std::int64_t out_count) const {
    return make(Span<const float>(in, static_cast<std::size_t>(in_count)),
                Span<float>(out, static_cast<std::size_t>(out_count))) == Code::ok;
  }

 private:
  DCGN_HOST_DEVICE const Group& group() const { return *this; }
  DCGN_HOST_DEVICE Code make(Span<const float> from, Span<float> to) const {
    if constexpr (Op == Collective::barrier) return slot_.barrier(group());
    if constexpr (Op == Collective::broadcast) return slot_.broadcast(group(), to, 0);
    if constexpr (Op == Collective::reduce) return slot_.reduce(group(), from, to, Sum{}, 0);
    if constexpr (Op == Collective::all_reduce) return slot_.all_reduce(group(), from, to, Sum{});
    if constexpr (Op == Collective::reduce_scatter) return slot_.reduce_scatter(group(), from, to, Sum{});
    if constexpr (Op == Collective::all_gather) return slot_.all_gather(group(), from, to);
    if constexpr (Op == Collective::gather) return slot_.gather(group(), from, to, 0);
    if constexpr (Op == Collective::scatter) return slot_.scatter(group(), from, to, 0);
    if constexpr (Op == Collective::all_to_all) return slot_.all_to_all(group(), from, to);
    if constexpr (Op == Collective::scan) return slot_.scan(group(), from, to, Sum{});
  }

  gpu::Slot slot_;
};

template <ScopeKind Kind, unsigned Threads, Collective Op>
struct CollKernel {
  static constexpr unsigned max_threads = Threads, blocks_per_multiprocessor = 1;
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned blocks, CollPlan plan,
                                   CollMemory memory) const {
    for_my_slot<Kind>(ctx, comm, blocks, [&]<class Group>(const Group& group, const gpu::Slot& slot) {
      take_part(SlotCollEnd<Group, Op>(group, slot), plan, memory.of(ctx.block_rank() / blocks));
    });
  }
};

template <ScopeKind Kind, unsigned Threads, Collective Op>
void add_if(Job& job, int gpu, const CollWork& work, const CollPlan& plan, const CollMemory& memory) {
  if (plan.op != Op) return;
  const Device device = job.world().device(gpu);
  const auto slots = static_cast<unsigned>(work.ranks.slots);
  job.gpu_on(gpu, launch_for(work.scope, device, slots), CollKernel<Kind, Threads, Op>{},
             blocks_for(work.scope, device, slots), plan, memory);
}
template <ScopeKind Kind, unsigned Threads, std::size_t... I>
void add_one_of(Job& job, int gpu, const CollWork& work, const CollPlan& plan, const CollMemory& memory,
                std::index_sequence<I...>) {
  (add_if<Kind, Threads, all_collectives[I]>(job, gpu, work, plan, memory), ...);
}
template <ScopeKind Kind, unsigned Threads>
void add_slots(Job& job, int gpu, const CollWork& work, const CollPlan& plan, const CollMemory& memory) {
  add_one_of<Kind, Threads>(job, gpu, work, plan, memory, std::make_index_sequence<std::size(all_collectives)>());
}

}  // namespace dcgn::bench
