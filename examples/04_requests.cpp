// Step 4: requests. Calls that only begin a message return a request, and the rank goes on: a slot computes its next
// block of numbers while the last one is on its way, rank 0 takes blocks from whichever slot is ready.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <vector>

constexpr int slots = 3, blocks = 10, length = 1000;

// Slot s sends the squares of the numbers s * blocks * length and on, `length` of them at a time.
struct Producer {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, double* memory) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    double* mine = memory + me.slot() * 2 * length;  // two buffers: while one is sent, the other one is filled
    dcgn::Request sent[2];                           // null at first: waiting for one returns at once
    for (int b = 0; b < blocks; ++b) {
      double* buffer = mine + b % 2 * length;
      me.wait(block, sent[b % 2]);  // until then the buffer belongs to the send
      for (int i = static_cast<int>(block.rank()); i < length; i += static_cast<int>(block.size())) {
        const double x = (me.slot() * blocks + b) * length + i;
        buffer[i] = x * x;
      }
      sent[b % 2] = me.isend(block, dcgn::Span<double>(buffer, length), 0);
    }
    me.wait_all(block, sent);  // before the kernel ends, as their buffers may end with it
  }
};

int main() {
  dcgn::Job job({.nodes = {{.cpus = 1, .gpus = 1, .slots = slots}}});  // ranks 1 to 3: the slots
  const dcgn::DeviceBuffer<double> memory(job.world().device(0), slots * 2 * length);

  job.cpu([](dcgn::Comm& comm) {
    std::vector<std::vector<double>> came(slots, std::vector<double>(length));
    std::vector<dcgn::Request> requests(slots);
    for (std::size_t s = 0; s < slots; ++s) requests[s] = comm.irecv(came[s], static_cast<int>(s) + 1);
    int taken[slots] = {};
    double sum = 0;
    for (;;) {
      const auto [index, status] = comm.wait_any(requests);  // whichever is there; those that are take turns
      if (index < 0) break;                                  // no request is active any more
      const auto s = static_cast<std::size_t>(index);
      for (const double x : came[s]) sum += x;
      if (++taken[s] < blocks) requests[s] = comm.irecv(came[s], status.source);
    }
    std::printf("%d blocks of each of %d slots: the sum is %.0f\n", taken[0], slots, sum);
    constexpr double m = slots * blocks * length;
    if (sum != (m - 1) * m * (2 * m - 1) / 6) throw dcgn::Error(dcgn::Code::kernel_failed, "squares", "a wrong sum");
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 64}, Producer{}, memory.data());
  job.run();
}
