// The processes of a job, as MPI or torchrun numbers them, and the thread of this process that calls MPI, or what
// stands for it, for the library.
#pragma once

#include "mpi_calls.hpp"

#include <dcgn/config.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace dcgn::transport {

// How processes talk to each other, raised by every change of it, the layout of memory that they share included.
inline constexpr std::uint32_t process_protocol = 4;

class Processes {
 public:
  // Those that a launcher has started, or of the program's communicator; null where this process is alone. The former
  // are the same each time: MPI is begun by the first call, and ended when the program ends. The latter are made
  // anew, by all of them together. Throws Error: configuration, unsupported (no such MPI, or one that does not take
  // calls from several threads), device where MPI fails, deadline where the other processes do not come. Those that
  // speak another protocol are refused: configuration.
  static std::shared_ptr<Processes> find(const Config& config);

  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  const MpiCalls& mpi() const noexcept { return mpi_; }
  MpiHandle communicator() const noexcept { return communicator_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // Whether other threads may call MPI, too, while the one that does otherwise does not.
  bool any_thread() const noexcept { return any_thread_; }

  // Lets the thread that calls MPI run this next, and returns; what it throws ends the program.
  void start(std::function<void()> task);
  // The same, and waits for it; throws what it threw.
  void run(const std::function<void()>& task);
  // What each process gives, in their order. Throws Error: deadline where they do not all come, aborted where one has
  // died meanwhile.
  template <class T>
  std::vector<T> all_gather(const T& mine) {
    std::vector<T> all(static_cast<std::size_t>(size_));
    all_gather_bytes(&mine, all.data(), sizeof(T));
    return all;
  }
  // The same of any length to the first process alone, which takes one after the other, its own not among them; while
  // nothing else goes on between them. An empty one is nothing.
  void collect(std::vector<unsigned char> mine, const std::function<void(std::vector<unsigned char>)>& take);

  // One world at a time: false where there is one. Its gatherings wait so long for the others.
  bool take(double deadline_s) noexcept {
    if (taken_.exchange(true)) return false;
    deadline_s_ = deadline_s;
    return true;
  }
  void give_back() noexcept { taken_ = false; }
  // A job of these processes was stopped, so they may be anywhere: none will be opened again. `dead`: MPI must not be
  // called any more, not even to end it.
  void set_stopped(bool dead) noexcept;
  bool stopped() const noexcept { return stopped_; }
  // From any thread: a process has died or stopped the job, so nobody need wait for the others.
  void break_off(const std::string& reason);

 private:
  Processes(const MpiCalls& mpi, const void* program, bool begin, const Config& config);
  static std::shared_ptr<Processes> of_launch(const Config& config);
  void expect_protocol();
  void all_gather_bytes(const void* mine, void* all, std::size_t bytes);
  void await(MpiHandle request);
  bool gather_all(const void* mine, void* all, std::size_t bytes);
  void work();
  void end() noexcept;

  const MpiCalls& mpi_;
  const bool begun_here_;
  MpiHandle communicator_ = 0;
  int rank_ = 0, size_ = 1;
  bool any_thread_ = false;
  std::atomic<bool> taken_{false}, stopped_{false}, dead_{false}, broken_off_{false};
  double deadline_s_;
  std::mutex mutex_;
  std::string broken_off_for_;
  std::vector<std::vector<unsigned char>> left_behind_;  // MPI may still use these
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool closing_ = false, closed_ = false;
  std::thread thread_;
};

// All processes agree whether each could do its part. What is made between this and agree() may throw in some: then the
// others throw Error(aborted), which names the first of those.
class Agreement {
 public:
  // Null: there is nobody to agree with.
  explicit Agreement(Processes* processes) noexcept : processes_(processes) {}
  Agreement(const Agreement&) = delete;
  Agreement& operator=(const Agreement&) = delete;
  ~Agreement();
  void agree();

 private:
  Processes* processes_;
};

}  // namespace dcgn::transport
