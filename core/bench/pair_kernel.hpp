// A job of two ranks that measure something between them: their memory, their kernels, and what the first finds out.
#pragma once

#include "bench/memory.hpp"
#include "core/bench/cpu_end.hpp"
#include "core/bench/slot_end_kernel.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace dcgn::bench {

// Rank 0 leads, rank 1 follows: lead() and follow() for this plan; in the world, or in what split() makes of the two.
template <ScopeKind Kind, class Plan, bool Split = false>
struct PairKernel {
  static constexpr unsigned max_threads = most_threads(Kind), blocks_per_multiprocessor = 1;
  // `ends` has the buffers of both ranks. Slots after the second have nothing to do.
  struct Ends {
    Buffers of[2];
  };
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned blocks, Ends ends, Plan plan,
                                   Samples* samples) const {
    for_my_slot<Kind>(ctx, comm, blocks, [&](const auto& group, gpu::Slot slot) {
      if constexpr (Split) slot = slot.split(group, 0, slot.rank());
      const SlotEnd end(ctx, group, slot);
      if (slot.rank() == 0)
        lead(end, ends.of[0], plan, *samples);
      else if (slot.rank() == 1)
        follow(end, ends.of[1], plan);
    });
  }
};

class Pair {
 public:
  // `room`: bytes that an end sends, and receives, at most at once.
  Pair(const Workload& work, std::int64_t room);

  // Runs the job and returns what the first rank found out.
  template <bool Split = false, class Plan>
  Samples run(const Plan& plan) {
    for (int r = 0; r < cpus(); ++r) {
      const std::optional<Device> where = devices_[static_cast<std::size_t>(r)];
      job_->cpu_rank(r, [=, b = ends_[r], samples = &samples_](Comm& comm) {
        if constexpr (Split) {
          Comm two = comm.split(0, comm.rank());
          take_part(two, where, b, plan, samples);
        } else {
          take_part(comm, where, b, plan, samples);
        }
      });
    }
    for (int g = 0; g < job_->world().gpus(); ++g) {
      switch (work_.scope.kind) {
        case ScopeKind::thread: add<ScopeKind::thread, Split>(g, plan); break;
        case ScopeKind::warp: add<ScopeKind::warp, Split>(g, plan); break;
        case ScopeKind::block: add<ScopeKind::block, Split>(g, plan); break;
        case ScopeKind::blocks:
          if constexpr (!Split) add<ScopeKind::blocks, Split>(g, plan);
          break;
      }
    }
    job_->run();
    if (slot_samples_) slot_samples_->download(&samples_);
    return samples_;
  }

  // All that is known of a row before the measurement.
  Row row(Measure measure) const;

 private:
  int cpus() const;
  unsigned slots() const;  // of each GPU
  template <ScopeKind Kind, bool Split, class Plan>
  void add(int gpu, const Plan& plan) {
    const Device device = job_->world().device(gpu);
    Launch launch = launch_for(work_.scope, device, slots());
    launch.shared_bytes = 2 * static_cast<std::size_t>(work_.window) * sizeof(Request);
    using Kernel = PairKernel<Kind, Plan, Split>;
    job_->gpu_on(gpu, launch, Kernel{}, blocks_for(work_.scope, device, slots()),
                 typename Kernel::Ends{ends_[0], ends_[1]}, plan, slot_samples_ ? slot_samples_->data() : nullptr);
  }

  Workload work_;
  std::unique_ptr<Job> job_;
  std::vector<Pages> pages_;
  std::vector<DeviceBuffer<unsigned char>> memory_;
  std::optional<DeviceBuffer<Samples>> slot_samples_;
  Buffers ends_[2]{};
  std::optional<Device> devices_[2];  // whose memory the buffers of a CPU rank are
  Samples samples_{};
};

}  // namespace dcgn::bench
