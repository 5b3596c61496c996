// How a CPU rank's collectives are made: at once, or beside what comes next.
#pragma once

#include "job/recorded.hpp"

#include <dcgn/collective/channel.hpp>
#include <dcgn/comm.hpp>

namespace dcgn {

template <class Act>
Request CommCollectives::perform(When when, const collective::Beginning& what, const Act& act) {
  const collective::Member member = comm().member(what.call);
  const job::Recorded recorded(*member.port.me, comm().group_, what);
  if (when == When::later) {
    const Request request = comm().begin(what.call, [member, act] { return act(member); });
    recorded.made(request);
    return request;
  }
  comm().check(act(member), what.call);
  return {};
}

}  // namespace dcgn
