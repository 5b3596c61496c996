// Kernels that a virtual GPU has loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu {

class Gpu;         // vgpu/src/gpu.hpp
class LoadedCode;  // vgpu/src/loaded_code.hpp

// Of a kernel; where it lies among its arguments, in bytes.
struct Parameter {
  std::string name;
  std::size_t offset = 0, bytes = 0, alignment = 0;
};

// What is known of a kernel.
struct KernelInfo {
  std::string name;                   // as PTX has it: mangled, unless it is extern "C"
  std::vector<Parameter> parameters;  // its own
  // Why its blocks cannot be split over several devices, each with function and line; empty where they can be.
  std::vector<std::string> reasons;
  std::vector<std::string> remarks;

  bool splittable() const { return reasons.empty(); }
};

// A kernel of a Module, which keeps that alive; cheap to copy.
class Kernel {
 public:
  const KernelInfo& info() const;

 private:
  friend class Gpu;
  friend class Module;
  Kernel(std::shared_ptr<LoadedCode> code, std::size_t index) : code_(std::move(code)), index_(index) {}

  std::shared_ptr<LoadedCode> code_;
  std::size_t index_;
};

// A module, on all devices. Its device variables are one for all of them, its constants one for each.
class Module {
 public:
  const std::vector<KernelInfo>& kernels() const;
  // By its name in PTX, or as C++ spells it: "step", "fill<float, 2>". Throws Error(configuration) that names those
  // there are, where there is none of this name or several.
  Kernel kernel(const std::string& name) const;

  // Sets `bytes` bytes of a variable, from byte `offset` on: of the one that all share, or of each device's. Blocks; no
  // kernel that uses it may be under way. Throws Error(configuration) for an unknown name, or more than it has.
  void write(const std::string& variable, const void* from, std::size_t bytes, std::size_t offset = 0) const;
  // The same the other way; of constants, part 0's.
  void read(const std::string& variable, void* to, std::size_t bytes, std::size_t offset = 0) const;
  // Of a variable that all devices share, for kernels and copies. Throws Error(configuration) where each has its own.
  void* address(const std::string& variable) const;

 private:
  friend class Gpu;
  explicit Module(std::shared_ptr<LoadedCode> code) : code_(std::move(code)) {}

  std::shared_ptr<LoadedCode> code_;
};

}  // namespace dcgn::virtual_gpu
