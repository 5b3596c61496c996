// How a CPU rank's collectives are made: at once, or beside what comes next.
#pragma once

#include "job/recorded.hpp"

#include <dcgn/collective/channel.hpp>
#include <dcgn/comm.hpp>

namespace dcgn {

template <class Act>
Request CommCollectives::perform(When when, message::Call call, int root, std::int64_t part, const Act& act) {
  const collective::Member member = comm().member(call);
  const job::Recorded recorded(*member.port.me, comm().group_, call, root, any_tag, part);
  if (when == When::later) {
    const Request request = comm().begin(call, [member, act] { return act(member); });
    recorded.names(request);
    return request;
  }
  comm().check(act(member), call);
  return {};
}

}  // namespace dcgn
