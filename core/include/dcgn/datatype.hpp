// Datatypes: any layout of memory as one message.
//
// A datatype is a list of basic elements, each with its displacement in bytes from the address that a call is given:
// MPI's type map, with MPI's constructors and MPI's rules for extents. The list's order is that of the packed bytes.
// All counts, strides and displacements have 64 bits. A Datatype is immutable, cheap to copy, and may be used by
// several threads.
//
//   // The left 512 columns of a row-major matrix of 8192 columns, and 100 such rows:
//   auto rows = Datatype::vector(100, 512, 8192, Datatype::of<double>());
//
// Constructors throw Error(invalid_type), naming the value and what was expected, for negative counts, for lists of
// different lengths, and for what 64 bits cannot hold.
//
// What becomes of a type for packing, its normal form, is in layout.hpp; source: Wu et al., "GPU-Aware Non-contiguous
// Data Movement In Open MPI", HPDC 2016, section 3, whose lists of (displacement, displacement, length) it replaces.
#pragma once

#include <dcgn/element.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace dcgn {

namespace datatype {
struct Node;  // core/src/datatype/node.hpp
}

// What a basic element is: it decides which types match, not how bytes move.
enum class ElementKind : std::uint8_t {
  byte,  // of no type in particular
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  float16,  // half
  bf16,     // bfloat16
  float32,
  float64,
  complex64,   // of two floats
  complex128,  // of two doubles
};
std::string to_string(ElementKind kind);
std::int64_t bytes_of(ElementKind kind);

// The basic elements of a type in order, boiled down: types with the same elements have the same signature, however
// they are laid out, and other types have, but for one in 2^61, another one.
struct Signature {
  std::int64_t elements = 0;
  std::uint64_t hash = 0;
  bool bytes = true;  // nothing but ElementKind::byte

  friend bool operator==(const Signature&, const Signature&) = default;
};

namespace detail {
template <class T>
constexpr ElementKind element_kind() {
  if constexpr (std::same_as<T, bool>) return ElementKind::boolean;
  if constexpr (std::same_as<T, half>) return ElementKind::float16;
  if constexpr (std::same_as<T, bfloat16>) return ElementKind::bf16;
  if constexpr (std::same_as<T, float>) return ElementKind::float32;
  if constexpr (std::same_as<T, double>) return ElementKind::float64;
  if constexpr (std::same_as<T, complex<float>>) return ElementKind::complex64;
  if constexpr (std::same_as<T, complex<double>>) return ElementKind::complex128;
  if constexpr (std::is_integral_v<T>) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? ElementKind::int8 : ElementKind::uint8;
    if constexpr (sizeof(T) == 2) return is_signed ? ElementKind::int16 : ElementKind::uint16;
    if constexpr (sizeof(T) == 4) return is_signed ? ElementKind::int32 : ElementKind::uint32;
    if constexpr (sizeof(T) == 8) return is_signed ? ElementKind::int64 : ElementKind::uint64;
  }
  return ElementKind::byte;
}
}  // namespace detail

// A value; what is made of it keeps its own.
class Datatype {
 public:
  // What lists of lengths, displacements and sizes are.
  using Counts = std::vector<std::int64_t>;
  // Which index of an array is next to itself in memory: the last one as in C, the first one as in Fortran.
  enum class Order { c, fortran };
  enum class Distribution { none, block, cyclic };
  // For darray: blocks as large as divides the array evenly, or of one element where they are dealt out.
  static constexpr std::int64_t default_block = -1;

  // Nothing: no elements, extent 0.
  Datatype();
  Datatype(const Datatype&) = default;
  Datatype& operator=(const Datatype&) = default;
  // What has been moved from is some datatype still.
  Datatype(Datatype&& other) noexcept;
  Datatype& operator=(Datatype&& other) noexcept;
  ~Datatype() = default;

  // One T. A T that is not among the kinds of elements, a struct say, is its bytes.
  template <class T>
    requires std::is_trivially_copyable_v<T>
  static Datatype of() {
    constexpr ElementKind kind = detail::element_kind<T>();
    if constexpr (kind == ElementKind::byte)
      return bytes(static_cast<std::int64_t>(sizeof(T)), static_cast<std::int64_t>(alignof(T)));
    else
      return of(kind);
  }
  static Datatype of(ElementKind kind);
  // `count` bytes without gaps; `alignment`, a power of two, is for the padding of a structure.
  static Datatype bytes(std::int64_t count, std::int64_t alignment = 1);

