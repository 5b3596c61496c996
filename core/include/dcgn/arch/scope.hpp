// Who takes part in a call: one thread, a warp, or a block. (Several blocks: blocks_scope.hpp.)
//
// Every thread of the scope makes the same call with the same arguments; the first one decides and all carry the
// bytes. sync(), agree(), broadcast() and lead() order memory among the threads of the scope. When a call returns, what
// was received is visible to every thread of the scope.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace dcgn::detail {

// Whether each thread of a block finds out for itself what there is to do (message/fast_path.hpp): on a GPU.
#if defined(__CUDA_ARCH__) || defined(DCGN_EMULATE_IN_BLOCK)
inline constexpr bool decides_in_block = true;
#else
inline constexpr bool decides_in_block = false;
#endif

// The largest up to this, and to the lanes of a warp.
DCGN_HOST_DEVICE inline unsigned power_of_two(unsigned count) {
  unsigned power = gpu::warp_size;
  while (power > count) power /= 2;
  return power;
}

// A scope as a call hands it on to a function that is not inlined: one within a block as a copy, so that the caller's
// own, and whatever that is a part of, stay in registers. A scope of several blocks has a state that its calls change.
template <class Scope>
using Kept = std::conditional_t<Scope::in_block, const Scope, const Scope&>;

template <class Scope>
DCGN_HOST_DEVICE Kept<Scope> kept(const Scope& scope) {
  return scope;
}

// A scope's lead() where barriers cost little.
template <class Scope, class Act>
DCGN_HOST_DEVICE auto lead(const Scope& scope, const Act& act) {
  scope.sync();
  decltype(act()) result{};
  if (scope.leader()) result = act();
  return scope.broadcast(result);
}

}  // namespace dcgn::detail

// Beside these, a scope says who of its threads look at memory that others write: on a GPU many do at once, on the
// host, where they would take turns, the leader does it for all.
namespace dcgn::gpu {

// The calling thread alone; also what a CPU rank's calls use.
class ThreadScope {
 public:
  // The calling thread among those of the scope, and whether it is the first. sync(): all come before any goes on, and
  // see what any wrote before. What other scopes have of these names does the same.
  DCGN_HOST_DEVICE unsigned rank() const { return 0; }
  DCGN_HOST_DEVICE unsigned size() const { return 1; }
  DCGN_HOST_DEVICE bool leader() const { return true; }
  DCGN_HOST_DEVICE void sync() const {}
  DCGN_HOST_DEVICE bool agree(bool yes) const { return yes; }  // whether all threads say so
  DCGN_HOST_DEVICE bool vote(bool yes) const { return yes; }   // the same, but that it orders no memory
  DCGN_HOST_DEVICE bool broken() const { return false; }       // whether sync() gave up
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    return value;
  }
  // When all threads have come, the leader alone runs act(); then all go on with what it returned. Where sync() gave up
  // that is a value like T{}.
  template <class Act>
  DCGN_HOST_DEVICE auto lead(const Act& act) const {
    return act();
  }

  static constexpr bool single = true;                  // one thread
  static constexpr bool in_warp = true;                 // its threads run together
  static constexpr bool in_block = true;                // they share a multiprocessor
  DCGN_HOST_DEVICE bool looks() const { return true; }  // is of those who share a look at many FIFOs
  DCGN_HOST_DEVICE ThreadScope lookers() const { return {}; }
  // Of those who look: how many, a power of two; which of them say so; what the one of this rank has; and what the
  // first of them found that found something (0 or more), and its words, -1 where none did.
  DCGN_HOST_DEVICE unsigned power() const { return 1; }
  DCGN_HOST_DEVICE std::uint32_t ballot(bool say_so) const { return say_so; }
  DCGN_HOST_DEVICE std::uint64_t shuffle(std::uint64_t value, unsigned) const { return value; }
  template <class... Words>
  DCGN_HOST_DEVICE int first_found(int found, Words&...) const {
    return found;
  }
  // As broadcast(), but that there is another barrier before the next of either.
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    return plan;
  }
};

