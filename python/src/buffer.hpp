// Memory as Python gives it: by the buffer protocol, __cuda_array_interface__ or DLPack.
#pragma once

#include <dcgn/pack.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace dcgn::python {

namespace nb = nanobind;

enum class Access { read, write };

// What a call sends or fills: an array, strided or not, or as in mpi4py a list of an array, a count and a datatype;
// without the count, as many as the array has room for. It keeps the memory where it is for as long as it lasts. Made
// and destroyed with the GIL; throws Python's TypeError or BufferError where there is no such memory.
class Buffer {
 public:
  Buffer(nb::handle given, Access access);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  void* memory() const { return memory_; }
  // When packed.
  std::int64_t bytes() const { return datatype_ ? count_ * datatype_->size() : elements_ * item_bytes_; }
  // Elements without gaps, one after the other.
  bool is_plain() const { return !datatype_ && strides_.empty(); }
  bool is_on_gpu() const { return on_gpu_; }
  // What was given, unless it has the buffer protocol.
  nb::handle owner() const { return owner_; }
  ElementKind kind() const { return kind_; }

  // Of the same memory. Throws Error(invalid_size) where a datatype reaches past it.
  TypedBuffer typed() const;
  Span<std::byte> span() const { return {static_cast<std::byte*>(memory_), static_cast<std::size_t>(bytes())}; }

  // Waits for the stream that the array names, if it does. Without the GIL.
  void wait_for_stream() const;

 private:
  Buffer() = default;  // what is thrown after it lets go of the memory

  void take(nb::handle array, Access access);
  void take_buffer(nb::handle array, Access access);
  void take_cuda_array(nb::handle interface, Access access);
  void take_dlpack(nb::handle array, Access access);
  // Finds out whether there are gaps; strides are in bytes.
  void set_shape(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& strides);

  Py_buffer view_{};  // of the buffer protocol
  nb::object owner_;  // of other memory
  void* memory_ = nullptr;
  ElementKind kind_ = ElementKind::byte;
  std::int64_t item_bytes_ = 1;
  std::int64_t elements_ = 0;
  std::vector<std::int64_t> shape_, strides_;  // empty where there are no gaps
  bool on_gpu_ = false;
  std::optional<std::uintptr_t> stream_;  // a CUstream
  std::optional<Datatype> datatype_;      // the caller's
  std::int64_t count_ = 1;
};

// The kind of NumPy's letter for it (b, i, u, f, c) and a size; ElementKind::byte where there is none.
ElementKind element_kind(char letter, std::int64_t bytes);

}  // namespace dcgn::python
