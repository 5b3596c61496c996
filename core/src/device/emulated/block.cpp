#include "block.hpp"

#include "grid.hpp"
#include "sanitizer.hpp"

#include <cstring>
#include <exception>

namespace dcgn {

namespace device {

using sanitizer::Unobserved;

namespace {

// Shared memory is not cleared on a GPU. This is no number that a sum or a loop survives.
constexpr int poison = 0xcd;

const char* name(Call call) {
  switch (call) {
    case Call::none: return "no barrier";
    case Call::sync_block: return "sync_block";
    case Call::whole_block: return "a call of the block";
    case Call::sync_warp: return "sync_warp";
    case Call::whole_warp: return "a call of the warp";
    case Call::shuffle: return "shuffle";
    case Call::ballot: return "ballot";
  }
  return "?";
}

std::string in_brackets(Dim3 d) {
  return "(" + std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z) + ")";
}

}  // namespace

EmulatedThread::EmulatedThread(Block& its_block, unsigned its_rank)
    : Fiber(StackSize::kernel), block(its_block), rank(its_rank), index(block.grid.launch.block.index(rank)) {}

void EmulatedThread::check_cancelled() const { block.check_cancelled(); }

std::string EmulatedThread::who() const {
  return "kernel " + block.grid.image.name() + " of " + block.grid.launched_by + ", " + place() + ",";
}

std::string EmulatedThread::place() const {
  return "block " + in_brackets(block.index) + ", thread " + in_brackets(index);
}

Fiber& EmulatedThread::run() {
  const auto threw = [this](const char* what) { block.grid.fail(place() + ": " + what); };
  try {
    gpu::Context context(*this);
    block.grid.image.emulated(context);
  } catch (const Cancelled&) {
  } catch (const std::exception& error) {
    threw(error.what());
  } catch (...) {
    threw("an exception that is no std::exception");
  }
  const Unobserved here;  // nothing of the fiber's end comes after what the launch's end waits for
  sanitizer::release(&block.grid);
  block.ended(*this);
  return block.carrier.finish();  // nobody else runs, and so nobody destroys the block, before this returns
}

Block::Block(Grid& its_grid, unsigned rank, Carrier& its_carrier)
    : grid(its_grid),
      carrier(its_carrier),
      index(grid.whole.index(grid.first_block + rank)),
      memory_((grid.launch.shared_bytes + sizeof(Line) - 1) / sizeof(Line)),
      live_(grid.launch.block.volume()) {
  if (!memory_.empty()) std::memset(memory_.data(), poison, memory_.size() * sizeof(Line));
  std::memset(scratch_, poison, sizeof scratch_);
  barrier_.size = barrier_.members = live_;
  warps_.resize((live_ + gpu::warp_size - 1) / gpu::warp_size);
  for (unsigned i = 0; i < live_; ++i) {
    Warp& warp = warps_[i / gpu::warp_size];
    warp.size = ++warp.members;
    threads_.emplace_back(*this, i);
  }
  for (EmulatedThread& thread : threads_) carrier.add(thread);
}

void Block::check_cancelled() const {
  if (grid.failed() && std::uncaught_exceptions() == 0) throw Cancelled{};
}

void Block::sync(EmulatedThread& thread, Call call) {
  if (barrier_.arrived && barrier_.call != call)
    grid.fail("block " + in_brackets(index) + ": its threads are in different calls: thread " +
              std::to_string(thread.rank) + " in " + name(call) + ", others in " + name(barrier_.call));
  wait(thread, barrier_, call);
}

const Warp::Slot& Block::exchange(EmulatedThread& thread, Call call, std::uint64_t value, bool predicate) {
  Warp& warp = warps_[thread.rank / gpu::warp_size];
  Warp::Slot& slot = warp.slots[warp.generation % 2];
  const std::uint32_t bit = 1u << thread.rank % gpu::warp_size;
  {
    const Unobserved here;
    if (warp.arrived == 0) {
      slot.present = slot.predicates = 0;
      slot.call = call;
    }
    if (slot.call != call)
      grid.fail("block " + in_brackets(index) + ": the lanes of warp " + std::to_string(thread.rank / gpu::warp_size) +
                " are in different calls: lane " + std::to_string(thread.rank % gpu::warp_size) + " in " + name(call) +
                ", others in " + name(slot.call));
    slot.present |= bit;
    if (predicate) slot.predicates |= bit;
    slot.values[thread.rank % gpu::warp_size] = value;
  }
  wait(thread, warp, call);
  return slot;
}

void Block::wait(EmulatedThread& thread, Barrier& barrier, Call call) {
  check_cancelled();
  // In turn one of two addresses, so that a thread which leaves late does not seem ordered after the next arrivals.
  void* const order = reinterpret_cast<char*>(&barrier) + barrier.generation % 2;
  sanitizer::release(order);
  {
    const Unobserved here;
    if (barrier.arrived == 0) barrier.call = call;
    check_whole(barrier);
    if (++barrier.arrived == barrier.members) {
      open(barrier);
    } else {
      thread.waits_in = call;
      thread.next_waiter = barrier.waiters;
      barrier.waiters = &thread;
      if (++waiting_ == live_) stuck();
      carrier.suspend();
    }
  }
  sanitizer::acquire(order);
  check_cancelled();
}

void Block::check_whole(const Barrier& barrier) noexcept {
  if ((barrier.call != Call::whole_block && barrier.call != Call::whole_warp) || barrier.members == barrier.size)
    return;
  grid.fail("block " + in_brackets(index) + ": threads are in " + name(barrier.call) + ", which takes all " +
            std::to_string(barrier.size) + "; returned already: " + std::to_string(barrier.size - barrier.members));
}

void Block::open(Barrier& barrier) noexcept {
  barrier.arrived = 0;
  ++barrier.generation;
  for (EmulatedThread* waiter = barrier.waiters; waiter; waiter = waiter->next_waiter) {
    waiter->waits_in = Call::none;
    --waiting_;
    carrier.wake(*waiter);
  }
  barrier.waiters = nullptr;
  carrier.progressed();
}

void Block::ended(EmulatedThread& thread) noexcept {
  const Unobserved here;
  --live_;
  for (Barrier* barrier : {&barrier_, static_cast<Barrier*>(&warps_[thread.rank / gpu::warp_size])}) {
    --barrier->members;
    if (!barrier->arrived) continue;
    check_whole(*barrier);
    if (barrier->arrived == barrier->members) open(*barrier);
  }
  carrier.progressed();
  if (live_ == 0)
    grid.block_ended();
  else if (waiting_ == live_)
    stuck();
}

// Everybody who could go on waits. They are woken and find the launch failed.
void Block::stuck() noexcept {
  if (!grid.failed())
    grid.fail("block " + in_brackets(index) + ": its " + std::to_string(live_) +
              " threads that have not returned wait for each other: " + who_waits_where());
  for (Warp& warp : warps_) open(warp);
  open(barrier_);
}

std::string Block::who_waits_where() const {
  std::string text;
  for (std::size_t i = 0; i < threads_.size();) {
    const Call call = threads_[i].waits_in;
    std::size_t end = i + 1;
    while (end < threads_.size() && threads_[end].waits_in == call) ++end;
    if (call != Call::none) {
      text += text.empty() ? "" : ", ";
      text += end - i == 1 ? "thread " + std::to_string(i)
                           : "threads " + std::to_string(i) + ".." + std::to_string(end - 1);
      text += std::string(" in ") + name(call);
    }
    i = end;
  }
  return text;
}

}  // namespace device

