// Launches that are split where that is faster: what `dcgn vgpu run` does unless it is told --split=always.
//
// The program begins local, its buffers on the first GPU and its launches made as they are, by its own functions; some
// are timed. When SplitPolicy asks for it, and nothing is under way on any stream, the buffers are spread over all GPUs
// or moved back.
//
// A program that launches on and on without waiting would never have a moment for that, and its times would be known
// too late. Where something is to be known or done, a launch is held back until the work before it has ended.
#pragma once

#include "vgpu/src/driver/timer.hpp"
#include "vgpu/src/split_policy.hpp"

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu::driver {

class Code;
class Program;
struct ProgramKernel;

// How long a program has made launches and waited for them: from each to the next, or to the end of a wait between.
class BusyTime {
 public:
  void note_launch() { begun_ = end(); }
  void note_waited() {
    end();
    begun_ = 0;
  }
  double seconds() const { return 1e-9 * static_cast<double>(ns_); }

 private:
  std::int64_t end();

  std::atomic<std::int64_t> begun_ = 0, ns_ = 0;
};

class Measured {
 public:
  // Launches of one kernel that belong together.
  struct Entry {
    int key;
    SplitPolicy::Kind* kind;
    std::uint64_t split = 0, whole = 0;
    std::string why{};  // it cannot be split, by the launch alone
  };
  using Entries = std::deque<Entry>;

  explicit Measured(bool on) : local_(on), on_(on) { policy_.set_busy(0); }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  bool on() const { return on_; }
  // Whether all buffers lie on the first GPU, so that nothing has to be known of what writes them. May be asked for
  // without a Call by who is in one of the program's copies: InFlight.
  bool local() const { return local_; }

  BusyTime& busy() { return busy_; }

  // Before a launch, without a Call: waits for the GPU where that is asked for, and not for long, as kernels may wait
  // for what the program does next.
  void hold_back(Program& program) {
    if (holds_back_) wait_for_gpu(program);
  }
  // The process ends: waits for the thread that makes contexts.
  void end();

  // All below by the thread that holds a Call.
  Entry& entry(ProgramKernel& kernel, std::uint64_t blocks, std::uint64_t threads, bool may_be_split);
  // Before a launch: moves buffers where that is asked for and can be.
  bool wants_to_move(const Program& program);
  void move(Program& program);
  SplitPolicy::Choice next(Program& program, ProgramKernel& kernel, Entry& entry, std::uint64_t blocks);
  void note_whole(Entry& entry, const std::string& why);
  // Behind a launch.
  void note_launched(const Program& program);
  // The split form of its code has to be loaded first.
  void want_code() { wants_code_ = true; }
  Timer& timer() { return timer_; }
  void collect() { timer_.collect(policy_); }

  // What the program uses: code, of which something has to be known before launches are split; memory of buffers.
  void use_code(Program& program, const std::shared_ptr<Code>& code);
  void set_bytes(std::size_t bytes) { policy_.set_bytes(bytes); }
  // A buffer has found no room on the first GPU, and lies on all: from now on, as if all did.
  void overflow(Program& program);
  // Something makes it impossible to know whether work is under way, or fixes pages: nothing is moved any more.
  void stop() { policy_.stop(); }

  // Streams that the program has made and not destroyed; and threads that have used their own default stream.
  void add_stream(CUstream stream) { streams_.insert(stream); }
  void drop_stream(CUstream stream) { streams_.erase(stream); }
  void note_thread_stream() { threads_.insert(std::this_thread::get_id()); }

  const SplitPolicy& policy() const { return policy_; }
  struct OfKernel {
    Entries entries;
    std::string why{};  // it cannot be split
  };
  const std::map<std::string, OfKernel>& kernels() const { return kernels_; }

 private:
  friend class InFlight;
  friend class Waiting;

  void wait_for_gpu(Program& program);
  enum class Idle { yes, no, unknown };  // unknown: nobody can tell, or something has failed

  bool has_contexts(const Program& program);
  static Idle idle_of(CUstream stream);
  Idle look_for_idle(Program& program);
  bool all_idle(Program& program) { return look_for_idle(program) == Idle::yes; }
  void gather(Program& program);
  void look_at(Program& program, Code& code);
  void look_at(Program& program, ProgramKernel& kernel);
  void look_at_used(Program& program);
  void load_candidates(Program& program);
  void spread(Program& program);

  std::atomic<bool> local_;
  const bool on_;
  SplitPolicy policy_;
  BusyTime busy_;
  Timer timer_;
  std::map<std::string, OfKernel> kernels_;
  std::vector<std::weak_ptr<Code>> used_, candidates_;
  double once_s_ = 0;
  bool wants_code_ = false;
  unsigned asked_ = 0, every_ = 16;
  std::set<CUstream> streams_;
  std::set<std::thread::id> threads_;
  // The other GPUs' contexts take a tenth of a second to make, which no launch is to wait for.
  std::thread maker_;
  enum class Contexts { none, being_made, there, failed };
  std::atomic<Contexts> contexts_ = Contexts::none;
  // Calls of the driver that are made without a Call and use buffers; none while pages are moved.
  std::atomic<int> in_flight_ = 0;
  std::atomic<bool> moving_ = false, waited_ = false;
  // Launches since the program, or a launch held back, waited last; how many it takes to hold one back.
  std::atomic<unsigned> ahead_ = 0;
  static constexpr unsigned few_ahead = 8;
  unsigned most_ahead_ = 16 * few_ahead;
  std::atomic<bool> holds_back_ = false;
  double held_s_ = 0, began_ = -1;  // what that has cost, and since when
  unsigned held_in_vain_ = 0;
  double known_before_ = 0;  // seconds of launches before those
};

// While one lives, the program waits for work; behind that, nothing may be under way. Without a Call.
class Waiting {
 public:
  Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { measured_.busy_.note_waited(); }

 private:
  Measured& measured_;
};

// While one lives, no buffer's pages are moved. By a thread that holds no Call.
class InFlight {
 public:
  explicit InFlight(Program& program);
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;
  ~InFlight() { --measured_.in_flight_; }

 private:
  Measured& measured_;
};

}  // namespace dcgn::virtual_gpu::driver
