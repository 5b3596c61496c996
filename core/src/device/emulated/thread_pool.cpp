#include "thread_pool.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace dcgn::device {

namespace {

struct Worker {
  std::condition_variable given;
  std::function<void()> work;
};

struct Pool {
  std::mutex mutex;
  std::vector<Worker*> idle;

  void serve(std::function<void()> work) {
    Worker self;
    for (;;) {
      std::exchange(work, nullptr)();
      std::unique_lock lock(mutex);
      idle.push_back(&self);
      self.given.wait(lock, [&] { return self.work != nullptr; });
      work = std::exchange(self.work, nullptr);
    }
  }
};

// Never destroyed: its threads are detached and wait in it when the process ends.
Pool& pool() {
  static Pool& one = *new Pool;
  return one;
}

}  // namespace

void run_on_pool(std::function<void()> work) {
  Pool& all = pool();
  {
    const std::lock_guard lock(all.mutex);
    if (!all.idle.empty()) {
      Worker* worker = all.idle.back();  // the last one to come back: its caches are warm
      all.idle.pop_back();
      worker->work = std::move(work);
      worker->given.notify_one();
      return;
    }
  }
  std::thread([&all, work = std::move(work)]() mutable { all.serve(std::move(work)); }).detach();
}

}  // namespace dcgn::device
