// Device and Stream over their backends, and the choice of the kind of device.
#include "backend.hpp"
#include "base/text.hpp"

#include "emulated/emulated_device.hpp"
#if defined(DCGN_HAS_CUDA)
#include "cuda/cuda_device.hpp"
#endif

#include <dcgn/error.hpp>

#include <cxxabi.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace dcgn {

namespace detail {

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? name.get() : type.name();
}

}  // namespace detail

namespace device {

int number_from_environment(const char* name, int low, int high, int unset) {
  const char* text = std::getenv(name);
  if (!text) return unset;
  const char* end = text + std::strlen(text);
  int value = 0;
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || value < low || value > high)
    throw Error(Code::configuration, "configuration",
                std::string(name) + "=" + base::printable(text) + ": expected a whole number from " +
                    std::to_string(low) + " to " + std::to_string(high));
  return value;
}

namespace {

using Backends = std::vector<std::unique_ptr<Backend>>;

Backends make_backends() {
  Backends backends;
  const int forced = number_from_environment("DCGN_EMULATED_GPUS", 0, 64, -1);
#if defined(DCGN_HAS_CUDA)
  if (forced < 0)
    for (int i = 0, n = cuda_device_count(); i < n; ++i) backends.push_back(make_cuda_device(i));
#endif
  if (forced >= 0 || backends.empty())
    for (int i = 0, n = forced < 0 ? 2 : forced; i < n; ++i) backends.push_back(make_emulated_device(i));
  return backends;
}

// Made at first use and never destroyed: streams of other static objects may outlive any order of destruction.
// A throw leaves them unmade, so that the next use tries again.
Backends& backends() {
  static Backends& all = *new Backends(make_backends());
  return all;
}

std::string in_numbers(Dim3 d) {
  return std::to_string(d.x) + " x " + std::to_string(d.y) + " x " + std::to_string(d.z);
}

std::uint64_t volume(Dim3 d) {
  const std::uint64_t plane = std::uint64_t{d.x} * d.y;  // fits
  return plane && d.z > UINT64_MAX / plane ? UINT64_MAX : plane * d.z;
}

void check_shape(const DeviceProperties& device, const Launch& launch, const dcgn::detail::KernelImage& kernel) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::configuration, "launch", kernel.name() + ": " + why);
  };
  if (launch.grid.x == 0 || launch.grid.y == 0 || launch.grid.z == 0)
    refuse("a grid of " + in_numbers(launch.grid) + " blocks is empty, expected at least 1 in each direction");
  if (launch.block.x == 0 || launch.block.y == 0 || launch.block.z == 0)
    refuse("a block of " + in_numbers(launch.block) + " threads is empty, expected at least 1 in each direction");
  if (volume(launch.grid) > 0x7fffffffu)
    refuse("a grid of " + in_numbers(launch.grid) + " blocks is too large, expected at most 2147483647");
  if (device.kind == DeviceKind::cuda && (launch.grid.y > 65535 || launch.grid.z > 65535))
    refuse("a grid of " + in_numbers(launch.grid) + " blocks is too large, expected at most 65535 along y and z");
  if (volume(launch.block) > static_cast<unsigned>(device.max_threads_per_block) || launch.block.z > 64)
    refuse("a block of " + in_numbers(launch.block) + " threads is too large, expected at most " +
           std::to_string(device.max_threads_per_block) + ", and at most 64 along z");
  if (kernel.max_threads && volume(launch.block) > kernel.max_threads)
    refuse("a block of " + in_numbers(launch.block) +
           " threads is too large for it, expected at most its max_threads, " + std::to_string(kernel.max_threads));
  if (launch.shared_bytes > device.shared_bytes_per_block)
    refuse(std::to_string(launch.shared_bytes) + " bytes of shared memory are too many, expected at most " +
           std::to_string(device.shared_bytes_per_block));
}

// Which resource stops one more block from fitting on a multiprocessor that holds `blocks`.
std::string limited_by(const DeviceProperties& device, const Launch& launch, int blocks) {
  const std::size_t next = static_cast<std::size_t>(blocks) + 1;
  const std::size_t threads = (launch.block.volume() + gpu::warp_size - 1) / gpu::warp_size * gpu::warp_size;
  if (next > static_cast<std::size_t>(device.max_blocks_per_multiprocessor))
    return std::to_string(device.max_blocks_per_multiprocessor) + " blocks per multiprocessor";
  if (next * threads > static_cast<std::size_t>(device.max_threads_per_multiprocessor))
    return std::to_string(device.max_threads_per_multiprocessor) + " threads per multiprocessor";
  if (next * launch.shared_bytes > device.shared_bytes_per_multiprocessor)
    return std::to_string(device.shared_bytes_per_multiprocessor) + " bytes of shared memory per multiprocessor";
  return "the kernel's registers and shared memory";
}

void check_bytes(const char* operation, const void* memory, std::size_t bytes) {
  if (!memory && bytes)
    throw Error(Code::null_buffer, operation, "null pointer with " + std::to_string(bytes) + " bytes");
}

}  // namespace
}  // namespace device

