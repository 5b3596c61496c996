// Step 9: collectives. CPU ranks and slots add up in one call, then slots and CPU ranks go on among themselves.
#include <dcgn/dcgn.hpp>

#include <cstdio>

// The part of pi that one of `ranks` ranks computes: a sum over every so-manyth strip of a quarter circle.
struct Strips {
  DCGN_HOST_DEVICE double operator()(int rank, int ranks, unsigned thread, unsigned threads) const {
    constexpr int strips = 1 << 14;
    double sum = 0;
    for (int i = rank + ranks * static_cast<int>(thread); i < strips; i += ranks * static_cast<int>(threads)) {
      const double x = (i + 0.5) / strips;
      sum += 4 / (1 + x * x) / strips;
    }
    return sum;
  }
};

struct Worker {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, double* results) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    double* sums = ctx.shared<double>();  // one a thread: all of them are one element of the collective's each
    const unsigned threads = ctx.num_threads();
    const dcgn::Span<double> all(sums, threads);
    sums[ctx.thread_rank()] = Strips{}(me.rank(), me.size(), ctx.thread_rank(), threads);

    // Every rank of the world, CPU ranks too: each element is added up over all ranks, in their order.
    me.all_reduce(block, all, dcgn::Sum{});
    if (ctx.thread_rank() == 0) {
      for (unsigned i = 1; i < threads; ++i) sums[0] += sums[i];
      results[2 * ctx.block_rank()] = sums[0];
    }

    // Slots have color 1: a communicator of their own, in which they count themselves.
    dcgn::gpu::Slot slots = me.split(block, 1, me.rank());
    if (ctx.thread_rank() == 0) sums[0] = 1;
    slots.scan(block, dcgn::Span<const double>(sums, 1), dcgn::Span<double>(sums, 1), dcgn::Sum{});
    if (ctx.thread_rank() == 0) results[2 * ctx.block_rank() + 1] = sums[0];
    slots.release(block);
  }
};

int main() {
  constexpr unsigned threads = 32;
  constexpr int slots = 3;
  dcgn::Job job({.nodes = {{.cpus = 2, .gpus = 1, .slots = slots}}});
  dcgn::DeviceBuffer<double> results(job.world().device(0), 2 * slots);

  job.cpu([](dcgn::Comm& comm) {
    double sums[threads] = {};
    sums[0] = Strips{}(comm.rank(), comm.size(), 0, 1);
    // A CPU rank may go on with something else meanwhile; for the slots it is the same call.
    const dcgn::Request sum = comm.iall_reduce(sums, dcgn::Sum{});

    dcgn::Comm cpus = comm.split(0, comm.rank());
    int first = comm.rank();
    cpus.broadcast(first, 0);

    comm.wait(sum);
    for (unsigned i = 1; i < threads; ++i) sums[0] += sums[i];
    std::printf("rank %d of %d, %d of %d CPU ranks: pi is %.9f\n", comm.rank(), comm.size(), cpus.rank(), cpus.size(),
                sums[0]);
    if (first != 0 || sums[0] < 3.14159265 || sums[0] > 3.14159266)
      throw dcgn::Error(dcgn::Code::kernel_failed, "collectives", "a wrong result");
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = threads, .shared_bytes = threads * sizeof(double)}, Worker{},
          results.data());
  job.run();

  double found[2 * slots];
  results.download(found);
  for (int s = 0; s < slots; ++s) {
    std::printf("slot %d, number %.0f of the slots: pi is %.9f\n", s, found[2 * s + 1], found[2 * s]);
    if (found[2 * s] != found[0] || found[2 * s + 1] != s + 1)
      throw dcgn::Error(dcgn::Code::kernel_failed, "collectives", "a wrong result");
  }
}
