// One GPU made of several: kernels written for one run on all of them, unchanged.
//
// Each launch's blocks are split into chunks, one a device; a buffer has one address on all devices, and its pages lie
// where the blocks are that use them (Kim, Lee, Jeong, Kim: Multi-GPU System Design with Memory Networks, 2014, section
// III). Kernels come as CUDA source or PTX and are rewritten when they are loaded; emulated GPUs interpret them, and
// run kernel objects (gpu/kernel.hpp), too. A virtual GPU of a single device runs kernels as they are.
//
//   dcgn::VirtualGpu gpu({dcgn::Device(0), dcgn::Device(1)});
//   auto* x = static_cast<float*>(gpu.allocate(n * sizeof(float)));
//   const auto kernel = gpu.load_source("scale.cu", text).kernel("scale");
//   gpu.launch(kernel, {.grid = n / 256, .block = 256}, x, 2.0f);
//   gpu.synchronize();
#pragma once

#include <dcgn/device.hpp>
#include <dcgn/gpu/kernel.hpp>
#include <dcgn/virtual_gpu/graph.hpp>
#include <dcgn/virtual_gpu/module.hpp>
#include <dcgn/virtual_gpu/placement.hpp>
#include <dcgn/virtual_gpu/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace dcgn {

namespace virtual_gpu {

// Which device runs a block.
enum class Schedule {
  fixed,     // the one that has its chunk
  stealing,  // at first that one; who has run all of its chunk takes from the end of another's. The call gives out the
             // pieces, so it returns when the last one begins rather than at once
  part_0,    // part 0, all of them, wherever their data are
  measured,  // part 0, as on one GPU, or as `fixed`, whichever takes less: `dcgn vgpu run` does the same. Chunked
             // buffers, as those of no placement are, lie on part 0 until a launch finds all streams idle and a trial
             // due. Trials cost at most 4 % of the time at first, 3 % later. Where streams of your own use a
             // buffer, give it a placement by place(): it then stays. Leaving this schedule moves nothing
};

// What becomes of a kernel that cannot be split.
enum class Whole {
  refuse,     // its launch throws Error(unsupported), which says why
  on_part_0,  // all its blocks run there
};

// DCGN_DEADLINE, as Config::deadline_s has it.
double deadline_setting();

// May be changed between launches: VirtualGpu::options().
struct Options {
  Schedule schedule = Schedule::fixed;
  Whole whole = Whole::refuse;
  // Of each device's memory, what may hold copies that are made by themselves, a part's own of a buffer that launches
  // only read: of kernels from PTX or source whose blocks, on whichever part, may read the same of it. They are made
  // for the second such launch since the buffer was written by a launch, copy() or fill(), later where that did not
  // pay, and hold what the buffer does; of a buffer of at most 1 MiB that 1,024 blocks or more read, for the first. A
  // buffer of at most 256 KiB into which a launch only reduces, by atomics whose results it does not use, has copies to
  // reduce into; they are added to the buffer behind the launch, floats in no order, as atomics add. 0: none are made.
  // Who writes buffers by other means than this virtual GPU's calls must have none.
  double copies = 0.25;
  // Seconds that a launch waits for a device: to take its blocks, where that is done by threads; to end a piece of
  // blocks, where they are stolen. It throws Error(deadline) then. DCGN_DEADLINE
  double deadline_s = deadline_setting();
};

// Of all launches so far.
struct Statistics {
  std::uint64_t launches = 0, whole = 0;  // of the launches those that were not split
  std::uint64_t stolen_blocks = 0;
  std::uint64_t copies = 0, copied_bytes = 0;  // that were made by themselves: of how many buffers, bytes over links
  // Into copies of the parts' own, joined behind a launch: so many buffers of all launches.
  std::uint64_t reductions = 0;
  std::uint64_t trials = 0;  // of Schedule::measured: how often buffers were spread over the parts
};

// An argument of a kernel: so many bytes, which are copied by the launch.
struct Argument {
  const void* value;
  std::size_t bytes;
};
// Of an object, which must last until the launch has returned.
template <class T>
Argument argument_of(const T& value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {bytes.data(), bytes.size()};
}

// A kernel object for one part, with that part's copies of replicated buffers.
using ImageOfPart = std::function<dcgn::detail::KernelImage(int part)>;

}  // namespace virtual_gpu

// Calls are made by one thread at a time; those without a stream are in the order of one of its own. All but launches
// block until they are done.
class VirtualGpu {
 public:
  using Placement = virtual_gpu::Placement;
  using Stream = virtual_gpu::Stream;

  // Its parts are these devices, in this order; one that is given several times is several parts. Throws
  // Error(configuration) where there is none, or real and emulated ones together; Error(unsupported) where one cannot
  // reach another's memory, or has no virtual memory management.
  explicit VirtualGpu(const std::vector<Device>& devices, const virtual_gpu::Options& options = {});
  VirtualGpu(VirtualGpu&&) noexcept;
  VirtualGpu& operator=(VirtualGpu&&) noexcept;
  ~VirtualGpu();

  // How many devices it was given, and which one a part is.
  int parts() const noexcept;
  const Device& device(int part) const;
  // May be changed between launches.
  virtual_gpu::Options& options() noexcept;
  const virtual_gpu::Statistics& statistics() const noexcept;