namespace detail {

using device::Call;
using device::EmulatedThread;

Dim3 thread_index(const EmulatedThread& thread) { return thread.index; }
Dim3 block_index(const EmulatedThread& thread) { return thread.block.index; }
Dim3 block_dim(const EmulatedThread& thread) { return thread.block.grid.launch.block; }
Dim3 grid_dim(const EmulatedThread& thread) { return thread.block.grid.whole; }
unsigned thread_rank(const EmulatedThread& thread) { return thread.rank; }
void* shared_memory(EmulatedThread& thread) { return thread.block.shared(); }
std::size_t shared_bytes(const EmulatedThread& thread) { return thread.block.grid.launch.shared_bytes; }
void* block_scratch(EmulatedThread& thread) { return thread.block.scratch(); }
void sync_block(EmulatedThread& thread) { thread.block.sync(thread, Call::sync_block); }
void sync_whole_block(EmulatedThread& thread) { thread.block.sync(thread, Call::whole_block); }
void sync_warp(EmulatedThread& thread) { thread.block.exchange(thread, Call::sync_warp, 0, false); }
void sync_whole_warp(EmulatedThread& thread) { thread.block.exchange(thread, Call::whole_warp, 0, false); }

std::uint64_t shuffle(EmulatedThread& thread, std::uint64_t value, unsigned lane) {
  const auto& given = thread.block.exchange(thread, Call::shuffle, value, false);
  const device::sanitizer::Unobserved here;
  lane %= gpu::warp_size;  // as CUDA has it
  return given.present >> lane & 1 ? given.values[lane] : value;
}

std::uint32_t ballot(EmulatedThread& thread, bool predicate) {
  const auto& given = thread.block.exchange(thread, Call::ballot, 0, predicate);
  const device::sanitizer::Unobserved here;
  return given.predicates;
}

}  // namespace detail
}  // namespace dcgn
