// The messages' calls, compiled for one scope: DCGN_INSTANTIATE_MESSAGES(gpu::WarpScope).
#pragma once

#include "message/engine/calls.hpp"
#include "message/engine/compiled.hpp"
#include "message/engine/device_barrier.hpp"
#include "message/engine/rounds.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/message/blocks_scope.hpp>

#include <cstdint>

#define DCGN_INSTANTIATE_MESSAGES(Scope)                                                                           \
  namespace message {                                                                                              \
  template Argument check_scope(const Scope&);                                                                     \
  template Code send_any(const Scope&, Endpoint&, Call, SendMode, ConstBufferRef, int, int, std::uint32_t);        \
  template Status recv_from(const Scope&, Endpoint&, Call, BufferRef, int, int, std::uint32_t);                    \
  template Status recv_from_any(const Scope&, Endpoint&, Call, BufferRef, int, std::uint32_t);                     \
  template Request isend(const Scope&, Endpoint&, SendMode, ConstBufferRef, int, int, std::uint32_t);              \
  template Request irecv(const Scope&, Endpoint&, BufferRef, int, int, std::uint32_t);                             \
  template Status sendrecv(const Scope&, Endpoint&, Call, SendMode, ConstBufferRef, int, int, BufferRef, int, int, \
                           std::uint32_t);                                                                         \
  template Status probe(const Scope&, Endpoint&, bool, int, int, std::uint32_t, bool&);                            \
  template Status wait_all(const Scope&, Endpoint&, Call, bool, const Request*, std::int64_t, Status*, bool&);     \
  template Status wait_any(const Scope&, Endpoint&, Call, bool, const Request*, std::int64_t, std::int64_t&);      \
  template Code flush(const Scope&, Endpoint&);                                                                    \
  template bool fast_round<false>(const Scope&, const Port&, const Round&, std::int32_t, std::uint32_t);           \
  template bool fast_round<true>(const Scope&, const Port&, const Round&, std::int32_t, std::uint32_t);            \
  template Code expect(const Scope&, Endpoint&, Call, const Status&, std::int64_t);                                \
  template Code make_up(const Scope&, const Port&, Call, const Round&, std::int32_t, std::uint32_t);               \
  }

// Of a scope within a block.
#define DCGN_INSTANTIATE_MEETING(Scope)                                                                \
  namespace message {                                                                                  \
  template Code attend(const Scope&, Endpoint&, Call, const Attendance&, std::int32_t, std::uint32_t); \
  template Code attend(const Scope&, Endpoint&, const WorldMeeting&, std::int32_t, std::uint32_t);     \
  }
