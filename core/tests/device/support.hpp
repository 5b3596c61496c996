// What the device tests have in common.
#pragma once

#include "tests/expect.hpp"

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>
#include <dcgn/gpu/launch.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::test {

template <class T>
std::vector<T> download(const DeviceBuffer<T>& buffer) {
  std::vector<T> host(buffer.size());
  buffer.download(host.data());
  return host;
}

template <class T>
DeviceBuffer<T> upload(const Device& device, const std::vector<T>& host) {
  DeviceBuffer<T> buffer(device, host.size());
  buffer.upload(host.data());
  return buffer;
}

template <class T>
DeviceBuffer<T> zeroed(const Device& device, std::size_t count) {
  return upload(device, std::vector<T>(count));
}

// A word that host and kernels share.
class SharedWord {
 public:
  explicit SharedWord(const Device& device)
      : device_(device), word_(static_cast<std::uint32_t*>(device.allocate_host(sizeof(std::uint32_t)))) {}
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;
  ~SharedWord() { device_.free_host(word_); }
  std::uint32_t* get() const { return word_; }
  std::uint32_t& operator*() const { return *word_; }

 private:
  Device device_;
  std::uint32_t* word_;
};

// Launches on a stream of its own and waits.
template <class Kernel, class... Args>
void run(const Device& device, const Launch& launch, const Kernel& kernel, const Args&... args) {
  Stream stream(device);
  device.launch(stream, launch, kernel, args...);
  stream.synchronize();
}

// Tests of what only the emulated GPU does.
class Emulated : public ::testing::Test {
 protected:
  void SetUp() override {
    if (Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "this machine's devices are not emulated";
  }
};

}  // namespace dcgn::test
