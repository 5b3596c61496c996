// A datatype in a device's memory, for kernels of that device.
#pragma once

#include <dcgn/arch/context.hpp>
#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/gpu/datatype.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/span.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace dcgn {

// `count` of a type. Throws Error(invalid_size) for a negative count, Error(device) where there is no memory for it.
class DeviceDatatype {
 public:
  // Copies the type's tables to the device; blocks until they are there.
  DeviceDatatype(const Device& device, const Datatype& type, std::int64_t count = 1);

  // For kernels, by value; valid as long as this object.
  gpu::Datatype handle() const {
    return {leaves_.data(), static_cast<int>(leaves_.size()), bytes_, contiguous_, displacement_};
  }
  std::int64_t bytes() const noexcept { return bytes_; }  // when packed
  const Datatype& type() const noexcept { return type_; }
  std::int64_t count() const noexcept { return count_; }
  DeviceDatatype(DeviceDatatype&& other) noexcept
      : type_(std::move(other.type_)),
        count_(std::exchange(other.count_, 0)),
        leaves_(std::move(other.leaves_)),
        bytes_(std::exchange(other.bytes_, 0)),
        contiguous_(std::exchange(other.contiguous_, true)),
        displacement_(other.displacement_),
        tables_(std::move(other.tables_)) {}
  DeviceDatatype& operator=(DeviceDatatype&& other) noexcept {
    std::swap(type_, other.type_);
    std::swap(count_, other.count_);
    std::swap(leaves_, other.leaves_);
    std::swap(bytes_, other.bytes_);
    std::swap(contiguous_, other.contiguous_);
    std::swap(displacement_, other.displacement_);
    std::swap(tables_, other.tables_);
    return *this;
  }

 private:
  Datatype type_;
  std::int64_t count_;
  DeviceBuffer<datatype::KernelLeaf> leaves_;
  std::int64_t bytes_;
  bool contiguous_ = true;  // without gaps, from `displacement_` on
  std::int64_t displacement_ = 0;
  std::vector<std::shared_ptr<const void>> tables_;  // that the leaves point to
};

namespace detail {

// All threads of a grid, each with elements of its own: nobody waits for anybody.
struct GridStride {
  const gpu::Context& context;
  DCGN_HOST_DEVICE std::int64_t rank() const {
    return static_cast<std::int64_t>(context.block_rank()) * context.num_threads() + context.thread_rank();
  }
  DCGN_HOST_DEVICE std::int64_t size() const {
    return static_cast<std::int64_t>(context.num_blocks()) * context.num_threads();
  }
  DCGN_HOST_DEVICE void sync() const {}
};

template <class T, class Op>
struct UnpackWith {
  static constexpr unsigned max_threads = 256;
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Datatype type, Span<const T> packed, void* memory, Op op,
                                   std::int64_t begin) const {
    gpu::unpack(GridStride{context}, type, packed, memory, op, begin);
  }
};

}  // namespace detail

// unpack() with an operation (pack.hpp), by a kernel, in the order of a stream; `packed` and `memory` are in the
// device's memory. Each element of the type at `memory`, from element `begin` on, becomes op(it, the packed one). The
// call returns before the kernel has run; the type must last until then. In a file that nvcc compiles, for CUDA
// devices. Throws what unpack() throws, before anything is launched.
template <class T, class Op>
void unpack(const Device& device, Stream& stream, Span<const T> packed, const DeviceDatatype& type, void* memory,
            const Op& op, std::int64_t begin = 0) {
  const auto count = static_cast<std::int64_t>(packed.size());
  detail::check_reduce(Datatype::of<T>(), packed.data(), count, {memory, type.type(), type.count()}, begin);
  if (count == 0) return;
  constexpr unsigned threads = 256, most_blocks_each = 8;
  const auto multiprocessors = static_cast<std::int64_t>(device.properties().multiprocessors);
  const std::int64_t blocks = std::min((count - 1) / threads + 1, most_blocks_each * multiprocessors);
  device.launch(stream, {.grid = static_cast<unsigned>(blocks), .block = threads, .resident = false},
                detail::UnpackWith<T, Op>{}, type.handle(), packed, memory, op, begin);
}

}  // namespace dcgn
