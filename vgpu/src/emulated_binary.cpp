#include "vgpu/src/emulated_binary.hpp"

#include "vgpu/src/interpreter/interpreter.hpp"

#include <dcgn/error.hpp>
#include <dcgn/gpu/kernel.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>

namespace dcgn::virtual_gpu {

namespace {

class EmulatedBinary final : public Binary {
 public:
  EmulatedBinary(const std::vector<Device>& devices, const std::string& name, const std::string& ptx,
                 const std::vector<std::string>& kernels)
      : devices_(devices) {
    for (std::size_t part = 0; part < devices.size(); ++part)
      codes_.push_back(std::make_shared<interpreter::Code>(name, ptx));
    for (const std::string& kernel : kernels) {
      const auto& all = codes_.front()->kernels();
      const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == kernel; });
      numbers_.push_back(static_cast<std::size_t>(found - all.begin()));
    }
  }

  // One thread of the emulated GPU interprets them all.
  void launch(std::size_t kernel, int part, dcgn::Stream& stream, const Launch& launch, bool,
              const std::vector<const void*>& parameters) override {
    const auto& code = codes_[static_cast<std::size_t>(part)];
    const std::size_t number = numbers_[kernel];
    const interpreter::KernelDetails& details = code->kernels()[number];
    if (!details.unsupported.empty())
      throw Error(Code::unsupported, "launch", details.name + ": " + details.unsupported);
    const std::string refusal = refuse(details, launch);
    if (!refusal.empty()) throw Error(Code::configuration, "launch", details.name + ": " + refusal);
    std::vector<std::max_align_t> bytes(details.parameter_bytes / sizeof(std::max_align_t) + 1);
    for (std::size_t i = 0; i < details.parameters.size(); ++i)
      std::memcpy(reinterpret_cast<std::byte*>(bytes.data()) + details.parameters[i].offset, parameters[i],
                  details.parameters[i].bytes);
    dcgn::detail::KernelImage image;
    image.emulated = [code, number, launch, bytes = std::move(bytes)](gpu::Context&) {
      code->run(number, launch, reinterpret_cast<const std::byte*>(bytes.data()));
    };
    devices_[static_cast<std::size_t>(part)].launch(stream, {.grid = 1, .block = 1}, image);
  }

  void* variable(int part, const std::string& name, std::size_t& bytes) const override {
    if (static_cast<std::size_t>(part) >= codes_.size()) return nullptr;
    return codes_[static_cast<std::size_t>(part)]->variable(name, bytes);
  }
  std::string why_refused(std::size_t kernel, const Launch& launch) override {
    return refuse(codes_.front()->kernels()[numbers_[kernel]], launch);
  }
  void* native(std::size_t, int) const override { return nullptr; }

 private:
  static std::string refuse(const interpreter::KernelDetails& details, const Launch& launch) {
    const std::size_t threads = std::size_t{launch.block.x} * launch.block.y * launch.block.z;
    if (threads > details.most_threads)
      return "registers: it has room for " + std::to_string(details.most_threads) + " threads a block, not " +
             std::to_string(threads);
    const std::size_t shared = details.shared_bytes + launch.shared_bytes;
    if (shared > interpreter::shared_bytes_per_block)
      return "shared memory: a block takes " + std::to_string(shared) + " bytes of " +
             std::to_string(interpreter::shared_bytes_per_block);
    return {};
  }

  const std::vector<Device> devices_;
  std::vector<std::shared_ptr<const interpreter::Code>> codes_;  // of each part, which launches keep
  std::vector<std::size_t> numbers_;                             // of kernels, in a code
};

}  // namespace

std::unique_ptr<Binary> make_emulated_binary(const std::vector<Device>& devices, const std::string& name,
                                             const std::string& ptx, const std::vector<std::string>& kernels) {
  return std::make_unique<EmulatedBinary>(devices, name, ptx, kernels);
}

}  // namespace dcgn::virtual_gpu
