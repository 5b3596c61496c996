// Jobs that send memory of the host and of GPUs by datatypes.
#pragma once

#include "core/tests/job/support.hpp"
#include "memory.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {

template <class Action>
void expect_error(Code code, const std::string& said, Action&& action) {
  const Error error = error_of(action);
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_TRUE(contains(error.what(), said));
}

// The bytes of a Memory, on the host or on a device (-1: the host), at the same offsets.
class Placed {
 public:
  Placed(int device, const Bytes& bytes) : device_(device), host_(bytes) {
    if (device_ < 0) return;
    on_device_.emplace(Device(device_), host_.size());
    on_device_->upload(host_.data());
  }
  std::byte* data() { return on_device_ ? on_device_->data() : host_.data(); }
  Bytes get() {
    if (on_device_) on_device_->download(host_.data());
    return host_;
  }

 private:
  int device_;
  Bytes host_;
  std::optional<DeviceBuffer<std::byte>> on_device_;
};

inline Config with_gpus(int cpus, double deadline_s = 60, int slots = 1) {
  return config_of({{.cpus = cpus, .gpus = std::min(Device::count(), 2), .slots = slots}}, deadline_s);
}

inline std::vector<int> devices() {
  std::vector<int> all(static_cast<std::size_t>(std::min(Device::count(), 2)) + 1);
  std::iota(all.begin(), all.end(), -1);
  return all;
}

template <class Kernel = Nothing>
void run(const Config& config, const std::function<void(Comm&)>& cpu, const Kernel& kernel = {}) {
  Job job(config);
  job.cpu(cpu);
  if (config.nodes[0].gpus) job.gpu({.grid = one_block_per_slot, .block = 32}, kernel);
  job.run();
}

inline Datatype column(std::int64_t rows, std::int64_t columns) {
  return Datatype::vector(rows, 1, columns, Datatype::of<double>());
}

}  // namespace dcgn::test
