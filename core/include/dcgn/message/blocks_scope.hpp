// Several blocks, or the whole grid, on one message: made by these_blocks() and this_grid() in comm.hpp.
//
// The blocks must be resident at once (Launch::resident), and all of them make the call. They meet in the slot's
// memory, which takes the better part of a microsecond each time: worth it for messages of megabytes. A block that does
// not come ends like a message that does not come: with the deadline and a report, which says how many have. With more
// blocks than the grid has, or none, every call is refused: invalid_size.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/context.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/arch/scope.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/endpoint.hpp>

#include <cstdint>
#include <new>
#include <type_traits>

namespace dcgn::gpu {

// All threads of several blocks.
class BlocksScope {
 public:
  // `count` blocks from block `first` on; the calling thread is in one of them. `there`: whether the grid has them.
  DCGN_HOST_DEVICE BlocksScope(const Context& context, message::Endpoint& slot, unsigned first, unsigned count,
                               bool there)
      : context_(context),
        slot_(slot),
        blocks_(count),
        rank_((context.block_rank() - first) * context.num_threads() + context.thread_rank()),
        broken_(!there) {}

  DCGN_HOST_DEVICE unsigned rank() const { return rank_; }
  DCGN_HOST_DEVICE unsigned size() const { return blocks_ * context_.num_threads(); }
  DCGN_HOST_DEVICE bool leader() const { return rank_ == 0; }
  // Of the block that the leader is in.
  DCGN_HOST_DEVICE unsigned threads_of_leader() const { return context_.num_threads(); }
  DCGN_HOST_DEVICE bool is_leaders_block() const { return rank_ < threads_of_leader(); }
  // The first warp of the first block: its threads, and whether the calling thread is one.
  DCGN_HOST_DEVICE unsigned threads_of_first_warp() const {
    return threads_of_leader() < warp_size ? threads_of_leader() : warp_size;
  }
  DCGN_HOST_DEVICE bool is_in_first_warp() const { return rank_ < threads_of_first_warp(); }
  DCGN_HOST_DEVICE bool broken() const { return broken_; }
  DCGN_HOST_DEVICE unsigned blocks() const { return blocks_; }
  // The calling thread's block among them.
  DCGN_HOST_DEVICE unsigned block_rank() const { return rank_ / context_.num_threads(); }
  // The calling thread's.
  DCGN_HOST_DEVICE BlockScope block() const { return BlockScope(context_); }
  DCGN_HOST_DEVICE WarpScope warp() const { return this_warp(context_); }
  // As many as the grid has from the first one on.
  DCGN_HOST_DEVICE unsigned most_blocks() const { return context_.num_blocks() - context_.block_rank() + block_rank(); }
  DCGN_HOST_DEVICE bool agree(bool yes) const {
    const bool block = context_.sync_block_all(yes);
    bool met = !broken_, refused = false;
    if (speaks() && !block) refuse();
    if (is_in_blocks_first_warp()) met = meet(refused);
    if (context_.sync_block_all(met && !refused)) return true;
    part(met);
    return false;
  }

