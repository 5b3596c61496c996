// How the calls of dcgn/message/calls.hpp are carried out, for each scope; instances/ compiles them.
#pragma once

#include "message/engine/fast_path.hpp"
#include "message/engine/fast_request.hpp"
#include "message/engine/operations.hpp"
#include "message/engine/packets.hpp"
#include "message/engine/plan.hpp"
#include "message/engine/progress.hpp"
#include "message/engine/transfer.hpp"
#include "message/engine/wait.hpp"

#include <dcgn/message/calls.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/inbox.hpp>
#include <dcgn/status.hpp>

#include <cstdint>

namespace dcgn::message {

// Whether the grid has the blocks of a scope: where it has not, the scope is broken from the beginning.
template <class Scope>
DCGN_HOST_DEVICE Argument check_scope([[maybe_unused]] const Scope& scope) {
  if constexpr (plans_ahead<Scope>)
    if (scope.broken() && scope.blocks() - 1 >= scope.most_blocks())
      return {Code::invalid_size, scope.blocks(), scope.most_blocks()};
  return {};
}

// Checks what any message needs. `wild`: the source and the tag may be any.
DCGN_HOST_DEVICE inline Argument check(const Endpoint& me, const void* buffer, std::int64_t bytes, int peer, int tag,
                                       bool wild) {
  if ((peer < 0 && !(wild && peer == any_source)) || peer >= me.size) return {Code::invalid_rank, peer, me.size - 1};
  if (tag < 0 && !(wild && tag == any_tag)) return {Code::invalid_tag, tag, max_tag};
  if (bytes < 0) return {Code::invalid_size, bytes, 0};
  if (!buffer && bytes > 0) return {Code::null_buffer, bytes, 0};
#if !defined(__CUDA_ARCH__)
  // A GPU finds out when it has to wait, or the job does at its end: the word is not cheap for it to read.
  if (!wild && is_near(me, peer) && load_acquire(me.ended[peer - me.first])) return {Code::rank_ended, peer, 0};
#endif
  return {};
}

// Nothing will be sent or received any more.
DCGN_HOST_DEVICE inline void stop(Endpoint& me) {
  me.stopped = 1;
  withdraw(me);
}

DCGN_HOST_DEVICE inline Code enter(Endpoint& me, Call call, std::uint32_t threads) {
  if (!take_flag(me.busy)) return Code::concurrent_use;
#if !defined(__CUDA_ARCH__)
  if (!me.stopped && aborted(me)) stop(me);  // on a GPU the word is looked at when a call has to wait
#endif
  if (me.stopped) {
    give_flag(me.busy);
    return Code::aborted;
  }
  me.call = call;
  me.threads = threads;
  return Code::ok;
}

DCGN_HOST_DEVICE inline void leave(Endpoint& me, Code code) {
  if ((code == Code::aborted || code == Code::deadline || code == Code::rank_ended) && !me.stopped) stop(me);
  me.call = Call::none;
  give_flag(me.busy);
}

// The leader goes on until there are bytes to move: false, or until the call has its result: true. With `once` it
// has one as soon as nothing more can be done at once.
template <class Operation>
[[gnu::noinline]] DCGN_HOST_DEVICE bool pursue(Endpoint& me, bool once, Operation& operation, Transfer& transfer,
                                               Result& result) {
  if (transfer.action != Action::nothing) return false;
  if (operation.done(result, transfer)) return true;
  const auto describe = [&] { return operation.waited(); };
  Waiter waiter(me);
  while (transfer.action == Action::nothing) {
    if (step(me, operation.source(), waiter.is_thorough(), transfer)) {
      waiter.progressed();
    } else {
      result.status.code = once ? waiter.poll(describe) : waiter.pause(describe);
#if !defined(__CUDA_ARCH__)
      if (once && me.background && result.status.code == Code::ok)
        operation.done(result, transfer);  // they may have done it
#endif
      if (once || result.status.code != Code::ok) return true;
    }
    if (transfer.action == Action::nothing && operation.done(result, transfer)) return true;
  }
  return false;
}

// While the other blocks copy a message, the leader of several finds out what comes after it, if there is anything yet.
DCGN_HOST_DEVICE void look_ahead(Endpoint& me, std::int32_t source, const Transfer& now, Transfer& next);

// What the leader tells the others: bytes to move, or where that is nothing, the call's result.
struct Orders {
  Move move;
  Result result;
  bool in_row = false;  // the next ones come in a row: see BlocksScope::follow()
  std::uint32_t number = 0;
};

// Whether the blocks other than the leader's move this, in a row with what comes after it.
template <class Scope>
DCGN_HOST_DEVICE bool is_in_row(const Scope& scope, const Transfer& transfer) {
  return Executors::spare_leader(scope) && transfer.action == Action::copy &&
         (transfer.after == After::pulled || transfer.after == After::placed);
}

// The leader, while the others copy `transfer`, which was ordered under this number: finds out what comes after it,
// orders it where it is a copy, too, and sees to those that are done. When none is under way any more `transfer` is
// what comes then, if it is known. False where the job is aborted.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE bool oversee(const Scope& scope, Endpoint& me, std::int32_t source,
                                                std::uint32_t number, Transfer& transfer) {
  Transfer under_way[2], next;
  under_way[number % 2] = transfer;
  std::uint32_t oldest = number, pauses = 0;
  for (;;) {
    if (static_cast<std::int32_t>(number - oldest) < 1 && is_in_row(scope, next)) {
      Orders orders{next, {}, true};
      scope.issue(orders);
      under_way[++number % 2] = next;
      next = {};
    } else if (scope.is_done(oldest)) {
      Transfer none;
      finish(me, under_way[oldest % 2], none);
      if (oldest++ == number && !is_in_row(scope, next)) break;
    } else if (next.action != Action::nothing || !step(me, source, false, next)) {
      relax();
      if (++pauses % look_every == 0 && aborted(me)) return false;
    }
  }
  transfer = next;
  return true;
}

