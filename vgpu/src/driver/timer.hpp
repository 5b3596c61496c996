// What launches take on the GPU: by events of the program's streams before and behind some of them.
#pragma once

#include "vgpu/src/split_policy.hpp"

#include <cuda.h>

#include <cstddef>
#include <deque>
#include <vector>

namespace dcgn::virtual_gpu::driver {

// By the thread that holds a Call; the first GPU's context is current.
class Timer {
 public:
  Timer() = default;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Makes the events: for who has time for that, with the program's context. begin() does where none has.
  void prepare();
  // Before the work; false where that is not timed. Then end() or cancel() follows, before the next begin().
  bool begin(CUstream stream);
  void end(CUstream stream, SplitPolicy::Kind& kind, SplitPolicy::Form form, double blocks);
  void cancel();
  // Whether a time may be known that was not handed on.
  bool waits() const { return !under_way_.empty(); }
  // Whether one of them says what was not known at all, or decides on a form.
  bool waits_for_new() const;
  // Hands on what is known by now, without waiting.
  void collect(SplitPolicy& policy);

 private:
  static constexpr std::size_t most = 16;  // under way
  struct Pair {
    CUevent begin = nullptr, end = nullptr;  // to the end of the process
  };
  struct Timed {
    Pair events;
    SplitPolicy::Kind* kind;
    SplitPolicy::Form form;
    double blocks;
  };
  std::vector<Pair> free_;
  Pair now_;
  bool made_ = false;
  std::deque<Timed> under_way_;
};

}  // namespace dcgn::virtual_gpu::driver
