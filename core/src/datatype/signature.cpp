// A signature is the value of the sequence of kinds as a polynomial modulo the prime 2^61 - 1, so that the signature of
// two sequences one after the other, and of one many times, follows from theirs.
#include <dcgn/error.hpp>
#include <dcgn/message/packet.hpp>

#include "datatype/node.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace dcgn::datatype {
namespace {

constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
constexpr std::uint64_t base = 0x1d8af066f2ab5d3 % prime;

__extension__ using Wide = unsigned __int128;

std::uint64_t times(std::uint64_t a, std::uint64_t b) { return static_cast<std::uint64_t>(Wide{a} * b % prime); }
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return (a + b) % prime; }

std::uint64_t power(std::uint64_t a, std::int64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, a = times(a, a))
    if (exponent & 1) result = times(result, a);
  return result;
}

}  // namespace

Signature then(const Signature& a, const Signature& b) {
  return {a.elements + b.elements, plus(times(a.hash, power(base, b.elements)), b.hash), a.bytes && b.bytes};
}

Signature repeated(const Signature& a, std::int64_t count) {
  Signature result, twice = a;
  for (; count > 0; count >>= 1) {
    if (count & 1) result = then(result, twice);
    if (count > 1) twice = then(twice, twice);
  }
  return result;
}

Signature signature_of(ElementKind kind, std::int64_t count) {
  return repeated({1, static_cast<std::uint64_t>(kind) + 1, kind == ElementKind::byte}, count);
}

namespace {

const Node& child_of(const Node& node, std::size_t i) { return node.child(node.form == Form::parts ? i : 0); }

// Which block or part element `element` is of, and the signature of what is before that.
struct Found {
  std::size_t index;
  Signature before;
};
Found find(const Node& node, std::int64_t element) {
  const std::lock_guard lock(node.derived->mutex);
  auto& before = node.derived->signature_before;
  if (before.empty()) {
    before.resize(node.lengths.size());
    for (std::size_t i = 0; i + 1 < before.size(); ++i)
      before[i + 1] = then(before[i], repeated(child_of(node, i).signature, node.lengths[i]));
  }
  const auto next = std::upper_bound(before.begin(), before.end(), element,
                                     [](std::int64_t e, const Signature& s) { return e < s.elements; });
  return {static_cast<std::size_t>(next - before.begin()) - 1, next[-1]};
}

Signature of_first(const Node& node, std::int64_t elements);

// The same of `count` of them.
Signature of_first(const Node& node, std::int64_t count, std::int64_t elements) {
  const std::int64_t each = node.signature.elements;
  const std::int64_t whole = each ? std::min(count, elements / each) : 0;
  const Signature result = repeated(node.signature, whole);
  const std::int64_t left = elements - whole * each;
  return left ? then(result, of_first(node, left)) : result;
}

Signature of_first(const Node& node, std::int64_t elements) {
  if (elements == node.signature.elements) return node.signature;
  switch (node.form) {
    case Form::elements: return signature_of(node.kind, elements);
    case Form::bounds: return of_first(node.child(), elements);
    case Form::loop: return of_first(node.child(), node.count, elements);
    case Form::blocks:
    case Form::parts: break;
  }
  const auto [i, before] = find(node, elements);
  return then(before, of_first(child_of(node, i), node.lengths[i], elements - before.elements));
}

ElementKind kind_of(const Node& node, std::int64_t element) {
  switch (node.form) {
    case Form::elements: return node.kind;
    case Form::bounds:
    case Form::loop: return kind_of(node.child(), element % node.child().signature.elements);
    case Form::blocks:
    case Form::parts: break;
  }
  const auto [i, before] = find(node, element);
  const Node& child = child_of(node, i);
  return kind_of(child, (element - before.elements) % child.signature.elements);
}

}  // namespace

Signature signature_of_first(const Datatype& type, std::int64_t count, std::int64_t elements) {
  return of_first(type.node(), count, elements);
}

ElementKind kind_of(const Datatype& type) { return kind_of(type.node(), 0); }

