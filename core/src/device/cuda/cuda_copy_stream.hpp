// Streams for copies, and what orders them: events, and words that are written when what came before is done.
#pragma once

#include "cuda_check.hpp"
#include "cuda_copy_times.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace dcgn::device {

class CudaEvent {
 public:
  explicit CudaEvent(int device);
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent();

  cudaEvent_t get() const noexcept { return event_; }
  // Blocks until what it was last recorded behind is done.
  void synchronize() const;

 private:
  const int device_;
  cudaEvent_t event_ = nullptr;
};

// Events for a moment's use by one thread. Some are made beforehand; making more waits for nothing either.
class EventPool {
 public:
  explicit EventPool(int device);

  class Lease {
   public:
    explicit Lease(EventPool& pool) : pool_(pool), event_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give_back(std::move(event_)); }
    const CudaEvent& operator*() const { return *event_; }
    const CudaEvent* operator->() const { return event_.get(); }

   private:
    EventPool& pool_;
    std::unique_ptr<CudaEvent> event_;
  };

 private:
  std::unique_ptr<CudaEvent> take();
  void give_back(std::unique_ptr<CudaEvent> event);

  const int device_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<CudaEvent>> free_;
};

// What it is given is done in order; may be given work by several threads. Waits for it when destroyed.
class CopyStream {
 public:
  // Tells `times` of its copies, where that is not null.
  explicit CopyStream(int device, CopyTimes* times = nullptr) : stream_(device, "CopyEngine"), times_(times) {}
  CopyStream(const CopyStream&) = delete;
  CopyStream& operator=(const CopyStream&) = delete;
  ~CopyStream();

  int device() const noexcept { return stream_.device(); }
  void synchronize();
  bool busy() const;

  void copy(void* to, const void* from, std::size_t bytes, CopyRecord::Way way);
  // Both ends in the memory of this device: not by a kernel, for which the resident ones may have left no room.
  void copy_within(void* to, const void* from, std::size_t bytes);

  // An event of this device is recorded; one of any device is waited for, as it was last recorded when this is called.
  void record(const CudaEvent& event);
  void wait(const CudaEvent& event);

  // Writes a word of this device's memory, or a pinned one; what came before in this stream is visible to kernels and
  // threads that acquire it.
  void write(std::uint32_t* word, std::uint32_t value);
  // The same for a word of host memory that is not pinned, by a thread of the driver.
  void write_on_host(std::uint32_t* word, std::uint32_t value);

 private:
  CudaStreamHandle stream_;
  CopyTimes* const times_;
};

}  // namespace dcgn::device
