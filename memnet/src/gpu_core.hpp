// A core of a GPU at work: resident blocks, whose warps issue instructions and access memory through the core's cache.
#pragma once

#include "base/kernel_trace.hpp"

#include "memnet/src/cache.hpp"
#include "memnet/src/gpu_cores.hpp"
#include "memnet/src/kernel_run.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <vector>

namespace dcgn::memnet {

inline constexpr int cached_line_bytes = 128;

// From a core to the L2.
struct L2Request {
  std::int64_t cycle = 0;  // when it arrives
  base::WarpEvent::Kind kind = base::WarpEvent::Kind::load;
  std::uint64_t line = 0;
  std::uint8_t sectors = 0;
  int core = 0;
  std::uint32_t warp = 0, load = 0;  // of an atomic
};

// What warps of a core wait for: `load`, by number, of warp `warp`.
struct Waiter {
  std::uint32_t warp = 0, load = 0;
};

// What a GPU's cores share. Times are cycles of the network.
struct GpuState {
  GpuState(KernelRun& its_run, std::size_t its_number, const GpuCores& its_model, double network_ghz,
           KernelResult& its_result);
  GpuState(const GpuState&) = delete;
  GpuState& operator=(const GpuState&) = delete;
  virtual ~GpuState() = default;

  virtual void send(const L2Request& request) = 0;

  const GpuCores model;
  KernelRun& run;
  const std::size_t number;
  KernelResult& result;
  std::int64_t& work;          // KernelRun::work()
  const double slots_a_cycle;  // of a core, in a cycle of the network
  const std::int64_t l1_cycles, crossbar_cycles;
  const double issue_cycles;
};

class GpuCore {
 public:
  GpuCore(GpuState& gpu, int number);

  void begin_launch();
  // Returns the next cycle at which it does anything by itself; INT64_MAX: none, until one of those below.
  std::int64_t cycle(std::int64_t now);
  bool idle() const { return resident_ == 0 && accesses_.empty() && writes_ == 0; }
  // Drops all that it was to do in this launch, and forgets what it waits for.
  void abandon();

  void fill(std::uint64_t line, std::int64_t cycle) { fills_.push({cycle, line}); }
  void atomic_done(Waiter waiter, std::int64_t cycle) { hits_late_.push({cycle, waiter}); }
  void write_done() {
    --writes_;
    stalled_ = false;
  }

 private:
  std::int64_t next_cycle(std::int64_t now) const;

  struct Warp {
    enum class State : std::uint8_t { none, ready, waits_for_load, at_barrier, ending };
    base::WarpReader reader;
    base::WarpEvent event;
    State state = State::none;
    std::uint32_t left = 0;  // instructions of the event
    std::uint32_t needed = 0;
    std::uint32_t outstanding = 0;
    double ready_at = 0;               // not before this
    std::vector<std::uint32_t> loads;  // lines that are still to come, by number
    std::size_t block = 0;
  };
  struct Resident {
    std::size_t first = 0, warps = 0;  // in warps_
    std::size_t live = 0, waiting = 0;
    bool opening = false, again = false;
  };
  struct AccessOfWarp {
    std::uint32_t warp = 0, load = 0;
    base::WarpEvent::Kind kind = base::WarpEvent::Kind::load;
    std::vector<base::Touch> touches;
    std::size_t at = 0;
  };
  struct Miss {  // a line that is to come
    std::uint64_t line = 0;
    std::vector<Waiter> waiters;
  };
  struct Fill {
    std::int64_t cycle;
    std::uint64_t line;
    bool operator>(const Fill& other) const { return cycle > other.cycle; }
  };
  struct Hit {
    std::int64_t cycle;
    Waiter waiter;
    bool operator>(const Hit& other) const { return cycle > other.cycle; }
  };

  void place_blocks();
  void settle(std::size_t index);
  void set_ready(std::size_t index, bool ready, bool is_access = false) {
    const std::uint64_t bit = std::uint64_t{1} << index % 64;
    ready_[index / 64] = ready ? ready_[index / 64] | bit : ready_[index / 64] & ~bit;
    access_[index / 64] = is_access ? access_[index / 64] | bit : access_[index / 64] & ~bit;
  }
  // Those of 64 warps that have an instruction, and room for it.
  std::uint64_t issuable(std::size_t word) const { return full() ? ready_[word] & ~access_[word] : ready_[word]; }
  bool full() const;  // no access may be issued
  void arrived(Waiter waiter);
  void fill_line(std::uint64_t line);
  void end(std::size_t index);
  void open(Resident& block);
  void begin_access(Warp& warp, std::size_t index);
  void issue(std::int64_t now);
  bool issue_from(std::uint64_t warps, std::size_t first, std::int64_t now);
  void access_cache(std::int64_t now);

  GpuState& gpu_;
  const int number_;
  Cache l1_;
  std::vector<Warp> warps_;
  // A bit for each warp that has an instruction, and for each whose instruction is an access.
  std::vector<std::uint64_t> ready_, access_;
  std::vector<Resident> blocks_;
  std::size_t resident_ = 0, warps_of_block_ = 0, next_ = 0;
  bool room_ = false;  // for another block, which there may be
  std::deque<AccessOfWarp> accesses_;
  bool stalled_ = false;      // its first access waits for a fill, or for the end of a write
  std::vector<Miss> misses_;  // the first `missing_`; the others keep their memory
  std::size_t missing_ = 0;
  std::deque<Hit> hits_;
  std::priority_queue<Hit, std::vector<Hit>, std::greater<>> hits_late_;
  std::priority_queue<Fill, std::vector<Fill>, std::greater<>> fills_;
  int writes_ = 0;
  double slots_ = 0;
  std::int64_t now_ = 0;
};

}  // namespace dcgn::memnet