namespace {

// How many elements the first `bytes` bytes of `count` of them are; nothing where the last one is not whole.
std::optional<std::int64_t> elements_in(const Node& node, std::int64_t count, std::int64_t bytes) {
  const std::int64_t whole = node.size ? std::min(count, bytes / node.size) : 0;
  const std::int64_t before = whole * node.signature.elements;
  std::int64_t left = bytes - whole * node.size;
  if (left == 0) return before;
  const auto behind = [&](std::int64_t elements, const std::optional<std::int64_t>& more) {
    return more ? std::optional(elements + *more) : std::nullopt;
  };
  switch (node.form) {
    case Form::elements: {
      const std::int64_t each = bytes_of(node.kind);
      return left % each ? std::nullopt : std::optional(before + left / each);
    }
    case Form::bounds: return behind(before, elements_in(node.child(), 1, left));
    case Form::loop: return behind(before, elements_in(node.child(), node.count, left));
    case Form::blocks:
    case Form::parts: break;
  }
  std::int64_t elements = before;
  for (std::size_t i = 0;; ++i) {
    const Node& child = child_of(node, i);
    const std::int64_t size = node.lengths[i] * child.size;
    if (left <= size) return behind(elements, elements_in(child, node.lengths[i], left));
    left -= size;
    elements += node.lengths[i] * child.signature.elements;
  }
}

// The digests of one kind come first.
constexpr std::uint32_t digest_of_kind(ElementKind kind) { return static_cast<std::uint32_t>(kind) + 1; }
constexpr std::uint32_t first_of_several = 32, all_digests = 1u << message::element_bits;

}  // namespace

std::uint32_t digest_of(const Datatype& type, std::int64_t count, std::int64_t bytes) {
  const Node& node = type.node();
  if (bytes == 0 || node.only == ElementKind::byte) return 0;
  if (node.only) return bytes % bytes_of(*node.only) ? 0 : digest_of_kind(*node.only);
  const std::optional<std::int64_t> elements = elements_in(node, count, bytes);
  if (!elements) return 0;
  const std::uint64_t hash = of_first(node, count, *elements).hash;
  if (const ElementKind first = kind_of(node, 0); hash == signature_of(first, *elements).hash)
    return first == ElementKind::byte ? 0 : digest_of_kind(first);  // all those are, if not all of the type
  return first_of_several + static_cast<std::uint32_t>(hash % (all_digests - first_of_several));
}

std::string describe_digest(std::uint32_t digest) {
  return digest < first_of_several ? to_string(static_cast<ElementKind>(digest - 1)) : "several kinds in some order";
}

namespace {

// The first `both` elements of two types are compared; `whole`: the first type has no more than these, and the second
// no fewer.
void check_first(const char* call, const Datatype& from, std::int64_t from_count, const Datatype& to,
                 std::int64_t to_count, std::int64_t both, bool whole) {
  const auto alike = [&](std::int64_t elements) {
    return of_first(from.node(), from_count, elements) == of_first(to.node(), to_count, elements);
  };
  if (whole && alike(both)) return;
  std::int64_t same = 0, different = both + 1;  // the first so many
  while (different - same > 1) {
    const std::int64_t middle = same + (different - same) / 2;
    (alike(middle) ? same : different) = middle;
  }
  const std::string kind = to_string(kind_of(from.node(), same % from.elements()));
  throw Error(Code::mismatch, call,
              "element " + std::to_string(same) + " is of kind " + kind + ", expected " +
                  (same == both ? "no more than " + std::to_string(both) + " elements"
                                : to_string(kind_of(to.node(), same % to.elements()))));
}

}  // namespace

void check_match(const char* call, const Datatype& from, std::int64_t from_count, const Datatype& to,
                 std::int64_t to_count) {
  const Signature given = from.signature(from_count), expected = to.signature(to_count);
  if (given.bytes || expected.bytes) return;
  check_first(call, from, from_count, to, to_count, std::min(given.elements, expected.elements),
              given.elements <= expected.elements);
}

void check_beginnings(const char* call, const Datatype& from, std::int64_t from_count, const Datatype& to,
                      std::int64_t to_count) {
  const Signature given = from.signature(from_count), expected = to.signature(to_count);
  if (given.bytes || expected.bytes) return;
  check_first(call, from, from_count, to, to_count, std::min(given.elements, expected.elements), true);
}

void check_all(const char* call, const Datatype& element, const Datatype& type, std::int64_t count) {
  const std::int64_t size = element.size(), bytes = type.size() * count;
  if (bytes % size)
    throw Error(Code::mismatch, call,
                std::to_string(bytes) + " bytes, expected a multiple of " + std::to_string(size) + ", " +
                    to_string(kind_of(element)) + " each");
  check_match(call, type, count, Datatype::contiguous(bytes / size, element), 1);
}

}  // namespace dcgn::datatype
