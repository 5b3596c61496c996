// N-body, GPU as slave: each process launches a kernel for each step, copies what it computed to the host, gathers all
// parts by MPI_Allgather, and copies them to its GPU.
//   mpirun -n GPUS dcgn_peer_mpi_nbody --size BODIES --steps N
#include "apps/nbody/nbody.hpp"
#include "bench/peers/mpi_app.hpp"
#include "bench/peers/nbody_kernel.hpp"

#include <dcgn/gpu/launch.hpp>

#include <vector>

namespace {

using namespace dcgn;
using namespace dcgn::bench::peer;

// Runs `steps` steps from the beginning; gives the microseconds of each by the first process's clock.
std::vector<double> simulate(const nbody::Options& o, int steps, std::vector<nbody::Body>& bodies) {
  // lines: begin
  const int rank = mpi_rank(), ranks = mpi_size(), part = o.bodies / ranks, first = rank * part;
  const Device device(rank % Device::count());
  Stream stream(device);
  const nbody::System system = nbody::start_of(o.start, o.bodies);
  DeviceBuffer<nbody::Body> copies[] = {{device, system.bodies.size()}, {device, system.bodies.size()}};
  DeviceBuffer<nbody::Velocity> velocities(device, system.bodies.size());
  copies[0].upload(system.bodies.data());
  velocities.upload(system.velocities.data());
  const Pinned<nbody::Body> on_host(device, system.bodies.size());
  const std::size_t part_bytes = static_cast<std::size_t>(part) * sizeof(nbody::Body);
  const Launch launch = nbody_launch(device.kind() == DeviceKind::cuda, device.properties().multiprocessors);
  std::vector<double> us;
  for (int step = 0; step < steps; ++step) {
    const double begin = MPI_Wtime();
    nbody::Body* const next = copies[~step & 1].data();
    device.launch(stream, launch, NbodyStep{}, static_cast<const nbody::Body*>(copies[step & 1].data()), next,
                  velocities.data(), o.bodies, first, part, o.softening * o.softening,
                  nbody::Leapfrog{o.dt, step == 0, false});
    device.copy(stream, on_host.data() + first, next + first, part_bytes);
    stream.synchronize();
    check(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, on_host.data(), static_cast<int>(part_bytes), MPI_BYTE,
                        MPI_COMM_WORLD),
          "MPI_Allgather");
    device.copy(stream, next, on_host.data(), system.bodies.size() * sizeof(nbody::Body));
    stream.synchronize();
    us.push_back((MPI_Wtime() - begin) * 1e6);
  }
  bodies.resize(system.bodies.size());
  copies[steps & 1].download(bodies.data());
  // lines: end
  return us;
}

bench::AppRow measure(const AppArguments& a) {
  constexpr int warm = 3, checked = 3;
  nbody::Options o;
  o.bodies = a["size"];
  o.steps = checked;
  o.start = nbody::Start::plummer;
  if (o.bodies % mpi_size()) throw std::runtime_error("--size: expected a multiple of the number of processes");
  bench::AppRow row{.whose = mpi_library(), .app = "nbody", .size = o.bodies, .gpus = mpi_size()};
  std::vector<nbody::Body> bodies;
  simulate(o, checked, bodies);
  if (mpi_rank() == 0)
    row.wrong = static_cast<std::uint64_t>(count_wrong(bodies, nbody::reference(o), nbody::short_run_tolerance));
  std::vector<double> us = simulate(o, warm + a["steps"], bodies);
  us.erase(us.begin(), us.begin() + warm);
  set_figures(row, us, bench::interactions(o.bodies), bench::interactions_unit);
  return row;
}

}  // namespace

int main(int argc, char** argv) { return run_mpi_app(argc, argv, "dcgn_peer_mpi_nbody", measure); }
