// A job, the paper's way: say how many CPU kernels, GPUs and slots each node has, hand over the kernels, run.
//
//   dcgn::Job job({.nodes = {{.cpus = 1, .gpus = 2, .slots = 4}}});
//   job.cpu([](dcgn::Comm& comm) { ... });                           // on every CPU rank
//   job.gpu({.grid = dcgn::one_block_per_slot, .block = 128}, Worker{}, argument);   // on every GPU
//   dcgn::Report report = job.run();
#pragma once

#include <dcgn/launch.hpp>
#include <dcgn/world.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dcgn {

// As Launch::grid in Job::gpu: as many blocks as the GPU has slots.
inline constexpr unsigned one_block_per_slot = 0;
// As Launch::grid in Job::gpu: as many blocks as the GPU holds at once, the same number for each slot, one at least. On
// an emulated GPU, where a block is a thread of the host, one for each slot.
inline constexpr unsigned most_blocks_per_slot = ~0u;

// Messages that took the slow path, and why: what each reason means is in docs/guide/messages.md.
struct SlowMessages {
  std::string reason;
  std::uint64_t messages = 0;
};

// What each rank did.
struct RankReport {
  int rank = 0;
  Place place;
  std::uint64_t sent_messages = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_messages = 0;
  std::uint64_t received_bytes = 0;
  double wait_s = 0;                // time in calls that had to wait
  std::uint64_t open_receives = 0;  // begun by irecv and never matched
  std::string failure;              // the first error of a call in a kernel, where Config::errors_fatal is off
  std::vector<SlowMessages> slow;   // sent or received, most first
};

// What run() returns.
struct Report {
  double elapsed_s = 0;
  std::vector<RankReport> ranks;
};

// The report as a table, a line a rank, and how many of all messages took the slow path.
std::string to_string(const Report& report);

class Job;

namespace detail {
// Hands a kernel to a job, and after it what its slots still have to do: in <dcgn/gpu/launch.hpp>.
template <class Kernel, class... Args>
void add_kernel(Job& job, int gpu, const Launch& launch, const Kernel& kernel, const Args&... args);
}  // namespace detail

// A world, the kernels of its ranks, and one run of them.
class Job {
 public:
  // Sets up the ranks, as World does, and throws what that throws.
  explicit Job(Config config);
  Job(Job&&) noexcept;
  Job& operator=(Job&&) noexcept;
  ~Job();

  // What it runs in: its devices, memory for which is made before run(), and how to stop it.
  World& world() noexcept { return world_; }
  const Placement& placement() const noexcept { return world_.placement(); }

  // kernel(comm, args...) on every CPU rank that has none of its own. Throws Error(configuration) where there is one.
  template <class Kernel, class... Args>
  Job& cpu(Kernel kernel, Args... args) {
    set_every_cpu(bind(std::move(kernel), std::move(args)...));
    return *this;
  }
  // kernel(comm, args...) on one CPU rank, reserved or not. Throws Error(invalid_rank) where that is none,
  // Error(configuration) where it has a kernel already.
  template <class Kernel, class... Args>
  Job& cpu_rank(int rank, Kernel kernel, Args... args) {
    set_cpu(rank, bind(std::move(kernel), std::move(args)...));
    return *this;
  }
  // A thread of the program's own will be this CPU rank: it calls attach(rank), and run() waits until it has detached.
  // attach() throws Error(invalid_rank) where the rank is not reserved, or is attached already.
  Job& reserve(int rank);
  Comm attach(int rank);

  // kernel(context, comm, args...) on every GPU, or on one of gpus() counted through. Several on one GPU run one after
  // the other; its slots go on from each to the next. Where the job has no GPUs, or none with slots, gpu() does
  // nothing, so that one source serves jobs with and without; gpu_on() throws Error(device) then. The file that calls
  // these includes <dcgn/gpu/launch.hpp>.
  template <class Kernel, class... Args>
  Job& gpu(const Launch& launch, const Kernel& kernel, const Args&... args) {
    for (int g = 0; g < world_.gpus(); ++g)
      if (world_.slots(g)) gpu_on(g, launch, kernel, args...);
    return *this;
  }
  template <class Kernel, class... Args>
  Job& gpu_on(int gpu, const Launch& launch, const Kernel& kernel, const Args&... args) {
    detail::add_kernel(*this, gpu, launch, kernel, args...);
    return *this;
  }

  // Starts everything, waits for all to end and reports. Once per job. Throws Error: configuration if a rank has no
  // kernel; too_many_blocks; deadline or deadlock, with the report of who waits for whom; unreceived if messages were
  // left. Also throws what a CPU kernel threw, unchanged, and, if Config::errors_fatal, an Error with the code that a
  // call in a kernel returned.
  Report run();

 private:
  template <class Kernel, class... Args>
  static std::function<void(Comm&)> bind(Kernel kernel, Args... args) {
    return [kernel = std::move(kernel), args...](Comm& comm) mutable { kernel(comm, args...); };
  }
  void set_every_cpu(std::function<void(Comm&)> kernel);
  void set_cpu(int rank, std::function<void(Comm&)> kernel);
  template <class Kernel, class... Args>
  friend void detail::add_kernel(Job& job, int gpu, const Launch& launch, const Kernel& kernel, const Args&... args);
  void add_gpu(int gpu, Launch launch, detail::KernelImage image, detail::KernelImage finish);

  World world_;
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace dcgn
