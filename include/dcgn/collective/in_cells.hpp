// Calls whose messages are a cell each, up to 8 bytes, among few ranks of one process: the threads of a warp or a block
// of a GPU see to one rank each (message/exchange.hpp). What passes between ranks is what rounds send, so others may
// take part otherwise. Whatever is out of the ordinary is left to the algorithms of calls.hpp, or made up for by them.
#pragma once

#include <dcgn/collective/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/message/exchange.hpp>
#include <dcgn/message/quick_in_block.hpp>

#include <cstdint>

namespace dcgn::collective {

using message::Exchange;
using message::exchanges_cells;
using message::Partners;

// Whether a call of so many bytes can be one: all ranks of a call that goes in rounds may decide for themselves.
template <class Scope>
DCGN_HOST_DEVICE bool fits_cells(const Scope& scope, const Member& m, const void* data, std::int64_t bytes) {
  const int size = m.group.size;
  return (size > 1) & (size <= at_once_ranks) & (size <= static_cast<int>(scope.lookers())) &
         (m.port.near == m.port.size) & message::is_plain(data, static_cast<std::uint64_t>(bytes));
}

// take(value) and keep(rank, value) as message::exchange_cells() has them.
template <class Scope, class Take, class Keep>
DCGN_HOST_DEVICE Exchange exchange(const Scope& scope, const Member& m, Call call, int to, int from, const void* data,
                                   std::int64_t bytes, const Take& take, const Keep& keep) {
  const Group& g = m.group;
  const message::Peers peers{g.table ? 0 : g.first, g.table ? 1 : g.stride, g.table, g.rank};
  const auto length = static_cast<std::uint64_t>(bytes);
  return message::exchange_cells(
      scope, m.port, Partners{peers, g.size, to, from}, data, length, m.port.me->collectives.begun[g.pair],
      [&](std::uint32_t number) { return message::small_word(g.collective_context(), tag_of(call, number), length); },
      take, keep);
}

// These say whether they have done it, with what came of it in `code`.
template <class Scope>
DCGN_HOST_DEVICE bool meet_in_cells(const Scope& scope, const Member& m, Code& code) {
  if constexpr (exchanges_cells<Scope>) {
    if (!fits_cells(scope, m, nullptr, 0)) return false;
    const Exchange e = exchange(
        scope, m, Call::barrier, Partners::everyone, Partners::everyone, nullptr, 0, [](std::uint64_t) {},
        [](int, std::uint64_t) {});
    if (e.state == Exchange::State::some) {
      const Channel c(scope, m, Call::barrier, e.number);
      code = c.make_up({.peers = c.everyone(), .to = c.all(), .from = c.all()});
    }
    return e.state != Exchange::State::none;
  }
  return false;
}

template <class Scope>
DCGN_HOST_DEVICE bool broadcast_in_cells(const Scope& scope, const Member& m, void* data, std::int64_t bytes, int root,
                                         Code& code) {
  if constexpr (exchanges_cells<Scope>) {
    if (!m.group.has(root) | (bytes <= 0) | !fits_cells(scope, m, data, bytes)) return false;
    const bool here = m.group.rank == root;
    const Exchange e = exchange(
        scope, m, Call::broadcast, here ? Partners::everyone : Partners::nobody, here ? Partners::nobody : root, data,
        bytes,
        [&](std::uint64_t value) {
          const std::uint64_t got = scope.of_looker(value, static_cast<unsigned>(root));
          message::store_plain(!here & scope.leader(), data, static_cast<std::uint64_t>(bytes), got);
        },
        [](int, std::uint64_t) {});
    if (e.state == Exchange::State::some) {
      const Channel c(scope, m, Call::broadcast, e.number);
      code = c.make_up({.peers = c.everyone(),
                        .from = c.only(root),
                        .in = message::whole(static_cast<unsigned char*>(data), bytes)});
    }
    return e.state != Exchange::State::none;
  }
  return false;
}

// Operands of all ranks to one or, with root -1, to all, who reduce them.
template <class Scope, class R>
DCGN_HOST_DEVICE bool reduce_in_cells(const Scope& scope, const Member& m, Call call, const Input& in,
                                      const Output& out, int root, const R& r, Code& code) {
  if constexpr (exchanges_cells<Scope>) {
    if constexpr (R::folds_words) {
      const std::int64_t bytes = in.count * r.element();
      const bool to_all = root < 0, here = to_all | (m.group.rank == root);
      const auto apart = reinterpret_cast<std::uintptr_t>(in.data) - reinterpret_cast<std::uintptr_t>(out.data);
      const bool clear = (apart == 0) | (apart + 7 > 14);  // 8 bytes, either way
      if ((bytes <= 0) | !(to_all | m.group.has(root)) | !fits_cells(scope, m, in.data, bytes)) return false;
      if (here & ((out.count < in.count) | !clear | !message::is_plain(out.data, static_cast<std::uint64_t>(bytes))))
        return false;
      unsigned char* const spare = m.port.me->collectives.scratch;
      const Exchange e = exchange(
          scope, m, call,
          to_all ? Partners::everyone
          : here ? Partners::nobody
                 : root,
          here ? Partners::everyone : Partners::nobody, in.data, bytes,
          [&](std::uint64_t value) {
            if (!here) return;
            const std::uint64_t sum = r.fold_words(scope, value, m.group.size, in.count);
            message::store_plain(scope.leader(), out.data, static_cast<std::uint64_t>(bytes), sum);
          },
          [&](int rank, std::uint64_t value) {
            message::store_small(spare + 8 * rank, static_cast<std::uint64_t>(bytes), value);
          });
      if (e.state == Exchange::State::some) {
        const Channel c(scope, m, call, e.number);
        message::Round round = c.among_all(message::whole(in.data, bytes), message::in_row(spare, bytes, 8));
        round.keeps = false;
        code = c.make_up(round);
        if (code == Code::ok) r.fold(scope, out.data, {spare, 8, c.size(), c.rank(), in.data}, in.count);
      }
      return e.state != Exchange::State::none;
    }
  }
  return false;
}

}  // namespace dcgn::collective
