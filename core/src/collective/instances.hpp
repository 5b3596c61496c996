// The collectives' calls, compiled for one scope: DCGN_INSTANTIATE_COLLECTIVES(gpu::WarpScope). They call the messages,
// which are compiled in message/engine/instances/, so that these units have no second copy of the engine.
#pragma once

#include "collective/calls.hpp"
#include "collective/channel.hpp"
#include "collective/communicators.hpp"
#include "collective/messages.hpp"
#include "message/engine/compiled.hpp"

#include <dcgn/arch/scope.hpp>
#include <dcgn/message/blocks_scope.hpp>

#include <cstdint>

#define DCGN_INSTANTIATE_COLLECTIVES(Scope)                                                                         \
  namespace collective {                                                                                            \
  template Code Channel<Scope>::send(const void*, std::int64_t, int) const;                                         \
  template Code Channel<Scope>::recv(void*, std::int64_t, int) const;                                               \
  template Code Channel<Scope>::exchange(const void*, std::int64_t, int, void*, std::int64_t, int) const;           \
  template void Channel<Scope>::copy(void*, const void*, std::int64_t) const;                                       \
  template Code Channel<Scope>::rounds(const message::Round&) const;                                                \
  template Code Channel<Scope>::full_round(const message::Round&) const;                                            \
  template Code Channel<Scope>::one_round<true>(const message::Round&) const;                                       \
  template Code Channel<Scope>::one_round<false>(const message::Round&) const;                                      \
  template Code Channel<Scope>::exchange_words<1>(const std::uint64_t (&)[1], std::uint64_t*, std::int64_t) const;  \
  template Code Channel<Scope>::exchange_words<4>(const std::uint64_t (&)[4], std::uint64_t*, std::int64_t) const;  \
  template Code send(const Scope&, const Member&, Call, message::SendMode, message::ConstBufferRef, int, int);      \
  template Status recv(const Scope&, const Member&, message::BufferRef, int, int);                                  \
  template Request isend(const Scope&, const Member&, message::ConstBufferRef, int, int);                           \
  template Request irecv(const Scope&, const Member&, message::BufferRef, int, int);                                \
  template Status probe(const Scope&, const Member&, bool, int, int, bool&);                                        \
  template Status sendrecv(const Scope&, const Member&, Call, message::SendMode, message::ConstBufferRef, int, int, \
                           message::BufferRef, int, int);                                                           \
  template Code move_by_messages<Scope>(dcgn::detail::Kept<Scope>, const Member, const Moved, std::uint32_t);       \
  template Code barrier_by_steps<Scope>(dcgn::detail::Kept<Scope>, const Member, bool);                             \
  template Code broadcast(const Scope&, const Member&, void*, std::int64_t, int);                                   \
  template Code gather(const Scope&, const Member&, Input, Output, std::int64_t, int);                              \
  template Code gatherv(const Scope&, const Member&, Input, Output, Parts, std::int64_t, int);                      \
  template Code scatter(const Scope&, const Member&, Input, Output, std::int64_t, int);                             \
  template Code scatterv(const Scope&, const Member&, Input, Parts, Output, std::int64_t, int);                     \
  template Code all_gather(const Scope&, const Member&, Input, Output, std::int64_t);                               \
  template Code all_gatherv(const Scope&, const Member&, Input, Output, Parts, std::int64_t);                       \
  template Code all_to_all(const Scope&, const Member&, Input, Output, std::int64_t);                               \
  template Code all_to_allv(const Scope&, const Member&, Input, Parts, Output, Parts, std::int64_t);                \
  template Group split(const Scope&, const Member&, int, int);                                                      \
  template Group dup(const Scope&, const Member&);                                                                  \
  template Group cart(const Scope&, const Member&, int);                                                            \
  template void release(const Scope&, const Member&);                                                               \
  }
