// Packing: the bytes of a datatype, in its order, to and from a buffer without gaps; in memory of the host, or by
// kernels in that of a device.
//
// Any range of the packed bytes can be packed or unpacked by itself, so long data goes piece by piece:
//
//   const TypedBuffer column(matrix, Datatype::vector(rows, 1, columns, Datatype::of<double>()));
//   for (std::int64_t at = 0; at < column.bytes(); at += piece.size()) {
//     const std::int64_t n = pack(column, piece, at);
//     ...
//   }
#pragma once

#include <dcgn/datatype.hpp>
#include <dcgn/device.hpp>
#include <dcgn/span.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

namespace dcgn {

namespace detail {
// A view like std::mdspan, which Datatype::of_view() takes.
template <class Buffer>
concept ArrayView = requires(const std::remove_cvref_t<Buffer>& view) {
  view.data_handle();
  view.extent(0);
};
// What holds its objects. An iterator does not say how many it leads to.
template <class Buffer>
concept SizedBuffer =
    MessageBuffer<Buffer> && !ArrayView<Buffer> && !std::is_null_pointer_v<std::remove_cvref_t<Buffer>> &&
    !std::input_or_output_iterator<std::remove_cvref_t<Buffer>>;
template <class Pointer, class Byte>
concept PointsTo = std::is_const_v<Byte> || !std::is_const_v<std::remove_pointer_t<Pointer>>;
}  // namespace detail

// `count` of `type` in memory: what MPI's calls take as three arguments. ConstTypedBuffer is for what is only read.
template <class Byte>
class BasicTypedBuffer {
  using Void = std::conditional_t<std::is_const_v<Byte>, const void, void>;

 public:
  // From an address on that displacements are counted from; that all of it is there is the caller's word.
  BasicTypedBuffer(Void* memory, Datatype type, std::int64_t count = 1)
      : memory_(static_cast<Byte*>(memory)), type_(std::move(type)), count_(count) {
    check();
  }
  // Of a buffer; displacements are counted from its element `origin`. Throws Error(invalid_size), naming both, where
  // the type reaches past the buffer's begin or end.
  template <detail::SizedBuffer Buffer>
    requires(detail::PointsTo<decltype(as_span(std::declval<Buffer&>()).data()), Byte>)
  BasicTypedBuffer(Buffer&& buffer, Datatype type, std::int64_t count = 1, std::int64_t origin = 0)
      : type_(std::move(type)), count_(count) {
    const auto span = as_span(buffer);
    const auto element = static_cast<std::int64_t>(sizeof(span[0]));
    check();
    check_inside(static_cast<std::int64_t>(span.size()), element, origin);
    memory_ = reinterpret_cast<Byte*>(span.data()) + origin * element;
  }
  // Of a view like std::mdspan, whose elements the type lays out: TypedBuffer(view, Datatype::of_view(view)). That
  // all of it is there is the caller's word.
  template <detail::ArrayView View>
    requires(detail::PointsTo<decltype(std::declval<const View&>().data_handle()), Byte>)
  BasicTypedBuffer(const View& view, Datatype type, std::int64_t count = 1)
      : BasicTypedBuffer(static_cast<Void*>(view.data_handle()), std::move(type), count) {}
  // One that is only read from any.
  template <class Other>
    requires(std::is_const_v<Byte>&& std::is_same_v<Other, std::byte>)
  BasicTypedBuffer(const BasicTypedBuffer<Other>& other)
      : memory_(other.memory()), type_(other.type()), count_(other.count()) {}

  Byte* memory() const { return memory_; }
  const Datatype& type() const { return type_; }
  std::int64_t count() const { return count_; }
  std::int64_t bytes() const { return count_ * type_.size(); }  // when packed

 private:
  void check() const;
  void check_inside(std::int64_t elements, std::int64_t element_bytes, std::int64_t origin) const;

