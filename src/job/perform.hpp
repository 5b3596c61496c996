// How a CPU rank's collectives are made: at once, or beside what comes next.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/comm.hpp>

namespace dcgn {

template <class Act>
Request CommCollectives::perform(When when, message::Call call, const Act& act) {
  const collective::Member member = comm().member(call);
  if (when == When::later) return comm().begin(call, [member, act] { return act(member); });
  comm().check(act(member), call);
  return {};
}

}  // namespace dcgn
