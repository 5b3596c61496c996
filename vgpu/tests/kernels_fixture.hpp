// Virtual GPUs of several parts, for tests of kernels from source and PTX. On a machine with one GPU the parts are all
// that GPU; without one they are emulated.
#pragma once

#include "corpus.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace dcgn::test {

class KernelsOfVirtualGpu : public testing::Test {
 protected:
  void SetUp() override {
    try {
      of_parts(1).load_source("empty.cu", "");
    } catch (const Error& error) {
      if (error.code() == Code::unsupported) GTEST_SKIP() << error.what();
    }
  }
  static VirtualGpu of_parts(int parts) {
    std::vector<Device> devices;
    devices.reserve(static_cast<std::size_t>(parts));
    for (int part = 0; part < parts; ++part) devices.emplace_back(part % Device::count());
    return VirtualGpu(devices);
  }
  static virtual_gpu::Module load(VirtualGpu& gpu, const std::string& name) {
    return gpu.load_ptx(name, corpus_text(name));
  }
  // The ints that one launch of a kernel, which writes them at its only argument, leaves there.
  static std::vector<int> ints_of(VirtualGpu& gpu, const virtual_gpu::Kernel& kernel, const Launch& launch,
                                  std::size_t count) {
    auto* out = static_cast<int*>(gpu.allocate(count * sizeof(int)));
    gpu.fill(out, 0xff, count * sizeof(int));
    gpu.launch(kernel, launch, out);
    std::vector<int> found(count);
    gpu.copy(found.data(), out, count * sizeof(int));
    gpu.free(out);
    return found;
  }
};

}  // namespace dcgn::test
