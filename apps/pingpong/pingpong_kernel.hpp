// Ping-pong, as in figures 1 and 3 of the paper: rank 0 sends to rank 1, which sends back. Every hop adds one to the
// first number, so at the end it tells how many there were.
#pragma once

#include <dcgn/arch/clock.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/gpu/comm.hpp>

#include <cstdint>

namespace dcgn::pingpong {

// On a GPU; a block is a rank. `data` has room for each slot.
struct SlotKernel {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, int* data, std::size_t count, int rounds,
                                   std::uint64_t* elapsed_ns) const {
    const auto me = comm.slot(ctx.block_rank());
    const auto block = gpu::this_block(ctx);
    const Span x(data + ctx.block_rank() * count, count);
    const int other = 1 - me.rank();
    const std::uint64_t begin = now_ns();
    for (int i = 0; i < rounds; ++i) {
      if (me.rank() == 0) {
        if (me.send(block, x, other) != Code::ok) return;  // ping
        if (!me.recv(block, x, other)) return;             // pong
        if (block.leader()) ++x[0];
      } else {
        if (!me.recv(block, x, other)) return;
        if (block.leader()) ++x[0];
        if (me.send(block, x, other) != Code::ok) return;
      }
    }
    if (me.rank() == 0 && block.leader()) *elapsed_ns = now_ns() - begin;
  }
};

// On a CPU.
inline void cpu_kernel(Comm& comm, Span<int> x, int rounds, std::uint64_t* elapsed_ns) {
  const int other = 1 - comm.rank();
  const std::uint64_t begin = now_ns();
  for (int i = 0; i < rounds; ++i) {
    if (comm.rank() == 0) {
      comm.send(x, other);  // ping
      comm.recv(x, other);  // pong
      ++x[0];
    } else {
      comm.recv(x, other);
      ++x[0];
      comm.send(x, other);
    }
  }
  if (comm.rank() == 0) *elapsed_ns = now_ns() - begin;
}

}  // namespace dcgn::pingpong
