// The scheme of Wu et al. (HPDC 2016, section 3.2) for any layout: a list of units of work, each (displacement, packed
// offset, length), one for a warp, made by the host. A baseline: the library itself keeps rules instead of lists.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/host_device.hpp>

#include <cstddef>
#include <cstdint>

namespace dcgn::bench {

struct Unit {
  std::int64_t spread, packed;
  std::int64_t length;
};

// Warps take units in turns: 8 bytes a lane in the middle, single bytes before and behind; where the two sides are not
// aligned alike, smaller words.
struct MoveUnits {
  static constexpr unsigned max_threads = 256;

  const Unit* units;
  std::int64_t count;
  unsigned char *spread, *packed;
  bool pack;

  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx) const {
    const std::int64_t warps = ctx.num_threads() / gpu::warp_size;
    const std::int64_t step = warps * ctx.num_blocks();
    for (std::int64_t i = warps * ctx.block_rank() + ctx.warp(); i < count; i += step) {
      const Unit unit = units[i];
      unsigned char* const there = spread + unit.spread;
      unsigned char* const here = packed + unit.packed;
      const unsigned char* const from = pack ? there : here;
      unsigned char* const to = pack ? here : there;
      const std::uintptr_t apart = reinterpret_cast<std::uintptr_t>(from) ^ reinterpret_cast<std::uintptr_t>(to);
      if (apart % 8 == 0)
        move<std::uint64_t>(ctx.lane(), from, to, unit.length);
      else if (apart % 4 == 0)
        move<std::uint32_t>(ctx.lane(), from, to, unit.length);
      else
        move<unsigned char>(ctx.lane(), from, to, unit.length);
    }
  }

 private:
  template <class T>
  DCGN_HOST_DEVICE static void move(unsigned lane, const unsigned char* from, unsigned char* to, std::int64_t length) {
    using Word [[gnu::may_alias]] = T;
    constexpr auto size = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t to_aligned =
        (size - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(from)) % size) % size;
    const std::int64_t head = to_aligned < length ? to_aligned : length, words = (length - head) / size;
    for (std::int64_t i = lane; i < head; i += gpu::warp_size) to[i] = from[i];
    for (std::int64_t i = lane; i < words; i += gpu::warp_size)
      reinterpret_cast<Word*>(to + head)[i] = reinterpret_cast<const Word*>(from + head)[i];
    for (std::int64_t i = head + words * size + lane; i < length; i += gpu::warp_size) to[i] = from[i];
  }
};

// A launch and no more.
struct DoNothing {
  DCGN_HOST_DEVICE void operator()(gpu::Context&) const {}
};

}  // namespace dcgn::bench
