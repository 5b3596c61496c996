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
  // As many as the grid has from the first one on.
  DCGN_HOST_DEVICE unsigned most_blocks() const { return context_.num_blocks() - context_.block_rank() + block_rank(); }
  // A thread of each block looks: where all do they wait for each other at one word.
  DCGN_HOST_DEVICE bool agree(bool yes) const {
    const bool block = context_.sync_block_all(yes);
    bool met = !broken_, refused = false;
    if (speaks()) {
      if (!block) refuse();
      met = await_turn(arrive(), refused);
    }
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
    context_.sync_whole_block();  // the first thread speaks for all of its block
    conclude(!speaks() || await_turn(arrive()));
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
    if (speaks()) {
      if (leader()) {
        met = await_others();
        if (met) {
          result = act();
          new (scratch) T(result);
          arrive();
        }
      } else {
        met = await_turn(arrive());
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
    if (speaks()) met = first ? await_others() : await_turn(arrive());
    conclude(met);
    if (broken_) return result;
    if (!first) return *static_cast<const T*>(scratch);
    result = act(this_block(context_));
    context_.sync_block();
    if (leader()) {
      new (scratch) T(result);
      arrive();
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
    } else if (speaks()) {
      met = await_turn(arrive(), unusual);
    }
    if (context_.sync_block_all(met && !unusual)) return T::usual();
    return part(met) ? *static_cast<const T*>(scratch) : T{};
  }

  // The first warp of the first block runs lead(warp) at once, which calls await_others() and tell() itself, and
  // returns what it told to each thread of the warp; the other threads go on when it has told. Returns that, and false
  // where the job is stopped first. Warps of the first block may then disagree, so the call goes on with agree().
  template <class Lead>
  DCGN_HOST_DEVICE bool go_with_first_warp(const Lead& lead) const {
    const bool first = is_leaders_block();
    const WarpScope warp = this_warp(context_);
    // Not after the block has synchronised: then the turn may end at any time.
    const bool looks = first && !is_in_first_warp() && warp.leader() && !broken_;
    const std::uint32_t before = looks ? load_relaxed(slot_.grid_barrier.meeting.arrived) : 0;
    context_.sync_block();
    bool met = !broken_, refused = false;
    if (is_in_first_warp()) return !broken_ && lead(warp);
    if (looks || (!first && speaks())) met = await_turn(first ? before : arrive(), refused);
    broken_ = broken_ || !met;  // so that it does not arrive again
    return first ? warp.agree(met && !refused) : context_.sync_block_all(met && !refused);
  }
  // Within these two, by the first warp, or one thread of it. `acquires`: what the others wrote before is visible then.
  // That clears a multiprocessor's cache, so who only tells the others to go on, and meets them again, leaves it to
  // them: their part in the meeting makes everything visible to each other.
  template <class Few>
  DCGN_HOST_DEVICE bool await_others(const Few& few, bool acquires) const {
#if !defined(__CUDA_ARCH__)
    acquires = true;  // the host has no such caches
#endif
    const bool met = few.agree(!few.leader() || (acquires ? await_others() : sees_others()));
    broken_ = broken_ || !met;
    return met;
  }
  // By its leader: the others go on, and learn whether all is well.
  DCGN_HOST_DEVICE void tell(bool well) const {
    if (!well) refuse();
    arrive();
  }

  // lead(warp) by the first warp of the first block at once; follow(block) by the threads of each other one when all
  // blocks have come, which says whether it has done its part. When all have come back, finish() by the leader; then
  // what lead() returned.
  template <class Lead, class Follow, class Finish>
  DCGN_HOST_DEVICE auto share(const Lead& lead, const Follow& follow, const Finish& finish) const {
    using T = decltype(lead(this_warp(context_)));
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= block_scratch_bytes, "too large to broadcast");
    void* const scratch = slot_.grid_barrier.scratch;
    if (broken_) return T{};
    context_.sync_block();
    const std::uint32_t before = speaks() ? arrive() : 0;
    bool done = true, met = true;
    if (!is_leaders_block()) {
      if (speaks()) met = await_turn(before);
      conclude(met);
      if (!broken_) done = follow(this_block(context_));
      context_.sync_block();
      if (speaks()) met = await_turn(arrive());
    } else if (rank_ < warp_size) {
      const T result = lead(this_warp(context_));
      if (leader()) {
        met = await_turn(before) && await_others();
        if (met) {
          finish();
          new (scratch) T(result);
          arrive();
        }
      }
    }
    conclude(met && done);
    return broken_ ? T{} : *static_cast<const T*>(scratch);
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

  // Whether the thread meets the other blocks for its own.
  DCGN_HOST_DEVICE bool speaks() const { return context_.thread_rank() == 0 && !broken_; }
  // Returns the word before.
  DCGN_HOST_DEVICE std::uint32_t arrive() const {
    return on_device::fetch_add_release(slot_.grid_barrier.meeting.arrived, leader() ? turn - (blocks_ - 1) : 1);
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
  DCGN_HOST_DEVICE bool await_others() const {
    if (!sees_others()) return false;
    on_device::load_acquire(slot_.grid_barrier.meeting.arrived);
    return true;
  }
  DCGN_HOST_DEVICE bool await_turn(std::uint32_t before) const {
    return await(slot_.grid_barrier.meeting.arrived, turn, ~before & turn);
  }
  // The same, and says whether a block refused.
  DCGN_HOST_DEVICE bool await_turn(std::uint32_t before, bool& refused) const {
    const message::GridBarrier& g = slot_.grid_barrier;
    if (!sees(g.meeting.arrived, turn, ~before & turn, true)) return false;
    refused = message::load_meeting(g).is_refused(before);
    return true;
  }
  DCGN_HOST_DEVICE void conclude(bool met) const { broken_ = !context_.sync_block_all(met) || broken_; }

  // Waits until these bits of the word have this value, or another one; false where the job is stopped first. Many look
  // at one word, so they acquire once, when they have seen it: an acquire clears the multiprocessor's cache. Not
  // functions to be called: ptxas would break them (scripts/check-kernels).
  DCGN_HOST_DEVICE bool await(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value,
                              bool equal = true) const {
    if (!sees(word, bits, value, equal)) return false;
    on_device::load_acquire(word);
    return true;
  }
  DCGN_HOST_DEVICE bool sees(const std::uint32_t& word, std::uint32_t bits, std::uint32_t value, bool equal) const {
    for (std::uint32_t pauses = 0; ((load_relaxed(word) & bits) == value) != equal; ++pauses) {
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
