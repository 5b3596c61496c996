// What a channel does by messages and rounds, compiled once for each scope and called by all algorithms.
#pragma once

#include <dcgn/collective/channel.hpp>

#include <cstdint>

namespace dcgn::collective {

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code Channel<Scope>::send(const void* data, std::int64_t bytes, int to) const {
  return message::send(scope_, port_, call_, message::SendMode::standard, {data, bytes}, group_.in_world(to), tag(),
                       group_.collective_context());
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code Channel<Scope>::recv(void* data, std::int64_t bytes, int from) const {
  return message::expect(
      scope_, *port_.me, call_,
      message::recv(scope_, port_, call_, {data, bytes}, group_.in_world(from), tag(), group_.collective_context()),
      bytes);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code Channel<Scope>::exchange(const void* out, std::int64_t out_bytes, int to,
                                                                 void* in, std::int64_t in_bytes, int from) const {
  return message::expect(
      scope_, *port_.me, call_,
      message::sendrecv(scope_, *port_.me, call_, message::SendMode::standard, {out, out_bytes}, group_.in_world(to),
                        tag(), {in, in_bytes}, group_.in_world(from), tag(), group_.collective_context()),
      in_bytes);
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE void Channel<Scope>::copy(void* to, const void* from, std::int64_t bytes) const {
  if (to == from || bytes <= 0) return;
  message::copy_here(scope_, me(), static_cast<unsigned char*>(to), static_cast<const unsigned char*>(from), bytes);
  scope_.sync();
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE Code Channel<Scope>::rounds(const message::Round& all) const {
  const int to = all.to.count(), from = all.from.count();
  Code code = Code::ok;
  for (int begin = 0; begin < (to > from ? to : from) && code == Code::ok; begin += message::most_at_once) {
    message::Round r = all;
    r.to = all.to.piece(begin, message::most_at_once);
    r.from = all.from.piece(begin, message::most_at_once);
    r.keeps = all.keeps && begin == 0;
    code = full_round(r);
  }
  return code;
}

template <class Scope>
template <bool Empty>
[[gnu::noinline]] DCGN_HOST_DEVICE Code Channel<Scope>::one_round(const message::Round& r) const {
  if constexpr (message::plans_ahead<Scope>) {
    return in_first_block([&](const auto& c) { return Outcome{c.template one_round<Empty>(r)}; }).code;
  } else {
    if (message::fast_round<Empty>(scope_, port_, r, tag(), group_.collective_context())) return Code::ok;
    return make_up(r);
  }
}

template <class Scope>
DCGN_HOST_DEVICE Code Channel<Scope>::full_round(const message::Round& r) const {
  return one_round<false>(r);
}

template <class Scope>
template <int Count>
[[gnu::noinline]] DCGN_HOST_DEVICE Code Channel<Scope>::exchange_words(const std::uint64_t (&mine)[Count],
                                                                       std::uint64_t* words,
                                                                       std::int64_t stride) const {
  std::uint64_t* const own = words + rank() * stride;
  if (scope_.leader())
    for (int i = 0; i < Count; ++i) store_relaxed(own[i], mine[i]);
  scope_.sync();
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(std::uint64_t));
  Code code = Code::ok;
  for (int i = 0; i < Count && code == Code::ok; ++i) {
    message::Round r =
        among_all(message::whole(reinterpret_cast<const unsigned char*>(own + i), bytes),
                  message::in_row(reinterpret_cast<unsigned char*>(words + i), bytes, stride * bytes), false);
    r.orders = true;
    code = round(r);
  }
  return code;
}

}  // namespace dcgn::collective
