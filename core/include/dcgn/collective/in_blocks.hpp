// Reductions of some hundred kilobytes and more by several blocks of a slot, among a few slots that have rings for each
// block (message::BlockRings). The first block tells the other ranks what the call is, as for calls by addresses
// (addresses.hpp); each other one sends its share of the data to the block of the same number at every other rank and
// reduces what comes from there, as a block alone does in its FIFOs (in_fifos.hpp). So the blocks of a slot meet at the
// beginning and at the end, and never between.
//
// That takes as many blocks at every rank, which the ranks know only once they have told each other. Until then a block
// has sent the beginning of its share at most, and written nothing of its own; where it has been for nothing, the rings
// pass over it.
#pragma once

#include <dcgn/arch/atomic.hpp>
#include <dcgn/arch/relax.hpp>
#include <dcgn/collective/addresses.hpp>
#include <dcgn/collective/in_fifos.hpp>
#include <dcgn/collective/reducing.hpp>
#include <dcgn/message/blocks_scope.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/rows.hpp>

#include <cstdint>

namespace dcgn::collective {

using message::BlockRings;

// How what is reduced is cut: each block that moves has so many pieces of it, one after the other, which are as long as
// the rings allow. Ranks send each other a piece whole where they are two; else a part for each, as of a Reduction.
struct Shares {
  const unsigned char* in;
  unsigned char* out;
  std::uint32_t bytes, pieces;  // of all; of a block
  std::uint32_t piece, part;    // bytes of each but the last ones; of a part of that
  bool whole;

  DCGN_HOST_DEVICE Shares(const Input& input, const Output& output, std::uint32_t all, std::uint32_t ranks,
                          std::uint32_t blocks)
      : in(input.data), out(output.data), bytes(all), whole(ranks == 2) {
    const std::uint32_t parts = whole ? 1 : ranks;
    const auto over = [](std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; };
    pieces = over(bytes, BlockRings::half_bytes * parts * blocks);
    part = over(bytes, pieces * blocks * parts * 16) * 16;
    piece = part * parts;
  }
  DCGN_HOST_DEVICE Reduction operator()(std::uint32_t block, std::uint32_t number) const {
    const std::uint32_t begin = (block * pieces + number) * piece, left = begin < bytes ? bytes - begin : 0;
    const std::uint32_t length = left < piece ? left : piece;
    return {in + begin, out + begin, length, whole ? length : part, whole};
  }
  // How often something passes between the blocks of two ranks.
  DCGN_HOST_DEVICE std::uint32_t moves() const { return whole ? pieces : 2 * pieces; }
};
static_assert(most_by_blocks <= 1u << 30, "sums of lengths are 32 bits");

template <class Scope, class R>
concept ReducesInBlocks = message::plans_ahead<Scope> && ReducesInFifos<gpu::BlockScope, R>;

// By how many blocks but the first a call can be made so; 0: it cannot.
DCGN_HOST_DEVICE inline unsigned blocks_that_move(const gpu::BlocksScope& scope, const Member& m, const Input& in,
                                                  const Output& out, std::int64_t bytes) {
  bool fits = message::fits_row(in.data, bytes);
  fits &= message::fits_row(out.data, bytes);
  fits &= bytes <= most_by_blocks;
  if (scope.blocks() < 2 || scope.threads_of_leader() < gpu::warp_size || !fits) return 0;
  const auto blocks = static_cast<unsigned>(m.port.me->collectives.ring_blocks);
  return scope.blocks() - 1 < blocks ? scope.blocks() - 1 : blocks;
}

// Whether the others make the call so, too, when the first block knows, which always comes to that.
DCGN_HOST_DEVICE inline bool goes_on(const BlockRings& rings, const std::uint32_t& phase) {
  std::uint32_t verdict = 0;
  const bool known = message::await(phase, [&] {
    verdict = load_relaxed(rings.verdict);
    return verdict != 0;
  });
  return known && verdict == 1;
}

// What the threads of a block that see to a peer know of the rings between its like there and itself.
struct RingStand {
  message::Packet *to = nullptr, *from = nullptr;  // null at other threads
  std::uint32_t* moved = nullptr;
  std::uint32_t move = 0;
  int peer = 0;