Stream::Stream(Device device, StreamPriority priority)
    : state_(device.backend_->make_stream(priority)), backend_(device.backend_) {}
Stream::Stream(Device device, void* native)
    : state_(device.backend_->adopt_stream(native)), backend_(device.backend_) {}
Stream::Stream(Stream&&) noexcept = default;
Stream& Stream::operator=(Stream&&) noexcept = default;
Stream::~Stream() = default;

void Stream::synchronize() { state_->synchronize(); }
bool Stream::idle() const { return state_->idle(); }
void* Stream::native() const noexcept { return state_->native(); }
std::function<void()> Stream::record(const std::function<void()>& work) { return state_->record(work); }

int Device::count() { return static_cast<int>(device::backends().size()); }

Device::Device(int index) : index_(index) {
  const int devices = count();
  if (index < 0 || index >= devices)
    throw Error(Code::device, "Device",
                "device " + std::to_string(index) + " does not exist, " +
                    (devices ? "expected 0.." + std::to_string(devices - 1) : std::string("there are none")));
  backend_ = device::backends()[static_cast<std::size_t>(index)].get();
}

const DeviceProperties& Device::properties() const noexcept { return backend_->properties(); }

DeviceLink Device::link_to(const Device& other) const {
  if (index_ == other.index_) return {.direct = true, .native_atomics = true};
  return kind() == other.kind() ? backend_->link_to(*other.backend_) : DeviceLink();
}

bool Device::can_reach(const Device& other) const {
  if (index_ == other.index_) return true;
  return kind() == other.kind() && backend_->reach(*other.backend_);
}

void* Device::allocate(std::size_t bytes) const { return bytes ? backend_->allocate(bytes) : nullptr; }
void Device::free(void* memory) const {
  if (memory && !backend_->keeps_memory) backend_->free(memory);
}
bool Device::owns(const void* memory) const { return memory && backend_->owns(memory); }
void* Device::allocate_host(std::size_t bytes) const { return bytes ? backend_->allocate_host(bytes) : nullptr; }
void Device::free_host(void* memory) const {
  if (memory && !backend_->keeps_memory) backend_->free_host(memory);
}
void Device::pin(void* memory, std::size_t bytes) const { backend_->pin(memory, bytes); }
void Device::unpin(void* memory) const { backend_->unpin(memory); }
Device::Exported Device::export_memory(void* memory) const { return backend_->export_memory(memory); }
void* Device::open_exported(const Exported& memory) const { return backend_->open_exported(memory); }
void Device::close_exported(void* opened) const { backend_->close_exported(opened); }
void Device::keep_memory() const noexcept { backend_->keeps_memory = true; }

void Device::copy(void* to, const void* from, std::size_t bytes) const {
  device::check_bytes("copy", to, bytes);
  device::check_bytes("copy", from, bytes);
  if (bytes) backend_->copy(to, from, bytes);
}

void Device::fill(void* memory, unsigned char value, std::size_t bytes) const {
  device::check_bytes("fill", memory, bytes);
  if (bytes) backend_->fill(memory, value, bytes);
}

void Device::check_stream(const Stream& stream, const char* operation) const {
  if (!stream.state_) throw Error(Code::configuration, operation, "the stream has been moved from");
  if (stream.backend_ != backend_)
    throw Error(Code::configuration, operation, "the stream belongs to another device than " + std::to_string(index_));
}

void Device::copy(Stream& stream, void* to, const void* from, std::size_t bytes) const {
  check_stream(stream, "copy");
  device::check_bytes("copy", to, bytes);
  device::check_bytes("copy", from, bytes);
  if (bytes) stream.state_->copy(to, from, bytes);
}

void Device::fill(Stream& stream, void* memory, unsigned char value, std::size_t bytes) const {
  check_stream(stream, "fill");
  device::check_bytes("fill", memory, bytes);
  if (bytes) stream.state_->fill(memory, value, bytes);
}

int Device::max_resident_blocks(const Launch& launch, const dcgn::detail::KernelImage& image) const {
  device::check_shape(properties(), launch, image);
  return backend_->blocks_per_multiprocessor(launch, image) * properties().multiprocessors;
}

void Device::launch(Stream& stream, const Launch& launch, const dcgn::detail::KernelImage& image) const {
  check_stream(stream, "launch");
  device::check_shape(properties(), launch, image);
  if (launch.resident) {
    const int each = backend_->blocks_per_multiprocessor(launch, image);
    const std::uint64_t limit = static_cast<std::uint64_t>(each) * static_cast<unsigned>(properties().multiprocessors);
    if (device::volume(launch.grid) > limit)
      throw Error(Code::too_many_blocks, "launch",
                  image.name() + ": " + std::to_string(device::volume(launch.grid)) + " blocks of " +
                      std::to_string(launch.block.volume()) + " threads cannot all be resident on device " +
                      std::to_string(index_) + ", expected at most " + std::to_string(limit) + " (" +
                      std::to_string(properties().multiprocessors) + " multiprocessors of " + std::to_string(each) +
                      ", limited by " + device::limited_by(properties(), launch, each) + ")");
  }
  stream.state_->launch(launch, image);
}

}  // namespace dcgn
