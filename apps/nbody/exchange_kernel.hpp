// How the new positions get from those who computed them to all others: the one place where that is decided, for slots
// and for CPU ranks.
//
//   broadcast   the paper's way: one broadcast from each rank, one after the other
//   all_gather  one collective, what a user of MPI would write
//   direct      each part once to each memory that lacks it, all at the same time
//
// The first two give each rank a copy of all bodies. With `direct` the slots of a GPU share one: of another memory's
// ranks each hears every so-manyth, and who waits for all bodies waits for the blocks of its own GPU besides. A part
// crosses each link once, and nobody passes on what it got: so it takes the time of one message and not of as many as
// there are ranks, as around a ring, or of their logarithm, as down a tree.
#pragma once

#include "apps/nbody/body.hpp"
#include "apps/nbody/parts.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dcgn::nbody {

// lines: begin
DCGN_HOST_DEVICE inline Span<Body> part_of(Parts parts, int rank, Body* bodies) {
  return {bodies + parts.displacements[rank], static_cast<std::size_t>(parts.counts[rank])};
}

// lines: end

// Slots. The threads of `scope` have written their slot's part of `bodies`.
template <class Scope>
DCGN_HOST_DEVICE Code broadcast_all(const gpu::Slot& me, const Scope& scope, Parts parts, Body* bodies) {
  for (int r = 0; r < me.size(); ++r) {
    const Code code = parts.counts[r] ? me.broadcast(scope, part_of(parts, r, bodies), r) : Code::ok;
    if (code != Code::ok) return code;
  }
  return Code::ok;
}

// lines: begin all-gather
template <class Scope>
DCGN_HOST_DEVICE Code gather_all(const gpu::Slot& me, const Scope& scope, Parts parts, Body* bodies, int count) {
  const Span<const Body> mine = part_of(parts, me.rank(), bodies);
  const Span<Body> all(bodies, static_cast<std::size_t>(count));
  if (parts.alike) return me.all_gather(scope, mine, all);
  const auto ranks = static_cast<std::size_t>(me.size());
  return me.all_gatherv(scope, mine, all, Span(parts.counts, ranks), Span(parts.displacements, ranks));
}

// lines: end

// lines: begin direct
template <class Scope>
DCGN_HOST_DEVICE Code send_to_places(const gpu::Slot& me, const Scope& scope, Parts parts, const Places& places,
                                     Body* bodies) {
  const Route route(places, me.rank());
  const Span<const Body> mine = part_of(parts, me.rank(), bodies);
  Code code = Code::ok;
  bool eager = true;
  for (int d = 1; d < route.rounds && eager && !mine.empty(); ++d)
    eager = static_cast<std::int64_t>(mine.size_bytes()) <= me.eager_limit(scope, route.destination(d));
  if (eager) {
    for (int d = 1; d < route.rounds && code == Code::ok && !mine.empty(); ++d)
      code = me.send(scope, mine, route.destination(d));
    for (int d = 1; d < route.rounds && code == Code::ok; ++d)
      for (Route::Sources s = route.sources(d); s.next < s.end && code == Code::ok; s.next += s.step)
        if (parts.counts[s.next]) code = me.recv(scope, part_of(parts, s.next, bodies), s.next).code;
    return code;
  }
  // Longer ones wait for their receiver, so receives are begun first. A slot hears one rank of each place at most.
  constexpr int window = 16;
  for (int begin = 1; begin < route.rounds && code == Code::ok; begin += window) {
    const int end = begin + window < route.rounds ? begin + window : route.rounds;
    Request requests[window];
    std::size_t begun = 0;
    for (int d = begin; d < end; ++d)
      for (Route::Sources s = route.sources(d); s.next < s.end; s.next += s.step)
        if (parts.counts[s.next]) requests[begun++] = me.irecv(scope, part_of(parts, s.next, bodies), s.next);
    for (int d = begin; d < end && code == Code::ok && !mine.empty(); ++d)
      code = me.send(scope, mine, route.destination(d));
    if (code == Code::ok) code = me.wait_all(scope, Span<const Request>(requests, begun));
  }
  return code;
}

// lines: end

// A CPU rank.
inline void exchange_all(Comm& comm, Exchange how, Parts parts, const Places& places, Body* bodies, int count) {
  const int me = comm.rank();
  const auto ranks = static_cast<std::size_t>(comm.size());
  const Span<const Body> mine = part_of(parts, me, bodies);
  const Span<Body> all(bodies, static_cast<std::size_t>(count));
  switch (how) {
    case Exchange::broadcast:
      for (int r = 0; r < comm.size(); ++r)
        if (parts.counts[r]) comm.broadcast(part_of(parts, r, bodies), r);
      return;
    case Exchange::all_gather:
      if (parts.alike)
        comm.all_gather(mine, all);
      else
        comm.all_gatherv(mine, all, Span(parts.counts, ranks), Span(parts.displacements, ranks));
      return;
    case Exchange::direct: break;
  }
  const Route route(places, me);
  std::vector<Request> requests;
  for (int d = 1; d < route.rounds; ++d)
    for (Route::Sources s = route.sources(d); s.next < s.end; s.next += s.step)
      if (parts.counts[s.next]) requests.push_back(comm.irecv(part_of(parts, s.next, bodies), s.next));
  for (int d = 1; d < route.rounds && !mine.empty(); ++d) comm.send(mine, route.destination(d));
  comm.wait_all(requests);
}

}  // namespace dcgn::nbody
