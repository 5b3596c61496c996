// The ranks of a job and the FIFOs between them: the way in for a program that starts its own threads and launches its
// own kernels. (A job, job.hpp, is written on top of it.)
//
//   dcgn::World world({.nodes = {{.cpus = 1, .gpus = 1, .slots = 4}}});
//   dcgn::Comm me = world.attach(0);                     // this thread is rank 0
//   dcgn::Stream stream(world.device(0));
//   world.device(0).launch(stream, {.grid = 4, .block = 128}, Worker{}, world.handle(0));
//   me.send(x, 1);
#pragma once

#include <dcgn/comm.hpp>
#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/placement.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace dcgn {

namespace gpu {
class Comm;  // gpu/comm.hpp
}

// The ranks of this process, and those that they can talk to.
class World {
 public:
  // Sets up every rank of the configuration. GPU g of node n is the next device that the nodes before left over.
  // Throws Error(configuration) where the shapes make no sense or ask for more devices than there are.
  // If the job has several processes (Config::nodes), each sets up the ranks of its own node, and all do so together.
  // Processes that see the same GPUs take different ones, if there are enough for all.
  explicit World(Config config);
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  // Ranks still attached keep what they need; kernels must have ended. Waits until the worlds of all processes go.
  ~World();

  const Config& config() const noexcept;
  const Placement& placement() const noexcept;
  int size() const noexcept { return placement().size(); }
  // Whether the rank is of this process.
  bool is_here(int rank) const noexcept;

  // Makes the calling thread a CPU rank until the Comm is destroyed: the given rank, or the lowest one that is free.
  // Throws Error(invalid_rank) if that is no CPU rank of this process, or attached already.
  Comm attach(int rank = -1);

  // GPUs of all nodes in this process, counted through: `gpu` is 0 .. gpus() - 1.
  int gpus() const noexcept;
  Device device(int gpu) const;
  // The handle that kernels on that GPU take. Its slots outlive kernels: a later one goes on where an earlier one
  // ended.
  gpu::Comm handle(int gpu) const;
  // Slots on that GPU.
  int slots(int gpu) const;

  // Bytes that the ranks of this process take for FIFOs, requests and unexpected messages: in the memory of a CUDA GPU,
  // and in the host's, which takes them only as they are used.
  std::uint64_t device_bytes(int gpu) const;
  std::uint64_t host_bytes() const noexcept;

  // Stops every call of every rank, in all processes, with Code::aborted, and gives the reason in report().
  void abort(const std::string& reason);
  bool aborted() const noexcept;
  // Why the world was aborted, with the deadlock report where that was the reason; empty while it runs.
  std::string report() const;

 private:
  friend class Job;
  std::shared_ptr<job::WorldState> state_;
};

}  // namespace dcgn
