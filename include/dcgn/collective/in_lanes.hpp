// all_reduce by a block of a GPU among few ranks, of what they send each other whole (reduce_whole()): each thread
// writes its words to all of them, and reduces what comes in the same place from each as it comes. Nothing is stored
// but the result. What passes between ranks is what rounds send, so others may take part otherwise.
#pragma once

#include <dcgn/collective/buffers.hpp>
#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/tag.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/gpu/relax.hpp>
#include <dcgn/gpu/scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/exchange.hpp>
#include <dcgn/message/quick_in_block.hpp>
#include <dcgn/message/rounds.hpp>
#include <dcgn/message/work.hpp>

#include <cstdint>

namespace dcgn::collective {

// Among up to so many ranks, whose cells a thread has under way at once.
inline constexpr int in_lanes_ranks = 8;

// Where the payload of a message lies in a lane.
struct Way {
  message::Cell* cells;
  std::uint32_t shift, begin;

  DCGN_HOST_DEVICE message::Ring ring() const { return {cells, shift}; }
};

template <class Scope, class R>
concept ReducesInLanes = message::exchanges_cells<Scope> && !Scope::in_warp && R::folds_words && R::element_size <= 4;

template <class R>
class LaneReduction {
 public:
  DCGN_HOST_DEVICE LaneReduction(const gpu::BlockScope& scope, const Member& m, const Input& in, const Output& out,
                                 std::int64_t share, const R& r)
      : scope_(scope),
        m_(m),
        in_(in.data),
        out_(out.data),
        count_(in.count),
        bytes_(in.count * r.element()),
        share_(share),
        r_(r) {}

  // Whether it has been done, with what came of it in `code`.
  [[gnu::noinline]] DCGN_HOST_DEVICE bool run(Code& code) {
    message::Endpoint& me = *m_.port.me;
    Way* const ways = scope_.template table<Way>();  // to each rank, then from each
    static_assert(2 * in_lanes_ranks * sizeof(Way) <= gpu::BlockScope::table_bytes);
    const auto length = static_cast<std::uint64_t>(bytes_);
    const std::uint32_t cells = message::payload_cells(length);
    scope_.sync();  // what the threads wrote to the buffer is visible to all of them
    const std::uint32_t number = me.collectives.begun[m_.group.pair];
    // The first threads each see to a rank: they decide together, and keep the accounts.
    const int k = static_cast<int>(scope_.rank());
    const bool partner = k < m_.group.size && k != m_.group.rank;
    const std::uint32_t lane = partner ? m_.port.lane(m_.group.in_world(k)) : 0;
    message::OutLane& out = m_.port.out[lane];
    message::InLane& in = m_.port.in[lane];
    message::Passage to, from;
    bool good = true;
    if (scope_.rank() == 0) {
      const message::Hindrance h = message::Hindrance::of(me);
      good = !(h.sending | h.receiving | (me.without & message::without_rounds));
    }
    if (partner) {
      to = message::Passage(out, length);
      from = message::Passage(in, length);
      ways[k] = {to.ring.cells, to.ring.shift, to.begin};
      ways[in_lanes_ranks + k] = {from.ring.cells, from.ring.shift, from.begin};
      const std::uint32_t limit = to.ring.size() - to.all;
      good = good && !out.queued && length <= message::eager_limit(out, scope_.size()) &&
             (to.position - to.books.told <= limit || to.position - message::load_credit(*out.credit) <= limit);
    }
    if (!scope_.agree(good)) return false;
    const std::int32_t tag = tag_of(Call::all_reduce, number);
    const std::uint32_t kind = static_cast<std::uint32_t>(message::Kind::eager) | m_.group.collective_context() << 16;
    if (partner) {
      message::write_cell(to.ring.at(to.position), static_cast<std::uint32_t>(tag), static_cast<std::uint32_t>(length),
                          kind, to.ring.epoch(to.position));
      if (out.bell) store_relaxed(*out.bell, to.position + to.all);
    }
    for (std::uint32_t i = scope_.rank(); i < cells; i += scope_.size()) push(ways, i, cells);
    if (partner) to.settle(out, length);
    if (scope_.leader()) me.collectives.begun[m_.group.pair] = number + 1;
    bool here = !partner;
    for (std::uint32_t looks = 0, d[3]; !here && looks < message::quick_looks; ++looks) {
      if (message::read_cell(from.ring.at(from.position), from.ring.epoch(from.position), d)) {
        here = d[2] == kind && d[0] == static_cast<std::uint32_t>(tag) && d[1] == length;
        break;
      }
      relax_briefly();
    }
    bool all = scope_.agree(here);
    if (all) {
      bool taken = true;
      for (std::uint32_t i = scope_.rank(); i < cells && taken; i += scope_.size())
        taken = take(ways + in_lanes_ranks, i, cells, *me.phase);
      all = scope_.agree(taken);
    }
    if (all) {
      if (partner) from.settle(in, length);
      scope_.sync();  // the rank's state is at rest
      return true;
    }
    if (partner) store_relaxed(me.collectives.lapses[k].unreceived, 1);
    scope_.sync();
    const Channel c(scope_, m_, Call::all_reduce, number);
    message::Round round = c.among_all(message::whole(in_, bytes_), message::in_row(c.scratch(), bytes_, share_));
    round.keeps = false;
    code = c.make_up(round);
    if (code == Code::ok) r_.fold(scope_, out_, {c.scratch(), share_, c.size(), c.rank(), in_}, count_);
    return true;
  }

