// Several blocks, or the whole grid, on one message: made by these_blocks() and this_grid() in comm.hpp.
//
// The blocks must be resident at once (Launch::resident), and all of them make the call. They meet in the slot's
// memory, which takes about a microsecond each time: worth it for messages of megabytes. A block that does not come
// ends like a message that does not come: with the deadline and a report.
#pragma once

#include <dcgn/gpu/context.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/wait.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::gpu {

class BlocksScope {
 public:
  // `count` blocks from block `first` on; the calling thread is in one of them.
  DCGN_HOST_DEVICE BlocksScope(const Context& context, message::Endpoint& slot, unsigned first, unsigned count)
      : context_(context),
        slot_(slot),
        blocks_(count),
        rank_((context.block_rank() - first) * context.num_threads() + context.thread_rank()) {}

  DCGN_HOST_DEVICE unsigned rank() const { return rank_; }
  DCGN_HOST_DEVICE unsigned size() const { return blocks_ * context_.num_threads(); }
  DCGN_HOST_DEVICE bool leader() const { return rank_ == 0; }
  DCGN_HOST_DEVICE bool broken() const { return broken_; }
  DCGN_HOST_DEVICE bool agree(bool yes) const {
    if (!yes) store_relaxed(slot_.gathering.refused, 1);
    sync();
    return !broken_ && !load_relaxed(slot_.gathering.refused);
  }

  static constexpr bool single = false, in_warp = false, in_block = false;
  DCGN_HOST_DEVICE bool looks() const { return leader(); }
  DCGN_HOST_DEVICE unsigned lookers() const { return 1; }
  template <class... Words>
  DCGN_HOST_DEVICE int first_found(int found, Words&...) const {
    return found;
  }
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    const T result = broadcast(plan);
    return broken_ ? T{} : result;  // nothing to do any more
  }

  DCGN_HOST_DEVICE void sync() const {
    context_.sync_block();  // the first thread speaks for all of its block
    const bool met = context_.thread_rank() != 0 || broken_ || meet();
    broken_ = !context_.sync_block_all(met) || broken_;
  }
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    static_assert(sizeof(T) <= block_scratch_bytes, "too large to broadcast");
    unsigned char* scratch = slot_.gathering.scratch[turn_++ & 1];
    if (leader()) memcpy(scratch, &value, sizeof(T));
    sync();
    T result = value;
    if (!broken_) memcpy(&result, scratch, sizeof(T));
    return result;
  }

 private:
  // Waits for the other blocks; false where the job is stopped first.
  [[gnu::noinline]] DCGN_HOST_DEVICE bool meet() const {
    message::Gathering& g = slot_.gathering;
    const std::uint32_t round = on_device::load_acquire(g.round);
    if (on_device::fetch_add(g.arrived, 1) + 1 == blocks_) {
      store_relaxed(g.arrived, 0);
      on_device::store_release(g.round, round + 1);
      return true;
    }
    const auto here = [&] { return on_device::load_acquire(g.round) != round; };
    // Whoever waits for its own blocks is not idle: they may be at work. But they are held to the deadline.
    const std::uint64_t since = leader() ? now_ns() : 0;
    bool told = false;
    for (std::uint32_t pauses = 1; !here(); ++pauses) {
      relax();
      if (pauses % 64) continue;
      if (message::aborted(slot_)) return false;
      if (!leader() || now_ns() - since < slot_.limits.deadline_ns) continue;
      if (!told) message::raise_alarm(slot_, message::Alarm::deadline);
      told = true;
      if (now_ns() - since > slot_.limits.deadline_ns + 10'000'000'000u) return false;  // nobody listens
    }
    return true;
  }

  const Context& context_;
  message::Endpoint& slot_;
  unsigned blocks_;
  unsigned rank_;
  mutable unsigned turn_ = 0;
  mutable bool broken_ = false;
};

}  // namespace dcgn::gpu
