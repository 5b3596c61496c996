// Step 6: what mistakes look like. Nothing hangs: a wrong argument is refused, a deadlock is proven and explained, and
// every other wait has a deadline.
#include <dcgn/dcgn.hpp>

#include <cstdio>

// Runs a job that cannot go well, prints why, and says whether that is what should come.
bool fails(dcgn::Job& job, dcgn::Code expected) {
  try {
    job.run();
  } catch (const dcgn::Error& error) {
    std::printf("%s\n\n", error.what());
    return error.code() == expected;
  }
  return false;
}

// A call in a kernel cannot throw. It returns a code, and the job stops all the same.
struct WrongRank {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const int x = 0;
    const dcgn::Code code = me.send(dcgn::gpu::this_block(ctx), x, 12);
    if (code != dcgn::Code::ok) return;  // nothing else would go well, either
  }
};

int main() {
  dcgn::Job wrong({.nodes = {{.gpus = 1, .slots = 1}}});
  wrong.gpu({.grid = dcgn::one_block_per_slot, .block = 32}, WrongRank{});
  bool right = fails(wrong, dcgn::Code::invalid_rank);

  // Three ranks each wait for the next one. When none can go on any more, that is found within about a second.
  dcgn::Job ring({.nodes = {{.cpus = 3}}});
  ring.cpu([](dcgn::Comm& comm) {
    int x = 0;
    comm.recv(x, (comm.rank() + 1) % comm.size());
  });
  right = fails(ring, dcgn::Code::deadlock) && right;

  // A rank that polls might do something else yet: nothing is proven, and it is the deadline that ends the wait. The
  // report says, too, what came instead.
  dcgn::Job late({.nodes = {{.cpus = 2}}, .deadline_s = 0.2});
  late.cpu([](dcgn::Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) {
      comm.recv(x, 1, 7);
    } else {
      comm.send(x, 0, 8);  // of another tag
      while (!comm.iprobe(0, 9)) dcgn::relax();
    }
  });
  right = fails(late, dcgn::Code::deadline) && right;
  return right ? 0 : 1;
}
