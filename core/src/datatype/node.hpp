// What a Datatype points to: how it is made of others, and what follows from that.
#pragma once

#include <dcgn/datatype.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dcgn::datatype {

struct Layout;  // layout.hpp

// All constructors come down to these.
enum class Form : std::uint8_t {
  elements,  // `count` basic elements without gaps
  loop,      // `count` of children[0], `stride` bytes apart
  blocks,    // lengths[i] of children[0], each where the extent of the one before ends, from displacements[i] bytes on
  parts,     // the same of children[i]
  bounds,    // children[0] with bounds that were given
};

struct Node {
  Form form = Form::elements;
  ElementKind kind = ElementKind::byte;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> displacements;
  std::vector<Datatype> children;

  // In bytes. Where `marked`, the bounds were given, here or below, and a type made of this one takes its own from
  // such.
  std::int64_t size = 0;
  std::int64_t lower = 0, upper = 0;
  bool marked = false;
  std::int64_t true_lower = 0, true_upper = 0;
  std::int64_t alignment = 1;
  Signature signature;
  std::optional<ElementKind> only;  // of which kind all its elements are, where there are some and they are of one
  std::uint64_t hash = 0;

  std::int64_t extent() const { return upper - lower; }
  const Node& child(std::size_t i = 0) const { return children[i].node(); }

  // Computed when first asked for, and kept.
  struct Derived {
    std::mutex mutex;
    std::shared_ptr<const Layout> layout;           // of one
    std::shared_ptr<const Layout> layout_of_count;  // of the number asked for last
    std::int64_t count = 0;
    std::vector<Signature> signature_before;  // of blocks and parts: of what stands before each
  };
  std::unique_ptr<Derived> derived = std::make_unique<Derived>();
};

// The sequence a, then b; and `count` times a.
Signature then(const Signature& a, const Signature& b);
Signature repeated(const Signature& a, std::int64_t count);
Signature signature_of(ElementKind kind, std::int64_t count);
// Of the first `elements` elements of `count` of the type; there are as many.
Signature signature_of_first(const Datatype& type, std::int64_t count, std::int64_t elements);
// Of its first element; it has some.
ElementKind kind_of(const Datatype& type);
// The elements of the first `bytes` bytes of `count` of the type, boiled down to what a message's header has room for:
// 0 where they are nothing but bytes, or not whole elements; else 1 and up, the same for the same elements.
std::uint32_t digest_of(const Datatype& type, std::int64_t count, std::int64_t bytes);
// What a digest tells: "float64", or "of several kinds".
std::string describe_digest(std::uint32_t digest);
// Throws Error(mismatch) of `call`, naming the first element that differs, unless the elements of `from` are those that
// `to` begins with, or one of them is nothing but bytes.
void check_match(const char* call, const Datatype& from, std::int64_t from_count, const Datatype& to,
                 std::int64_t to_count);
// Throws Error(mismatch) unless the elements of `count` of the type are all such, or it is nothing but bytes, and there
// are whole ones.
void check_all(const char* call, const Datatype& element, const Datatype& type, std::int64_t count);
// As check_match, where either may be longer.
void check_beginnings(const char* call, const Datatype& from, std::int64_t from_count, const Datatype& to,
                      std::int64_t to_count);

}  // namespace dcgn::datatype