// Runs a call. The leader begins it with `operation.begin(transfer)` and goes on until `operation.done(result,
// transfer)`, which may find bytes to move itself; all threads move them. Returns the result to every thread.
template <class Scope, class Operation>
[[gnu::noinline]] DCGN_HOST_DEVICE Result operate(const Scope& scope, Endpoint& me, Call call, bool once,
                                                  Operation& operation) {
  Transfer transfer;
  Result result;
  bool entered = false;
  const auto proceed = [&](bool again) {
    if (result.status.code != Code::ok || pursue(me, once, operation, transfer, result)) {
      transfer.action = Action::nothing;
      if (entered) leave(me, result.status.code);
      entered = false;
    }
    Orders orders{transfer, result};
    if constexpr (plans_ahead<Scope>) {
      orders.in_row = is_in_row(scope, transfer);
      if (orders.in_row && !again) scope.enter(orders);
    }
    return orders;
  };
  Orders orders = scope.lead([&] {
    result.status.code = enter(me, call, scope.size());
    entered = result.status.code == Code::ok;
    if (entered) result.status.code = operation.begin(transfer);
    return proceed(false);
  });
  while (orders.move.action != Action::nothing) {
    if constexpr (plans_ahead<Scope>)
      if (orders.in_row) {
        if (!scope.is_leaders_block()) {
          execute(scope, me, orders.move, transfer);
          orders = scope.follow(orders);
          continue;
        }
        while (scope.leader() && orders.in_row) {
          if (!oversee(scope, me, operation.source(), orders.number, transfer)) result.status.code = Code::aborted;
          const bool stopped = result.status.code == Code::aborted;
          orders = proceed(true);
          if (!stopped) scope.issue(orders);
        }
        orders = scope.tell_block(orders);
        continue;
      }
    Transfer next;
    if constexpr (plans_ahead<Scope>)
      if (scope.leader()) look_ahead(me, operation.source(), transfer, next);
    const bool may_fail = execute(scope, me, orders.move, transfer);
    orders = scope.lead([&] {
      if (may_fail && aborted(me)) {
        result.status.code = Code::aborted;
      } else {
        finish(me, transfer, next);
        transfer = next;
      }
      return proceed(false);
    });
  }
  if (scope.broken()) {  // the job is being stopped
    orders.result.status.code = Code::aborted;
    if (scope.leader() && entered) leave(me, Code::aborted);
  }
  return orders.result;
}

