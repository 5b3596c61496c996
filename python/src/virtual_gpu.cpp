// The virtual GPU: kernels that were compiled from source, or loaded, and its memory.
#include "arguments.hpp"
#include "comm.hpp"
#include "dcgn_launch_entry.hpp"

#include <dcgn/gpu/launch.hpp>
#include <dcgn/virtual_gpu.hpp>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <string>

namespace dcgn::python {

namespace {

using namespace nb::literals;

class Gpu {
 public:
  explicit Gpu(const std::vector<int>& numbers) {
    std::vector<Device> devices;
    devices.reserve(numbers.size());
    for (const int number : numbers) devices.emplace_back(number);
    gpu_.emplace(devices);
  }
  ~Gpu() {
    const nb::gil_scoped_release released;  // waits for its work
    gpu_.reset();
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  VirtualGpu& get() { return *gpu_; }
  int parts() const { return gpu_->parts(); }
  bool is_emulated() const { return gpu_->device(0).kind() == DeviceKind::emulated; }
  virtual_gpu::Kernel load(const std::string& name, const std::string& source) {
    return gpu_->load_source(name, source).kernel(name);
  }
  // Of the only kernel in it.
  virtual_gpu::Kernel load_ptx(const std::string& name, const std::string& text) {
    const virtual_gpu::Module module = gpu_->load_ptx(name, text);
    return module.kernel(module.kernels().at(0).name);
  }
  std::string architecture() const { return architecture_of(gpu_->device(0)); }

  void launch_object(const std::string& library, const Launch& launch, const nb::tuple& given) {
    auto* const start = reinterpret_cast<LaunchKernel*>(function_of(library, launch_entry));
    Kept kept;
    const std::vector<Argument> arguments = arguments_of(given, false, kept);
    {
      const nb::gil_scoped_release released;
      start(*gpu_, launch, arguments);
    }
    keep(std::move(kept));
  }
  void launch_loaded(const virtual_gpu::Kernel& kernel, const Launch& launch, const nb::tuple& given);
  void synchronize() {
    {
      const nb::gil_scoped_release released;
      gpu_->synchronize();
    }
    kept_.clear();
  }

 private:
  void keep(Kept&& kept);

  std::optional<VirtualGpu> gpu_;
  Kept kept_;  // until launches are done
};

// As many bytes as the parameter has: a number of that size, an address, or a structure's bytes.
virtual_gpu::Argument bytes_of(const Argument& a, std::size_t bytes, std::array<std::byte, 8>& room) {
  if (a.kind == Argument::Kind::memory && bytes != sizeof a.memory)
    return {a.memory, static_cast<std::size_t>(a.bytes)};
  if (a.kind == Argument::Kind::memory)
    std::memcpy(room.data(), &a.memory, sizeof a.memory);
  else if (a.kind == Argument::Kind::integer)
    std::memcpy(room.data(), &a.integer, room.size());  // the least significant bytes come first
  else if (bytes == sizeof(float)) {
    const auto value = static_cast<float>(a.real);
    std::memcpy(room.data(), &value, sizeof value);
  } else {
    std::memcpy(room.data(), &a.real, sizeof a.real);
  }
  return {room.data(), std::min(bytes, room.size())};
}

void Gpu::launch_loaded(const virtual_gpu::Kernel& kernel, const Launch& launch, const nb::tuple& given) {
  Kept kept;
  const std::vector<Argument> arguments = arguments_of(given, true, kept);
  const std::vector<virtual_gpu::Parameter>& parameters = kernel.info().parameters;
  check_count(arguments.size(), parameters.size());
  std::vector<std::array<std::byte, 8>> room(arguments.size());
  std::vector<virtual_gpu::Argument> packed;
  packed.reserve(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i)
    packed.push_back(bytes_of(arguments[i], parameters[i].bytes, room[i]));
  {
    const nb::gil_scoped_release released;
    gpu_->launch(gpu_->own_stream(), kernel, launch, packed);
  }
  keep(std::move(kept));
}

virtual_gpu::Placement placement_of(const std::string& kind, int number) {
  using virtual_gpu::Placement;
  if (kind == "chunked") return Placement::chunked();
  if (kind == "interleaved" && number < 0)
    throw Error(Code::configuration, "place",
                "interleaved " + std::to_string(number) + " pages at a time, expected 1 or more");
  if (kind == "interleaved") return Placement::interleaved(number > 0 ? static_cast<std::size_t>(number) : 1);
  if (kind == "owner") return Placement::owner(number);
  if (kind == "replicated") return Placement::replicated();
  throw Error(Code::configuration, "place",
              "the placement " + kind + ", expected chunked, interleaved, owner or replicated");
}

class Memory {
 public:
  Memory(std::shared_ptr<Gpu> gpu, std::size_t bytes)
      : gpu_(std::move(gpu)), bytes_(bytes), memory_(gpu_->get().allocate(bytes)) {}
  ~Memory() {
    const nb::gil_scoped_release released;  // waits for launches
    try {
      gpu_->get().free(memory_);
    } catch (const Error&) {  // a device that has faulted; that was reported where it was met
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(memory_); }
  void write(nb::handle array) {
    const Buffer from(array, Access::read);
    copy(memory_, checked(from).memory());
  }
  void read(nb::handle array) {
    const Buffer to(array, Access::write);
    copy(checked(to).memory(), memory_);
  }
  std::size_t place(const std::string& kind, int number) {
    const virtual_gpu::Placement placement = placement_of(kind, number);
    if (bytes_ == 0) return 0;  // of nothing there are no pages
    const nb::gil_scoped_release released;
    return gpu_->get().place(memory_, placement).bytes_moved;
  }
  std::vector<std::size_t> bytes_on_parts() const {
    if (bytes_ == 0) return std::vector<std::size_t>(static_cast<std::size_t>(gpu_->parts()));
    return gpu_->get().bytes_on_parts(memory_);
  }

 private:
  const Buffer& checked(const Buffer& array) const {
    if (array.is_plain() && array.bytes() == static_cast<std::int64_t>(bytes_)) return array;
    throw Error(Code::invalid_size, "virtual buffer",
                std::to_string(array.bytes()) + " bytes, or an array with gaps; expected " + std::to_string(bytes_) +
                    " without");
  }
  void copy(void* to, const void* from) {
    const nb::gil_scoped_release released;
    gpu_->get().copy(to, from, bytes_);
  }

  std::shared_ptr<Gpu> gpu_;
  std::size_t bytes_;
  void* memory_;
};

// Buffers of its own refer to it, and are freed when launches are done.
void Gpu::keep(Kept&& kept) {
  for (std::unique_ptr<Buffer>& buffer : kept)
    if (!buffer->owner().is_valid() || !nb::isinstance<Memory>(buffer->owner())) kept_.push_back(std::move(buffer));
}

}  // namespace

void bind_virtual_gpu(nb::module_& m) {
  const nb::class_<virtual_gpu::Kernel> loaded(m, "_VirtualKernel");
  nb::class_<Gpu>(m, "VirtualGpu")
      .def(nb::init<const std::vector<int>&>(), "devices"_a)
      .def_prop_ro("parts", &Gpu::parts, "How many devices it is made of.")
      .def_prop_ro("is_emulated", &Gpu::is_emulated, "Whether they are emulated ones.")
      .def("synchronize", &Gpu::synchronize, "Waits for all launches. Throws what went wrong in a kernel.")
      .def("_load", &Gpu::load, "name"_a, "source"_a)
      .def("_load_ptx", &Gpu::load_ptx, "name"_a, "text"_a)
      .def_prop_ro("_architecture", &Gpu::architecture)
      .def(
          "_launch_loaded",
          [](Gpu& gpu, const virtual_gpu::Kernel& kernel, unsigned grid, unsigned block, std::size_t shared_bytes,
             const nb::tuple& arguments) {
            gpu.launch_loaded(kernel, {grid, block, shared_bytes}, arguments);
          },
          "kernel"_a, "grid"_a, "block"_a, "shared_bytes"_a, "arguments"_a)
      .def(
          "_launch_object",
          [](Gpu& gpu, const std::string& library, unsigned grid, unsigned block, std::size_t shared_bytes,
             const nb::tuple& arguments) {
            gpu.launch_object(library, {grid, block, shared_bytes}, arguments);
          },
          "library"_a, "grid"_a, "block"_a, "shared_bytes"_a, "arguments"_a);

  nb::class_<Memory>(m, "VirtualBuffer")
      .def(nb::init<std::shared_ptr<Gpu>, std::size_t>(), "gpu"_a, "bytes"_a)
      .def_prop_ro("address", &Memory::address, "The same on all devices.")
      .def_prop_ro("bytes_on_parts", &Memory::bytes_on_parts, "How many of its bytes lie on each part, whole pages.")
      .def("write", &Memory::write, "array"_a, "Copies an array of as many bytes into it.")
      .def("read", &Memory::read, "array"_a, "Copies it into an array of as many bytes.")
      .def("place", &Memory::place, "kind"_a, "number"_a = 0,
           "Moves its pages, and says how many bytes that were: \"chunked\", \"interleaved\" by so many pages, all on "
           "the "
           "\"owner\" of that number, or \"replicated\".");
}

}  // namespace dcgn::python
