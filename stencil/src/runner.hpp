// What a rank does in a stepper: the stages of its part, and the exchange of its halos with its neighbours.
#pragma once

#include "exchanger_memory.hpp"
#include "plan.hpp"
#include "storage.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/device.hpp>
#include <dcgn/stencil/stepper.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace dcgn::stencil {

// In all calls all ranks take part.
class Runner {
 public:
  Runner(Comm comm, UpdateCode code, const StepperOptions& options, std::vector<Storage*> fields);
  ~Runner();

  Comm& comm() noexcept { return comm_; }
  const UpdateCode& code() const noexcept { return code_; }
  const std::vector<Storage*>& fields() const noexcept { return fields_; }

  // Lays the fields out for a mode. Throws what plan_of() throws, and Error(unsupported) where the mode cannot be had.
  void arrange(Mode mode);
  // Whether they still are.
  bool is_arranged(Mode mode) const;

  // Steps. The halos of the fields need not be there before: they are exchanged unless they are current at all ranks.
  // The part is where it was afterwards.
  void advance(std::int64_t steps);

 private:
  const std::optional<Device>& device() const noexcept { return fields_.front()->device(); }
  Stage stage(int index) const;
  const StageRule& rule(int index) const { return plan_.rules.stages[static_cast<std::size_t>(index)]; }
  int period() const { return static_cast<int>(plan_.rules.stages.size()); }
  void set_position(int stage);

  void sweep(const Boxes& boxes, const Tiling& how, const Stage& stage, Stream* stream);
  // Of boxes, while others are swept beside them.
  Tiling tiling(const Boxes& boxes, const Boxes& beside) const;
  std::int64_t tiles(const Boxes& boxes, const Tiling& tiling) const {
    return tiles_in(code_.dims, code_.width, boxes, tiling);
  }
  Launch launch(std::int64_t tiles, const Tiling& tiling) const;
  void wait(Stream& stream);

  // Of an array's halo; `stream`, where given, is what computes what is sent.
  void begin_receives(int array, std::vector<Request>& requests);
  void begin_sends(int array, std::vector<Request>& requests, const Stream* stream);
  void exchange(int array);

  void step_by_messages();
  void step_in_kernels(std::int64_t stages);
  void launch_exchange_sweeps(std::int64_t stages);
  // Brings the rows that have moved by `layers` along the last dimension back to where the grid has them.
  void move_back(std::int64_t layers);

  Comm comm_;
  UpdateCode code_;
  StepperOptions options_;
  std::vector<Storage*> fields_;
  std::optional<Stream> first_, second_;  // for the border, and for all else
  Mode mode_ = Mode::automatic;
  Plan plan_;
  int position_ = 0;  // of the rules' stages, the one that comes next
  std::vector<Datatype> send_types_, receive_types_;
  struct StageTilings {
    Tiling border, bulk;
  };
  std::vector<StageTilings> tilings_;  // of a step's stages, on a device
  static constexpr std::int64_t recorded_stages = 64;
  std::unique_ptr<ExchangerMemory> exchanger_;  // where sweeps exchange halos themselves
  bool failed_ = false;                         // a wait of theirs has
  std::function<void()> recorded_;              // and `recorded_stages` of them, in the mode graph
};

}  // namespace dcgn::stencil
