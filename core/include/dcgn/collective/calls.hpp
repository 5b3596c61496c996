// The collective calls that only move, one source for CPU threads and for kernels: each checks its arguments and runs
// an algorithm. Each is made by all threads of a scope with the same arguments; `count`s and Parts are in elements of
// `element` bytes. Compiled once for each scope, in the library; those that compute are in reductions.hpp.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/channel.hpp>

#include <cstdint>

namespace dcgn::collective {

template <class Scope>
DCGN_HOST_DEVICE Code barrier(const Scope& scope, const Member& m);

template <class Scope>
DCGN_HOST_DEVICE Code broadcast(const Scope& scope, const Member& m, void* data, std::int64_t bytes, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code gather(const Scope& scope, const Member& m, Input in, Output out,
                                               std::int64_t element, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code gatherv(const Scope& scope, const Member& m, Input in, Output out, Parts parts,
                                                std::int64_t element, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code scatter(const Scope& scope, const Member& m, Input in, Output out,
                                                std::int64_t element, int root);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code scatterv(const Scope& scope, const Member& m, Input in, Parts parts, Output out,
                                                 std::int64_t element, int root);

template <class Scope>
DCGN_HOST_DEVICE Code all_gather(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_gatherv(const Scope& scope, const Member& m, Input in, Output out,
                                                    Parts parts, std::int64_t element);

template <class Scope>
DCGN_HOST_DEVICE Code all_to_all(const Scope& scope, const Member& m, Input in, Output out, std::int64_t element);

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code all_to_allv(const Scope& scope, const Member& m, Input in, Parts send,
                                                    Output out, Parts receive, std::int64_t element);

}  // namespace dcgn::collective