  // What the library's calls ask of a scope: as ThreadScope has it.
  static constexpr bool single = false, in_warp = false, in_block = false;
  DCGN_HOST_DEVICE bool looks() const { return leader(); }
  DCGN_HOST_DEVICE ThreadScope lookers() const { return {}; }
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    return lead([&] { return plan; });
  }
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    return publish(value);
  }

  DCGN_HOST_DEVICE void sync() const {
    context_.sync_whole_block();  // the first warp speaks for all of its block
    conclude(!is_in_blocks_first_warp() || meet());
  }
  // The others wait for the leader, which waits for them: so the whole takes no more than one sync().
  template <class Act>
  DCGN_HOST_DEVICE auto lead(const Act& act) const {
    using T = decltype(act());
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= block_scratch_bytes, "too large to broadcast");
    // As an object of its type: nvcc would memcpy() what lies here byte by byte.
    void* const scratch = slot_.grid_barrier.scratch;
    T result{};
    context_.sync_whole_block();
    bool met = true;
    if (!is_leaders_block()) {
      if (is_in_blocks_first_warp()) met = meet();
    } else if (is_in_blocks_first_warp()) {
      met = await_others_together();
      if (met && speaks()) {
        result = act();
        new (scratch) T(result);
        release();
      }
    }
    conclude(met);
    if (!broken_ && !leader()) result = *static_cast<const T*>(scratch);
    return result;
  }

  // The same by all threads of the first block, with their scope; act(block) returns the same to each of them.
  template <class Act>
  DCGN_HOST_DEVICE auto lead_block(const Act& act) const {
    using T = decltype(act(this_block(context_)));
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= block_scratch_bytes, "too large to broadcast");
    void* const scratch = slot_.grid_barrier.scratch;
    const bool first = is_leaders_block();
    T result{};
    context_.sync_block();
    bool met = true;
    if (is_in_blocks_first_warp()) met = first ? await_others_together() : meet();
    conclude(met);
    if (broken_) return result;
    if (!first) return *static_cast<const T*>(scratch);
    result = act(this_block(context_));
    context_.sync_block();
    if (leader()) {
      new (scratch) T(result);
      release();
    }
    context_.sync_block();  // nobody takes this meeting for the next one
    return result;
  }

  // The same by the first warp of the first block. As a rule act(warp) returns T::usual(), and result.is_usual(): then
  // the blocks need not tell each other.
  template <class Act>
  DCGN_HOST_DEVICE auto lead_warp(const Act& act) const {
    return lead_warp_at_once([&](const WarpScope& warp) {
      using T = decltype(act(warp));
      return await_others(warp, true) ? act(warp) : T{};
    });
  }
  // The same, but act(warp) begins at once; it calls await_others() itself.
  template <class Act>
  DCGN_HOST_DEVICE auto lead_warp_at_once(const Act& act) const {
    using T = decltype(act(this_warp(context_)));
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= block_scratch_bytes, "too large to broadcast");
    void* const scratch = slot_.grid_barrier.scratch;
    context_.sync_block();
    bool met = true, unusual = false;
    if (is_in_first_warp()) {
      const T result = broken_ ? T{} : act(this_warp(context_));
      unusual = !result.is_usual();
      if (speaks()) {
        if (unusual) new (scratch) T(result);
        tell(!unusual);
      }
      met = !broken_;
    } else if (is_in_blocks_first_warp()) {
      met = meet(unusual);
    }
    if (context_.sync_block_all(met && !unusual)) return T::usual();
    return part(met) ? *static_cast<const T*>(scratch) : T{};
  }

  // The blocks meet; then the first warp of each runs look(warp), and where that says yes get_ready(warp). True for the
  // threads of a block where that says yes; false also where the job is stopped first. Blocks may then disagree, so the
  // call goes on with agree(). What look() reads, the first block changes only after await_looks(). `acquires`: what
  // the others wrote before is visible to all loads; otherwise to those that go past the multiprocessor's cache.
  template <class Look, class GetReady>
  DCGN_HOST_DEVICE bool meet_and_look(bool acquires, const Look& look, const GetReady& get_ready) const {
    context_.sync_block();
    bool well = !broken_;
    if (is_in_blocks_first_warp()) {
      const WarpScope warp = this_warp(context_);
      bool refused = false;
      well = meet(refused, acquires);
      broken_ = broken_ || !well;  // so that it does not arrive again
      well = warp.agree(well && !refused) && look(warp);
      if (speaks()) on_device::fetch_add_relaxed(slot_.grid_barrier.looks, 1);
      well = well && get_ready(warp);
    }
    return context_.sync_block_all(well);
  }
  // By the leader, once in each such meeting: whether all have looked.
  DCGN_HOST_DEVICE bool have_looked() const { return on_device::load_to_acquire(slot_.grid_barrier.looks) == blocks_; }
  // By the leader, before it changes what they look at, or ends the call: when all have looked, which is soon.
  // `have`: they have. False where the job is stopped first.
  DCGN_HOST_DEVICE bool await_looks(bool have = false) const {
    if (!have && !sees(slot_.grid_barrier.looks, ~0u, blocks_, true)) return false;
    store_relaxed(slot_.grid_barrier.looks, 0);
    return true;
  }
  // Within lead_warp_at_once(), by the first warp, or one thread of it. `acquires`: what the others wrote is visible
  // then. That clears a multiprocessor's cache, so who only tells the others to go on, and meets them again, leaves it
  // to them: their part in the meeting makes everything visible to each other.
  template <class Few>
  DCGN_HOST_DEVICE bool await_others(const Few& few, bool acquires) const {
#if !defined(__CUDA_ARCH__)
    acquires = true;  // the host has no such caches
#endif
    const bool met = few.agree(!waits() || (acquires ? await_others() : sees_others()));
    broken_ = broken_ || !met;
    return met;
  }
  // By its leader: the others go on, and learn whether all is well.
  DCGN_HOST_DEVICE void tell(bool well) const {
    if (!well) refuse();
    release();
  }

  // A row: the leader issues orders, which the other blocks follow one after the other, and finds out meanwhile what
  // comes next. The first ones of a row are what lead() returned, after enter().
  template <class T>
  DCGN_HOST_DEVICE void enter(T& first) const {
    first.number = slot_.grid_barrier.issued + 1;
    store_relaxed(slot_.grid_barrier.issued, first.number);
  }
  // By the leader: not before all have done with the orders before the last ones.
  template <class T>
  DCGN_HOST_DEVICE void issue(T& orders) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= block_scratch_bytes, "too large for orders");
    message::GridBarrier& g = slot_.grid_barrier;
    orders.number = g.issued + 1;
    new (g.orders[orders.number % 2]) T(orders);
    on_device::store_release(g.issued, orders.number);
  }
  // By the leader: whether all others have done with these orders; true once, and what they wrote is visible then.
  DCGN_HOST_DEVICE bool is_done(std::uint32_t number) const {
    std::uint32_t& done = slot_.grid_barrier.done[number % 2];
    if (load_relaxed(done) != blocks_ - 1) return false;
    on_device::load_acquire(done);
    store_relaxed(done, 0);
    return true;
  }
  // By all threads of the other blocks, when they have done with these orders: the next ones. Where these have been
  // issued, nobody waits for what the block has stored to arrive.
  template <class T>
  DCGN_HOST_DEVICE T follow(const T& orders) const {
    message::GridBarrier& g = slot_.grid_barrier;
    const std::uint32_t number = orders.number;
    context_.sync_block();
    bool known = false, met = true;
    if (speaks()) {
      known = on_device::load_acquire(g.issued) != number;
      if (!known) {
        on_device::fetch_add_release(g.done[number % 2], 1);
        met = await(g.issued, ~0u, number, false);
      }
    }
    conclude(met);
    T next{};
    if (broken_) return next;
    next = *static_cast<const T*>(static_cast<const void*>(g.orders[(number + 1) % 2]));
    if (known) on_device::fetch_add_release(g.done[number % 2], 1);
    return next;
  }
  // What the leader has, to all threads of its block.
  template <class T>
  DCGN_HOST_DEVICE T tell_block(const T& value) const {
    return context_.broadcast(value);
  }

 private:
  static constexpr std::uint32_t turn = 1u << 31;

  // It changes when all blocks have come, so not before the calling thread's has.
  DCGN_HOST_DEVICE static std::uint32_t turn_of(const message::GridBarrier& g) {
    return load_relaxed(g.meeting.arrived) >> 31;
  }

  // The first warp of a block meets the other blocks: its first thread arrives, and it waits. All lanes of a GPU wait,
  // because lanes that wait for one of them go on with it only most of a microsecond later.
  DCGN_HOST_DEVICE bool is_in_blocks_first_warp() const { return context_.thread_rank() < warp_size; }
  DCGN_HOST_DEVICE bool speaks() const { return context_.thread_rank() == 0 && !broken_; }
  DCGN_HOST_DEVICE bool waits() const {
    return dcgn::detail::decides_in_block ? is_in_blocks_first_warp() && !broken_ : speaks();
  }
  DCGN_HOST_DEVICE std::uint32_t part_of_turn() const { return is_leaders_block() ? turn - (blocks_ - 1) : 1; }
  // Returns the word before.
  DCGN_HOST_DEVICE message::GridBarrier::Meeting arrive() const {
    return message::arrive_at(slot_.grid_barrier, part_of_turn());
  }
  // By the leader, when all others have come: they go on.
  DCGN_HOST_DEVICE void release() const {
    on_device::fetch_add_release(slot_.grid_barrier.meeting.arrived, part_of_turn());
  }
  // Before it arrives: the blocks of this meeting learn that not all is well.
  DCGN_HOST_DEVICE void refuse() const {
    message::GridBarrier& g = slot_.grid_barrier;
    store_relaxed(g.meeting.refused[turn_of(g)], 1);
  }
  // By all threads, when they have seen that a block refused or has not come. False if one has not come.
  [[gnu::noinline]] DCGN_HOST_DEVICE bool part(bool met) const;
  // By the leader, which has not arrived.
  DCGN_HOST_DEVICE bool sees_others() const {
    return sees(slot_.grid_barrier.meeting.arrived, ~turn, blocks_ - 1, true);
  }
  DCGN_HOST_DEVICE bool await_others() const { return await(slot_.grid_barrier.meeting.arrived, ~turn, blocks_ - 1); }
  // By its first warp: the leader may not arrive before all lanes have seen that.
  DCGN_HOST_DEVICE bool await_others_together() const {
    const bool met = !waits() || await_others();
    return dcgn::detail::decides_in_block ? this_warp(context_).agree(met) : met;
  }
  // By the first warp of a block: what arrive() returned, for all who wait.
  DCGN_HOST_DEVICE message::GridBarrier::Meeting arrive_together() const {
    message::GridBarrier::Meeting before;
    if (speaks()) before = arrive();
    return dcgn::detail::decides_in_block ? this_warp(context_).broadcast(before) : before;
  }
  // Arrives, and waits until all have come. False where the job is stopped first.
  DCGN_HOST_DEVICE bool meet() const {
    bool refused = false;
    return meet(refused);
  }
  // The same, and says whether a block refused. `acquires`: see meet_and_look().
  DCGN_HOST_DEVICE bool meet(bool& refused, bool acquires = true) const {
    const message::GridBarrier::Meeting before = arrive_together();
    return waits() ? await_turn(before, refused, acquires) : !broken_;
  }
  // After arrive(), which returned `before`. The last to come need not look.
  DCGN_HOST_DEVICE bool await_turn(const message::GridBarrier::Meeting& before, bool& refused, bool acquires) const {
    const message::GridBarrier& g = slot_.grid_barrier;
    message::GridBarrier::Meeting now = before;
    now.arrived += part_of_turn();
    for (std::uint32_t looks = 0; !((now.arrived ^ before.arrived) & turn); ++looks) {
      if (looks == message::look_every && !await_long(g.meeting.arrived, turn, ~before.arrived & turn, true))
        return false;
      if (looks) relax();
      now = message::load_meeting(g);
    }
    if (acquires) on_device::acquire_seen();
    refused = now.is_refused(before.arrived);
    return true;
  }
  DCGN_HOST_DEVICE void conclude(bool met) const { broken_ = !context_.sync_block_all(met) || broken_; }

  // Waits until these bits of the word have this value, or another one; false where the job is stopped first. It
  // acquires once, when it has seen it. Not functions to be called: ptxas would break them (scripts/check-kernels).
  DCGN_HOST_DEVICE bool await(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value,
                              bool equal = true) const {
    if (!sees(word, bits, value, equal)) return false;
    on_device::acquire_seen();
    return true;
  }
  DCGN_HOST_DEVICE bool sees(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value, bool equal) const {
    for (std::uint32_t pauses = 0; ((on_device::load_to_acquire(word) & bits) == value) != equal; ++pauses) {
      if (pauses == message::look_every) return await_long(word, bits, value, equal);
      relax();
    }
    return true;
  }
  // The same for who has waited a while. Whoever waits for its own blocks is not idle: they may be at work. But they
  // are held to the deadline, by the leader, or where it is in no call, so that it may be the one who does not come, by
  // another thread a second later. One of them says what the rank waits for.
  DCGN_HOST_DEVICE bool await_long(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value,
                                   bool equal) const;
  // Those that have come, where the leader knows. It does not count itself before all others have come.
  DCGN_HOST_DEVICE unsigned blocks_here() const {
    const std::uint32_t come = load_relaxed(slot_.grid_barrier.meeting.arrived) & ~turn;
    return !leader() ? 0 : come < blocks_ ? come + 1 : (come + blocks_) & ~turn;
  }

  const Context& context_;
  message::Endpoint& slot_;
  unsigned blocks_;
  unsigned rank_;
  mutable bool broken_ = false;
};

}  // namespace dcgn::gpu
