// A CPU rank's calls that go on beside those of its program: see message/engine/background.hpp. Each runs on a fiber of
// the rank's thread, with space of its own for collectives; so they are the same code as the blocking ones, and match
// them.
#pragma once

#include "device/emulated/fiber.hpp"

#include <dcgn/message/endpoint.hpp>
#include <dcgn/status.hpp>
#include "message/engine/background.hpp"
#include "message/engine/wait.hpp"

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace dcgn::job {

class Background final : public message::Background {
 public:
  explicit Background(message::Endpoint& me);
  ~Background() override;  // after finish()

  // Begins a call of the communicator with this pair of contexts, and returns once it waits or is over. Null where the
  // rank has no record left; then last_failure says so.
  Request begin(message::Call call, std::int32_t pair, std::function<Code()> act);
  // Waits for all calls that are under way until they are over or, because the job is being stopped, have given up.
  void finish() noexcept;
  // The same for those of one communicator; or at once, `hurried`. Whether none is under way any more.
  bool finish(std::int32_t pair, bool hurried) noexcept;

  // What went wrong in a call: an exception of an operation of the program's, or a failure.
  struct Fault {
    Request request;
    message::Failure failure;
    std::exception_ptr thrown;
  };
  const Fault* find_fault(const Request& request) const;  // null: nothing
  // That of this call, or of any; forgets it.
  std::optional<Fault> take_fault(const Request& request);
  std::optional<Fault> take_fault();

  bool is_calling() const noexcept override { return running_; }
  void step_back(const message::Waited& waited) noexcept override;
  bool go_on() noexcept override;

 private:
  class Undertaking;
  struct Space;
  struct Standing;

  void resume(Undertaking& u) noexcept;
  void end(std::size_t index);
  Undertaking* one_of(std::int32_t pair) const noexcept;  // of any communicator where that is negative
  void wait_for(const Undertaking& u) noexcept;

  message::Endpoint& me_;
  device::Fiber thread_;            // the rank's, where that is no fiber itself
  device::Fiber* program_;          // whoever is to go on when a call steps back
  Undertaking* running_ = nullptr;  // null while the program runs
  std::vector<std::unique_ptr<Undertaking>> calls_;
  std::vector<std::unique_ptr<Space>> spaces_;  // for the next ones
  std::vector<Fault> faults_;                   // of calls that are over and have not been asked about
};

}  // namespace dcgn::job
