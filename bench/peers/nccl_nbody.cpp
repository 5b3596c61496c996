// N-body with NCCL: a kernel and an in-place ncclAllGather for each step, all in the order of a stream.
//   dcgn_peer_nccl_nbody --gpus G --size BODIES --steps N
#include "apps/nbody/nbody.hpp"
#include "bench/peers/nbody_kernel.hpp"
#include "bench/peers/nccl_app.hpp"

#include <algorithm>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

class Simulation {
 public:
  // lines: begin
  Simulation(std::vector<NcclGpu>& gpus, const nbody::Options& options) : gpus_(gpus), o_(options) {
    const nbody::System system = nbody::start_of(o_.start, o_.bodies);
    const std::size_t count = system.bodies.size();
    for (const NcclGpu& gpu : gpus_) {
      Memory& m = memory_.emplace_back();
      for (nbody::Body*& copy : m.bodies) copy = allocate<nbody::Body>(gpu, count);
      m.velocities = allocate<nbody::Velocity>(gpu, count);
    }
  }

  void restart() {
    const nbody::System system = nbody::start_of(o_.start, o_.bodies);
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      gpus_[g].use();
      const std::size_t count = system.bodies.size();
      check(cudaMemcpy(memory_[g].bodies[0], system.bodies.data(), count * sizeof(nbody::Body), cudaMemcpyDefault),
            "cudaMemcpy");
      check(cudaMemcpy(memory_[g].velocities, system.velocities.data(), count * sizeof(nbody::Velocity),
                       cudaMemcpyDefault),
            "cudaMemcpy");
    }
  }

  void enqueue(int step) {
    const int part = o_.bodies / static_cast<int>(gpus_.size());
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      const Memory& m = memory_[g];
      const Launch shape = nbody_launch(true, gpus_[g].multiprocessors);
      launch(gpus_[g], shape.grid.x, shape.block.x, shape.shared_bytes, NbodyStep{},
             static_cast<const nbody::Body*>(m.bodies[step & 1]), m.bodies[~step & 1], m.velocities, o_.bodies,
             static_cast<int>(g) * part, part, o_.softening * o_.softening, nbody::Leapfrog{o_.dt, step == 0, false});
    }
    if (gpus_.size() == 1) return;
    const std::size_t bytes = static_cast<std::size_t>(part) * sizeof(nbody::Body);
    check(ncclGroupStart(), "ncclGroupStart");
    for (std::size_t g = 0; g < gpus_.size(); ++g) {
      nbody::Body* const next = memory_[g].bodies[~step & 1];
      check(ncclAllGather(next + static_cast<std::ptrdiff_t>(g) * part, next, bytes, ncclUint8, gpus_[g].comm,
                          gpus_[g].stream),
            "ncclAllGather");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  // lines: end

  std::vector<nbody::Body> bodies(int after) const {
    std::vector<nbody::Body> all(static_cast<std::size_t>(o_.bodies));
    gpus_.back().use();
    check(cudaMemcpy(all.data(), memory_.back().bodies[after & 1], all.size() * sizeof(nbody::Body), cudaMemcpyDefault),
          "cudaMemcpy");
    return all;
  }

 private:
  struct Memory {
    nbody::Body* bodies[2];
    nbody::Velocity* velocities;
  };
  std::vector<NcclGpu>& gpus_;
  nbody::Options o_;
  std::vector<Memory> memory_;
};

bench::AppRow measure(const AppArguments& a) {
  constexpr int checked = 3, of_a_graph = 20;
  nbody::Options o;
  o.bodies = a["size"];
  o.steps = checked;
  o.start = nbody::Start::plummer;
  std::vector<NcclGpu> gpus = open_gpus(a["gpus"]);
  if (o.bodies % a["gpus"]) throw std::runtime_error("--size: expected a multiple of --gpus");
  Simulation simulation(gpus, o);
  simulation.restart();
  for (int step = 0; step < checked; ++step) simulation.enqueue(step);
  synchronize(gpus);
  bench::AppRow row{.whose = nccl_library(), .app = "nbody", .size = o.bodies, .gpus = a["gpus"]};
  row.wrong =
      static_cast<std::uint64_t>(count_wrong(simulation.bodies(checked), reference(o), nbody::short_run_tolerance));
  simulation.restart();
  simulation.enqueue(0);
  simulation.enqueue(1);
  capture(gpus, [&] {
    for (int step = 2; step < 2 + of_a_graph; ++step) simulation.enqueue(step);
  });
  replay(gpus);
  std::vector<double> us;
  for (int done = 0; done < std::max(a["steps"], 5 * of_a_graph); done += of_a_graph)
    us.push_back(replay(gpus) / of_a_graph);
  set_figures(row, us, bench::interactions(o.bodies), bench::interactions_unit);
  row.steps *= of_a_graph;
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_nccl_app(argc, argv, "dcgn_peer_nccl_nbody", measure); }
