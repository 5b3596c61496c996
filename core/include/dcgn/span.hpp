// A view of contiguous objects that kernels can use too (std::span is for the host alone).
#pragma once

#include <dcgn/host_device.hpp>

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace dcgn {

namespace detail {
// An array of From may be seen as an array of To: the same type, or const added.
template <class From, class To>
concept ArrayConvertible = std::is_convertible_v<From (*)[], To (*)[]>;

template <class Container, class T>
concept ContiguousContainer = requires(Container& c) {
  requires ArrayConvertible<std::remove_pointer_t<decltype(c.data())>, T>;
  { c.size() } -> std::convertible_to<std::size_t>;
};
}  // namespace detail

// Objects one after the other, which somebody else owns. Trivially copyable.
template <class T>
class Span {
 public:
  // Nothing; `size` objects from `data` on; an array.
  DCGN_HOST_DEVICE constexpr Span() : data_(nullptr), size_(0) {}
  DCGN_HOST_DEVICE constexpr Span(T* data, std::size_t size) : data_(data), size_(size) {}
  template <std::size_t N>
  DCGN_HOST_DEVICE constexpr Span(T (&array)[N]) : data_(array), size_(N) {}
  // Span<const T> from Span<T>.
  template <class U>
    requires(!std::is_same_v<U, T> && detail::ArrayConvertible<U, T>)
  DCGN_HOST_DEVICE constexpr Span(Span<U> other) : data_(other.data()), size_(other.size()) {}
  // Any contiguous container of T: std::vector, std::array, std::span, DeviceBuffer.
  template <detail::ContiguousContainer<T> Container>
    requires(!std::is_same_v<std::remove_cvref_t<Container>, Span>)
  constexpr Span(Container&& container) : data_(container.data()), size_(container.size()) {}

  // Indices are not checked.
  DCGN_HOST_DEVICE constexpr T* data() const { return data_; }
  DCGN_HOST_DEVICE constexpr std::size_t size() const { return size_; }
  DCGN_HOST_DEVICE constexpr std::size_t size_bytes() const { return size_ * sizeof(T); }
  DCGN_HOST_DEVICE constexpr bool empty() const { return size_ == 0; }
  DCGN_HOST_DEVICE constexpr T& operator[](std::size_t i) const { return data_[i]; }
  DCGN_HOST_DEVICE constexpr T* begin() const { return data_; }
  DCGN_HOST_DEVICE constexpr T* end() const { return data_ + size_; }
  DCGN_HOST_DEVICE constexpr Span subspan(std::size_t offset, std::size_t count) const {
    return {data_ + offset, count};
  }

 private:
  T* data_;
  std::size_t size_;
};

// What a typed call sends or fills: a span or any contiguous container, an array, or one object. (Containers of the
// host are for host code; nvcc need not warn that a kernel could not use them.)
#if defined(__CUDACC__)
#pragma nv_exec_check_disable
#endif
template <class Container>
  requires requires(Container& c) { Span(c.data(), c.size()); }
DCGN_HOST_DEVICE constexpr auto as_span(Container& container) { return Span(container.data(), container.size()); }
template <class T, std::size_t N>
DCGN_HOST_DEVICE constexpr Span<T> as_span(T (&array)[N]) {
  return {array, N};
}
template <class T>
  requires(!requires(T & c) { Span(c.data(), c.size()); } && !std::is_pointer_v<T> && !std::is_array_v<T>)
DCGN_HOST_DEVICE constexpr Span<T> as_span(T& object) { return {&object, 1}; }

// A buffer of a typed call: as_span takes it, and its objects can be copied as bytes.
template <class Buffer>
concept MessageBuffer = requires(Buffer& b) {
  requires std::is_trivially_copyable_v<std::remove_pointer_t<decltype(as_span(b).data())>>;
};

// The same for a call that returns before it is done with the buffer: no temporary that has its objects itself, as a
// vector or a number does. A temporary span is one, for as a constant it leads to the same objects.
template <class Buffer>
concept LastingBuffer = MessageBuffer<Buffer> &&
    (std::is_lvalue_reference_v<Buffer> || (std::is_trivially_destructible_v<Buffer> &&
                                            std::is_same_v<decltype(as_span(std::declval<Buffer&>()).data()),
                                                           decltype(as_span(std::declval<const Buffer&>()).data())>));

}  // namespace dcgn
