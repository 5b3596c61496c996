// Step 7: collectives. Every rank makes the call, CPU ranks and slots in one: pi, summed up by all of them.
#include <dcgn/dcgn.hpp>

#include <cmath>
#include <cstdio>

constexpr unsigned threads = 32;  // of a block, and numbers that each rank adds to the sum

// What one of `parts` parts adds to pi: every so-manyth strip of a quarter of a circle.
DCGN_HOST_DEVICE inline double strips_of(int part, int parts) {
  constexpr int strips = 1 << 14;
  double sum = 0;
  for (int i = part; i < strips; i += parts) {
    const double x = (i + 0.5) / strips;
    sum += 4 / (1 + x * x) / strips;
  }
  return sum;
}

// What all threads of a block reach: buffers of calls by all of them are nowhere else.
struct Shared {
  double sums[threads];  // one a thread: each is one element of the collective
  int parts;
};

struct Worker {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, double* results) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    Shared& shared = *ctx.shared<Shared>();
    double* sums = shared.sums;

    me.broadcast(block, shared.parts, 0);  // rank 0 knows how many there are
    sums[block.rank()] =
        strips_of(me.rank() * static_cast<int>(threads) + static_cast<int>(block.rank()), shared.parts);

    // Element i of the result is the sum of element i of all ranks, in their order: the same bits at each of them.
    me.all_reduce(block, shared.sums, dcgn::Sum{});
    if (!block.leader()) return;
    for (unsigned i = 1; i < threads; ++i) sums[0] += sums[i];
    results[me.slot()] = sums[0];
  }
};

int main() {
  constexpr int slots = 3;
  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = 1, .slots = slots}}});
  dcgn::DeviceBuffer<double> results(job.world().device(0), slots);

  job.cpu([](dcgn::Comm& comm) {
    int parts = comm.size() * static_cast<int>(threads);
    comm.broadcast(parts, 0);
    double sums[threads];
    for (int i = 0; i < static_cast<int>(threads); ++i)
      sums[i] = strips_of(comm.rank() * static_cast<int>(threads) + i, parts);
    // A CPU rank may begin a collective and compute something else meanwhile; for the slots it is the same call.
    const dcgn::Request sum = comm.iall_reduce(sums, dcgn::Sum{});
    const double expected = 4 * (4 * std::atan(1.0 / 5) - std::atan(1.0 / 239));  // Machin's formula
    comm.wait(sum);
    for (unsigned i = 1; i < threads; ++i) sums[0] += sums[i];
    if (comm.rank() == 0) std::printf("rank 0 of %d, a CPU kernel: pi is %.9f\n", comm.size(), sums[0]);
    if (std::abs(sums[0] - expected) > 1e-9)
      throw dcgn::Error(dcgn::Code::kernel_failed, "collectives", "a wrong result");
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = threads, .shared_bytes = sizeof(Shared)}, Worker{},
          results.data());
  job.run();

  double found[slots];
  results.download(found);
  for (int s = 0; s < slots; ++s) {
    std::printf("rank %d of 5, slot %d: pi is %.9f\n", 2 + s, s, found[s]);
    if (found[s] != found[0]) return 1;
  }
}
