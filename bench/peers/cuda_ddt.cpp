// What CUDA itself has: cudaMemcpy2DAsync for rows, cub's batched copy for lists of blocks. Compiled by nvcc.
#include "bench/peers/ddt_program.hpp"

#include <cuda_runtime.h>
#include <cub/device/device_memcpy.cuh>

#include <memory>

namespace {

using namespace dcgn::bench;

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

struct Free {
  void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count) {
    void* memory = nullptr;
    check(cudaMalloc(&memory, count * sizeof(T)));
    memory_.reset(static_cast<T*>(memory));
  }
  explicit OnDevice(const std::vector<T>& host) : OnDevice(host.size()) {
    check(cudaMemcpy(data(), host.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  T* data() const { return memory_.get(); }
  std::vector<T> back() const {
    std::vector<T> host(count_);
    check(cudaMemcpy(host.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
  }

 private:
  std::size_t count_;
  std::unique_ptr<T, Free> memory_;
};

// Copies of a list of blocks, one way.
class Batch {
 public:
  Batch(std::vector<void*> from, std::vector<void*> to, const std::vector<std::size_t>& sizes)
      : from_(from), to_(to), sizes_(sizes), count_(static_cast<std::uint32_t>(sizes.size())) {
    check(cub::DeviceMemcpy::Batched(nullptr, scratch_bytes_, from_.data(), to_.data(), sizes_.data(), count_));
    scratch_ = std::make_unique<OnDevice<std::byte>>(scratch_bytes_);
  }
  void operator()() {
    check(
        cub::DeviceMemcpy::Batched(scratch_->data(), scratch_bytes_, from_.data(), to_.data(), sizes_.data(), count_));
  }

 private:
  OnDevice<void*> from_, to_;
  OnDevice<std::size_t> sizes_;
  std::uint32_t count_;
  std::size_t scratch_bytes_ = 0;
  std::unique_ptr<OnDevice<std::byte>> scratch_;
};

std::vector<DdtRow> measured(const DdtWork& work) {
  const DdtBuffers b(work.shape, work.bytes);
  const OnDevice<std::byte> memory(b.memory), packed(b.packed), made(b.packed.size());
  int version = 0;
  check(cudaRuntimeGetVersion(&version));
  const std::string cuda = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  DdtActions actions;
  actions.finish = [] { check(cudaDeviceSynchronize()); };
  actions.found_packed = [&] { return made.back(); };
  actions.found_memory = [&] { return memory.back(); };
  std::string whose;
  std::unique_ptr<Batch> packing, unpacking;
  if (work.shape.kind == DdtShape::Kind::contiguous) {
    whose = cuda + " cudaMemcpyAsync";
    actions.pack = [&] {
      check(cudaMemcpyAsync(made.data(), memory.data(), b.packed.size(), cudaMemcpyDeviceToDevice));
    };
    actions.unpack = [&] {
      check(cudaMemcpyAsync(memory.data(), packed.data(), b.packed.size(), cudaMemcpyDeviceToDevice));
    };
  } else if (work.shape.kind == DdtShape::Kind::rows) {
    whose = cuda + " cudaMemcpy2DAsync";
    const auto width = static_cast<std::size_t>(work.shape.first), pitch = static_cast<std::size_t>(work.shape.second);
    const std::size_t rows = b.packed.size() / width;
    actions.pack = [=, to = made.data(), from = memory.data()] {
      check(cudaMemcpy2DAsync(to, width, from, pitch, width, rows, cudaMemcpyDeviceToDevice));
    };
    actions.unpack = [=, to = memory.data(), from = packed.data()] {
      check(cudaMemcpy2DAsync(to, pitch, from, width, width, rows, cudaMemcpyDeviceToDevice));
    };
  } else {
    whose = cuda + " cub::DeviceMemcpy::Batched";
    std::vector<void*> spread, to, from;
    std::vector<std::size_t> sizes;
    std::size_t at = 0;
    for_each_block(work.shape, work.bytes, [&](std::int64_t displacement, std::int64_t length) {
      spread.push_back(memory.data() + displacement);
      to.push_back(made.data() + at);
      from.push_back(packed.data() + at);
      sizes.push_back(static_cast<std::size_t>(length));
      at += sizes.back();
    });
    packing = std::make_unique<Batch>(spread, to, sizes);
    unpacking = std::make_unique<Batch>(from, spread, sizes);
    actions.pack = [&] { (*packing)(); };
    actions.unpack = [&] { (*unpacking)(); };
  }
  return measure(work, b, whose, actions);
}

}  // namespace

int main(int argc, char** argv) { return peer::print_ddt_rows("dcgn_peer_cuda_ddt", "device", argc, argv, measured); }