// `made`: one that could not be made is an error at once. Where all are waited for, it is one in its turn.
DCGN_HOST_DEVICE inline Argument check_requests(const Endpoint& me, const Request* requests, std::int64_t count,
                                                bool made) {
  if (count < 0) return {Code::invalid_size, count, 0};
  if (!requests && count) return {Code::null_buffer, count, 0};
  for (std::int64_t i = 0; i < count; ++i) {
    if (!requests[i].is_null() && requests[i].rank() != me.rank)
      return {Code::invalid_request, requests[i].rank(), me.rank};
    if (made && requests[i].code() != Code::ok) return {requests[i].code(), i, 0};
  }
  return {};
}

// Runs an operation whose arguments have been checked, and remembers what goes wrong.
template <class Scope, class Operation>
DCGN_HOST_DEVICE Result run(const Scope& scope, Endpoint& me, Call call, Operation& operation, Argument argument,
                            bool once = false) {
  Result result;
#if !defined(__CUDA_ARCH__)
  scope.sync();                          // whatever was published before has been read
  argument = scope.broadcast(argument);  // whether a rank has ended may look different from one thread to the next
  if (argument.code == Code::rank_ended && scope.agree(aborted(me))) {  // as all do: no more is to be said
    if (scope.leader() && !me.stopped) stop(me);
    argument.code = Code::aborted;
  }
#endif
  if (scope.broken()) argument = check_scope(scope);
  if (argument.code == Code::ok) {
    result = operate(scope, me, call, once, operation);
    const Code code = result.status.code;
    if (code != Code::ok && scope.leader()) {
      Waited w = code == Code::invalid_request ? Waited{} : operation.waited();
      if (code == Code::truncated) {  // the receive is over: its result says more
        w.envelope = {result.status.source, result.status.tag, 0, 0, static_cast<std::uint64_t>(result.status.bytes)};
        w.capacity = result.capacity;
      }
      fail(me, code, call, static_cast<std::int64_t>(w.envelope.bytes), static_cast<std::int64_t>(w.capacity),
           w.envelope);
    }
  } else {
    result.status.code = argument.code;
    if (scope.leader())
      fail(me, argument.code, call, argument.value, argument.expected,
           {.peer = static_cast<std::int32_t>(argument.value)});
  }
  return result;
}

DCGN_HOST_DEVICE inline Request request_from(const Endpoint& me, const Result& result) {
  if (result.status.code != Code::ok) return Request(result.status.code);
  return Request(me.rank, static_cast<std::uint32_t>(result.index), result.generation);
}

// ---- the calls. `me` or `port` is the rank, `context` tells its user's messages from the library's own.

// After a send to this rank: if that is of another host the message leaves now.
template <class Scope>
DCGN_HOST_DEVICE void pass_on([[maybe_unused]] const Scope& scope, [[maybe_unused]] const Endpoint& me,
                              [[maybe_unused]] int to) {
#if !defined(__CUDA_ARCH__)
  if (!is_near(me, to) && scope.leader()) detail::pass_on_host(me.rank);
#endif
}

// Counts a message that is over, where there is something to count; all threads come to the same.
template <class Scope>
DCGN_HOST_DEVICE void note(const Scope& scope, Endpoint& me, std::uint32_t context, Reason why) {
  if (why == Reason::none) return;
  if (scope.leader()) count(me, context, why);
  scope.sync();
}

// Whether a call with these arguments may try to go on without the engine.
DCGN_HOST_DEVICE inline bool may_begin(const Port& port, const void* data, std::int64_t bytes, int peer, int tag,
                                       std::uint32_t elements, bool wild) {
  return is_valid(port, data, bytes, peer, tag, wild) && why_request(port, data, bytes, peer, elements) == Reason::none;
}

