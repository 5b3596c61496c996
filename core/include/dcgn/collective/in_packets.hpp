// Calls whose messages are a packet each, up to 8 bytes, among few ranks of one process: the threads of a warp or a
// block of a GPU see to one rank each (message/exchange.hpp). What passes between ranks is what rounds send, so others
// may take part otherwise. Whatever is out of the ordinary is left to the algorithms of moving.hpp and reducing.hpp, or
// made up for by them.
#pragma once

#include <dcgn/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/message/exchange.hpp>
#include <dcgn/message/fast_path.hpp>

#include <cstdint>

namespace dcgn::collective {

using message::Exchange;
using message::exchanges_packets;
using message::Partners;

// Whether a call of so many bytes can be one: all ranks of a call that goes in rounds may decide for themselves.
template <class Scope>
DCGN_HOST_DEVICE bool fits_packets(const Scope& scope, const Member& m, const void* data, std::int64_t bytes) {
  const int size = m.group.size;
  return (size > 1) & (size <= at_once_ranks) & (scope.size() >= gpu::warp_size) & (m.port.near == m.port.size) &
         ((m.port.me->without & message::without_rounds) == 0) &
         message::is_plain(data, static_cast<std::uint64_t>(bytes));
}

// A call of one packet, with a root or no_root; take(value) and keep(rank, value) as message::exchange_packets() has
// them.
template <class Scope, class Take, class Keep>
DCGN_HOST_DEVICE Exchange exchange(const Scope& scope, const Member& m, Call call, int root, const Partners& partners,
                                   const void* data, std::int64_t bytes, const Take& take, const Keep& keep) {
  std::uint32_t number = 0;
  return message::exchange_packets<1>(
      scope, m.port, partners, false,
      [&] {
        number = m.port.turns->begun[m.group.pair];
        const auto length = static_cast<std::uint64_t>(bytes);
        return message::PacketRow<1>{{message::load_plain(true, data, length)},
                                     message::small_word(m.group.collective_context(), tag_of(call, number), length)};
      },
      [&] { begin_turn(m, call, number, bytes, root); }, [&](const std::uint64_t(&values)[1]) { take(values[0]); },
      [&](int rank, const std::uint64_t(&values)[1]) { keep(rank, values[0]); });
}

// Goes on with a call of which something is missing, by act(channel). A copy of who makes it: so whoever does not come
// here has it in registers.
template <class Scope, class Act>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code go_on(const Scope scope, const Member m, Call call,
                                                     const Partners partners, const Exchange e, const Act act) {
  const Channel c(scope, m, call, m.port.turns->begun[m.group.pair] - 1);
  message::note_missing(scope, *m.port.me, partners, e);
  return act(c);
}

// These say whether they have done it, with what came of it in `code`.
template <class Scope>
DCGN_HOST_DEVICE bool meet_in_packets(const Scope& scope, const Member& m, Code& code) {
  if constexpr (exchanges_packets<Scope>) {
    if (!fits_packets(scope, m, nullptr, 0)) return false;
    const Partners all{peers_of(m.group), m.group.size};
    const Exchange e = exchange(
        scope, m, Call::barrier, no_root, all, nullptr, 0, [](std::uint64_t) {}, [](int, std::uint64_t) {});
    if (e.state == Exchange::State::some)
      code = go_on(scope, m, Call::barrier, all, e,
                   [](const auto& c) { return c.make_up({.peers = c.everyone(), .to = c.all(), .from = c.all()}); });
    return e.state != Exchange::State::none;
  }
  return false;
}

template <class Scope>
DCGN_HOST_DEVICE bool broadcast_in_packets(const Scope& scope, const Member& m, void* data, std::int64_t bytes,
                                           int root, Code& code) {
  if constexpr (exchanges_packets<Scope>) {
    if (!m.group.has(root) | (bytes <= 0) | !fits_packets(scope, m, data, bytes)) return false;
    const bool here = m.group.rank == root;
    const Partners partners{peers_of(m.group), m.group.size, here ? Partners::everyone : Partners::nobody,
                            here ? Partners::nobody : root};
    const Exchange e = exchange(
        scope, m, Call::broadcast, root, partners, data, bytes,
        [&](std::uint64_t value) {
          const std::uint64_t got = scope.lookers().shuffle(value, static_cast<unsigned>(root));
          message::store_plain(!here & scope.leader(), data, static_cast<std::uint64_t>(bytes), got);
        },
        [](int, std::uint64_t) {});
    if (e.state == Exchange::State::some)
      code = go_on(scope, m, Call::broadcast, partners, e, [=](const auto& c) {
        return c.make_up({.peers = c.everyone(),
                          .from = c.only(root),
                          .in = message::whole(static_cast<unsigned char*>(data), bytes)});
      });
    return e.state != Exchange::State::none;
  }
  return false;
}

// Operands of all ranks to one or, with root -1, to all, who reduce them.
template <class Scope, class R>
DCGN_HOST_DEVICE bool reduce_in_packets(const Scope& scope, const Member& m, Call call, const Input& in,
                                        const Output& out, int root, const R& r, Code& code) {
  if constexpr (exchanges_packets<Scope>) {
    if constexpr (R::folds_words) {
      const std::int64_t bytes = in.count * r.element();
      const bool to_all = root < 0, here = to_all | (m.group.rank == root);
      const auto apart = reinterpret_cast<std::uintptr_t>(in.data) - reinterpret_cast<std::uintptr_t>(out.data);
      const bool clear = (apart == 0) | (apart + 7 > 14);  // 8 bytes, either way
      if ((bytes <= 0) | !(to_all | m.group.has(root)) | !fits_packets(scope, m, in.data, bytes)) return false;
      if (here & ((out.count < in.count) | !clear | !message::is_plain(out.data, static_cast<std::uint64_t>(bytes))))
        return false;
      const Partners partners{peers_of(m.group), m.group.size,
                              to_all ? Partners::everyone
                              : here ? Partners::nobody
                                     : root,
                              here ? Partners::everyone : Partners::nobody};
      const Exchange e = exchange(
          scope, m, call, to_all ? no_root : root, partners, in.data, bytes,
          [&](std::uint64_t value) {
            if (!here) return;
            const std::uint64_t sum = r.fold_words(scope, value, m.group.size, in.count);
            message::store_plain(scope.leader(), out.data, static_cast<std::uint64_t>(bytes), sum);
          },
          [&](int rank, std::uint64_t value) {
            message::store_small(m.port.me->collectives.scratch + 8 * rank, static_cast<std::uint64_t>(bytes), value);
          });
      if (e.state == Exchange::State::some)
        code = go_on(scope, m, call, partners, e, [=](const auto& c) {
          message::Round round = c.among_all(message::whole(in.data, bytes), message::in_row(c.scratch(), bytes, 8));
          round.keeps = false;
          const Code made = c.make_up(round);
          if (made == Code::ok) r.fold(c.scope(), out.data, {c.scratch(), 8, c.size(), c.rank(), in.data}, in.count);
          return made;
        });
      return e.state != Exchange::State::none;
    }
  }
  return false;
}

}  // namespace dcgn::collective
