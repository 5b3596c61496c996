// A job of three processes, or of one that has several nodes, where the last one fares badly:
// process_faults good|frozen|stays|thawed|slow|late|memory|starves|throws|illegal|endless|crowded|quits|lost FOLDER.
// The last process is stopped by a signal, for good, in the middle or when the others have done their part, or for a
// second; is slow, or comes late; gets no memory for its ranks, or none for a kernel of its own; its GPU's kernel
// throws, stores where it must not, does not end, or finds a GPU that is full; or its CPU rank calls exit(). `lost` has
// CPU ranks alone, and goes on until somebody ends it. Each process writes what it heard to a file FOLDER/<its number>,
// and the last one its number of the system to FOLDER/pid. FOLDER/running is there once all are in the job.
#include "core/tests/process/session.hpp"

#include <dcgn/dcgn.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

enum class Fault { none, throws, illegal, endless };

// Fills a GPU until it is let go, or for a minute.
struct Occupy {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context&, const std::uint32_t* let_go) const {
    const std::uint64_t since = dcgn::now_ns();
    while (!dcgn::load_acquire(*let_go) && dcgn::now_ns() - since < 60'000'000'000) dcgn::relax();
  }
};

class Crowd {
 public:
  explicit Crowd(const dcgn::Device& device)
      : device_(device),
        stream_(device),
        let_go_(static_cast<std::uint32_t*>(device.allocate_host(sizeof(std::uint32_t)))) {
    const dcgn::DeviceProperties& p = device.properties();
    const int threads = p.max_threads_per_block;
    const int blocks = p.multiprocessors * (p.max_threads_per_multiprocessor / threads);
    device_.launch(stream_, {.grid = static_cast<unsigned>(blocks), .block = static_cast<unsigned>(threads)}, Occupy{},
                   let_go_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;
  ~Crowd() { dcgn::store_release(*let_go_, 1u); }  // the memory stays: a kernel may still look at it

 private:
  const dcgn::Device device_;
  dcgn::Stream stream_;
  std::uint32_t* const let_go_;
};

struct Wait {
  DCGN_HOST_DEVICE void operator()(dcgn::gpu::Context& ctx, dcgn::gpu::Comm comm, int bad_node, Fault fault) const {
    int* x = ctx.shared<int>();
    const dcgn::gpu::Slot me = comm.slot(ctx.block_rank());
    const dcgn::gpu::BlockScope block = dcgn::gpu::this_block(ctx);
    me.barrier(block);
    if (me.node() == bad_node) {
#if defined(__CUDA_ARCH__)
      if (fault == Fault::illegal) *reinterpret_cast<volatile int*>(std::uintptr_t{16}) = 1;
      while (fault == Fault::endless) dcgn::relax();
#else
      if (fault == Fault::throws) throw std::runtime_error("the kernel has had enough");
#endif
    }
    me.recv(block, *x, me.rank() - 1, 99);
    me.send(block, *x, me.rank() - 1, 100);
  }
};

void limit_memory(rlim_t more) {
  long pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = more == RLIM_INFINITY ? limit.rlim_max : static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + more;
  setrlimit(RLIMIT_AS, &limit);
}

// Stopped, until somebody has it go on: this process itself after so long, where that is not 0.
void freeze(std::chrono::seconds thaw_after) {
  const pid_t self = getpid();
  if (thaw_after > 0s && fork() == 0) {
    sleep(static_cast<unsigned>(thaw_after.count()));
    kill(self, SIGCONT);
    _exit(0);
  }
  raise(SIGSTOP);
}

void run(const std::string& how, const std::string& folder, bool last_of_all, const dcgn::Config& config) {
  dcgn::Job job(config);
  const int last_node = job.placement().nodes() - 1;
  const dcgn::NodeShape& shape = config.nodes.front();
  job.cpu([&](dcgn::Comm& comm) {
    comm.barrier();
    const bool last = comm.place().node == last_node;
    if (last) std::ofstream(folder + "/running") << "yes\n";
    if (last && how == "frozen") freeze(0s);
    if (last && how == "thawed") freeze(1s);
    if (last && how == "quits") std::exit(0);
    if (last && how == "starves") {
      limit_memory(0);
      const std::vector<char> none(std::size_t{1} << 40);
      throw std::runtime_error(std::to_string(none.size()) + " bytes in spite of the limit");
    }
    const int own = shape.cpus + shape.gpus * shape.slots;
    const int next = (comm.rank() + own) % comm.size(), before = (comm.rank() + comm.size() - own) % comm.size();
    for (int round = 0; round < (how == "lost" ? 1 << 30 : 6); ++round) {
      if (last && how == "slow") std::this_thread::sleep_for(300ms);
      const std::size_t bytes = std::size_t{10} << 3 * round % 18;
      std::vector<char> out(bytes, static_cast<char>(comm.rank() + round)), in(bytes);
      comm.sendrecv(out, next, 1, in, before, 1);
      if (in != std::vector<char>(bytes, static_cast<char>(before + round)))
        throw std::runtime_error("wrong data in round " + std::to_string(round));
    }
    if (shape.slots) {
      int x = 0;
      comm.send(x, comm.rank() + 1, 99);
      comm.recv(x, comm.rank() + 1, 100);
    }
    if (last && how == "stays") {
      std::this_thread::sleep_for(500ms);  // the others have come to their end
      freeze(0s);
    }
  });
  const std::map<std::string, Fault> faults = {
      {"throws", Fault::throws}, {"illegal", Fault::illegal}, {"endless", Fault::endless}};
  const Fault fault = faults.contains(how) ? faults.at(how) : Fault::none;
  if (shape.slots)
    job.gpu({.grid = dcgn::one_block_per_slot, .block = 32, .shared_bytes = 64}, Wait{}, last_node, fault);
  std::optional<Crowd> crowd;
  if (last_of_all && how == "crowded") crowd.emplace(job.world().device(job.world().gpus() - 1));
  if (last_of_all && how == "late") std::this_thread::sleep_for(1500ms);
  job.run();
}

std::string ending_of(const std::string& how, const std::string& folder, bool last_of_all, const dcgn::Config& config) {
  try {
    run(how, folder, last_of_all, config);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "came to a good end";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string how = argc > 2 ? argv[1] : "", folder = argc > 2 ? argv[2] : ".";
  if (!dcgn::test::enter_session()) return 1;
  // Every launcher tells who is who by one of these.
  const char* number = "?";
  for (const char* name : {"RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK"})
    if (const char* value = std::getenv(name)) number = value;
  const char* const processes = std::getenv("WORLD_SIZE");
  const bool alone = processes && std::string(processes) == "1";
  const bool last_of_all = alone || std::string(number) == "2";
  if (last_of_all) std::ofstream(folder + "/pid") << getpid() << '\n';
  dcgn::Config config;
  const bool gpus = how != "lost";
  const int nodes = alone ? std::min(dcgn::Device::count(), 3) : 1;
  config.nodes.assign(static_cast<std::size_t>(nodes), {.cpus = 1, .gpus = gpus ? 1 : 0, .slots = gpus ? 1 : 0});
  config.deadline_s =
      how == "frozen" || how == "stays" || how == "lost" || how == "endless" || how == "crowded" ? 5 : 20;
  if (last_of_all && how == "late") std::this_thread::sleep_for(1500ms);
  std::string ending;
  if (how == "memory") {
    // The processes meet before one of them has no memory, and afterwards go on as if nothing had been.
    ending = ending_of("good", folder, last_of_all, config) + "; ";
    if (last_of_all) limit_memory(1 << 20);
    ending += ending_of("good", folder, last_of_all, config) + "; ";
    limit_memory(RLIM_INFINITY);
  }
  ending += ending_of(how, folder, last_of_all, config);
  if (alone && how != "good" && how != "endless") {  // whose GPU would keep the next job waiting
    ending += "\nnext: " + ending_of("good", folder, last_of_all, config);
    config.nodes.assign(2, {.cpus = 1, .gpus = 0, .slots = 0});
    ending += "\nof CPUs: " + ending_of("good", folder, last_of_all, config);
  }
  std::ofstream(folder + "/" + number) << ending << '\n';
  return 1;
}
