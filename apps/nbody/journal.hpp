// Memory for what ranks write down.
#pragma once

#include "apps/nbody/nbody.hpp"
#include "apps/nbody/records.hpp"

#include <dcgn/device.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dcgn::nbody {

// Of the slots of a GPU.
struct GpuRecords {
  DeviceBuffer<Energy> energies;
  DeviceBuffer<std::uint64_t> compute_ns;

  GpuRecords(const Device& gpu, int slots, const Launch& launch)
      : energies(gpu, launch.grid.x), compute_ns(gpu, std::vector<std::uint64_t>(static_cast<std::size_t>(slots))) {}
  Records view(const Journal& journal) const { return {energies.data(), compute_ns.data(), journal}; }
};

// Of rank 0, on its CPU or on its GPU.
class JournalMemory {
 public:
  JournalMemory(const Task& task, const Device* gpu)
      : bodies_(static_cast<std::size_t>(task.bodies)),
        film_(static_cast<std::size_t>(task.records()) * bodies_),
        energies_(static_cast<std::size_t>(task.records())),
        begun_ns_(static_cast<std::size_t>(task.steps) + 1) {
    if (!gpu) return;
    on_gpu_film_.emplace(*gpu, film_.size());
    on_gpu_energies_.emplace(*gpu, energies_.size());
    on_gpu_begun_ns_.emplace(*gpu, begun_ns_.size());
  }
  Journal view() {
    if (!on_gpu_film_) return {film_.data(), energies_.data(), begun_ns_.data()};
    return {on_gpu_film_->data(), on_gpu_energies_->data(), on_gpu_begun_ns_->data()};
  }
  void read_into(const Task& task, Outcome& outcome) {
    if (on_gpu_film_) {
      on_gpu_film_->download(film_.data());
      on_gpu_energies_->download(energies_.data());
      on_gpu_begun_ns_->download(begun_ns_.data());
    }
    for (auto frame = film_.begin(); frame != film_.end(); frame += static_cast<std::ptrdiff_t>(bodies_))
      outcome.film.emplace_back(frame, frame + static_cast<std::ptrdiff_t>(bodies_));
    for (int step = 0; step <= task.steps; ++step)
      if (task.recorded(step)) outcome.film_steps.push_back(step);
    outcome.energies = energies_;
    for (std::size_t s = 1; s < begun_ns_.size(); ++s)
      outcome.step_s.push_back(static_cast<double>(begun_ns_[s] - begun_ns_[s - 1]) * 1e-9);
  }

 private:
  std::size_t bodies_;
  std::vector<Body> film_;
  std::vector<Energy> energies_;
  std::vector<std::uint64_t> begun_ns_;
  std::optional<DeviceBuffer<Body>> on_gpu_film_;
  std::optional<DeviceBuffer<Energy>> on_gpu_energies_;
  std::optional<DeviceBuffer<std::uint64_t>> on_gpu_begun_ns_;
};

}  // namespace dcgn::nbody
