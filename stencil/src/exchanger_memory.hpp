// What sweeps need that exchange halos themselves: for each rank an Exchanger that its neighbours reach.
#pragma once

#include "plan.hpp"
#include "storage.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/stencil/stage.hpp>
#include <dcgn/stencil/sweep.hpp>

#include <optional>
#include <vector>

namespace dcgn::stencil {

class ExchangerMemory {
 public:
  // By all ranks. Throws Error(unsupported), at all, where they do not reach each other's memory.
  ExchangerMemory(Comm& comm, const Plan& plan, const std::vector<Storage*>& fields, const std::vector<Stage>& stages);

  const ExchangeWork& work() const noexcept { return work_; }
  Exchanger* get() const noexcept { return reinterpret_cast<Exchanger*>(memory_.data()); }
  // Ranks of the communicator that have the same device.
  int ranks_of_device() const noexcept { return ranks_of_device_; }
  bool has_failed() const;

 private:
  std::optional<Device> device_;
  int ranks_of_device_ = 1;
  ExchangeWork work_{};
  Memory memory_;
};

// Stages by the calling thread, as ExchangeSweepKernel does them.
void exchange_on_host(const ExchangeWork& work, Exchanger& x, std::int64_t stages, const UpdateCode& code,
                      std::int64_t element_bytes);

}  // namespace dcgn::stencil
