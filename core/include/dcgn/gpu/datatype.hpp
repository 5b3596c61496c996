// Datatypes in kernels: packing and unpacking by the threads of a scope, of a block say, in a kernel that goes on.
//
//   dcgn::DeviceDatatype column(device, dcgn::Datatype::vector(rows, 1, columns, dcgn::Datatype::of<double>()));
//   ... launch(..., column.handle(), matrix, packed);      // and in the kernel:
//   dcgn::gpu::pack(dcgn::gpu::this_block(ctx), type, matrix, packed, type.bytes());
//
// A slot sends and receives with such a handle: typed_messages.hpp.
#pragma once

#include <dcgn/arch/scope.hpp>
#include <dcgn/datatype/places.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/span.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace dcgn {

namespace datatype {

// A leaf (core/src/datatype/layout.hpp), counted in bytes.
struct KernelLeaf {
  Places<std::uint64_t> places;
  std::int64_t displacement;  // of its first row
  std::int64_t begin, bytes;  // among the packed ones
  std::int64_t unit;          // a power of two: of words its rows are made of
};

}  // namespace datatype

namespace gpu {

// A handle, trivially copyable: what kernels have of a DeviceDatatype, which must outlive them.
class Datatype {
 public:
  Datatype() = default;
  // Made by DeviceDatatype::handle().
  DCGN_HOST_DEVICE Datatype(const datatype::KernelLeaf* leaves, int count, std::int64_t bytes, bool contiguous,
                            std::int64_t displacement)
      : leaves_(leaves), count_(count), contiguous_(contiguous), bytes_(bytes), displacement_(displacement) {}

  DCGN_HOST_DEVICE std::int64_t bytes() const { return bytes_; }  // when packed
  // Whether these lie in memory one after the other, and then where the first of them is.
  DCGN_HOST_DEVICE bool is_contiguous() const { return contiguous_; }
  DCGN_HOST_DEVICE std::int64_t displacement() const { return displacement_; }
  DCGN_HOST_DEVICE const datatype::KernelLeaf* leaves() const { return leaves_; }
  // Which has the packed byte `at`.
  DCGN_HOST_DEVICE int leaf_of(std::int64_t at) const {
    int low = 0, high = count_ - 1;
    while (low < high) {
      const int middle = low + (high - low + 1) / 2;
      if (leaves_[middle].begin <= at)
        low = middle;
      else
        high = middle - 1;
    }
    return low;
  }

 private:
  const datatype::KernelLeaf* leaves_ = nullptr;
  int count_ = 0;
  bool contiguous_ = true;
  std::int64_t bytes_ = 0, displacement_ = 0;
};

}  // namespace gpu

namespace datatype {

// Bytes from `begin` on of a leaf, `count` of them, to or from `packed`, in words.
template <bool Pack, int WordBytes, class Scope>
DCGN_HOST_DEVICE void move_words(const Scope& scope, const KernelLeaf& leaf, std::byte* memory, std::byte* packed,
                                 std::int64_t begin, std::int64_t count) {
  using Word = typename WordOf<WordBytes>::Type;
  for (std::int64_t i = static_cast<std::int64_t>(scope.rank()) * WordBytes; i < count;
       i += static_cast<std::int64_t>(scope.size()) * WordBytes) {
    auto* const there = reinterpret_cast<Word*>(
        memory + (leaf.displacement + leaf.places.template offset<1>(static_cast<std::uint64_t>(begin + i))));
    auto* const here = reinterpret_cast<Word*>(packed + i);
    if constexpr (Pack)
      *here = *there;
    else
      *there = *here;
  }
}

// The same in the largest words that both sides allow, and the bytes before and behind these.
template <bool Pack, class Scope>
DCGN_HOST_DEVICE void move_of_leaf(const Scope& scope, const KernelLeaf& leaf, std::byte* memory, std::byte* packed,
                                   std::int64_t begin, std::int64_t count) {
  const auto low = [](const std::byte* p) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(p) & 15);
  };
  // Where the packed byte would be that the leaf begins with.
  const std::int64_t bits = leaf.unit | ((low(memory) + leaf.displacement) & 15) | ((low(packed) - begin) & 15);
  const std::int64_t unit = bits & -bits, past = begin & (unit - 1);
  const std::int64_t to_word = past ? unit - past : 0, head = to_word < count ? to_word : count;
  const std::int64_t middle = (count - head) & -unit;
  if (head) move_words<Pack, 1>(scope, leaf, memory, packed, begin, head);
  begin += head;
  packed += head;
  switch (unit) {
    case 16: move_words<Pack, 16>(scope, leaf, memory, packed, begin, middle); break;
    case 8: move_words<Pack, 8>(scope, leaf, memory, packed, begin, middle); break;
    case 4: move_words<Pack, 4>(scope, leaf, memory, packed, begin, middle); break;
    case 2: move_words<Pack, 2>(scope, leaf, memory, packed, begin, middle); break;
    default: move_words<Pack, 1>(scope, leaf, memory, packed, begin, middle); break;  // 1, the only one left
  }
  const std::int64_t tail = count - head - middle;
  if (tail) move_words<Pack, 1>(scope, leaf, memory, packed + middle, begin + middle, tail);
}

