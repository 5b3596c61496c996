// Who takes part in a call: one thread, a warp, or a block. (Several blocks: blocks_scope.hpp.)
//
// Every thread of the scope makes the same call with the same arguments; the first one decides and all carry the
// bytes. sync(), agree(), broadcast() and lead() order memory among the threads of the scope. When a call returns, what
// was received is visible to every thread of the scope.
#pragma once

#include <dcgn/gpu/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstdint>
#include <cstring>

namespace dcgn::detail {

#if defined(__CUDA_ARCH__)
inline constexpr bool on_gpu = true;
#else
inline constexpr bool on_gpu = false;
#endif

// The number of the first lane that has one.
DCGN_HOST_DEVICE inline int first_of_warp([[maybe_unused]] const gpu::Context& context, int found) {
#if defined(__CUDA_ARCH__)
  const std::uint32_t lanes = context.ballot(found >= 0);
  return lanes ? context.shuffle(found, static_cast<unsigned>(__ffs(static_cast<int>(lanes)) - 1)) : -1;
#else
  return found;
#endif
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
  DCGN_HOST_DEVICE unsigned rank() const { return 0; }
  DCGN_HOST_DEVICE unsigned size() const { return 1; }
  DCGN_HOST_DEVICE bool leader() const { return true; }
  DCGN_HOST_DEVICE void sync() const {}
  DCGN_HOST_DEVICE bool agree(bool yes) const { return yes; }  // whether all threads say so
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

  static constexpr bool in_warp = true;                    // its threads run together
  DCGN_HOST_DEVICE bool plans() const { return true; }     // is of those who decide for all
  DCGN_HOST_DEVICE bool looks() const { return true; }     // is of those who share a look at many lanes
  DCGN_HOST_DEVICE unsigned lookers() const { return 1; }  // how many those are: the first ones
  // What the first looker found that found something (0 or more); -1 where none did.
  DCGN_HOST_DEVICE int first_found(int found) const { return found; }
  // The leader's, to those who plan.
  template <class T>
  DCGN_HOST_DEVICE T share_plan(const T& plan) const {
    return plan;
  }
  // From those who plan to all, with a barrier. There is another one before the next.
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    return plan;
  }
};

// The lanes of the calling thread's warp.
class WarpScope {
 public:
  DCGN_HOST_DEVICE explicit WarpScope(const Context& context) : context_(context) {}
  DCGN_HOST_DEVICE unsigned rank() const { return context_.lane(); }
  DCGN_HOST_DEVICE unsigned size() const { return context_.warp_lanes(); }
  DCGN_HOST_DEVICE bool leader() const { return context_.lane() == 0; }
  DCGN_HOST_DEVICE void sync() const { context_.sync_warp(); }
  DCGN_HOST_DEVICE bool agree(bool yes) const {
    const bool all = context_.all(yes);
    context_.sync_warp();  // a ballot alone does not order memory
    return all;
  }
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

  static constexpr bool in_warp = true;
  DCGN_HOST_DEVICE bool plans() const { return detail::on_gpu || leader(); }
  DCGN_HOST_DEVICE bool looks() const { return plans(); }
  DCGN_HOST_DEVICE unsigned lookers() const { return detail::on_gpu ? size() : 1; }
  DCGN_HOST_DEVICE int first_found(int found) const { return detail::first_of_warp(context_, found); }
  template <class T>
  DCGN_HOST_DEVICE T share_plan(const T& plan) const {
    return detail::on_gpu ? context_.shuffle(plan, 0) : plan;
  }
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    if (!detail::on_gpu) return broadcast(plan);
    sync();
    return plan;
  }

 private:
  const Context& context_;
};

// All threads of the calling thread's block.
class BlockScope {
 public:
  DCGN_HOST_DEVICE explicit BlockScope(const Context& context) : context_(context) {}
  DCGN_HOST_DEVICE unsigned rank() const { return context_.thread_rank(); }
  DCGN_HOST_DEVICE unsigned size() const { return context_.num_threads(); }
  DCGN_HOST_DEVICE bool leader() const { return context_.thread_rank() == 0; }
  DCGN_HOST_DEVICE void sync() const { context_.sync_block(); }
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

  static constexpr bool in_warp = false;
  // Its warps would take turns to plan, so the leader does it for all.
  DCGN_HOST_DEVICE bool plans() const { return leader(); }
  DCGN_HOST_DEVICE bool looks() const { return detail::on_gpu ? context_.warp() == 0 : leader(); }
  DCGN_HOST_DEVICE unsigned lookers() const { return !detail::on_gpu ? 1 : size() < warp_size ? size() : warp_size; }
  DCGN_HOST_DEVICE int first_found(int found) const { return detail::first_of_warp(context_, found); }
  template <class T>
  DCGN_HOST_DEVICE T share_plan(const T& plan) const {
    return plan;
  }
  template <class T>
  DCGN_HOST_DEVICE T publish(const T& plan) const {
    return context_.publish(plan);
  }

 private:
  const Context& context_;
};

DCGN_HOST_DEVICE inline ThreadScope this_thread() { return {}; }
DCGN_HOST_DEVICE inline WarpScope this_warp(const Context& context) { return WarpScope(context); }
DCGN_HOST_DEVICE inline BlockScope this_block(const Context& context) { return BlockScope(context); }

}  // namespace dcgn::gpu
