// What the tests of collectives have in common: buffers whose contents each rank can tell by itself, and the jobs that
// a script is run in.
#pragma once

#include "core/tests/message/script_kernels.hpp"

#include <dcgn/arch/atomic.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dcgn::test {

// A script's buffers: filled and looked at by all threads of the call. Values 0 and 1 count calls that failed and
// elements that are wrong, value 2 calls.
template <class Port>
class Buffers {
 public:
  DCGN_HOST_DEVICE Buffers(const Port& me, const Memory& m) : me_(me), m_(m) {}

  // at[i] = of(i).
  DCGN_TEST_ON_PORT
  template <class T, class Of>
  DCGN_HOST_DEVICE void fill(T* at, std::int64_t count, const Of& of) const {
    for (std::int64_t i = me_.thread(); i < count; i += me_.threads()) at[i] = of(i);
    me_.sync();
  }
  DCGN_TEST_ON_PORT
  template <class T, class Of>
  DCGN_HOST_DEVICE void check(const T* at, std::int64_t count, const Of& of) const {
    std::uint32_t wrong = 0;
    for (std::int64_t i = me_.thread(); i < count; i += me_.threads()) wrong += !(at[i] == of(i));
    if (wrong) fetch_add(*reinterpret_cast<std::uint32_t*>(&m_.values[1]), wrong);
    me_.sync();
  }
  // One call, made by a CPU rank as f(comm) and by a slot as f(slot, scope).
  DCGN_TEST_ON_PORT
  template <class Call>
  DCGN_HOST_DEVICE void call(const Call& f) const {
    const Code code = me_.call(f);
    m_.add(me_, 0, code != Code::ok);
    m_.add(me_, 2, 1);
    me_.sync();
  }
  // Numbers that all threads of the call can read: lists 0 to 3, of up to 16 each.
  DCGN_TEST_ON_PORT
  template <class Of>
  DCGN_HOST_DEVICE Span<const std::int64_t> list(int index, int count, const Of& of) const {
    std::int64_t* const at = m_.values + 100 + 16 * index;
    if (me_.leader())
      for (int i = 0; i < count; ++i) at[i] = of(i);
    me_.sync();
    return {at, static_cast<std::size_t>(count)};
  }

 private:
  const Port& me_;
  const Memory& m_;
};

template <class T>
DCGN_HOST_DEVICE Span<T> span_of(T* at, std::int64_t count) {
  return {at, static_cast<std::size_t>(count)};
}
template <class T>
DCGN_HOST_DEVICE Span<const T> const_span_of(const T* at, std::int64_t count) {
  return {at, static_cast<std::size_t>(count)};
}

inline Conditions cpu_ranks(int count) {
  Conditions c;
  c.config.nodes = {{.cpus = count}};
  c.config.deadline_s = 20 * fewer;
  c.name = std::to_string(count) + " CPU ranks";
  return c;
}

inline Conditions slots(int gpus, int each, ScopeKind scope) {
  Conditions c;
  c.config.nodes = {{.gpus = std::min(gpus, Device::count()), .slots = each}};
  c.config.deadline_s = 20 * fewer;
  c.scope = scope;
  c.block = scope == ScopeKind::warp ? 33 : 40;
  if (scope == ScopeKind::blocks) c.blocks = 2;
  c.name = std::to_string(each) + " slots on each of " + std::to_string(gpus) + " GPUs, " + to_string(scope) + " scope";
  return c;
}

// CPU ranks and slots on two GPUs.
inline Conditions mixed(int cpus, int each, ScopeKind scope) {
  Conditions c = slots(2, each, scope);
  c.config.nodes.front().cpus = cpus;
  c.name = std::to_string(cpus) + " CPU ranks, " + c.name;
  return c;
}

inline constexpr ScopeKind all_scopes[] = {ScopeKind::thread, ScopeKind::warp, ScopeKind::block, ScopeKind::blocks};

// Runs the script and expects that all of its calls succeeded and all of its elements were right.
template <class Script>
void expect_right(Conditions c, std::int64_t bytes, const Script& script, std::int64_t least_calls = 1) {
  SCOPED_TRACE(c.name + (c.config.seed ? ", seed " + std::to_string(*c.config.seed) : "") + ", scratch of " +
               std::to_string(c.config.collective_bytes));
  c.bytes = bytes;
  if (processes() > 1 && spread(c.config.nodes).empty()) return;  // fewer ranks than processes
  const Outcome o = run_script(c, script);
  ASSERT_EQ(o.error, "");
  for (int role = 0; role < static_cast<int>(o.roles.size()); ++role) {
    EXPECT_EQ(value_at(o, role, 0), 0) << "failed calls of rank " << role;
    EXPECT_EQ(value_at(o, role, 1), 0) << "wrong elements at rank " << role;
    EXPECT_GE(value_at(o, role, 2), least_calls) << "calls of rank " << role;
  }
}

}  // namespace dcgn::test
