#include "processes.hpp"

#include "mpi_library.hpp"

#include <dcgn/arch/relax.hpp>
#include <dcgn/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <sstream>
#include <string>
#include <utility>

namespace dcgn::transport {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A process that others have left alone must not wait for them for ever.
constexpr auto end_within = 5s;

[[noreturn]] void refuse(Code code, const std::string& detail) { throw Error(code, "world", detail); }

}  // namespace

Processes::Processes(const MpiCalls& mpi, const void* program, bool begin, const Config& config)
    : mpi_(mpi), begun_here_(begin), deadline_s_(config.deadline_s), thread_([this] { work(); }) {
  try {
    run([&] {
      MpiThreads provided = MpiThreads::single;
      if (begin) {
        const MpiThreads wanted = config.ranks_progress ? MpiThreads::serialized : MpiThreads::funneled;
        check_mpi(mpi_, mpi_.init(wanted, config.deadline_s, &provided), "MPI_Init_thread");
      } else {
        check_mpi(mpi_, mpi_.threads(&provided), "MPI_Query_thread");
        if (provided != MpiThreads::multiple)
          refuse(
              Code::unsupported,
              "the program has begun MPI without MPI_THREAD_MULTIPLE, which it needs because a thread of the library "
              "calls MPI beside it; expected MPI_Init_thread with that");
      }
      any_thread_ = config.ranks_progress && provided >= MpiThreads::serialized;
      check_mpi(mpi_, mpi_.open(program, &communicator_), "MPI_Comm_dup");
      check_mpi(mpi_, mpi_.rank(communicator_, &rank_), "MPI_Comm_rank");
      check_mpi(mpi_, mpi_.size(communicator_, &size_), "MPI_Comm_size");
    });
    expect_protocol();
  } catch (...) {
    dead_ = true;
    end();
    throw;
  }
}

Processes::~Processes() { end(); }

// The first that processes tell each other, so that the rest is understood.
void Processes::expect_protocol() {
  const std::vector<std::uint32_t> all = all_gather(process_protocol);
  for (int p = 0; p < size_; ++p)
    if (const std::uint32_t its = all[static_cast<std::size_t>(p)]; its != process_protocol)
      refuse(Code::configuration, "process " + std::to_string(p) + " speaks protocol " + std::to_string(its) +
                                      " between processes, process " + std::to_string(rank_) + " " +
                                      std::to_string(process_protocol) + "; expected the same version of dcgn in all");
}

std::shared_ptr<Processes> Processes::of_launch(const Config& config) {
  const auto launch = find_launch(config.mpi);
  if (!launch || launch->size == 1) return nullptr;
  // One for the whole program: MPI can be begun only once, and must be ended by the thread that did.
  static std::mutex mutex;
  static std::shared_ptr<Processes> all;
  static std::string which;
  const std::lock_guard lock(mutex);
  const std::string linked = launch->mpi == "tcp" ? "" : linked_mpi();
  const std::string mpi = !config.mpi.empty() ? config.mpi : !linked.empty() ? linked : launch->mpi;
  if (!linked.empty() && linked != mpi && !all)
    refuse(Code::configuration, "MPI " + mpi + " where the program is linked with " + linked);
  if (all) {
    if (mpi != which) refuse(Code::configuration, "MPI " + mpi + " where " + which + " is in use");
    return all;
  }
  const MpiCalls& calls = load_mpi(mpi);
  const MpiStage stage = calls.stage();
  if (stage == MpiStage::finalized) refuse(Code::unsupported, "the program has ended MPI; expected it to go on");
  all.reset(new Processes(calls, nullptr, stage == MpiStage::none, config));
  which = mpi;
  if (all->size() != launch->size)
    refuse(Code::configuration, mpi + " knows of " + std::to_string(all->size()) + " processes, expected the " +
                                    std::to_string(launch->size) +
                                    " of the launcher; is it that of another MPI? DCGN_MPI says which");
  if (stage == MpiStage::none) std::atexit([] { all.reset(); });
  return all;
}

std::shared_ptr<Processes> Processes::find(const Config& config) {
  if (!config.mpi.empty() && config.mpi != "openmpi" && config.mpi != "mpich" && config.mpi != "tcp" &&
      config.mpi != "off")
    refuse(Code::configuration, "Config::mpi=" + config.mpi + ": expected openmpi, mpich, tcp, off or nothing");
  if (!config.mpi_communicator) return config.mpi == "off" ? nullptr : of_launch(config);
  const std::string linked = linked_mpi();
  if (linked.empty())
    refuse(Code::configuration, "Config::mpi_communicator in a program that is linked with no MPI; expected null");
  if (!config.mpi.empty() && config.mpi != linked)
    refuse(Code::configuration, "MPI " + config.mpi + " where the program is linked with " + linked);
  const MpiCalls& calls = load_mpi(linked);
  if (calls.stage() != MpiStage::running)
    refuse(Code::configuration, "Config::mpi_communicator before MPI_Init_thread or after MPI_Finalize");
  return std::shared_ptr<Processes>(new Processes(calls, config.mpi_communicator, false, config));
}

