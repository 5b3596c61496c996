// The stream of a CUDA device.
#pragma once

#include "../backend.hpp"
#include "cuda_check.hpp"

#include <functional>
#include <string>

namespace dcgn::device {

class CudaStream final : public StreamState {
 public:
  CudaStream(int device, StreamPriority priority) : stream_(device, "Stream", priority) {}
  ~CudaStream() override;

  void synchronize() override;
  bool idle() override;
  void* native() noexcept override { return stream_.get(); }
  std::function<void()> record(const std::function<void()>& work) override;

  void copy(void* to, const void* from, std::size_t bytes) override;
  void fill(void* memory, unsigned char value, std::size_t bytes) override;
  void launch(const Launch& launch, const dcgn::detail::KernelImage& image) override;

 private:
  CudaStreamHandle stream_;
  const std::type_info* last_kernel_ = nullptr;  // for the report of a fault, which CUDA does not attribute
};

}  // namespace dcgn::device
