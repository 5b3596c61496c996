// What workloads are made of.
#pragma once

#include "vgpu/bench/workloads/workload.hpp"

#include <dcgn/gpu/launch.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::workloads {

// A file of vgpu/tests/corpus, which was built in.
std::string corpus_file(const std::string& name);

// Numbers that are the same everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  std::uint32_t below(std::uint32_t end) { return next() % end; }
  float unit() { return static_cast<float>(next() % 65536) / 65536; }  // in [0, 1)

 private:
  std::uint64_t state_;
};

// A workload's buffers and kernels.
class Program : public Workload {
 public:
  // `name`.cu, or its PTX for emulated GPUs, which need no compiler then.
  Program(VirtualGpu& gpu, const std::string& name) : gpu_(gpu), module_(load(gpu, name)) {}
  ~Program() override {
    for (void* buffer : buffers_) {
      try {
        gpu_.free(buffer);
      } catch (const Error&) {  // a device that has faulted; that was reported where it was met
      }
    }
  }
  const std::vector<void*>& buffers() const override { return buffers_; }
  const std::vector<void*>& inputs() const override { return inputs_; }
  std::uint64_t copied_in() const override { return copied_in_; }
  std::uint64_t copied_out() const override { return copied_out_; }
  void sample_next_run(std::uint64_t blocks) override { sampled_blocks_ = blocks; }
  Snapshot snapshot() const override {
    Snapshot all{sizes(), {}, constants_};
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      Snapshot::Bytes& bytes = all.buffers.emplace_back(buffer_bytes_[i]);
      gpu_.copy(bytes.data(), buffers_[i], bytes.size());
    }
    return all;
  }

 protected:
  virtual std::vector<int> sizes() const { return {}; }

  template <class T>
  T* allocate(std::size_t count) {
    buffer_bytes_.push_back(count * sizeof(T));
    return static_cast<T*>(buffers_.emplace_back(gpu_.allocate(count * sizeof(T))));
  }
  // What kernels only read.
  template <class T>
  T* allocate_input(std::size_t count) {
    T* const input = allocate<T>(count);
    inputs_.push_back(input);
    return input;
  }
  // The content, repeated until `count` elements are full.
  template <class T>
  void upload(T* to, const std::vector<T>& content, std::size_t count) {
    copied_in_ += count * sizeof(T);
    std::size_t done = std::min(content.size(), count);
    gpu_.copy(to, content.data(), done * sizeof(T));
    for (; done < count; done += std::min(done, count - done))
      gpu_.copy(to + done, to, std::min(done, count - done) * sizeof(T));
  }
  template <class T>
  void upload(T* to, const std::vector<T>& content) {
    upload(to, content, content.size());
  }
  // A variable of the module that kernels only read, as it is when a run begins.
  template <class T>
  void write_constant(const char* name, const std::vector<T>& content) {
    Snapshot::Bytes& bytes = constants_.emplace_back(content.size() * sizeof(T));
    std::memcpy(bytes.data(), content.data(), bytes.size());
    write(name, content);
  }
  // While runs go on: once the stream has done what it was given.
  template <class T>
  void download(virtual_gpu::Stream& stream, T* to, const T* from, std::size_t count) {
    copied_out_ += count * sizeof(T);
    gpu_.copy(stream, to, from, count * sizeof(T));
    stream.synchronize();
  }
  template <class T>
  void write(const char* name, const std::vector<T>& content) {
    copied_in_ += content.size() * sizeof(T);
    module_.write(name, content.data(), content.size() * sizeof(T));
  }
  template <class T>
  static Result result(const char* name, const T* data, std::size_t count, double tolerance = 0) {
    return {name, data, count * sizeof(T), tolerance};
  }
  template <class... Args>
  void launch(virtual_gpu::Stream& stream, const virtual_gpu::Kernel& kernel, const Launch& shape,
              const Args&... args) {
    if (const std::uint64_t blocks = std::exchange(sampled_blocks_, 0)) {
      stream.synchronize();
      const auto placements = gpu_.sample(buffers_, blocks, kernel, shape, args...);
      for (std::size_t i = 0; i < buffers_.size(); ++i) gpu_.place(buffers_[i], placements[i]);
    }
    gpu_.launch(stream, kernel, shape, args...);
  }
  bool is_sampled() const { return sampled_blocks_ != 0; }  // the next launch is
  virtual_gpu::Kernel kernel(const char* name) const { return module_.kernel(name); }
  const virtual_gpu::Module& module() const { return module_; }
  VirtualGpu& gpu() { return gpu_; }

 private:
  static virtual_gpu::Module load(VirtualGpu& gpu, const std::string& name) {
    if (gpu.device(0).kind() == DeviceKind::emulated) return gpu.load_ptx(name + ".ptx", corpus_file(name + ".ptx"));
    return gpu.load_source(name + ".cu", corpus_file(name + ".cu"));
  }

  VirtualGpu& gpu_;
  virtual_gpu::Module module_;
  std::vector<void*> buffers_, inputs_;
  std::vector<std::size_t> buffer_bytes_;
  std::vector<Snapshot::Bytes> constants_;
  std::uint64_t sampled_blocks_ = 0, copied_in_ = 0, copied_out_ = 0;
};

inline constexpr unsigned threads = 256;  // of a block, where any number would do

inline unsigned blocks_for(std::uint64_t items, unsigned each) {
  return static_cast<unsigned>((items + each - 1) / each);
}

// So many random floats in [low, high): content to be repeated.
inline std::vector<float> random_floats(std::size_t count, float low, float high, std::uint64_t seed) {
  Numbers numbers(seed);
  std::vector<float> floats(count);
  for (float& f : floats) f = low + (high - low) * numbers.unit();
  return floats;
}
// Not a power of two, so that what is repeated differs from page to page.
inline constexpr std::size_t pattern = 1'000'003;
// Content for so many.
inline std::vector<float> random_pattern(std::size_t count, float low, float high, std::uint64_t seed) {
  return random_floats(std::min(count, pattern), low, high, seed);
}

// How many of something: `at_one` at scale 1, `at_zero` at scale 0, `in_paper` at paper_scale: Table II.
inline std::size_t scaled(int scale, std::size_t at_one, std::size_t at_zero, std::size_t in_paper) {
  if (scale < 0) return in_paper * static_cast<std::size_t>(-scale) / 100;
  return scale == 0 ? at_zero : at_one * static_cast<std::size_t>(scale);
}
inline int scaled(int scale, int at_one, int at_zero, int in_paper) {
  return scale < 0 ? in_paper * -scale / 100 : scale == 0 ? at_zero : at_one * scale;
}
// The same, but that larger scales have no more.
template <class Number>
Number fixed(int scale, Number at_one, Number at_zero, Number in_paper) {
  return scale < 0 ? in_paper : scale == 0 ? at_zero : at_one;
}

template <class One>
std::unique_ptr<Workload> make_workload(VirtualGpu& gpu, int scale) {
  return std::make_unique<One>(gpu, scale);
}

std::vector<WorkloadKind> streaming_workloads();
std::vector<WorkloadKind> image_workloads();
std::vector<WorkloadKind> gathering_workloads();
std::vector<WorkloadKind> solver_workloads();
std::vector<WorkloadKind> iterative_workloads();
std::vector<WorkloadKind> tree_workloads();

}  // namespace dcgn::workloads
