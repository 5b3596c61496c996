#include "vgpu/src/cuda/cuda_binary.hpp"

#include "device/cuda/cuda_driver.hpp"
#include "vgpu/src/cuda/jit_options.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <cstdint>
#include <sstream>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

using device::check_driver, device::CurrentContext, device::driver;

// Has the driver assemble it for the current context. Its cache knows what another device of the kind has had
// assembled.
CUmodule load_module(const std::string& name, const std::string& ptx, const AssemblerOptions& asked_for, int device) {
  std::array<char, 8192> log{};
  std::vector<CUjit_option> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  std::vector<void*> values{log.data(), reinterpret_cast<void*>(log.size())};
  for (const JitOption& option : jit_options)
    if (const AssemblerOptions::Value value = asked_for.*option.member) {
      options.push_back(option.number);
      values.push_back(reinterpret_cast<void*>(std::uintptr_t{*value}));
    }
  CUmodule module = nullptr;
  const CUresult result =
      driver().module_load(&module, ptx.c_str(), static_cast<unsigned>(options.size()), options.data(), values.data());
  if (result == CUDA_SUCCESS) return module;
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
    throw Error(Code::unsupported, "load", name + ": its PTX is of a newer version than the driver's");
  std::stringstream lines(log.data());
  std::string line;
  while (std::getline(lines, line) && line.empty()) {
  }
  if (line.empty()) check_driver(result, "load", name.c_str(), device);
  throw Error(Code::configuration, "load", name + ": " + line);
}

class CudaBinary final : public Binary {
 public:
  CudaBinary(const std::vector<Device>& devices, const std::string& name, const std::string& ptx,
             const std::vector<std::string>& kernels, const AssemblerOptions& options)
      : kernels_(kernels) {
    for (const Device& device : devices) {
      PartModule& part = parts_.emplace_back(device);
      const CurrentContext current(part.context);
      part.module = load_module(name, ptx, options, device.index());
      for (const std::string& kernel : kernels) {
        Function& function = part.functions.emplace_back();
        check_driver(driver().module_get_function(&function.handle, part.module, kernel.c_str()), "load",
                     kernel.c_str(), device.index());
      }
    }
  }

  void launch(std::size_t kernel, int part, dcgn::Stream& stream, const Launch& launch, bool cooperative,
              const std::vector<const void*>& parameters) override {
    PartModule& where = parts_[static_cast<std::size_t>(part)];
    Function& function = where.functions[kernel];
    const CurrentContext current(where.context);
    const int device = where.device.index();
    // More than 48 KiB of shared memory, static and dynamic, must be asked for.
    if (launch.shared_bytes > function.shared_bytes) {
      check_driver(driver().function_set_attribute(function.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                   static_cast<int>(launch.shared_bytes)),
                   "launch", kernels_[kernel].c_str(), device, Code::configuration);
      function.shared_bytes = launch.shared_bytes;
    }
    void** const values = const_cast<void**>(parameters.data());  // which the driver only reads
    const auto bytes = static_cast<unsigned>(launch.shared_bytes);
    const auto its_stream = static_cast<CUstream>(stream.native());
    const Dim3 g = launch.grid, b = launch.block;
    const CUresult result =
        cooperative
            ? driver().launch_cooperative(function.handle, g.x, g.y, g.z, b.x, b.y, b.z, bytes, its_stream, values)
            : driver().launch(function.handle, g.x, g.y, g.z, b.x, b.y, b.z, bytes, its_stream, values, nullptr);
    check_driver(result, "launch", kernels_[kernel].c_str(), device,
                 result == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE ? Code::too_many_blocks
                 : result == CUDA_ERROR_INVALID_VALUE              ? Code::configuration
                                                                   : Code::device);
  }

  std::string why_refused(std::size_t kernel, const Launch& launch) override {
    PartModule& where = parts_.front();
    Function& function = where.functions[kernel];
    const auto get = [&](CUfunction_attribute which) {
      int value = 0;
      check_driver(driver().function_get_attribute(&value, which, function.handle), "launch", kernels_[kernel].c_str(),
                   where.device.index());
      return static_cast<std::size_t>(value);
    };
    if (function.most_threads == 0) {
      const CurrentContext current(where.context);
      function.most_threads = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
      function.static_bytes = get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    }
    const std::size_t threads = std::size_t{launch.block.x} * launch.block.y * launch.block.z;
    if (threads > function.most_threads)
      return "registers: split, it has room for " + std::to_string(function.most_threads) + " threads a block, not " +
             std::to_string(threads);
    const std::size_t most = where.device.properties().shared_bytes_per_block;
    if (function.static_bytes + launch.shared_bytes > most)
      return "shared memory: split, a block takes " + std::to_string(function.static_bytes + launch.shared_bytes) +
             " bytes of " + std::to_string(most);
    return {};
  }

  void* variable(int part, const std::string& name, std::size_t& bytes) const override {
    if (static_cast<std::size_t>(part) >= parts_.size()) return nullptr;
    const PartModule& where = parts_[static_cast<std::size_t>(part)];
    const CurrentContext current(where.context);
    CUdeviceptr address = 0;
    const CUresult result = driver().module_get_global(&address, &bytes, where.module, name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
    check_driver(result, "load", name.c_str(), where.device.index());
    return reinterpret_cast<void*>(address);
  }

  void* native(std::size_t kernel, int part) const override {
    return parts_[static_cast<std::size_t>(part)].functions[kernel].handle;
  }

 private:
  struct Function {
    CUfunction handle = nullptr;
    std::size_t shared_bytes = 0;                    // dynamic, as was asked for
    std::size_t most_threads = 0, static_bytes = 0;  // a block's; 0 threads: not looked at yet
  };
  struct PartModule {
    explicit PartModule(const Device& its_device) : device(its_device), context(device::context_of(device.index())) {}
    PartModule(PartModule&& other) noexcept
        : device(other.device),
          context(other.context),
          module(std::exchange(other.module, nullptr)),
          functions(std::move(other.functions)) {}
    PartModule& operator=(PartModule&&) = delete;
    ~PartModule() {
      if (!module) return;
      try {
        const CurrentContext current(context);
        static_cast<void>(driver().module_unload(module));
      } catch (const Error&) {  // at process end the driver may be gone already; its modules then are, too
      }
    }

    Device device;
    CUcontext context;
    CUmodule module = nullptr;
    std::vector<Function> functions;
  };

  const std::vector<std::string> kernels_;
  std::vector<PartModule> parts_;
};

}  // namespace

std::unique_ptr<Binary> make_cuda_binary(const std::vector<Device>& devices, const std::string& name,
                                         const std::string& ptx, const std::vector<std::string>& kernels,
                                         const AssemblerOptions& options) {
  return std::make_unique<CudaBinary>(devices, name, ptx, kernels, options);
}

}  // namespace dcgn::virtual_gpu