// A receive; `found` is as fast_receive() has it.
template <class Scope>
DCGN_HOST_DEVICE Status recv_found(const Scope& scope, Endpoint& me, Call call, BufferRef buffer, int from, int found,
                                   int tag, std::uint32_t context) {
  const Port port(me);
  void* const data = buffer.data;
  const std::int64_t capacity = buffer.bytes;
  const auto size = static_cast<std::uint64_t>(capacity);
  Status status;
  Reason why = is_valid(port, data, capacity, from, tag, true)
                   ? why_request(port, data, capacity, from, buffer.elements)
                   : Reason::off;
  if (why == Reason::none && !scope.broken()) {
    if constexpr (decides_in_block && Scope::in_warp)
      if (calls_in_block(me) && from != any_source) {
        const Reason packets = why_packets(data, size, tag);
        const bool one_packet = size <= small_bytes && packets == Reason::none;
        if (size <= small_bytes) reopen_fifo_from(scope, port, from);
        if (await_head(scope, port, from) &&
            ((one_packet && receive_packet(scope, port, data, size, from, tag, context, status)) ||
             receive_words(scope, port, data, size, from, tag, context, status))) {
          note(scope, me, context, packets);
          return status;
        }
      }
    why = fast_receive(scope, me, data, size, from, found, tag, context, status);
    if (why == Reason::none) return status;
  }
  ReceiveOperation operation{me, buffer, from, tag, context, true, why};
  return run(scope, me, call, operation, check(me, data, capacity, from, tag, true)).status;
}

// Any send. Out of line: a kernel makes many calls, and one copy of this is enough.
template <class Scope>
DCGN_HOST_DEVICE Code send_any(const Scope& scope, Endpoint& me, Call call, SendMode mode, ConstBufferRef buffer,
                               int to, int tag, std::uint32_t context) {
  const Port port(me);
  const void* const data = buffer.data;
  const std::int64_t bytes = buffer.bytes;
  const auto size = static_cast<std::uint64_t>(bytes);
  const bool valid = is_valid(port, data, bytes, to, tag, false);
  Reason why = mode != SendMode::standard ? Reason::mode
               : valid                    ? why_request(port, data, bytes, to, buffer.elements)
                                          : Reason::off;
  if (why == Reason::none && !scope.broken()) {
    if constexpr (decides_in_block && Scope::in_warp)
      if (calls_in_block(me)) {
        const Reason packets = why_packets(data, size, tag);
        if (size <= small_bytes && packets == Reason::none ? send_packet_anew(scope, port, data, size, to, tag, context)
                                                           : send_words(scope, port, data, size, to, tag, context)) {
          note(scope, me, context, packets);
          return Code::ok;
        }
      }
    const Sent sent = fast_send(scope, me, data, size, to, tag, context);
    if (sent.state == Sent::State::over) return Code::ok;
    if (sent.state == Sent::State::pending) {
      AnnouncedOperation operation{me, &me.records[sent.index], Request(me.rank, sent.index, sent.generation)};
      return run(scope, me, call, operation, {}).status.code;
    }
    why = sent.why;
  }
  SendOperation operation{me, buffer, to, tag, context, mode, true, why};
  const Code code = run(scope, me, call, operation, check(me, data, bytes, to, tag, false)).status.code;
  pass_on(scope, me, to);
  return code;
}

template <class Scope>
DCGN_HOST_DEVICE Request isend(const Scope& scope, Endpoint& me, SendMode mode, ConstBufferRef buffer, int to, int tag,
                               std::uint32_t context) {
  const void* const data = buffer.data;
  const std::int64_t bytes = buffer.bytes;
  if (mode == SendMode::standard && !scope.broken() &&
      may_begin(Port(me), data, bytes, to, tag, buffer.elements, false)) {
    const Request request = fast_isend(scope, me, buffer, to, tag, context);
    if (!request.is_null()) return request;
  }
  SendOperation operation{me, buffer, to, tag, context, mode, false, Reason::nonblocking};
  const Request request =
      request_from(me, run(scope, me, Call::isend, operation, check(me, data, bytes, to, tag, false)));
  pass_on(scope, me, to);
  return request;
}

template <class Scope>
DCGN_HOST_DEVICE Status recv_from(const Scope& scope, Endpoint& me, Call call, BufferRef buffer, int from, int tag,
                                  std::uint32_t context) {
  return recv_found(scope, me, call, buffer, from, -1, tag, context);
}

