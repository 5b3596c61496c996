#include "arguments.hpp"
#include "comm.hpp"
#include "dcgn_kernel_entry.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

namespace dcgn::python {

namespace {

using namespace nb::literals;

// A Python function, to be copied and dropped by threads without the GIL.
using Function = std::shared_ptr<nb::object>;
Function share(nb::object function) {
  return {new nb::object(std::move(function)), [](nb::object* o) {  // freed in here, with the GIL
            const nb::gil_scoped_acquire gil;
            delete o;
          }};
}

// The CPU ranks of a job, with the GIL. One that does not stop when the job does goes on with it alone.
struct Ranks {
  std::vector<std::shared_ptr<Rank>> all;
  std::set<unsigned long> threads;  // in kernels
};

// Ends what Python code of the ranks is at.
void interrupt(const Ranks& ranks) {
  for (const unsigned long thread : ranks.threads) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
}

void run_kernel(Ranks& ranks, dcgn::Comm& comm, const nb::object& function) {
  const nb::gil_scoped_acquire gil;
  const auto rank = std::make_shared<Rank>();
  rank->comms.emplace_back(&comm, [](dcgn::Comm*) {});  // the job's
  ranks.all.push_back(rank);
  const unsigned long thread = PyThread_get_thread_ident();
  ranks.threads.insert(thread);
  const auto end = [&] {
    ranks.threads.erase(thread);
    rank->steppers.clear();
    const nb::gil_scoped_release released;
    while (!rank->comms.empty()) rank->comms.pop_back();
  };
  try {
    function(Comm(rank, rank->comms.front()));
  } catch (...) {
    end();
    throw;
  }
  end();
}

class Job {
 public:
  Job(std::vector<NodeShape> nodes, std::optional<double> deadline_s, std::optional<std::string> mpi,
      std::uintptr_t mpi_communicator) {
    Config config;
    config.nodes = std::move(nodes);
    if (deadline_s) config.deadline_s = *deadline_s;
    if (mpi) config.mpi = *mpi;
    config.mpi_communicator = reinterpret_cast<const void*>(mpi_communicator);
    if (config.seed)
      throw Error(
          Code::unsupported, "job",
          "deterministic mode (DCGN_SEED) has all ranks on one thread, expected none: Python gives each its own");
    const nb::gil_scoped_release released;
    job_.emplace(std::move(config));
    size_ = job_->placement().size();
    gpus_ = job_->world().gpus();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  ~Job() {
    const nb::gil_scoped_release released;  // it waits for the other processes
    job_.reset();
  }

  int size() const { return size_; }
  int gpus() const { return gpus_; }
  std::string architecture(int gpu) { return architecture_of(job().world().device(gpu)); }
  void cpu(nb::object kernel) { job().cpu(runner(std::move(kernel))); }
  void cpu_rank(int rank, nb::object kernel) { job().cpu_rank(rank, runner(std::move(kernel))); }
  void gpu(int gpu, const std::string& library, const Launch& launch, const nb::tuple& arguments) {
    auto* const add = reinterpret_cast<AddKernel*>(function_of(library, kernel_entry));
    const Device& device = job().world().device(gpu);
    const CopiesTo copies{device, copies_};
    add(job(), gpu, launch, arguments_of(arguments, device.kind() == DeviceKind::cuda, kept_, &copies));
  }
  Report run();
  // The program ends, by an exception or as it likes, and the job has not run: lets go of all it has.
  void leave(bool by_exception) {
    if (running_) return;
    {
      const nb::gil_scoped_release released;  // it waits for the other processes
      try {
        const std::optional<dcgn::Job> going = std::move(job_);
        job_.reset();
        if (by_exception) throw Left();
      } catch (const Left&) {  // a job that goes by an exception tells the others
      }
    }
    copies_.clear();
    kept_.clear();
  }

 private:
  struct Left {};

  dcgn::Job& job() {
    if (job_) return *job_;
    throw Error(Code::configuration, "job", "a job runs once");
  }
  std::function<void(dcgn::Comm&)> runner(nb::object kernel) {
    return [ranks = ranks_, function = share(std::move(kernel))](dcgn::Comm& comm) {
      run_kernel(*ranks, comm, *function);
    };
  }
  void watch(const std::function<bool()>& ended);

  std::optional<dcgn::Job> job_;
  int size_ = 0, gpus_ = 0;
  bool running_ = false;  // or has run
  std::shared_ptr<Ranks> ranks_ = std::make_shared<Ranks>();
  Kept kept_;                  // what kernels of GPUs were given
  DeviceCopies copies_;        // of what real ones cannot reach
  std::exception_ptr signal_;  // what a handler threw while the job ran
};

// Python runs handlers of signals in its main thread alone, so that is not to wait in the library.
void Job::watch(const std::function<bool()>& ended) {
  while (!ended()) {
    const nb::gil_scoped_acquire gil;
    if (signal_ || PyErr_CheckSignals() == 0) continue;
    signal_ = std::make_exception_ptr(nb::python_error());
    interrupt(*ranks_);
    const nb::gil_scoped_release released;
    job_->world().abort("a signal's handler threw");
  }
}

Report Job::run() {
  job();
  running_ = true;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  Report report;
  std::exception_ptr error;
  {
    const nb::gil_scoped_release released;
    std::thread thread([&] {
      try {
        for (const auto& copy : copies_) copy->fill();
        report = job_->run();
        for (const auto& copy : copies_) copy->bring_back();
      } catch (...) {
        error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      done = true;
      changed.notify_all();
    });
    watch([&] {
      std::unique_lock lock(mutex);
      return changed.wait_for(lock, std::chrono::milliseconds(50), [&] { return done; });
    });
    thread.join();
    job_.reset();
  }
  ranks_->all.clear();
  copies_.clear();
  kept_.clear();
  if (signal_) std::rethrow_exception(signal_);
  if (error) std::rethrow_exception(error);
  return report;
}

}  // namespace

void bind_job(nb::module_& m) {
  m.attr("ONE_BLOCK_PER_SLOT") = one_block_per_slot;
  m.attr("MOST_BLOCKS_PER_SLOT") = most_blocks_per_slot;

  nb::class_<NodeShape>(m, "Node", "What a node of a job has; `count` nodes that are alike.")
      .def(
          "__init__",
          [](NodeShape* self, int cpus, int gpus, int slots, int count) {
            new (self) NodeShape{.cpus = cpus, .gpus = gpus, .slots = slots, .count = count};
          },
          nb::kw_only(), "cpus"_a = 0, "gpus"_a = 0, "slots"_a = 1, "count"_a = 1,
          "CPU kernels, GPUs, and slots of each GPU.")
      .def_rw("cpus", &NodeShape::cpus, "CPU kernels.")
      .def_rw("gpus", &NodeShape::gpus, "GPUs.")
      .def_rw("slots", &NodeShape::slots, "Slots of each GPU.")
      .def_rw("count", &NodeShape::count, "How many such nodes.");

  nb::class_<RankReport>(m, "RankReport", "What a rank did.")
      .def_ro("rank", &RankReport::rank, "Its number.")
      .def_prop_ro(
          "place", [](const RankReport& r) { return to_string(r.place); }, "Where it was.")
      .def_ro("sent_messages", &RankReport::sent_messages, "Messages that it sent.")
      .def_ro("sent_bytes", &RankReport::sent_bytes, "Their bytes.")
      .def_ro("received_messages", &RankReport::received_messages, "Messages that it received.")
      .def_ro("received_bytes", &RankReport::received_bytes, "Their bytes.")
      .def_ro("wait_s", &RankReport::wait_s, "Seconds in calls that had to wait.")
      .def_prop_ro(
          "slow",
          [](const RankReport& r) {
            nb::dict slow;
            for (const SlowMessages& s : r.slow) slow[s.reason.c_str()] = s.messages;
            return slow;
          },
          "Messages that took the slow path, by the reason, most first.")
      .def_ro("open_receives", &RankReport::open_receives, "Receives that were begun and never matched.")
      .def_ro("failure", &RankReport::failure, "The first error of a call in a kernel of a GPU.");

  nb::class_<Report>(m, "Report", "What the ranks of this process did; str() of it is a table.")
      .def_ro("elapsed_s", &Report::elapsed_s, "Seconds from start to end.")
      .def_ro("ranks", &Report::ranks, "A RankReport each.")
      .def("__str__", [](const Report& r) { return to_string(r); });

  nb::class_<Job>(m, "Job")
      .def(nb::init<std::vector<NodeShape>, std::optional<double>, std::optional<std::string>, std::uintptr_t>(),
           "nodes"_a, "deadline_s"_a.none(), "mpi"_a.none(), "mpi_communicator"_a)
      .def_prop_ro("size", &Job::size, "Ranks of the job.")
      .def_prop_ro("gpus", &Job::gpus, "GPUs of this process.")
      .def("_architecture", &Job::architecture, "gpu"_a)
      .def("_cpu", &Job::cpu, "kernel"_a)
      .def("_cpu_rank", &Job::cpu_rank, "rank"_a, "kernel"_a)
      .def(
          "_gpu",
          [](Job& job, int gpu, const std::string& library, unsigned grid, unsigned block, std::size_t shared_bytes,
             bool resident, const nb::tuple& arguments) {
            job.gpu(gpu, library, {grid, block, shared_bytes, resident}, arguments);
          },
          "gpu"_a, "library"_a, "grid"_a, "block"_a, "shared_bytes"_a, "resident"_a, "arguments"_a)
      .def("_leave", &Job::leave, "by_exception"_a)
      .def("run", &Job::run, "Starts everything, waits for all to end and reports. Once per job.");
}

}  // namespace dcgn::python
