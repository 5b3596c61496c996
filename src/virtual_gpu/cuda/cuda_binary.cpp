#include "virtual_gpu/cuda/cuda_binary.hpp"

#include "device/cuda/cuda_driver.hpp"

#include <dcgn/error.hpp>

#include <array>
#include <map>
#include <sstream>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

using device::check_driver, device::CurrentContext, device::driver;

// Machine code for the architecture of the current context.
class Assembled {
 public:
  Assembled(const std::string& name, const std::string& ptx, int its_device) {
    std::array<char, 8192> log{};
    std::array<CUjit_option, 2> options{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    check_driver(driver().link_create(2, options.data(), values.data(), &state_), "load", "cuLinkCreate", its_device);
    std::string text = ptx;  // with its zero; the driver asks for what it could change
    CUresult result = driver().link_add_data(state_, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, name.c_str(), 0,
                                             nullptr, nullptr);
    if (result == CUDA_SUCCESS) result = driver().link_complete(state_, &code_, &bytes_);
    if (result == CUDA_SUCCESS) return;
    static_cast<void>(driver().link_destroy(state_));
    if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
      throw Error(Code::unsupported, "load", name + ": its PTX is of a newer version than the driver's");
    std::stringstream lines(log.data());
    std::string line;
    while (std::getline(lines, line) && line.empty()) {
    }
    if (line.empty()) check_driver(result, "load", "cuLinkComplete", its_device);
    throw Error(Code::configuration, "load", name + ": " + line);
  }
  Assembled(const Assembled&) = delete;
  Assembled& operator=(const Assembled&) = delete;
  ~Assembled() { static_cast<void>(driver().link_destroy(state_)); }

  const void* code() const { return code_; }

 private:
  CUlinkState state_ = nullptr;
  void* code_ = nullptr;
  std::size_t bytes_ = 0;
};

class CudaBinary final : public Binary {
 public:
  CudaBinary(const std::vector<Device>& devices, const std::string& name, const std::string& ptx,
             const std::vector<std::string>& kernels)
      : kernels_(kernels) {
    std::map<std::pair<int, int>, std::unique_ptr<Assembled>> assembled;
    for (const Device& device : devices) {
      PartModule& part = parts_.emplace_back(device);
      const CurrentContext current(part.context);
      const DeviceProperties& p = device.properties();
      auto& code = assembled[{p.compute_major, p.compute_minor}];
      if (!code) code = std::make_unique<Assembled>(name, ptx, device.index());
      check_driver(driver().module_load(&part.module, code->code()), "load", "cuModuleLoadData", device.index());
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

  void* variable(int part, const std::string& name, std::size_t& bytes) const override {
    const PartModule& where = parts_[static_cast<std::size_t>(part)];
    const CurrentContext current(where.context);
    CUdeviceptr address = 0;
    const CUresult result = driver().module_get_global(&address, &bytes, where.module, name.c_str());
    if (result == CUDA_ERROR_NOT_FOUND) return nullptr;
    check_driver(result, "load", name.c_str(), where.device.index());
    return reinterpret_cast<void*>(address);
  }

 private:
  struct Function {
    CUfunction handle = nullptr;
    std::size_t shared_bytes = 0;  // dynamic, as was asked for
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
                                         const std::string& ptx, const std::vector<std::string>& kernels) {
  return std::make_unique<CudaBinary>(devices, name, ptx, kernels);
}

}  // namespace dcgn::virtual_gpu