void Processes::start(std::function<void()> task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void Processes::run(const std::function<void()>& task) {
  std::packaged_task<void()> packaged(task);
  std::future<void> done = packaged.get_future();
  start([&] { packaged(); });
  done.get();
}

void Processes::all_gather_bytes(const void* mine, void* all, std::size_t bytes) {
  bool good = false;
  try {
    run([&] { good = gather_all(mine, all, bytes); });
  } catch (const Error&) {
    // Where a process has died the watch is about to say which.
    for (const auto until = Clock::now() + 1s; !broken_off_ && Clock::now() < until;) std::this_thread::sleep_for(1ms);
    set_stopped(true);
    if (!broken_off_) throw;
  }
  if (good) return;
  set_stopped(true);
  const std::lock_guard lock(mutex_);
  if (broken_off_) refuse(Code::aborted, broken_off_for_);
  std::ostringstream text;
  text << "not all " << size_ << " processes have come within " << deadline_s_
       << " s (Config::deadline_s) to where they open the world together; expected each to, or to end";
  refuse(Code::deadline, text.str());
}

// False where they have not come, or one has died. Asked for again and again rather than waited for in MPI, which may
// not let others run meanwhile.
bool Processes::gather_all(const void* mine, void* all, std::size_t bytes) {
  const std::size_t length = bytes * static_cast<std::size_t>(size_);
  std::vector<unsigned char>& space = left_behind_.emplace_back(length + bytes);
  std::memcpy(space.data() + length, mine, bytes);
  MpiHandle request = 0;
  MpiStatus status;
  int done = 0;
  const auto until = Clock::now() + std::chrono::duration<double>(deadline_s_);
  check_mpi(mpi_,
            mpi_.iall_gather(communicator_, space.data() + length, space.data(), static_cast<int>(bytes), &request),
            "MPI_Iallgather");
  for (;; relax()) {
    check_mpi(mpi_, mpi_.test(&request, &done, &status), "MPI_Test");
    if (done || broken_off_ || Clock::now() > until) break;
  }
  detail::relax_reset_host();
  if (!done) return false;
  std::memcpy(all, space.data(), length);
  left_behind_.pop_back();
  return true;
}

// Throws as all_gather() where it is not done within the deadline.
void Processes::await(MpiHandle request) {
  MpiStatus status;
  const auto until = Clock::now() + std::chrono::duration<double>(deadline_s_);
  for (int done = 0;; relax()) {
    check_mpi(mpi_, mpi_.test(&request, &done, &status), "MPI_Test");
    if (done) break;
    if (!broken_off_ && Clock::now() <= until) continue;
    set_stopped(true);
    const std::lock_guard lock(mutex_);
    if (broken_off_) refuse(Code::aborted, broken_off_for_);
    refuse(Code::deadline, "what one process has for the first was not passed on within the deadline");
  }
  detail::relax_reset_host();
}

void Processes::collect(std::vector<unsigned char> mine, const std::function<void(std::vector<unsigned char>)>& take) {
  const std::vector<std::uint64_t> sizes = all_gather(static_cast<std::uint64_t>(mine.size()));
  const auto piece = static_cast<std::uint64_t>(std::min<std::int64_t>(mpi_.bytes_limit, 64 << 20));
  const int tag = mpi_.tag_limit - 1;  // the gateway's begin at 0
  MpiHandle request = 0;
  if (rank_) {
    // MPI may still use it where the first one does not receive.
    const std::vector<unsigned char>& whole = left_behind_.emplace_back(std::move(mine));
    for (std::uint64_t at = 0; at < whole.size(); at += piece)
      run([&] {
        const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(piece, whole.size() - at));
        check_mpi(mpi_, mpi_.isend(communicator_, whole.data() + at, bytes, 0, tag, &request), "MPI_Isend");
        await(request);
      });
    left_behind_.pop_back();
    return;
  }
  for (int p = 1; p < size_; ++p) {
    const std::uint64_t size = sizes[static_cast<std::size_t>(p)];
    if (!size) continue;
    std::vector<unsigned char>& space = left_behind_.emplace_back(size);
    for (std::uint64_t at = 0; at < size; at += piece)
      run([&] {
        const auto bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(piece, size - at));
        check_mpi(mpi_, mpi_.irecv(communicator_, space.data() + at, bytes, p, tag, &request), "MPI_Irecv");
        await(request);
      });
    std::vector<unsigned char> whole = std::move(space);
    left_behind_.pop_back();
    take(std::move(whole));
  }
}

void Processes::break_off(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (broken_off_) return;
  broken_off_for_ = reason;
  broken_off_ = true;
}

void Processes::set_stopped(bool dead) noexcept {
  stopped_ = true;
  if (dead) dead_ = true;
}

void Processes::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !tasks_.empty(); });
    if (tasks_.empty()) break;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
  lock.unlock();
  if (!dead_ && !stopped_ && communicator_) static_cast<void>(mpi_.close(&communicator_));  // nobody is left to tell
  if (!dead_ && begun_here_) static_cast<void>(mpi_.finalize());
  lock.lock();
  closed_ = true;
  changed_.notify_all();
}

void Processes::end() noexcept {
  std::unique_lock lock(mutex_);
  closing_ = true;
  changed_.notify_all();
  const auto closed = [this] { return closed_; };
  if (!stopped_) {
    changed_.wait(lock, closed);
  } else if (!changed_.wait_for(lock, end_within, closed)) {
    // MPI waits for what never comes, and the program is at its end: it goes without that thread.
    std::fflush(nullptr);
    std::_Exit(EXIT_FAILURE);
  }
  lock.unlock();
  thread_.join();
}

void Agreement::agree() {
  if (!processes_) return;
  Processes& all = *std::exchange(processes_, nullptr);
  const std::vector<int> good = all.all_gather(1);
  for (int p = 0; p < all.size(); ++p)
    if (!good[static_cast<std::size_t>(p)])
      refuse(Code::aborted, "process " + std::to_string(p) + " of " + std::to_string(all.size()) +
                                " could not set up its ranks; what it says tells why");
}

Agreement::~Agreement() {
  if (!processes_) return;
  try {
    processes_->all_gather(0);
  } catch (const Error&) {  // another error is on its way
  }
}

}  // namespace dcgn::transport
