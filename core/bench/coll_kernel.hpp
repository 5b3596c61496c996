// The kernels of a measurement of collectives: slots, at any scope.
#pragma once

#include "core/bench/coll_ranks.hpp"
#include "core/bench/slot_end_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

namespace dcgn::bench {

// A slot as an end.
template <class Group>
class SlotCollEnd : public Group {
 public:
  DCGN_HOST_DEVICE SlotCollEnd(const Group& group, const gpu::Slot& slot) : Group(group), slot_(slot) {}
  DCGN_HOST_DEVICE int me() const { return slot_.rank(); }
  DCGN_HOST_DEVICE int ranks() const { return slot_.size(); }
  DCGN_HOST_DEVICE bool barrier() const { return slot_.barrier(group()) == Code::ok; }
  DCGN_HOST_DEVICE bool broadcast(Span<std::uint64_t> words) const {
    return slot_.broadcast(group(), words, 0) == Code::ok;
  }
  [[gnu::always_inline]] DCGN_HOST_DEVICE bool call(Collective op, const float* in, std::int64_t in_count, float* out,
                                                    std::int64_t out_count) const {
    const Span<const float> from(in, static_cast<std::size_t>(in_count));
    const Span<float> to(out, static_cast<std::size_t>(out_count));
    Code code = Code::ok;
    switch (op) {
      case Collective::barrier: code = slot_.barrier(group()); break;
      case Collective::broadcast: code = slot_.broadcast(group(), to, 0); break;
      case Collective::reduce: code = slot_.reduce(group(), from, to, Sum{}, 0); break;
      case Collective::all_reduce: code = slot_.all_reduce(group(), from, to, Sum{}); break;
      case Collective::reduce_scatter: code = slot_.reduce_scatter(group(), from, to, Sum{}); break;
      case Collective::all_gather: code = slot_.all_gather(group(), from, to); break;
      case Collective::gather: code = slot_.gather(group(), from, to, 0); break;
      case Collective::scatter: code = slot_.scatter(group(), from, to, 0); break;
      case Collective::all_to_all: code = slot_.all_to_all(group(), from, to); break;
      case Collective::scan: code = slot_.scan(group(), from, to, Sum{}); break;
    }
    return code == Code::ok;
  }

 private:
  DCGN_HOST_DEVICE const Group& group() const { return *this; }

  gpu::Slot slot_;
};

template <ScopeKind Kind, unsigned Threads>
struct CollKernel {
  static constexpr unsigned max_threads = Threads, blocks_per_multiprocessor = 1;
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned blocks, CollPlan plan,
                                   CollMemory memory) const {
    for_my_slot<Kind>(ctx, comm, blocks, [&](const auto& group, const gpu::Slot& slot) {
      take_part(SlotCollEnd(group, slot), plan, memory.of(ctx.block_rank() / blocks));
    });
  }
};

template <ScopeKind Kind, unsigned Threads>
void add_slots(Job& job, int gpu, const CollWork& work, const CollPlan& plan, const CollMemory& memory) {
  const Device device = job.world().device(gpu);
  const auto slots = static_cast<unsigned>(work.ranks.slots);
  job.gpu_on(gpu, launch_for(work.scope, device, slots), CollKernel<Kind, Threads>{},
             blocks_for(work.scope, device, slots), plan, memory);
}

}  // namespace dcgn::bench
