// When copies of a device's engines began and ended: events on both sides of each, looked at once they have passed.
#pragma once

#include "../copier.hpp"
#include "base/clock_map.hpp"
#include "cuda_check.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace dcgn::device {

// May be used by several threads at once.
class CopyTimes {
  struct Timed {
    cudaEvent_t begin, end;
    CopyRecord::Way way;
    std::uint64_t bytes;
  };

 public:
  // Keeps the first `kept` copies.
  CopyTimes(int device, std::size_t kept);
  CopyTimes(const CopyTimes&) = delete;
  CopyTimes& operator=(const CopyTimes&) = delete;
  ~CopyTimes();

  // Forgets the copies so far. While the device is idle: looks at its clock.
  void begin();

  // While one lives, a copy is being given to the stream. Of no CopyTimes it does nothing.
  class Span {
   public:
    Span(CopyTimes* times, cudaStream_t stream, CopyRecord::Way way, std::size_t bytes);
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;
    ~Span();

   private:
    CopyTimes* times_;
    const cudaStream_t stream_;
    Timed copy_{};
  };

  // Adds the copies that have ended since begin().
  void take(CopyRecords& records);

 private:
  cudaEvent_t event();
  base::Reading read_clock();
  // Of events that have passed, times by the device's clock.
  void resolve();

  const int device_;
  const std::size_t kept_;
  const CudaStreamHandle stream_;
  std::mutex mutex_;
  std::vector<cudaEvent_t> free_;
  std::deque<Timed> open_;
  std::vector<CopyRecord> done_;
  std::uint64_t count_ = 0;
  base::Reading begun_;
  // An event and its time, to which the others' are measured.
  cudaEvent_t reference_ = nullptr;
  double reference_ns_ = 0;
};

}  // namespace dcgn::device
