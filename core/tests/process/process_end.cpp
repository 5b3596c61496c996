// A job of several processes that comes to a bad end:
// process_end killed|throws|exits|waits|opening|late|leaves|unrun|order|roots FOLDER.
// All wait for what never comes, CPU ranks in the middle of a long message; the last process is killed, or throws, or
// its GPU's kernel calls exit(), or they wait until the deadline; or it is killed while they open the job, or opens a
// second one too late, or it throws before it runs the job, or does not run it. Or a rank makes other collectives than
// the others. Each writes what it heard to a file FOLDER/<its number>, because a launcher may have stopped to listen by
// then.
#include "core/tests/process/session.hpp"

#include <dcgn/dcgn.hpp>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

struct WaitForNobody {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, [[maybe_unused]] bool exits) const {
    int* x = ctx.shared<int>();
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    me.barrier(block);
#if !defined(__CUDA_ARCH__)
    if (exits && me.node() == 2) std::exit(0);
#endif
    me.recv(block, *x, 0, 99);
  }
};

}  // namespace

// Kills this process as soon as it has made the memory that others are to share: in the middle of opening the job.
void kill_while_opening() {
  std::thread([] {
    for (;;)
      for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(file, gone).string();
        if (target.find("memfd:") != std::string::npos) std::raise(SIGKILL);
      }
  }).detach();
}

// In which two ranks do not agree, one of another process than most.
void disagree(dcgn::Comm& comm, bool about_roots) {
  std::vector<int> x(1000), y(x.size()), all(x.size() * static_cast<std::size_t>(comm.size()));
  comm.barrier();
  const auto scan = [&] { comm.scan(x, y, dcgn::Sum{}); };
  const auto gather = [&] { comm.gather(x, all, 0); };
  if (about_roots) {
    dcgn::Comm half = comm.split(comm.rank() % 2, comm.rank());
    half.broadcast(x, comm.rank() == 4 ? 1 : 0);
    half.barrier();
  } else if (comm.rank() == 5) {
    gather();
    scan();
  } else {
    scan();
    gather();
  }
  comm.barrier();
}

int main(int argc, char** argv) {
  const std::string how = argc > 2 ? argv[1] : "", folder = argc > 2 ? argv[2] : ".";
  if (!dcgn::test::enter_session()) return 1;
  std::string file, ending = "came to a good end";
  try {
    dcgn::Config config;
    config.nodes = {{.cpus = 1, .gpus = 1, .slots = 1}};
    // Who disagrees must have come by then, however busy the machine.
    const bool disagrees = how == "order" || how == "roots";
    config.deadline_s = how == "waits" ? 3 : how == "late" ? 1 : disagrees ? 10 : 20;
    if (how == "roots") config.share = false;
    // Every launcher tells who is who by one of these.
    const char* number = nullptr;
    for (const char* name : {"RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"})
      if (const char* value = std::getenv(name)) number = value;
    const bool last_of_all = number && std::string(number) == "2";
    file = folder + "/" + (number ? number : "?");
    if (how == "opening" && last_of_all) kill_while_opening();
    if (how == "late") {
      dcgn::World({.nodes = {{.cpus = 1}}}).attach().barrier();
      std::this_thread::sleep_for(std::chrono::seconds(last_of_all ? 3 : 0));
      if (last_of_all) std::raise(SIGKILL);
    }
    if (disagrees) {
      config.nodes = {{.cpus = 2}};
      dcgn::Job job(config);
      job.cpu([&](dcgn::Comm& comm) { disagree(comm, how == "roots"); });
      job.run();
    }
    dcgn::Job job(config);
    if (how == "leaves" && last_of_all) throw std::runtime_error("had enough before it began");
    if (how == "unrun" && last_of_all) {
      std::ofstream(file) << "came to a good end\n";
      return 1;
    }
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
    job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = 64}, WaitForNobody{}, how == "exits");
    job.run();
  } catch (const std::exception& e) {
    ending = e.what();
  }
  std::ofstream(file) << ending << '\n';
  return 1;
}
