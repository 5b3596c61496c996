#include "vgpu/src/driver/timer.hpp"

#include "vgpu/src/driver/real.hpp"

#include <algorithm>
#include <utility>

namespace dcgn::virtual_gpu::driver {

namespace {

using Elapsed = CUresult(float*, CUevent, CUevent);

Elapsed* elapsed() {
  static auto* const found =
      reinterpret_cast<Elapsed*>(real_function("cuEventElapsedTime_v2") ? real_function("cuEventElapsedTime_v2")
                                                                        : real_or_missing("cuEventElapsedTime"));
  return found;
}

}  // namespace

// All at once, and early: to make one later may wait for a copy that another thread is in.
void Timer::prepare() {
  if (made_) return;
  for (bool good = true; good && free_.size() < most;) {
    Pair pair;
    good = DCGN_REAL(cuEventCreate)(&pair.begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
    if (good && DCGN_REAL(cuEventCreate)(&pair.end, CU_EVENT_DEFAULT) != CUDA_SUCCESS) {
      static_cast<void>(DCGN_REAL(cuEventDestroy_v2)(pair.begin));
      good = false;
    }
    if (good) free_.push_back(pair);
  }
  made_ = !free_.empty();
}

bool Timer::begin(CUstream stream) {
  prepare();
  if (free_.empty()) return false;
  if (DCGN_REAL(cuEventRecord)(free_.back().begin, stream) != CUDA_SUCCESS) return false;
  now_ = free_.back();
  free_.pop_back();
  return true;
}

void Timer::end(CUstream stream, SplitPolicy::Kind& kind, SplitPolicy::Form form, double blocks) {
  if (DCGN_REAL(cuEventRecord)(now_.end, stream) != CUDA_SUCCESS) return cancel();
  under_way_.push_back({std::exchange(now_, {}), &kind, form, blocks});
}

void Timer::cancel() {
  if (now_.begin) free_.push_back(std::exchange(now_, {}));
}

bool Timer::waits_for_new() const {
  return std::any_of(under_way_.begin(), under_way_.end(), [](const Timed& one) {
    return one.kind->of(one.form).count() == 0 || (one.form != SplitPolicy::Form::local && !one.kind->settled);
  });
}

void Timer::collect(SplitPolicy& policy) {
  // One that has not ended is looked behind: it may be of another stream.
  for (std::size_t i = 0, waiting = 0; i < under_way_.size() && waiting < 2;) {
    const Timed timed = under_way_[i];
    const CUresult state = DCGN_REAL(cuEventQuery)(timed.events.end);
    if (state == CUDA_ERROR_NOT_READY) {
      ++i, ++waiting;
      continue;
    }
    float ms = 0;
    if (state == CUDA_SUCCESS && elapsed()(&ms, timed.events.begin, timed.events.end) == CUDA_SUCCESS)
      policy.note_time(*timed.kind, timed.form, timed.blocks, 1e-3 * static_cast<double>(ms));
    free_.push_back(timed.events);
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace dcgn::virtual_gpu::driver
