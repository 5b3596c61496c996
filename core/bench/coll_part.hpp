// A rank's part in a measurement of collectives, once for CPU ranks and for slots at any scope. All that differs is an
// End, which says who takes part and how to call:
//   unsigned rank(), size(); bool leader(); void sync();   among the threads of this end
//   int me(), ranks();                                     in the world
//   bool barrier(), broadcast(Span<std::uint64_t>);        by all ranks, from rank 0; false: give up
//   bool call(Collective, const float* in, std::int64_t in_count, float* out, std::int64_t out_count);
#pragma once

#include "bench/collective.hpp"
#include "bench/ping_kernel.hpp"

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/clock.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/span.hpp>

#include <cstdint>

namespace dcgn::bench {

struct CollPlan {
  Collective op;
  std::int64_t count;       // as count_of() has it
  std::int64_t bytes;       // the size
  std::uint64_t target_ns;  // what the timed calls should take together
  std::uint64_t warm_up;    // calls before them, twice

  // Calls in all, where one takes so long.
  DCGN_HOST_DEVICE std::uint64_t calls(std::uint64_t call_ns) const {
    const std::uint64_t patience = patience_ns(target_ns) / call_ns;
    return larger(target_ns / call_ns, larger(20, bytes <= large ? smaller(patience, least_rounds) : 0));
  }
};

// What a rank finds out. All have as many repetitions, of as many calls.
struct CollSamples {
  static constexpr std::uint64_t most_repetitions = 50;
  std::uint64_t repetitions, calls;
  std::uint64_t ns[most_repetitions];  // how long the calls took here
  std::uint64_t wrong;                 // elements
};

// A rank's. `in` and `out` are as long as the largest rank's.
struct CollBuffers {
  float *in, *out;
  CollSamples* samples;
};

// The memory of a GPU's slots, one after the other: in and out of so many floats each, and what they find out.
struct CollMemory {
  float* floats;
  std::int64_t each;
  CollSamples* samples;

  DCGN_HOST_DEVICE CollBuffers of(unsigned slot) const {
    float* const mine = floats + 2 * each * slot;
    return {mine, mine + each, samples + slot};
  }
};

// What this rank gives; and where it gets, what differs from all that it may get.
template <class End>
DCGN_HOST_DEVICE void fill(const End& end, const CollPlan& p, const CollBuffers& b) {
  const std::int64_t gives = given_count(p.op, p.count, end.ranks()), gets = got_count(p.op, p.count, end.ranks());
  for (std::int64_t i = end.rank(); i < gives; i += end.size()) b.in[i] = given(end.me(), i);
  for (std::int64_t i = end.rank(); i < gets; i += end.size()) b.out[i] = before(p.op, end.me(), i);
  end.sync();
}

template <class End>
DCGN_HOST_DEVICE void count_wrong(const End& end, const CollPlan& p, const CollBuffers& b) {
  if (end.leader()) b.samples->wrong = 0;
  end.sync();
  std::uint64_t wrong = 0;
  const std::int64_t count = gets(p.op, end.me()) ? got_count(p.op, p.count, end.ranks()) : 0;
  for (std::int64_t i = end.rank(); i < count; i += end.size())
    wrong += b.out[i] != expected(p.op, end.ranks(), end.me(), p.count, i);
  if (wrong) fetch_add(b.samples->wrong, wrong);
  end.sync();
}

// A rank's part: warms up twice, the second time with a look at rank 0's clock, which says how many calls there will
// be; then the repetitions, each of calls one after the other with nothing between them, begun together; then one more
// call, whose result is checked. Both loops call in one place only: a kernel has all of the calls' code for each.
template <class End>
DCGN_HOST_DEVICE bool take_part(const End& end, const CollPlan& p, const CollBuffers& b) {
  CollSamples& s = *b.samples;
  const std::int64_t gives = given_count(p.op, p.count, end.ranks()), gets = got_count(p.op, p.count, end.ranks());
  fill(end, p, b);
  std::uint64_t calls = p.warm_up, last = 1;
  for (std::uint64_t k = 0; k <= last; ++k) {
    const bool checked = k > 1 && k == last;
    if (checked) {
      fill(end, p, b);
      calls = 1;
    }
    if (!end.barrier()) return false;
    const std::uint64_t begin = now_ns();
    for (std::uint64_t i = 0; i < calls; ++i)
      if (!end.call(p.op, b.in, gives, b.out, gets)) return false;
    if (k == 1) {
      if (!end.barrier()) return false;  // a root may be through before the others are
      if (end.leader()) {
        const std::uint64_t all = p.calls((now_ns() - begin) / calls + 1);
        s.repetitions = smaller(all, CollSamples::most_repetitions);
        s.calls = (all + s.repetitions - 1) / s.repetitions;
      }
      end.sync();
      if (!end.broadcast({&s.repetitions, 2})) return false;
      calls = s.calls;
      last = 2 + s.repetitions;
    } else if (k > 1 && !checked && end.leader()) {
      s.ns[k - 2] = now_ns() - begin;
    }
  }
  count_wrong(end, p, b);
  return true;
}

}  // namespace dcgn::bench
