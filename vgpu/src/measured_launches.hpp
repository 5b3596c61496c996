// Launches of a virtual GPU that are split where that takes less: Schedule::measured. What `dcgn vgpu run` does to a
// program's own launches and memory is driver/measured.hpp; both decide by SplitPolicy.
#pragma once

#include "vgpu/src/machine.hpp"
#include "vgpu/src/split_policy.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu {

class Gpu;

class MeasuredLaunches {
 public:
  explicit MeasuredLaunches(Gpu& gpu) : gpu_(gpu) {}
  MeasuredLaunches(const MeasuredLaunches&) = delete;
  MeasuredLaunches& operator=(const MeasuredLaunches&) = delete;

  // Whether all buffers that may be moved lie on part 0.
  bool local() const { return policy_.local(); }
  // Before and behind a launch, of a kernel or of all that a graph has. Whether it is split.
  bool begin(Parts& streams, const void* of, double blocks, double threads_of_block, bool can_split);
  void end(Parts& streams);
  // It has failed: there is no end().
  void cancel() { now_.kind = nullptr; }
  // Nothing may be under way.
  void note_wait() { waited_ = true; }
  // There is no room for a buffer on part 0: from now on, they lie on all.
  void overflow();

  std::uint64_t trials() const { return policy_.trials(); }

 private:
  using Form = SplitPolicy::Form;
  struct Timed {
    std::unique_ptr<Marker> begin, end;
    SplitPolicy::Kind* kind = nullptr;  // null: not timed
    Form form = Form::local;
    double blocks = 0;
  };

  void collect();
  void move();

  Gpu& gpu_;
  SplitPolicy policy_;
  std::map<std::pair<const void*, int>, SplitPolicy::Kind*> kinds_;  // by size, too
  bool waited_ = false;
  unsigned asked_ = 0, every_ = 16;
  Timed now_;
  std::deque<Timed> under_way_;
  std::vector<Timed> idle_;
};

}  // namespace dcgn::virtual_gpu
