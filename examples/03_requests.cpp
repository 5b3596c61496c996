// Step 3: several messages at once. A master keeps a receive open from each worker and serves whichever is ready.
#include <dcgn/dcgn.hpp>

#include <cstdio>
#include <vector>

// Squares numbers until it is told to stop.
struct Worker {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::WarpScope warp = dcgn::gpu::this_warp(ctx);
    for (;;) {
      int n = 0;  // each lane has its own n; the first one's is what send and recv use
      me.recv(warp, n, 0);
      n = ctx.shuffle(n, 0);
      if (n < 0) return;
      n *= n;
      me.send(warp, n, 0);
    }
  }
};

int main() {
  dcgn::Job job({.nodes = {{.cpus = 1, .gpus = 1, .slots = 3}}});

  job.cpu([](dcgn::Comm& comm) {
    const int workers = comm.size() - 1;
    constexpr int tasks = 100;
    std::vector<int> task(static_cast<std::size_t>(workers)), answer(task.size());
    std::vector<dcgn::Request> requests(task.size());
    int next = 0;
    long sum = 0;
    const auto hand_out = [&](std::size_t w) {
      task[w] = next < tasks ? next++ : -1;
      comm.send(task[w], static_cast<int>(w) + 1);
      requests[w] = task[w] < 0 ? dcgn::Request() : comm.irecv(answer[w], static_cast<int>(w) + 1);
    };
    for (std::size_t w = 0; w < task.size(); ++w) hand_out(w);
    for (;;) {
      const auto [w, status] = comm.wait_any(requests);
      if (w < 0) break;  // no request is active any more
      sum += answer[static_cast<std::size_t>(w)];
      hand_out(static_cast<std::size_t>(w));
    }
    std::printf("the sum of the first %d squares is %ld\n", tasks, sum);
    if (sum != 328350) throw dcgn::Error(dcgn::Code::kernel_failed, "squares", "a wrong sum");
  });
  job.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, Worker{});
  job.run();
}