  // Memory at one address on all devices, not cleared; null for zero bytes. Freed by free(), or with the virtual GPU.
  // Throws Error(device) where there is not enough; Error(configuration) for an impossible placement.
  void* allocate(std::size_t bytes, const Placement& placement = {});
  void free(void* buffer);
  // Placement is by pages of this size.
  std::size_t page_bytes() const noexcept;
  // Moves a buffer's pages, which keep their content and address. Waits for all work of this virtual GPU. Needs room
  // for the buffer once more meanwhile.
  virtual_gpu::PlacementCost place(void* buffer, const Placement& placement);
  // How many of its bytes lie on each part, whole pages.
  std::vector<std::size_t> bytes_on_parts(const void* buffer) const;

  // Copies between buffers, host memory and the memory of its devices; of a replicated buffer, all copies are written.
  void copy(void* to, const void* from, std::size_t bytes);
  void fill(void* memory, unsigned char value, std::size_t bytes);
  // The same, in the stream's order. Host memory must stay valid until the stream is synchronized.
  void copy(Stream& stream, void* to, const void* from, std::size_t bytes);
  void fill(Stream& stream, void* memory, unsigned char value, std::size_t bytes);

  // Kernels, from PTX or compiled by NVRTC, which is loaded at run time, for the first device's architecture; `options`
  // are nvrtc's. `name` is the file's, for errors. Throws Error(configuration) for text that is wrong, with where and
  // why; Error(unsupported) for PTX of a version that is not known or too new for the driver, and where there is no
  // NVRTC. Emulated GPUs interpret PTX.
  virtual_gpu::Module load_ptx(const std::string& name, const std::string& text);
  virtual_gpu::Module load_source(const std::string& name, const std::string& text,
                                  const std::vector<std::string>& options = {});

  // Starts the kernel with these arguments, each of as many bytes as the kernel's parameter, and returns. A pointer
  // into a replicated buffer, also one that is a member of a struct, becomes that to the device's own copy.
  // Launch::resident is not looked at: blocks of different devices do not wait for each other. Throws
  // Error(configuration) for a wrong number or size of arguments, or an empty shape; Error(unsupported) for a kernel
  // that cannot be split, unless options() say where it runs.
  template <class... Args>
  void launch(Stream& stream, const virtual_gpu::Kernel& kernel, const Launch& launch, const Args&... args) {
    static_assert((std::is_trivially_copyable_v<Args> && ...), "arguments are copied byte by byte");
    this->launch(stream, kernel, launch, std::vector<virtual_gpu::Argument>{virtual_gpu::argument_of(args)...});
  }
  template <class... Args>
  void launch(const virtual_gpu::Kernel& kernel, const Launch& launch, const Args&... args) {
    this->launch(own_stream(), kernel, launch, args...);
  }
  void launch(Stream& stream, const virtual_gpu::Kernel& kernel, const Launch& launch,
              const std::vector<virtual_gpu::Argument>& arguments);

  // The same for a kernel object, on emulated GPUs: kernel(context, args...) on every thread. Throws Error(unsupported)
  // on CUDA devices, where a kernel object cannot be split once it is compiled.
  template <class KernelObject, class... Args>
  void launch_object(Stream& stream, const Launch& launch, const KernelObject& kernel, const Args&... args) {
    this->launch(stream, launch,
                 [&]([[maybe_unused]] int part) { return dcgn::detail::make_image(kernel, on_part(part, args)...); });
  }
  void launch(Stream& stream, const Launch& launch, const virtual_gpu::ImageOfPart& image);

  // Calls `work` at once. What that gives its stream is not done, but kept with its arguments, for launch() to give to
  // any stream: launches of kernels from source or PTX, copies and fills. Buffers and host memory must last as long as
  // it is launched. Split as launches are; with Schedule::measured, all of it or nothing. A launch that makes a CUDA
  // graph of it waits for all streams of this. Throws Error(configuration) where `work` does something else with that
  // stream, and what the calls throw.
  virtual_gpu::Graph record(const std::function<void(Stream&)>& work);
  void launch(Stream& stream, const virtual_gpu::Graph& graph);

  // Where pages of these buffers should lie for this kernel: runs `blocks` of its blocks, evenly chosen, once for each
  // buffer, counts which part touches which page, and puts all buffers and variables back as they were. Needs room for
  // them once more. On CUDA only. Throws what launch() does.
  template <class... Args>
  std::vector<Placement> sample(const std::vector<void*>& buffers, std::uint64_t blocks,
                                const virtual_gpu::Kernel& kernel, const Launch& launch, const Args&... args) {
    return this->sample(buffers, blocks, kernel, launch,
                        std::vector<virtual_gpu::Argument>{virtual_gpu::argument_of(args)...});
  }
  std::vector<Placement> sample(const std::vector<void*>& buffers, std::uint64_t blocks,
                                const virtual_gpu::Kernel& kernel, const Launch& launch,
                                const std::vector<virtual_gpu::Argument>& arguments);

  // Of the stream that calls without one have.
  void synchronize();
  Stream& own_stream() noexcept;

 private:
  friend class virtual_gpu::Stream;
  friend class virtual_gpu::Event;

  template <class T>
  T on_part(int part, const T& value) const {
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>>)
      return static_cast<T>(const_cast<void*>(address_on_part(part, value)));
    else
      return value;
  }
  const void* address_on_part(int part, const void* address) const;

  std::shared_ptr<virtual_gpu::Gpu> gpu_;
};

}  // namespace dcgn