 private:
  // A cell of this rank's payload, to all others.
  DCGN_HOST_DEVICE void push(const Way* ways, std::uint32_t cell, std::uint32_t cells) const {
    std::uint32_t d[3];
    load(cell, cells, d);
    for (int k = 0; k < m_.group.size; ++k) {
      if (k == m_.group.rank) continue;
      const message::Ring ring = ways[k].ring();
      const std::uint32_t at = ways[k].begin + cell;
      message::write_cell(ring.at(at), d[0], d[1], d[2], ring.epoch(at));
    }
  }

  // Cells of this number from all others, reduced; false where the job is aborted.
  DCGN_HOST_DEVICE bool take(const Way* ways, std::uint32_t cell, std::uint32_t cells,
                             const std::uint32_t& phase) const {
    const int size = m_.group.size;
    std::uint32_t d[in_lanes_ranks][3], missing = 0, looks = 0;
    const auto look = [&](int k) {
      const message::Ring ring = ways[k].ring();
      const std::uint32_t at = ways[k].begin + cell;
      return message::read_cell(ring.at(at), ring.epoch(at), d[k]);
    };
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < in_lanes_ranks; ++k)
      if (k < size && k != m_.group.rank) missing |= static_cast<std::uint32_t>(!look(k)) << k;
    while (missing) {
      relax_briefly();
      if (++looks % 256 == 0 && load_relaxed(phase) == static_cast<std::uint32_t>(message::Phase::aborted))
        return false;
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int k = 0; k < in_lanes_ranks; ++k)
        if (missing >> k & 1 && look(k)) missing &= ~(1u << k);
    }
    std::uint32_t own[3], sum[3]{};
    load(cell, cells, own);
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int k = 0; k < in_lanes_ranks; ++k) {
      if (k >= size) continue;
      for (int w = 0; w < 3; ++w) {
        const std::uint32_t next = k == m_.group.rank ? own[w] : d[k][w];
        sum[w] = k ? r_.fold_word(sum[w], next) : next;
      }
    }
    const auto whole = static_cast<std::uint32_t>(bytes_ / 4);
    for (std::uint32_t w = 0; w < 3; ++w)
      if (const std::uint32_t word = message::word_of(cell, w, cells); word < whole)
        message::store_word(out_ + std::uint64_t{word} * 4, sum[w]);
    return true;
  }

  DCGN_HOST_DEVICE void load(std::uint32_t cell, std::uint32_t cells, std::uint32_t (&d)[3]) const {
    const auto whole = static_cast<std::uint32_t>(bytes_ / 4);
    for (std::uint32_t w = 0; w < 3; ++w) {
      const std::uint32_t word = message::word_of(cell, w, cells);
      d[w] = word < whole ? message::load_word(in_ + std::uint64_t{word} * 4) : 0;
    }
  }

  const gpu::BlockScope& scope_;
  const Member& m_;
  const unsigned char* in_;
  unsigned char* out_;
  std::int64_t count_, bytes_, share_;
  const R& r_;
};

template <class Scope, class R>
DCGN_HOST_DEVICE bool all_reduce_in_lanes(const Scope& scope, const Member& m, const Input& in, const Output& out,
                                          const R& r, Code& code) {
  if constexpr (ReducesInLanes<Scope, R>) {
    const int size = m.group.size;
    const std::int64_t bytes = in.count * r.element();
    if ((size < 2) | (size > in_lanes_ranks) | (m.port.near != m.port.size) | (bytes <= 8) |
        (bytes >= all_reduce_by_addresses) | (static_cast<int>(scope.size()) < size))
      return false;
    const std::int64_t share =
        static_cast<std::uint32_t>(m.port.me->collectives.scratch_bytes) / static_cast<std::uint32_t>(size) / 64 * 64;
    const auto from = reinterpret_cast<std::uintptr_t>(in.data), to = reinterpret_cast<std::uintptr_t>(out.data);
    const auto length = static_cast<std::uintptr_t>(bytes);
    const bool whole = (bytes * (size - 1) <= whole_at_once) | (size == 2),
               clear = (from == to) | (from + length <= to) | (to + length <= from);
    if (!whole | !clear | (bytes > share) | (out.count < in.count) | ((from | to | length) & 3) | !from | !to)
      return false;
    return LaneReduction<R>(scope, m, in, out, share, r).run(code);
  }
  return false;
}

}  // namespace dcgn::collective
