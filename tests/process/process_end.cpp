// A job of several processes that comes to a bad end: process_end killed|throws|waits FOLDER. All wait for what never
// comes, CPU ranks in the middle of a long message; the last process is killed, or throws, or they wait until the
// deadline. Each writes what it heard to a file FOLDER/<its number>, because a launcher may have stopped to listen by
// then.
#include <dcgn/dcgn.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct WaitForNobody {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm) const {
    int* x = ctx.shared<int>();
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    me.barrier(block);
    me.recv(block, *x, 0, 99);
  }
};

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 2 ? argv[1] : "", folder = argc > 2 ? argv[2] : ".";
  // In a session of its own, out of reach of a launcher that would end the others first: this is about what they do by
  // themselves.
  if (const pid_t child = fork()) {
    int status = 0;
    waitpid(child, &status, 0);
    return 1;
  }
  setsid();
  std::string file, ending = "came to a good end";
  try {
    dcgn::Config config;
    config.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}};
    config.deadline_s = how == "waits" ? 1 : 20;
    dcgn::Job job(config);
    int process = 0;
    while (!job.world().is_here(job.placement().first_rank(process))) ++process;
    file = folder + "/" + std::to_string(process);
    job.cpu([&](dcgn::Comm& comm) {
      comm.barrier();
      const bool last = comm.place().node == job.placement().nodes() - 1;
      if (last && how == "killed") std::raise(SIGKILL);
      if (last && how == "throws") throw std::runtime_error("had enough");
      std::vector<char> out(100000), in(out.size());
      const int next = (comm.rank() + 2) % comm.size(), before = (comm.rank() + comm.size() - 2) % comm.size();
      for (;;) {
        comm.sendrecv(out, next, 1, in, before, 1);
        if (comm.rank() == 0) comm.recv(in, before, 99);
      }
    });
    job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = 64}, WaitForNobody{});
    job.run();
  } catch (const std::exception& e) {
    ending = e.what();
  }
  std::ofstream(file) << ending << '\n';
  return 1;
}