template <bool Pack, class Scope>
DCGN_HOST_DEVICE std::int64_t move_range(const Scope& scope, const gpu::Datatype& type, std::byte* memory,
                                         std::byte* packed, std::int64_t capacity, std::int64_t begin) {
  if (begin < 0 || begin >= type.bytes() || capacity <= 0) return 0;
  const std::int64_t left = type.bytes() - begin, count = capacity < left ? capacity : left;
  scope.sync();
  std::int64_t done = 0;
  for (int l = type.leaf_of(begin); done < count; ++l) {
    const KernelLeaf& leaf = type.leaves()[l];
    const std::int64_t at = begin + done - leaf.begin, most = leaf.bytes - at;
    const std::int64_t piece = count - done < most ? count - done : most;
    move_of_leaf<Pack>(scope, leaf, memory, packed + done, at, piece);
    done += piece;
  }
  scope.sync();
  return count;
}

}  // namespace datatype

namespace gpu {

// Packs the data at `memory`, from which displacements count, beginning with byte `begin` of the packed form: up to
// `capacity` bytes. Returns how many. All threads of the scope make the call with the same arguments. It packs what any
// of them wrote before, and all of them see the packed bytes when it returns. 0 if the type has no byte `begin`.
template <class Scope>
DCGN_HOST_DEVICE std::int64_t pack(const Scope& scope, const Datatype& type, const void* memory, void* packed,
                                   std::int64_t capacity, std::int64_t begin = 0) {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(memory));  // which is not written
  return datatype::move_range<true>(scope, type, from, static_cast<std::byte*>(packed), capacity, begin);
}

// The way back, of `bytes` packed ones: nothing else at `memory` is written. Says how many there was room for; a type
// that has some byte twice leaves one or the other there.
template <class Scope>
DCGN_HOST_DEVICE std::int64_t unpack(const Scope& scope, const Datatype& type, const void* packed, std::int64_t bytes,
                                     void* memory, std::int64_t begin = 0) {
  auto* const from = static_cast<std::byte*>(const_cast<void*>(packed));  // likewise
  return datatype::move_range<false>(scope, type, static_cast<std::byte*>(memory), from, bytes, begin);
}

// The same with an operation: each element at `memory` becomes op(it, the packed one). The type's elements are all T,
// the first of the packed ones is its element `begin`; says how many there were. Not for a type that has some byte
// twice.
template <class Scope, class T, class Op>
DCGN_HOST_DEVICE std::int64_t unpack(const Scope& scope, const Datatype& type, Span<const T> packed, void* memory,
                                     const Op& op, std::int64_t begin = 0) {
  constexpr auto size = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t all = type.bytes() / size, given = static_cast<std::int64_t>(packed.size());
  if (begin < 0 || begin >= all) return 0;
  const std::int64_t count = given < all - begin ? given : all - begin;
  scope.sync();
  int l = type.leaf_of(begin * size);
  for (auto i = static_cast<std::int64_t>(scope.rank()); i < count; i += static_cast<std::int64_t>(scope.size())) {
    const std::int64_t at = (begin + i) * size;
    while (type.leaves()[l].begin + type.leaves()[l].bytes <= at) ++l;
    const auto& leaf = type.leaves()[l];
    auto* const place =
        static_cast<std::byte*>(memory) +
        (leaf.displacement + leaf.places.template offset<1>(static_cast<std::uint64_t>(at - leaf.begin)));
    T element;  // which may be anywhere
    std::memcpy(&element, place, sizeof(T));
    element = op(element, packed[static_cast<std::size_t>(i)]);
    std::memcpy(place, &element, sizeof(T));
  }
  scope.sync();
  return count;
}

}  // namespace gpu
}  // namespace dcgn
