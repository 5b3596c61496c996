// What a World, its Comms and a Job share: the ranks' memory, who is attached, why it was stopped.
#pragma once

#include "gateway/gateway.hpp"
#include "job/deadlock.hpp"
#include "job/packed.hpp"
#include "message/memory.hpp"
#include "topology/home.hpp"
#include "trace/recorder.hpp"
#include "transport/copy_engine.hpp"
#include "transport/copy_service.hpp"
#include "transport/host_copier.hpp"
#include "transport/process_watch.hpp"
#include "transport/processes.hpp"
#include "transport/sharing.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/config.hpp>
#include <dcgn/device.hpp>
#include <dcgn/error.hpp>
#include <dcgn/placement.hpp>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::job {

// Why a world stopped.
struct Verdict {
  Code code = Code::ok;
  std::string text;
};

// The ranks of a GPU.
struct Slots {
  int first_rank;
  int count;
};

class WorldState : public std::enable_shared_from_this<WorldState> {
 public:
  explicit WorldState(Config config);
  ~WorldState();
  WorldState(const WorldState&) = delete;
  WorldState& operator=(const WorldState&) = delete;

  const Config& config() const noexcept { return config_; }
  const Placement& placement() const noexcept { return placement_; }
  // The ranks of this process.
  const topology::Home& home() const noexcept { return home_; }
  // Null where all ranks are of this process.
  transport::Gateway* gateway() noexcept { return gateway_.get(); }
  const std::vector<Device>& devices() const noexcept { return devices_; }
  message::RankMemory& memory() noexcept { return memory_; }
  // Null where no slot asks for copies.
  transport::CopyService* copy_service() noexcept { return copy_service_.get(); }
  // First rank of the GPU, counted through the nodes of this process, where it has slots.
  int first_rank_of_gpu(int gpu) const { return slots_.at(static_cast<std::size_t>(gpu)).first_rank; }
  int slots_of_gpu(int gpu) const { return slots_.at(static_cast<std::size_t>(gpu)).count; }
  // Throws Error(device) where this process has no GPU of that number.
  void check_gpu(int gpu) const;
  std::string place_of(int rank) const { return to_string(placement_.place(rank)); }
  std::string name_of(int rank) const { return "rank " + std::to_string(rank) + " (" + place_of(rank) + ")"; }

  Comm attach(int rank);
  // The rank has ended: nothing will be sent or received by it any more.
  void detach(int rank);

  // What the rank's non-blocking calls with datatypes need until they have been waited for; the rank's own affair.
  PackedRequests& packed_requests(int rank) {
    return packed_requests_[static_cast<std::size_t>(rank - home_.first_rank)];
  }

  // Null where no trace is recorded.
  trace::Recorder* recorder() noexcept { return recorder_.get(); }
  // Writes it, when all has ended that can be waited for; `kernels` too. Once: what comes later does nothing.
  void write_trace(bool kernels) noexcept;

  // Whether a thread has ever been this CPU rank.
  bool attached(int rank) const;

  // Its World goes. Where an exception takes it, the ranks of this process will not come, which others are told.
  void let_go();

  // Stops all ranks, and with `tell` those of the other processes. The first verdict stands.
  void abort(Verdict verdict, bool tell = true);
  bool aborted() const noexcept { return aborted_.load(std::memory_order_acquire); }
  Verdict verdict() const;

  // As message::describe_message() has it, with the whole number of a collective where what its rank tells leaves one.
  std::string describe_message(const message::Envelope& message);

  // Where ranks have made different collectives, or given different roots or sizes, as far as they have told: see
  // describe_mismatch(). Those of other processes, too, which takes a moment, where they are `asked`.
  std::string mismatch(bool asked);

 private:
  enum class Seat : unsigned char { free, taken, left };

  void abort_for_copy(const Error& error);
  std::string process_number() const;  // "1 of 4"
  Seat& seat(int rank) { return seats_[static_cast<std::size_t>(rank - home_.first_rank)]; }
  void watch();
  // Asks every rank what it waits for. True if all that have not ended answered.
  bool survey(std::chrono::milliseconds within);
  // Of other processes, told what the ranks here have made: what theirs have.
  std::vector<Made> made_elsewhere(const std::vector<Made>& here);
  std::string who_is_silent();  // of other processes: lines, each after a line's end; afterwards
  bool alarmed() const;
  bool all_idle() const;
  bool set_phase(std::uint32_t phase);
  void decide_alarm();
  bool proven_deadlock();

  const int exceptions_ = std::uncaught_exceptions();
  Config config_;
  std::shared_ptr<transport::Processes> processes_;  // null where this one is alone
  std::unique_ptr<transport::ProcessWatch> watch_;
  int first_device_ = 0;
  Placement placement_;
  transport::Agreement agreement_;
  topology::Home home_;
  std::vector<Device> devices_;
  std::vector<Slots> slots_;                            // [gpu]
  std::unique_ptr<trace::Recorder> recorder_;           // null where no trace is recorded
  std::unique_ptr<transport::CopyEngine> copy_engine_;  // null where nobody has anything copied
  std::unique_ptr<transport::HostCopier> host_copier_;  // with it
  std::unique_ptr<transport::Sharing> sharing_;         // null where this process is alone
  message::RankMemory memory_;
  std::unique_ptr<transport::CopyService> copy_service_;
  mutable std::mutex mutex_;
  std::vector<Seat> seats_;                      // [rank here], of CPU ranks
  std::vector<PackedRequests> packed_requests_;  // [rank here]
  Verdict verdict_;
  std::atomic<bool> aborted_{false};
  std::stop_source closing_;
  std::uint32_t survey_ = static_cast<std::uint32_t>(message::Phase::survey);
  std::unique_ptr<transport::Gateway> gateway_;
  std::thread watchdog_;
};

}  // namespace dcgn::job
