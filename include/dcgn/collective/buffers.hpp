// The buffers and operations of collective calls, with and without their types.
#pragma once

#include <dcgn/host_device.hpp>
#include <dcgn/span.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace dcgn::collective {

template <class Buffer>
using Element = std::remove_const_t<std::remove_pointer_t<decltype(as_span(std::declval<Buffer&>()).data())>>;

template <class In, class Out>
concept AlikeBuffers = MessageBuffer<In> && MessageBuffer<Out> && std::is_same_v<Element<In>, Element<Out>>;

// Usable in kernels where it is marked so.
template <class Op, class T>
concept Operation = requires(const Op& op, const T& a) {
  { op(a, a) } -> std::convertible_to<T>;
};

template <class Buffer>
inline constexpr auto element_bytes = static_cast<std::int64_t>(sizeof(Element<Buffer>));

struct Input {
  const unsigned char* data;
  std::int64_t count;  // elements
};
struct Output {
  unsigned char* data;
  std::int64_t count;
};
// What each rank's part of a buffer is, in elements.
struct Parts {
  const std::int64_t* counts;
  std::int64_t how_many_counts;
  const std::int64_t* displacements;
  std::int64_t how_many_displacements;
};

// Buffers as the calls of calls.hpp take them.
template <class Buffer>
DCGN_HOST_DEVICE Input input(const Buffer& buffer) {
  const auto span = as_span(buffer);
  return {reinterpret_cast<const unsigned char*>(span.data()), static_cast<std::int64_t>(span.size())};
}
template <class Buffer>
DCGN_HOST_DEVICE Output output(Buffer& buffer) {
  const auto span = as_span(buffer);
  return {reinterpret_cast<unsigned char*>(span.data()), static_cast<std::int64_t>(span.size())};
}
DCGN_HOST_DEVICE inline Parts parts(Span<const std::int64_t> counts, Span<const std::int64_t> displacements) {
  return {counts.data(), static_cast<std::int64_t>(counts.size()), displacements.data(),
          static_cast<std::int64_t>(displacements.size())};
}

// An operation as the library, which does not know its type, applies it for a CPU rank.
struct HostReducer {
  using Apply = void (*)(const void* op, void* into, const void* left, const void* right, std::int64_t count);
  const void* op;
  Apply apply;
  std::int64_t bytes;  // of an element

  std::int64_t element() const { return bytes; }
  template <class Scope>
  void combine(const Scope&, void* into, const void* left, const void* right, std::int64_t count) const {
    apply(op, into, left, right, count);
  }
};

// What an element of a reduction may be: so large that the least scratch holds four.
inline constexpr std::int64_t least_scratch = 4096;
template <class T>
concept Reducible = std::is_trivially_copyable_v<T> && sizeof(T) <= least_scratch / 4 && alignof(T) <= 64;

template <Reducible T, Operation<T> Op>
HostReducer host_reducer(const Op& op) {
  const auto apply = [](const void* any, void* into, const void* left, const void* right, std::int64_t count) {
    const Op& operation = *static_cast<const Op*>(any);
    T* const to = static_cast<T*>(into);
    const T* const a = static_cast<const T*>(left);
    const T* const b = static_cast<const T*>(right);
    for (std::int64_t i = 0; i < count; ++i) to[i] = operation(a[i], b[i]);
  };
  return {&op, apply, static_cast<std::int64_t>(sizeof(T))};
}

}  // namespace dcgn::collective
