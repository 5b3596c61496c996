// Errors of calls, and the space that messages with a datatype are packed in.
#include "message/engine/compiled.hpp"

#include "message/engine/calls.hpp"

#include <dcgn/gpu/typed_messages.hpp>

#include <cstdint>

#if DCGN_COMPILED_HERE

namespace dcgn::message {

// A bad argument: remembered for the report, and the job is stopped where errors are fatal.
DCGN_HOST_DEVICE Code fail(Endpoint& me, const Failure& failure) {
  if (failure.code == Code::aborted) return failure.code;
  me.last_failure = failure;
  if (me.first_failure.code == Code::ok) me.first_failure = failure;
  if (me.limits.errors_fatal) raise_alarm(me, Alarm::failure);
  return failure.code;
}

DCGN_HOST_DEVICE Code fail(Endpoint& me, Code code, Call call, std::int64_t value, std::int64_t expected,
                           const Envelope& envelope) {
  return fail(me, {code, call, value, expected, envelope});
}

DCGN_HOST_DEVICE Room take_room(Endpoint& me, Call call, std::uint32_t threads, std::int64_t bytes, int peer, int tag) {
  Room room;
  room.code = enter(me, call, threads);
  if (room.code == Code::ok) {
    room.memory = static_cast<std::byte*>(me.buffer.allocate(static_cast<std::uint64_t>(bytes)));
    room.taken = room.memory;
    leave(me, Code::ok);
    if (!room.taken) room.code = Code::out_of_resources;
  }
  if (room.code != Code::ok)
    fail(me, room.code, call, bytes, bytes, {peer, tag, user_context, 0, static_cast<std::uint64_t>(bytes)});
  return room;
}

// Where the job is being stopped the space goes with it.
DCGN_HOST_DEVICE Code give_room(Endpoint& me, Call call, std::uint32_t threads, std::byte* memory) {
  const Code code = enter(me, call, threads);
  if (code != Code::ok) return code;
  me.buffer.free(memory);
  leave(me, Code::ok);
  return code;
}

}  // namespace dcgn::message

#endif
