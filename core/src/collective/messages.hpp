// Messages between the ranks of a communicator: how they are carried out.
#pragma once

#include <dcgn/collective/messages.hpp>

#include <cstdint>

namespace dcgn::collective {

// Whether a message can go to or come from there; ok or what is wrong with it, which has been reported then.
template <class Scope>
DCGN_HOST_DEVICE Code check_peer(const Scope& scope, const Member& m, Call call, int peer, bool wild) {
  if (m.group.has(peer) || (wild && peer == any_source && m.group.size > 0)) return Code::ok;
  const bool member = m.group.size > 0;
  const Code code = member ? Code::invalid_rank : Code::not_attached;
  scope.lead([&] {
    return message::fail(*m.port.me,
                         {code, call, peer, m.group.size - 1, {.peer = peer}, member ? Flaw::none : Flaw::not_member});
  });
  return code;
}

DCGN_HOST_DEVICE inline int peer_in_world(const Group& g, int peer) {
  return peer == any_source ? any_source : g.in_world(peer);
}

template <class Scope>
DCGN_HOST_DEVICE Code send(const Scope& scope, const Member& m, Call call, message::SendMode mode,
                           message::ConstBufferRef buffer, int to, int tag) {
  const Code code = check_peer(scope, m, call, to, false);
  if (code != Code::ok) return code;
  return message::send(scope, m.port, call, mode, buffer, m.group.in_world(to), tag, m.group.user_context());
}

template <class Scope>
DCGN_HOST_DEVICE Status recv(const Scope& scope, const Member& m, message::BufferRef buffer, int from, int tag) {
  const Code code = check_peer(scope, m, Call::recv, from, true);
  if (code != Code::ok) return failed(code);
  return status_in(m.group, message::recv(scope, m.port, Call::recv, buffer, peer_in_world(m.group, from), tag,
                                          m.group.user_context()));
}

template <class Scope>
DCGN_HOST_DEVICE Request isend(const Scope& scope, const Member& m, message::ConstBufferRef buffer, int to, int tag) {
  const Code code = check_peer(scope, m, Call::isend, to, false);
  if (code != Code::ok) return Request(code);
  return message::isend(scope, *m.port.me, message::SendMode::standard, buffer, m.group.in_world(to), tag,
                        m.group.user_context());
}

template <class Scope>
DCGN_HOST_DEVICE Request irecv(const Scope& scope, const Member& m, message::BufferRef buffer, int from, int tag) {
  const Code code = check_peer(scope, m, Call::irecv, from, true);
  if (code != Code::ok) return Request(code);
  return message::irecv(scope, *m.port.me, buffer, peer_in_world(m.group, from), tag, m.group.user_context());
}

template <class Scope>
DCGN_HOST_DEVICE Status probe(const Scope& scope, const Member& m, bool once, int from, int tag, bool& found) {
  found = false;
  const Code code = check_peer(scope, m, once ? Call::iprobe : Call::probe, from, true);
  if (code != Code::ok) return failed(code);
  return status_in(m.group, message::probe(scope, *m.port.me, once, peer_in_world(m.group, from), tag,
                                           m.group.user_context(), found));
}

template <class Scope>
DCGN_HOST_DEVICE Status sendrecv(const Scope& scope, const Member& m, Call call, message::SendMode mode,
                                 message::ConstBufferRef out, int to, int send_tag, message::BufferRef in, int from,
                                 int recv_tag) {
  Code code = check_peer(scope, m, call, to, false);
  if (code == Code::ok) code = check_peer(scope, m, call, from, true);
  if (code != Code::ok) return failed(code);
  return status_in(m.group, message::sendrecv(scope, *m.port.me, call, mode, out, m.group.in_world(to), send_tag, in,
                                              peer_in_world(m.group, from), recv_tag, m.group.user_context()));
}

}  // namespace dcgn::collective
