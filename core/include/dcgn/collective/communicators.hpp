// Making communicators and giving them back.
#pragma once

#include <dcgn/collective/channel.hpp>

namespace dcgn::collective {

template <class Scope>
DCGN_HOST_DEVICE Group split(const Scope& scope, const Member& m, int color, int key);

// The same ranks with contexts of their own.
template <class Scope>
DCGN_HOST_DEVICE Group dup(const Scope& scope, const Member& m);

// The first `places` ranks, in order.
template <class Scope>
DCGN_HOST_DEVICE Group cart(const Scope& scope, const Member& m, int places);

// Gives back what this rank has for a communicator, which none of its ranks uses any more. The world's stays.
template <class Scope>
DCGN_HOST_DEVICE void release(const Scope& scope, const Member& m);

}  // namespace dcgn::collective
