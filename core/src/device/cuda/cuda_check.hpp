// Return codes of the CUDA runtime as exceptions; the calling thread's state (current device, capture mode) as objects.
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/error.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace dcgn::device {

// What a kernel leaves behind that has failed: every later call for the device returns the same, until the process
// ends.
inline bool is_lasting(cudaError_t result) {
  switch (result) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable: return true;
    default: return false;
  }
}

// Throws Error(code) that names the CUDA call and the device it was for.
inline void check_cuda(cudaError_t result, const char* operation, const char* call, int device,
                       Code code = Code::device) {
  if (result == cudaSuccess) return;
  std::string text = std::string(call) + " on device " + std::to_string(device) + ": " + cudaGetErrorName(result) +
                     ": " + cudaGetErrorString(result);
  if (is_lasting(result) && code != Code::kernel_failed)
    text += "; a kernel has failed there, and this process can use the device no more: start the program anew";
  throw Error(code, operation, text);
}

// Makes `device` the calling thread's current one, and in the end what was current before.
class CurrentDevice {
 public:
  CurrentDevice(int device, const char* operation) {
    check_cuda(cudaGetDevice(&before_), operation, "cudaGetDevice", device);
    if (before_ == device) return;
    check_cuda(cudaSetDevice(device), operation, "cudaSetDevice", device);
    changed_ = true;
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;
  ~CurrentDevice() {
    // It was current a moment ago; if the driver has failed since, the next checked call says so.
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

// While one lives, the calling thread's calls are allowed although another thread captures a graph in global mode: they
// are no part of what it captures.
class RelaxedCapture {
 public:
  RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() { static_cast<void>(cudaThreadExchangeStreamCaptureMode(&mode_)); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;  // what was in force before, meanwhile
};

// A stream that does not wait for the legacy default stream, nor that one for it.
class CudaStreamHandle {
 public:
  CudaStreamHandle(int device, const char* operation, StreamPriority priority = StreamPriority::normal)
      : device_(device) {
    const CurrentDevice current(device, operation);
    int least = 0, greatest = 0;
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest), operation, "cudaDeviceGetStreamPriorityRange",
               device);
    check_cuda(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking,
                                            priority == StreamPriority::high ? greatest : least),
               operation, "cudaStreamCreateWithPriority", device);
  }
  CudaStreamHandle(const CudaStreamHandle&) = delete;
  CudaStreamHandle& operator=(const CudaStreamHandle&) = delete;
  ~CudaStreamHandle() {
    // At process end the driver may be gone already; its streams then are, too.
    static_cast<void>(cudaStreamDestroy(stream_));
  }

  cudaStream_t get() const noexcept { return stream_; }
  int device() const noexcept { return device_; }

 private:
  const int device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace dcgn::device