  Byte* memory_ = nullptr;
  Datatype type_;
  std::int64_t count_;
};
// What is filled, and what is only read.
using TypedBuffer = BasicTypedBuffer<std::byte>;
using ConstTypedBuffer = BasicTypedBuffer<const std::byte>;
extern template class BasicTypedBuffer<std::byte>;
extern template class BasicTypedBuffer<const std::byte>;

namespace detail {
// Throws what unpack() with an operation throws.
void check_reduce(const Datatype& element, const void* packed, std::int64_t count, const TypedBuffer& to,
                  std::int64_t begin);
}  // namespace detail

// Packs the bytes from `begin` on, as many as `packed` holds or there are, and says how many. Throws
// Error(invalid_size) unless 0 <= begin <= from.bytes(), null_buffer where there is no memory.
std::int64_t pack(const ConstTypedBuffer& from, Span<std::byte> packed, std::int64_t begin = 0);

// Unpacks all of `packed`, which are the bytes from `begin` on. Nothing but these bytes of `to` is written. Throws
// Error(truncated), and writes nothing, where `to` has fewer; Error(invalid_type) where `to` has some byte twice.
void unpack(Span<const std::byte> packed, const TypedBuffer& to, std::int64_t begin = 0);

// Each element of `to`, from its element `begin` on, becomes op(it, the packed one); the elements of `to` are all T.
// Throws Error(mismatch) where they are not, truncated and invalid_type as unpack() does.
template <class T, class Op>
  requires std::is_invocable_r_v<T, const Op&, const T&, const T&>
void unpack(Span<const T> packed, const TypedBuffer& to, const Op& op, std::int64_t begin = 0) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  detail::check_reduce(Datatype::of<T>(), packed.data(), static_cast<std::int64_t>(packed.size()), to, begin);
  std::array<T, 4096 / sizeof(T) + 1> piece;
  for (std::size_t at = 0; at < packed.size(); at += piece.size()) {
    const std::size_t n = std::min(piece.size(), packed.size() - at);
    const std::int64_t first = (begin + static_cast<std::int64_t>(at)) * size;
    const Span<std::byte> bytes(reinterpret_cast<std::byte*>(piece.data()), n * sizeof(T));
    pack(to, bytes, first);
    for (std::size_t i = 0; i < n; ++i) piece[i] = op(piece[i], packed[at + i]);
    unpack(Span<const std::byte>(bytes), to, first);
  }
}

// Each element of `from` to the one of `to` that has the same place in the order. Throws Error(mismatch) where `from`
// is not what `to` begins with (one of nothing but ElementKind::byte, on either side, is taken for any); truncated
// where it is longer; invalid_type where `to` has some byte twice. The two must not overlap.
void copy(const ConstTypedBuffer& from, const TypedBuffer& to);

// The same in the order of a stream, by a kernel of the device, which must reach all the memory. Calls return before it
// is done; what they are given may go, but not the memory. Overlaps and signatures are checked before. The first call
// with a type that needs a table of its rows copies that to the device.
std::int64_t pack(const Device& device, Stream& stream, const ConstTypedBuffer& from, Span<std::byte> packed,
                  std::int64_t begin = 0);
void unpack(const Device& device, Stream& stream, Span<const std::byte> packed, const TypedBuffer& to,
            std::int64_t begin = 0);
void copy(const Device& device, Stream& stream, const ConstTypedBuffer& from, const TypedBuffer& to);

// Several buffers to and from one, one after the other without gaps, in as few launches as may be: the fields of a
// halo, say. Throws Error(invalid_size) unless `packed` has just the bytes of all of them. What is filled must not
// overlap.
void pack(const Device& device, Stream& stream, const std::vector<ConstTypedBuffer>& from, Span<std::byte> packed);
void unpack(const Device& device, Stream& stream, Span<const std::byte> packed, const std::vector<TypedBuffer>& to);

}  // namespace dcgn
