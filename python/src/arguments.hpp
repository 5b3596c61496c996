// Arguments for what was compiled from source at run time, and the libraries that it is in.
#pragma once

#include "buffer.hpp"
#include "dcgn_argument.hpp"

#include <dcgn/device.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dcgn::python {

// Memory that was given, to last as long as what was compiled uses it.
using Kept = std::vector<std::unique_ptr<Buffer>>;

// A real GPU's copy of an array in the host's memory.
class DeviceCopy {
 public:
  DeviceCopy(const Device& device, const Buffer& host)
      : host_(host.span()), device_(device), memory_(device, host_.size()) {}
  bool is_of(const Device& device, const Buffer& host) const {
    return device_.index() == device.index() && host_.data() == host.memory() && host_.size() == host.span().size();
  }
  void allow_writing() { writable_ = true; }
  std::byte* memory() const { return memory_.data(); }

  void fill();
  // What kernels have changed of it, and nothing else: others may have changed the rest, on the host or on other GPUs.
  void bring_back() const;

 private:
  Span<std::byte> host_;
  bool writable_ = false;
  Device device_;
  DeviceBuffer<std::byte> memory_;
  std::vector<std::byte> before_;
};
using DeviceCopies = std::vector<std::unique_ptr<DeviceCopy>>;

// Where arrays of the host go whose kernel runs on a real GPU.
struct CopiesTo {
  const Device& device;
  DeviceCopies& copies;  // one for each array, to be filled
};

// Throws Error(invalid_type) for an array with gaps, device for one in the host's memory where it is for a real GPU and
// there are no copies.
std::vector<Argument> arguments_of(const nb::tuple& given, bool for_cuda, Kept& kept, const CopiesTo* copies = nullptr);

// A function of a shared library, which stays loaded. Throws Error(io), saying why, where there is none.
void* function_of(const std::string& library, const char* name);

// What source is compiled for: as nvcc has it, "sm_90"; empty for an emulated GPU.
std::string architecture_of(const Device& device);

}  // namespace dcgn::python