  // `count` of `type`, each where the extent of the one before ends.
  static Datatype contiguous(std::int64_t count, const Datatype& type);
  // `count` blocks of `length` of `type` each, whose begins are `stride` extents of `type` apart; hvector: `stride`
  // bytes. A stride may be negative, or smaller than a block.
  static Datatype vector(std::int64_t count, std::int64_t length, std::int64_t stride, const Datatype& type);
  static Datatype hvector(std::int64_t count, std::int64_t length, std::int64_t stride, const Datatype& type);
  // Block i: lengths[i] of `type`, from displacements[i] extents of `type` on; hindexed: displacements[i] bytes.
  static Datatype indexed(Counts lengths, Counts displacements, const Datatype& type);
  static Datatype hindexed(Counts lengths, Counts displacements, const Datatype& type);
  // The same, with all blocks of one length.
  static Datatype indexed_block(std::int64_t length, Counts displacements, const Datatype& type);
  static Datatype hindexed_block(std::int64_t length, Counts displacements, const Datatype& type);
  // MPI's struct. Block i: lengths[i] of types[i], from displacements[i] bytes on. As in C, the extent is padded to the
  // alignment of what is in it, where no type among these was resized.
  static Datatype structure(Counts lengths, Counts displacements, const std::vector<Datatype>& types);
  // Of an array of sizes[0] x sizes[1] x ... of `type`, the part of subsizes[i] from starts[i] on in each dimension.
  // Its extent is that of the whole array.
  static Datatype subarray(const Counts& sizes, const Counts& subsizes, const Counts& starts, Order order,
                           const Datatype& type);
  // Rank `rank`'s part of an array of sizes[0] x sizes[1] x ... of `type`, distributed over a grid of
  // processes[0] x processes[1] x ... ranks, numbered as in C whatever the order. In dimension i it has everything, a
  // block of blocks[i], or every processes[i]-th such block. The extent is that of the whole array.
  static Datatype darray(int rank, const Counts& sizes, const std::vector<Distribution>& distributions,
                         const Counts& blocks, const Counts& processes, Order order, const Datatype& type);
  // `type` with another lower bound and extent, which then count for all types made of it.
  static Datatype resized(const Datatype& type, std::int64_t lower_bound, std::int64_t extent);

  // The elements of a view like std::mdspan, the last index fastest, from view.data_handle() on.
  template <class View>
    requires requires(const View& view) {
      typename View::element_type;
      { View::rank() } -> std::convertible_to<std::size_t>;
      { view.extent(0) } -> std::convertible_to<std::int64_t>;
      { view.stride(0) } -> std::convertible_to<std::int64_t>;
    }
  static Datatype of_view(const View& view) {
    auto type = of<std::remove_cv_t<typename View::element_type>>();
    const auto bytes = static_cast<std::int64_t>(sizeof(typename View::element_type));
    for (std::size_t i = View::rank(); i-- > 0;)
      type = hvector(static_cast<std::int64_t>(view.extent(i)), 1, static_cast<std::int64_t>(view.stride(i)) * bytes,
                     type);
    return type;
  }

  // In bytes: what is packed; the bounds by which repetitions are laid out; where the elements really begin and end.
  std::int64_t size() const;
  std::int64_t lower_bound() const;
  std::int64_t extent() const;
  std::int64_t upper_bound() const { return lower_bound() + extent(); }
  std::int64_t true_lower_bound() const;
  std::int64_t true_extent() const;

  // Whether `count` of these are one run of bytes from true_lower_bound() on.
  bool is_contiguous(std::int64_t count = 1) const;
  // Whether `count` of these name some byte twice: such a type can be sent, not received.
  bool overlaps(std::int64_t count = 1) const;

  // Of the first `elements` elements of `count` of these, all where not given. Throws Error(invalid_size) where there
  // are not as many.
  Signature signature(std::int64_t count = 1) const;
  Signature signature_of_first(std::int64_t elements, std::int64_t count) const;
  std::int64_t elements() const;

  // By how they are built, up to steps that change nothing: what is equal has the same layout and elements.
  friend bool operator==(const Datatype& a, const Datatype& b);
  std::uint64_t hash() const;

  const datatype::Node& node() const { return *node_; }

 private:
  explicit Datatype(std::shared_ptr<const datatype::Node> node) : node_(std::move(node)) {}
  static Datatype of(ElementKind kind, std::int64_t count);
  // Of the form that a node has, whose other members these compute; `call` is whose errors are thrown.
  static Datatype made(const char* call, datatype::Node&& node);
  static Datatype loop(const char* call, std::int64_t count, std::int64_t stride, const Datatype& type);
  static Datatype displaced(const char* call, std::int64_t displacement, const Datatype& type);
  static Datatype blocks(const char* call, Counts&& lengths, Counts&& displacements, const Datatype& type);

  std::shared_ptr<const datatype::Node> node_;
};

// The normal form in words, a line for each part: "at 0: 8192 times every 65536 B: 4096 B".
std::string describe(const Datatype& type, std::int64_t count = 1);

}  // namespace dcgn

template <>
struct std::hash<dcgn::Datatype> {
  std::size_t operator()(const dcgn::Datatype& type) const noexcept { return type.hash(); }
};