  DCGN_HOST_DEVICE RingStand(const Member& m, std::uint32_t block, unsigned thread) {
    const auto k = static_cast<int>(thread);
    if ((k >= m.group.size) | (k == m.group.rank)) return;
    const BlockRings& rings = *m.port.me->collectives.block_rings;
    const std::size_t packets = static_cast<std::size_t>(block) << BlockRings::shift;
    peer = m.group.in_world(k);
    to = rings.to[peer] + packets;
    from = rings.from[peer] + packets;
    moved = rings.moved + block * BlockRings::most + static_cast<unsigned>(peer);
    move = *moved;
  }
  DCGN_HOST_DEVICE message::Row row(message::Packet* ring) const {
    constexpr std::uint32_t half = 1u << (BlockRings::shift - 1);
    return {{ring, BlockRings::shift}, (move & 1) * half, move / 2};
  }
};

// By the threads of a block: its share of a call, once it is known that all ranks make it so. False where the job is
// aborted, at those threads that found out.
template <class R>
DCGN_HOST_DEVICE bool reduce_share(const gpu::BlockScope& scope, const Member& m, const Shares& shares,
                                   std::uint32_t block, RingStand stand, const R& r) {
  using message::Hands, message::Rows;
  const BlockRings& rings = *m.port.me->collectives.block_rings;
  const std::uint32_t* const phase = m.port.me->phase;
  Rows& rows = *scope.template table<Rows>();
  const int size = m.group.size, self = m.group.rank, k = static_cast<int>(scope.rank());
  if (stand.to) stand.move += rings.passed[stand.peer];
  bool came = true;
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
  for (std::uint32_t number = 0; number < shares.pieces; ++number) {
    const Reduction a = shares(block, number);
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
    for (int step = 0; step < (a.whole ? 1 : 2); ++step) {
      const bool first = number + static_cast<std::uint32_t>(step) == 0, scatters = step == 0 && !a.whole;
      if (!first) scope.sync();  // all have done with the table, and see what has been reduced
      if (stand.to) {
        rows.to[k] = stand.row(stand.to);
        rows.from[k] = stand.row(stand.from);
      }
      ++stand.move;
      scope.sync();
      const auto length = [&](int i) { return a.length(i); };
      if (scatters)
        push_to_each(
            scope, rows, self, size, [&](int i) { return a.in + a.at(i); }, length);
      else
        push_to_all(Hands::all_of(scope), rows.to, Rows::all_but(self, size), (step ? a.out : a.in) + a.at(self),
                    a.length(self));
      if (first && !scope.agree(k != 0 || goes_on(rings, *phase))) return true;
      if (step)
        came = take_from_all(
                   scope, rows, self, size, [&](int i) { return a.out + a.at(i); }, length, *phase) &&
               came;
      else
        came = fold_rows(Hands::all_of(scope), rows.from, self, size, a.in + a.at(self), a.out + a.at(self),
                         a.length(self), *phase, [&](std::uint32_t x, std::uint32_t y) { return r.fold_word(x, y); }) &&
               came;
    }
  }
  if (stand.to) *stand.moved += shares.moves();
  return came;
}

// Where `together` of what it returns is true, it is done; else by addresses, or not.
template <class R>
DCGN_HOST_DEVICE Told all_reduce_in_blocks(const gpu::BlocksScope& scope, const Member& m, const Input& in,
                                           const Output& out, Alike alike, unsigned blocks, const R& r) {
  alike.blocks = static_cast<std::uint16_t>(blocks);
  const Shares shares(in, out, static_cast<std::uint32_t>(alike.bytes), static_cast<std::uint32_t>(m.group.size),
                      blocks);
  BlockRings& rings = *m.port.me->collectives.block_rings;
  const unsigned threads = scope.threads_of_leader(), number = scope.rank() / threads, thread = scope.rank() % threads;
  // Known before the blocks meet: it takes as long.
  const RingStand stand(m, number ? number - 1 : 0, number && number <= blocks ? thread : ~0u >> 1);
  Code found = Code::ok;  // by the leader
  Told told = scope.share(
      [&](const gpu::WarpScope& warp) {
        const Told its = tell_by_warp(warp, m, Call::all_reduce, in.data, out.data, alike, 0, scope.size());
        if (warp.leader()) store_relaxed(rings.verdict, its.together ? 1 : 2);
        found = its.code;
        return its;
      },
      [&](const gpu::BlockScope& block) {
        return number > blocks || reduce_share(block, m, shares, number - 1, stand, r);
      },
      [&] {
        store_relaxed(rings.verdict, 0);
        // Whom the others have not understood has rings out of step with theirs: it does without from here on.
        if (found != Code::ok) m.port.me->collectives.ring_blocks = 0;
      });
  if (told.in_vain && told.code == Code::ok)
    told.code = scope
                    .lead_warp([&](const gpu::WarpScope& warp) {
                      return pass_over_by_warp(warp, m, Call::all_reduce, told.number);
                    })
                    .code;
  return told;
}

}  // namespace dcgn::collective
