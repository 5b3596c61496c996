// What the steps of driver_program.cpp have in common: checks, buffers, launches.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

inline void check(CUresult result, int line) {
  if (result == CUDA_SUCCESS) return;
  const char* name = "?";
  cuGetErrorName(result, &name);
  std::printf("line %d: %s (%d)\n", line, name, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

inline void expect(bool right, const char* what) {
  if (right) return;
  std::printf("wrong: %s\n", what);
  std::exit(1);
}

inline constexpr unsigned large = 1 << 21;  // words, 8 MiB: several pages on each GPU

struct Code {
  CUmodule module = nullptr;
  CUfunction function(const char* name) const {
    CUfunction found = nullptr;
    CHECK(cuModuleGetFunction(&found, module, name));
    return found;
  }
  CUdeviceptr variable(const char* name, std::size_t expected) const {
    CUdeviceptr found = 0;
    std::size_t bytes = 0;
    CHECK(cuModuleGetGlobal(&found, &bytes, module, name));
    expect(bytes == expected, name);
    return found;
  }
};
// What main() has read.
inline Code code;
inline std::string ptx, fat_binary;

template <class T>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : count_(count) { CHECK(cuMemAlloc(&address, count * sizeof(T))); }
  Buffer(std::size_t count, const std::function<T(std::size_t)>& value) : Buffer(count) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = value(i);
    CHECK(cuMemcpyHtoD(address, values.data(), count * sizeof(T)));
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { CHECK(cuMemFree(address)); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    CHECK(cuMemcpyDtoH(values.data(), address, count_ * sizeof(T)));
    return values;
  }
  CUdeviceptr address = 0;

 private:
  std::size_t count_;
};

template <class... Values>
void launch(CUfunction function, unsigned gx, unsigned gy, unsigned threads, CUstream stream, Values... values) {
  void* places[] = {&values...};
  CHECK(cuLaunchKernel(function, gx, gy, 1, threads, 1, 1, 0, stream, places, nullptr));
}

template <class T>
std::uint64_t sum(const std::vector<T>& values) {
  std::uint64_t all = 1469598103934665603u;
  for (const T& value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    all = (all ^ bits) * 1099511628211u;
  }
  return all;
}

inline unsigned value_at(std::size_t i) { return static_cast<unsigned>(i * 2654435761u % 1000); }

inline constexpr unsigned width = 2048, height = large / width;

inline void scale(const Buffer<unsigned>& data, CUstream stream) {
  launch(code.function("scale"), width / 256, height, 256, stream, data.address, width);
}
inline void scale_here(std::vector<unsigned>& data, const unsigned* factor, unsigned offset) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = data[i] * factor[(i / width) & 3] + offset;
}

// The steps of driver_code.cpp.
std::uint64_t library();
std::uint64_t options();
std::uint64_t failures();
std::uint64_t cooperative();
std::uint64_t graph();
std::uint64_t graph_nodes();
