// The buffers and operations of collective calls, with and without their types.
#pragma once

#include <dcgn/host_device.hpp>
#include <dcgn/span.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace dcgn::collective {

template <class Buffer>
using Element = std::remove_const_t<std::remove_pointer_t<decltype(as_span(std::declval<Buffer&>()).data())>>;

template <class Buffer, class Other>
concept AlikeTo = MessageBuffer<Buffer> && std::is_same_v<Element<Buffer>, Element<Other>>;
template <class Buffer, class Other>
concept LastingAlikeTo = LastingBuffer<Buffer> && AlikeTo<Buffer, Other>;

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

// The operands of a reduction, in order: `stride` bytes from one to the next, but one of them is where it is.
struct Operands {
  unsigned char* base;
  std::int64_t stride;
  int count;
  int mine = -1;  // which that is
  const unsigned char* own = nullptr;

  DCGN_HOST_DEVICE const unsigned char* operator[](int k) const { return k == mine ? own : base + k * stride; }
};

// What all ranks of a call must give alike.
struct Alike {
  std::uint64_t bytes;
  std::int32_t root = 0;
  std::uint32_t element = 0;  // its bytes; 0 where there is none
};
// Where a rank's buffers are.
struct Place {
  static constexpr std::uint64_t out_of_reach = ~std::uint64_t{0};
  std::uint64_t in, out;
  Alike alike;

  DCGN_HOST_DEVICE const unsigned char* from() const { return reinterpret_cast<const unsigned char*>(in); }
  DCGN_HOST_DEVICE unsigned char* to() const { return reinterpret_cast<unsigned char*>(out); }
};
// The same elements of the inputs of ranks 0 to operands - 1, `from` bytes into each, and where the results go: `to`
// bytes into the output of each of `ranks`, or to one place alone.
struct Far {
  const Place* places;
  int operands;
  int ranks, first;  // begins to write at that one
  std::int64_t from, to;
  unsigned char* alone;
  unsigned char* space;  // of the calling rank's
  std::int64_t space_bytes;

  DCGN_HOST_DEVICE const unsigned char* operator[](int k) const { return places[k].from() + from; }
  DCGN_HOST_DEVICE int targets() const { return alone ? 1 : ranks; }
  DCGN_HOST_DEVICE unsigned char* target(int k) const {
    return alone ? alone : places[first + k < ranks ? first + k : first + k - ranks].to() + to;
  }
};

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
  // As Reducer's; the memory of the other operands is used.
  template <class Scope>
  void fold(const Scope&, void* into, const Operands& of, std::int64_t count) const {
    const unsigned char* sum = of[0];
    unsigned char* const space = of.base + (of.mine == 0 ? of.stride : 0);
    for (int k = 1; k < of.count; ++k) {
      void* const to = k + 1 == of.count ? into : space;
      apply(op, to, sum, of[k], count);
      sum = static_cast<const unsigned char*>(to);
    }
    if (of.count == 1 && count && into != sum) std::memmove(into, sum, static_cast<std::size_t>(count * bytes));
  }
  template <class Scope>
  void fold(const Scope&, const Far& far, std::int64_t count) const {
    const std::int64_t most = far.space_bytes / bytes;
    for (std::int64_t at = 0; at < count; at += most) {
      const std::int64_t n = count - at < most ? count - at : most, begin = at * bytes;
      const unsigned char* sum = far[0] + begin;
      for (int k = 1; k < far.operands; ++k) {
        apply(op, far.space, sum, far[k] + begin, n);
        sum = far.space;
      }
      for (int k = 0; k < far.targets(); ++k)
        if (far.target(k) + begin != sum) std::memcpy(far.target(k) + begin, sum, static_cast<std::size_t>(n * bytes));
    }
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
