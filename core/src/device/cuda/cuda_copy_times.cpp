#include "cuda_copy_times.hpp"

#include <dcgn/arch/clock.hpp>

#include <algorithm>
#include <utility>

namespace dcgn::device {

namespace {

constexpr int times_made_beforehand = 64;
// Times between two events come as a float of milliseconds, which is exact to 0.1 us up to here.
constexpr double longest_from_reference_ns = 1e9;

cudaEvent_t make_event(int device) {
  const CurrentDevice current(device, "trace");
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreate(&event), "trace", "cudaEventCreate", device);
  return event;
}

double ns_between(cudaEvent_t from, cudaEvent_t to, int device) {
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, from, to), "trace", "cudaEventElapsedTime", device);
  return 1e6 * static_cast<double>(milliseconds);
}

}  // namespace

CopyTimes::CopyTimes(int device, std::size_t kept) : device_(device), kept_(kept), stream_(device, "trace") {
  for (int i = 0; i < times_made_beforehand; ++i) free_.push_back(make_event(device));
}

CopyTimes::~CopyTimes() {
  for (const Timed& t : open_) free_.insert(free_.end(), {t.begin, t.end});
  if (reference_) free_.push_back(reference_);
  // At process end the driver may be gone already; its events then are, too.
  for (cudaEvent_t event : free_) static_cast<void>(cudaEventDestroy(event));
}

cudaEvent_t CopyTimes::event() {
  if (free_.empty()) return make_event(device_);
  const cudaEvent_t event = free_.back();
  free_.pop_back();
  return event;
}

// The reference becomes an event whose time by the host's clock is known as well as the shortest way there and back
// allows.
base::Reading CopyTimes::read_clock() {
  const CurrentDevice current(device_, "trace");
  base::Reading best{0, 0, ~std::uint64_t{0}};
  cudaEvent_t seen = event();
  const cudaEvent_t first = std::exchange(reference_, nullptr);
  const double first_ns = reference_ns_;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = now_ns();
    check_cuda(cudaEventRecord(seen, stream_.get()), "trace", "cudaEventRecord", device_);
    check_cuda(cudaEventSynchronize(seen), "trace", "cudaEventSynchronize", device_);
    const std::uint64_t after = now_ns(), error = (after - before) / 2 + 1;
    if (error >= best.error) continue;
    best = {0, before + (after - before) / 2, error};
    if (reference_) free_.push_back(reference_);
    reference_ = std::exchange(seen, event());
  }
  free_.push_back(seen);
  reference_ns_ = first ? first_ns + ns_between(first, reference_, device_) : 0;
  best.clock = static_cast<std::uint64_t>(reference_ns_);
  if (first) free_.push_back(first);
  return best;
}

void CopyTimes::begin() {
  const std::lock_guard lock(mutex_);
  for (const Timed& t : open_) free_.insert(free_.end(), {t.begin, t.end});
  open_.clear();
  done_.clear();
  count_ = 0;
  begun_ = read_clock();
}

void CopyTimes::resolve() {
  if (!reference_) return;  // before begin()
  while (!open_.empty()) {
    const Timed first = open_.front();
    const cudaError_t state = cudaEventQuery(first.end);
    if (state == cudaErrorNotReady) return;
    check_cuda(state, "trace", "cudaEventQuery", device_);
    const double begin = reference_ns_ + ns_between(reference_, first.begin, device_);
    const double end = begin + ns_between(first.begin, first.end, device_);
    done_.push_back({device_, first.way, first.bytes, static_cast<std::uint64_t>(std::max(begin, 0.0)),
                     static_cast<std::uint64_t>(std::max(end, 0.0))});
    free_.push_back(first.end);
    if (begin - reference_ns_ > longest_from_reference_ns) {
      free_.push_back(std::exchange(reference_, first.begin));
      reference_ns_ = begin;
    } else {
      free_.push_back(first.begin);
    }
    open_.pop_front();
  }
}

void CopyTimes::take(CopyRecords& records) {
  const std::lock_guard lock(mutex_);
  resolve();
  const base::ClockMap host(begun_, read_clock());
  for (CopyRecord& r : done_) {
    r.begin_ns = host(r.begin_ns);
    r.end_ns = host(r.end_ns);
  }
  records.kept.insert(records.kept.end(), done_.begin(), done_.end());
  done_.clear();
  records.dropped += count_ - std::min<std::uint64_t>(count_, kept_);
}

CopyTimes::Span::Span(CopyTimes* times, cudaStream_t stream, CopyRecord::Way way, std::size_t bytes)
    : times_(times), stream_(stream) {
  if (!times_) return;
  {
    const std::lock_guard lock(times_->mutex_);
    if (times_->count_++ >= times_->kept_) {
      times_ = nullptr;
      return;
    }
    times_->resolve();
    copy_ = {times_->event(), times_->event(), way, bytes};
  }
  check_cuda(cudaEventRecord(copy_.begin, stream_), "trace", "cudaEventRecord", times_->device_);
}

CopyTimes::Span::~Span() {
  if (!times_) return;
  // What fails here is seen by the next call on this device.
  static_cast<void>(cudaEventRecord(copy_.end, stream_));
  const std::lock_guard lock(times_->mutex_);
  times_->open_.push_back(copy_);
}

}  // namespace dcgn::device