// What waits for many ranks is inlined here, all but what is out of the ordinary: each function called in between would
// save its caller's registers.
template <class Scope>
DCGN_HOST_DEVICE Status recv_from_any(const Scope& scope, Endpoint& me, Call call, BufferRef buffer, int tag,
                                      std::uint32_t context) {
  int found = -1;
  if constexpr (decides_in_block && Scope::in_block)
    if (const Port port(me); calls_in_block(me) && !scope.broken() &&
                             may_begin(port, buffer.data, buffer.bytes, any_source, tag, buffer.elements, true)) {
      const auto size = static_cast<std::uint64_t>(buffer.bytes);
      Status status;
      const bool small = size <= small_bytes;
      if constexpr (Scope::single) {
        if (small && receive_packet_by_one(scope, port, buffer.data, size, tag, context, status)) return status;
      } else if constexpr (Scope::in_warp) {
        if (small && receive_packet_of_few(scope, port, buffer.data, size, tag, context, status)) return status;
      }
      if (receive_from_any(scope, port, buffer.data, size, tag, context, status, found)) return status;
    }
  return recv_found(scope, me, call, buffer, any_source, found, tag, context);
}

template <class Scope>
DCGN_HOST_DEVICE Request irecv(const Scope& scope, Endpoint& me, BufferRef buffer, int from, int tag,
                               std::uint32_t context) {
  if (!scope.broken() && may_begin(Port(me), buffer.data, buffer.bytes, from, tag, 0, true)) {
    const Request request = fast_irecv(scope, me, buffer, from, tag, context);
    if (!request.is_null()) return request;
  }
  ReceiveOperation operation{me, buffer, from, tag, context, false, Reason::nonblocking};
  return request_from(me,
                      run(scope, me, Call::irecv, operation, check(me, buffer.data, buffer.bytes, from, tag, true)));
}

template <class Scope>
DCGN_HOST_DEVICE Status sendrecv(const Scope& scope, Endpoint& me, Call call, SendMode mode, ConstBufferRef out, int to,
                                 int send_tag, BufferRef in, int from, int recv_tag, std::uint32_t context) {
  ExchangeOperation operation{{me, out, to, send_tag, context, mode, false, Reason::nonblocking},
                              {me, in, from, recv_tag, context, true, Reason::nonblocking}};
  Argument argument = check(me, out.data, out.bytes, to, send_tag, false);
  if (argument.code == Code::ok) argument = check(me, in.data, in.bytes, from, recv_tag, true);
  return run(scope, me, call, operation, argument).status;
}

// `once`: returns at once; `found` says whether there was one.
template <class Scope>
DCGN_HOST_DEVICE Status probe(const Scope& scope, Endpoint& me, bool once, int from, int tag, std::uint32_t context,
                              bool& found) {
  ProbeOperation operation{me, {from, tag, context, 0, 0}};
  const Result result =
      run(scope, me, once ? Call::iprobe : Call::probe, operation, check(me, nullptr, 0, from, tag, true), once);
  found = result.index >= 0;
  return result.status;
}

template <class Scope>
DCGN_HOST_DEVICE Status wait_all(const Scope& scope, Endpoint& me, Call call, bool once, const Request* requests,
                                 std::int64_t count, Status* statuses, bool& done) {
  AllOperation operation{me, requests, count, statuses};
  const Result result = run(scope, me, call, operation, check_requests(me, requests, count, false), once);
  done = result.index >= 0;
  return result.status;
}

template <class Scope>
DCGN_HOST_DEVICE Status wait_any(const Scope& scope, Endpoint& me, Call call, bool once, const Request* requests,
                                 std::int64_t count, std::int64_t& index) {
  AnyOperation operation{me, requests, count};
  const Result result = run(scope, me, call, operation, check_requests(me, requests, count, true), once);
  index = result.index;
  return result.status;
}

// Waits until nothing that this rank has begun to send depends on it any more, and sees its last turns.
template <class Scope>
DCGN_HOST_DEVICE Code flush(const Scope& scope, Endpoint& me) {
  FlushOperation operation{me};
  Code code = run(scope, me, Call::finish, operation, {}).status.code;
  if (code == Code::ok) code = scope.lead([&] { return see_last_turns(me); });
  if (code == Code::ok && scope.broken()) code = Code::aborted;
  if (scope.leader()) publish_turns(me);
  return code;
}

}  // namespace dcgn::message
