// What a Graph refers to.
#pragma once

#include "vgpu/src/machine.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu {

class Gpu;

class RecordedWork {
 public:
  // One of its calls: gives a stream what it does, split where that is asked for and can be.
  using Step = std::function<void(Parts& streams, bool split)>;

  // What all of it becomes, split or not.
  struct Form {
    // For so many launches, its calls are made one by one, before they are captured: the first finds code that is not
    // loaded yet. More where what was captured did not serve long.
    unsigned made = 0, enough = 1, served = 0;
    std::unique_ptr<Captured> captured;
    std::uint64_t age = 0;  // Gpu::age_, when it was captured
    // Options then.
    double copies = 0;
    Schedule schedule = Schedule::fixed;
    // By address: those whose copies it reads, made outside of it, and how often they had been written by then; those
    // that it writes or copies; those that each part reduces apart.
    std::vector<std::pair<std::uintptr_t, std::uint64_t>> reads;
    std::vector<std::uintptr_t> writes, reduces;
    std::uint64_t copies_made = 0, copied_bytes = 0, reductions = 0;  // as Statistics count them
  };
  static constexpr unsigned few = 4, most_enough = 64;

  const Gpu* of = nullptr;
  std::vector<Step> steps;
  std::uint64_t launches = 0, never_split = 0;  // of its steps
  Form forms[2];                                // whole, split
};

}  // namespace dcgn::virtual_gpu