// The lanes of the calling thread's warp.
class WarpScope {
 public:
  // Made by this_warp(). Lanes are all of the warp's that the block has.
  DCGN_HOST_DEVICE explicit WarpScope(const Context& context) : context_(context) {}
  DCGN_HOST_DEVICE unsigned rank() const { return context_.lane(); }
  DCGN_HOST_DEVICE unsigned size() const { return context_.warp_lanes(); }
  DCGN_HOST_DEVICE bool leader() const { return context_.lane() == 0; }
  DCGN_HOST_DEVICE void sync() const { context_.sync_whole_warp(); }
  DCGN_HOST_DEVICE bool agree(bool yes) const {
    const bool all = context_.all(yes);
    context_.sync_warp();  // a ballot alone does not order memory
    return all;
  }
  DCGN_HOST_DEVICE bool vote(bool yes) const { return context_.all(yes); }
  DCGN_HOST_DEVICE bool broken() const { return false; }
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    T result = value;
#if defined(__CUDA_ARCH__)
    constexpr unsigned words = (sizeof(T) + 7) / 8;
    std::uint64_t bits[words] = {};
    memcpy(bits, &value, sizeof(T));
    for (unsigned i = 0; i < words; ++i) bits[i] = context_.shuffle(bits[i], 0);
    memcpy(&result, bits, sizeof(T));
#else
    // On the host the lanes can read each other's stacks.
    const auto leaders = reinterpret_cast<const T*>(context_.shuffle(reinterpret_cast<std::uintptr_t>(&value), 0));
    if (!leader()) result = *leaders;
#endif
    context_.sync_warp();  // a shuffle alone does not order memory
    return result;
  }
  template <class Act>
  DCGN_HOST_DEVICE auto lead(const Act& act) const {
    return detail::lead(*this, act);
  }

  // What the library's calls ask of a scope: as ThreadScope has it.
  static constexpr bool single = false, in_warp = true, in_block = true;
  DCGN_HOST_DEVICE bool looks() const { return detail::decides_in_block || leader(); }
  DCGN_HOST_DEVICE auto lookers() const {
    if constexpr (detail::decides_in_block)
      return *this;
    else
      return ThreadScope();
  }
  DCGN_HOST_DEVICE unsigned power() const { return detail::power_of_two(size()); }
  DCGN_HOST_DEVICE std::uint32_t ballot(bool say_so) const { return context_.ballot(say_so); }
  DCGN_HOST_DEVICE std::uint64_t shuffle(std::uint64_t value, unsigned rank) const {
    return context_.shuffle(value, rank);
  }
  template <class... Words>
  DCGN_HOST_DEVICE int first_found(int found, Words&... words) const {
    const std::uint32_t lanes = ballot(found >= 0);
    if (!lanes) return -1;
#if defined(__CUDA_ARCH__)
    const auto first = static_cast<unsigned>(__ffs(static_cast<int>(lanes)) - 1);
#else
    const auto first = static_cast<unsigned>(__builtin_ctz(lanes));
#endif
    ((words = context_.shuffle(words, first)), ...);
    return context_.shuffle(found, first);
  }
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    return broadcast(plan);
  }

 private:
  const Context& context_;
};

// All threads of the calling thread's block.
class BlockScope {
 public:
  // Made by this_block(). broadcast() and lead() carry up to block_scratch_bytes.
  DCGN_HOST_DEVICE explicit BlockScope(const Context& context)
      : context_(context), rank_(context.thread_rank()), size_(context.num_threads()) {}
  DCGN_HOST_DEVICE unsigned rank() const { return rank_; }
  DCGN_HOST_DEVICE unsigned size() const { return size_; }
  DCGN_HOST_DEVICE bool leader() const { return rank_ == 0; }
  DCGN_HOST_DEVICE void sync() const { context_.sync_whole_block(); }
  DCGN_HOST_DEVICE bool agree(bool yes) const { return context_.sync_block_all(yes); }
  DCGN_HOST_DEVICE bool broken() const { return false; }
  template <class T>
  DCGN_HOST_DEVICE T broadcast(const T& value) const {
    return context_.broadcast(value);
  }
  template <class Act>
  DCGN_HOST_DEVICE auto lead(const Act& act) const {
    return detail::lead(*this, act);
  }

  // When all threads have come, the first warp runs act(warp), which returns the same to each of its threads; then all
  // go on with that. A call keeps in memory what its threads have in registers: a warp's is soon there.
  template <class Act>
  DCGN_HOST_DEVICE auto lead_warp(const Act& act) const {
    decltype(act(WarpScope(context_))) result{};
    context_.sync_block();
    if (rank_ < warp_size) result = act(WarpScope(context_));
    return context_.broadcast(result);
  }

  // What the library's calls ask of a scope: as ThreadScope has it.
  static constexpr bool single = false, in_warp = false, in_block = true;
  DCGN_HOST_DEVICE bool looks() const { return detail::decides_in_block ? context_.warp() == 0 : leader(); }
  DCGN_HOST_DEVICE auto lookers() const { return WarpScope(context_).lookers(); }
  // block_table_bytes that all threads reach.
  template <class T>
  DCGN_HOST_DEVICE T* table() const {
    static_assert(sizeof(T) <= block_table_bytes);
    return reinterpret_cast<T*>(static_cast<unsigned char*>(context_.scratch()) + block_scratch_bytes);
  }
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    return context_.publish(plan);
  }

 private:
  const Context& context_;
  unsigned rank_, size_;  // asked for often
};

// The scopes that the calling thread is in. Those of several blocks, these_blocks() and this_grid(), are in comm.hpp.
DCGN_HOST_DEVICE inline ThreadScope this_thread() { return {}; }
DCGN_HOST_DEVICE inline WarpScope this_warp(const Context& context) { return WarpScope(context); }
DCGN_HOST_DEVICE inline BlockScope this_block(const Context& context) { return BlockScope(context); }

}  // namespace dcgn::gpu
