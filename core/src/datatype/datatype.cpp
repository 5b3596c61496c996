// The constructors, but for those of arrays (arrays.cpp), and what a type says of itself.
#include <dcgn/datatype.hpp>
#include <dcgn/error.hpp>

#include "base/checked.hpp"
#include "datatype/layout.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace dcgn {

using datatype::Form;
using datatype::Node;

namespace {

struct Element {
  const char* name;
  std::int64_t bytes;
};
constexpr std::array<Element, 16> element_table = {{{"byte", 1},
                                                    {"boolean", 1},
                                                    {"int8", 1},
                                                    {"int16", 2},
                                                    {"int32", 4},
                                                    {"int64", 8},
                                                    {"uint8", 1},
                                                    {"uint16", 2},
                                                    {"uint32", 4},
                                                    {"uint64", 8},
                                                    {"float16", 2},
                                                    {"bf16", 2},
                                                    {"float32", 4},
                                                    {"float64", 8},
                                                    {"complex64", 8},
                                                    {"complex128", 16}}};

[[noreturn]] void refuse(const char* call, const std::string& detail) { throw Error(Code::invalid_type, call, detail); }

void check_count(const char* call, const char* what, std::int64_t value) {
  if (value < 0) refuse(call, std::string(what) + " is " + std::to_string(value) + ", expected 0 or more");
}

// From where to where `count` things reach whose bounds are lower and upper and whose begins are `stride` apart.
struct Extent {
  std::int64_t lower, upper;
};
Extent reach(const Checked& checked, Extent one, std::int64_t count, std::int64_t stride) {
  const std::int64_t last = checked.multiply(count - 1, stride);
  return {checked.add(one.lower, std::min<std::int64_t>(0, last)),
          checked.add(one.upper, std::max<std::int64_t>(0, last))};
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

std::uint64_t hash_of(const Node& node) {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(node.form), static_cast<std::uint64_t>(node.kind));
  for (const std::int64_t value : {node.count, node.stride, node.lower, node.upper, node.alignment})
    hash = mix(hash, static_cast<std::uint64_t>(value));
  for (const std::int64_t value : node.lengths) hash = mix(hash, static_cast<std::uint64_t>(value));
  for (const std::int64_t value : node.displacements) hash = mix(hash, static_cast<std::uint64_t>(value));
  for (const Datatype& child : node.children) hash = mix(hash, child.hash());
  return hash;
}

// What follows from the blocks or parts of a node, none of which is empty.
void add_up(Node& node, const Checked& checked) {
  bool first = true;
  for (std::size_t i = 0; i < node.lengths.size(); ++i) {
    const Node& child = node.child(node.form == Form::parts ? i : 0);
    const auto moved = [&](std::int64_t lower, std::int64_t upper) {
      const Extent range = reach(checked, {lower, upper}, node.lengths[i], child.extent());
      return Extent{checked.add(range.lower, node.displacements[i]), checked.add(range.upper, node.displacements[i])};
    };
    const Extent bounds = moved(child.lower, child.upper), real = moved(child.true_lower, child.true_upper);
    node.size = checked.add(node.size, checked.multiply(node.lengths[i], child.size));
    node.signature = datatype::then(node.signature, datatype::repeated(child.signature, node.lengths[i]));
    if (first)
      node.only = child.only;
    else if (node.only != child.only)
      node.only.reset();
    node.alignment = std::max(node.alignment, child.alignment);
    node.true_lower = first ? real.lower : std::min(node.true_lower, real.lower);
    node.true_upper = first ? real.upper : std::max(node.true_upper, real.upper);
    // Bounds that were given count for more than others.
    if (first || (child.marked && !node.marked)) {
      node.lower = bounds.lower;
      node.upper = bounds.upper;
    } else if (child.marked == node.marked) {
      node.lower = std::min(node.lower, bounds.lower);
      node.upper = std::max(node.upper, bounds.upper);
    }
    node.marked |= child.marked;
    first = false;
  }
}

// Whether values are first, first + step, first + 2 * step, ...
bool evenly_spaced(const Datatype::Counts& values) {
  const auto step = [&](std::size_t i) {  // those that do not fit are found where one is taken
    return static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(values[i - 1]);
  };
  for (std::size_t i = 2; i < values.size(); ++i)
    if (step(i) != step(1)) return false;
  return true;
}

bool all_equal(const Datatype::Counts& values) {
  return std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
}

}  // namespace

std::string to_string(ElementKind kind) { return element_table[static_cast<std::size_t>(kind)].name; }
std::int64_t bytes_of(ElementKind kind) { return element_table[static_cast<std::size_t>(kind)].bytes; }

// The one way to a node: computes what follows from its form.
Datatype Datatype::made(const char* call, Node&& node) {
  const Checked checked(call, Code::invalid_type);
  switch (node.form) {
    case Form::elements:
      node.size = node.upper = node.true_upper = checked.multiply(node.count, bytes_of(node.kind));
      node.signature = datatype::signature_of(node.kind, node.count);
      if (node.count > 0) node.only = node.kind;
      break;
    case Form::loop: {
      const Node& child = node.child();
      node.size = checked.multiply(node.count, child.size);
      node.signature = datatype::repeated(child.signature, node.count);
      if (node.count > 0) node.only = child.only;
      const Extent bounds = reach(checked, {child.lower, child.upper}, node.count, node.stride);
      const Extent real = reach(checked, {child.true_lower, child.true_upper}, node.count, node.stride);
      node.lower = bounds.lower, node.upper = bounds.upper;
      node.true_lower = real.lower, node.true_upper = real.upper;
      node.marked = child.marked;
      node.alignment = child.alignment;
      break;
    }
    case Form::blocks: add_up(node, checked); break;
    case Form::parts:
      add_up(node, checked);
      if (!node.marked) {
        const std::int64_t over = node.extent() % node.alignment;
        if (over) node.upper = checked.add(node.upper, node.alignment - over);
      }
      break;
    case Form::bounds: {
      const Node& child = node.child();
      node.size = child.size;
      node.signature = child.signature;
      node.only = child.only;
      node.true_lower = child.true_lower, node.true_upper = child.true_upper;
      node.marked = true;
      node.alignment = child.alignment;
      break;
    }
  }
  checked.subtract(node.upper, node.lower);
  checked.subtract(node.true_upper, node.true_lower);
  node.hash = hash_of(node);
  return Datatype(std::make_shared<const Node>(std::move(node)));
}

Datatype::Datatype() {
  static const Datatype empty = bytes(0);
  node_ = empty.node_;
}

Datatype::Datatype(Datatype&& other) noexcept : Datatype() { node_.swap(other.node_); }

Datatype& Datatype::operator=(Datatype&& other) noexcept {
  node_.swap(other.node_);
  return *this;
}

Datatype Datatype::of(ElementKind kind) {
  if (static_cast<std::size_t>(kind) >= element_table.size())
    refuse("of", "kind is " + std::to_string(static_cast<std::int64_t>(kind)) + ", expected an ElementKind");
  return of(kind, 1);
}

Datatype Datatype::of(ElementKind kind, std::int64_t count) {
  Node node;
  node.kind = kind;
  node.count = count;
  node.alignment =
      kind == ElementKind::complex128 || kind == ElementKind::complex64 ? bytes_of(kind) / 2 : bytes_of(kind);
  return made("of", std::move(node));
}

Datatype Datatype::bytes(std::int64_t count, std::int64_t alignment) {
  check_count("bytes", "count", count);
  if (alignment < 1 || (alignment & (alignment - 1)) != 0)
    refuse("bytes", "alignment is " + std::to_string(alignment) + ", expected a power of two");
  Node node;
  node.count = count;
  node.alignment = alignment;
  return made("bytes", std::move(node));
}

Datatype Datatype::loop(const char* call, std::int64_t count, std::int64_t stride, const Datatype& type) {
  check_count(call, "count", count);
  const Node& child = type.node();
  if (count == 0 || child.size == 0) return {};
  if (count == 1) return type;
  const Checked checked(call, Code::invalid_type);
  Node node;
  node.alignment = child.alignment;
  if (child.form == Form::elements && stride == child.size) {
    node.kind = child.kind;
    node.count = checked.multiply(count, child.count);
    return made(call, std::move(node));
  }
  node.form = Form::loop;
  node.count = count;
  node.stride = stride;
  node.children = {type};
  if (child.form == Form::loop && stride == checked.multiply(child.count, child.stride)) {
    node.count = checked.multiply(count, child.count);
    node.stride = child.stride;
    node.children = child.children;
  }
  return made(call, std::move(node));
}

Datatype Datatype::displaced(const char* call, std::int64_t displacement, const Datatype& type) {
  if (displacement == 0 || type.size() == 0) return type;
  const Node& child = type.node();
  Node node;
  node.form = Form::blocks;
  node.lengths = {1};
  node.displacements = {displacement};
  node.children = {type};
  if (child.form == Form::blocks && child.lengths == node.lengths) {
    node.displacements[0] = Checked(call, Code::invalid_type).add(displacement, child.displacements[0]);
    node.children = child.children;
    if (node.displacements[0] == 0) return node.children[0];
  }
  return made(call, std::move(node));
}

Datatype Datatype::contiguous(std::int64_t count, const Datatype& type) {
  return loop("contiguous", count, type.extent(), type);
}

Datatype Datatype::vector(std::int64_t count, std::int64_t length, std::int64_t stride, const Datatype& type) {
  check_count("vector", "length", length);
  const std::int64_t bytes = Checked("vector", Code::invalid_type).multiply(stride, type.extent());
  return loop("vector", count, bytes, loop("vector", length, type.extent(), type));
}

Datatype Datatype::hvector(std::int64_t count, std::int64_t length, std::int64_t stride, const Datatype& type) {
  check_count("hvector", "length", length);
  return loop("hvector", count, stride, loop("hvector", length, type.extent(), type));
}

// Displacements in bytes.
Datatype Datatype::blocks(const char* call, Counts&& lengths, Counts&& displacements, const Datatype& type) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check_count(call, ("lengths[" + std::to_string(i) + "]").c_str(), lengths[i]);
    if (lengths[i] == 0) continue;
    lengths[n] = lengths[i];
    displacements[n++] = displacements[i];
  }
  if (n == 0 || type.size() == 0) return {};
  lengths.resize(n);
  displacements.resize(n);
  if (all_equal(lengths) && evenly_spaced(displacements)) {
    const std::int64_t stride =
        n > 1 ? Checked(call, Code::invalid_type).subtract(displacements[1], displacements[0]) : 0;
    const Datatype block = loop(call, lengths[0], type.extent(), type);
    return displaced(call, displacements[0], loop(call, static_cast<std::int64_t>(n), stride, block));
  }
  Node node;
  node.form = Form::blocks;
  node.lengths = std::move(lengths);
  node.displacements = std::move(displacements);
  node.children = {type};
  return made(call, std::move(node));
}

namespace {

void check_lengths(const char* call, const char* one, std::size_t n, const char* other, std::size_t m) {
  if (n != m)
    refuse(call,
           std::to_string(n) + " " + one + " and " + std::to_string(m) + " " + other + ", expected as many of each");
}

void to_bytes(const char* call, Datatype::Counts& displacements, std::int64_t extent) {
  const Checked checked(call, Code::invalid_type);
  for (std::int64_t& displacement : displacements) displacement = checked.multiply(displacement, extent);
}

}  // namespace

Datatype Datatype::indexed(Counts lengths, Counts displacements, const Datatype& type) {
  check_lengths("indexed", "lengths", lengths.size(), "displacements", displacements.size());
  to_bytes("indexed", displacements, type.extent());
  return blocks("indexed", std::move(lengths), std::move(displacements), type);
}

Datatype Datatype::hindexed(Counts lengths, Counts displacements, const Datatype& type) {
  check_lengths("hindexed", "lengths", lengths.size(), "displacements", displacements.size());
  return blocks("hindexed", std::move(lengths), std::move(displacements), type);
}

Datatype Datatype::indexed_block(std::int64_t length, Counts displacements, const Datatype& type) {
  check_count("indexed_block", "length", length);
  to_bytes("indexed_block", displacements, type.extent());
  return blocks("indexed_block", Counts(displacements.size(), length), std::move(displacements), type);
}

Datatype Datatype::hindexed_block(std::int64_t length, Counts displacements, const Datatype& type) {
  check_count("hindexed_block", "length", length);
  return blocks("hindexed_block", Counts(displacements.size(), length), std::move(displacements), type);
}

Datatype Datatype::structure(Counts lengths, Counts displacements, const std::vector<Datatype>& types) {
  check_lengths("structure", "lengths", lengths.size(), "displacements", displacements.size());
  check_lengths("structure", "lengths", lengths.size(), "types", types.size());
  Node node;
  node.form = Form::parts;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    check_count("structure", ("lengths[" + std::to_string(i) + "]").c_str(), lengths[i]);
    if (lengths[i] == 0 || types[i].size() == 0) continue;
    node.lengths.push_back(lengths[i]);
    node.displacements.push_back(displacements[i]);
    node.children.push_back(types[i]);
  }
  if (node.children.empty()) return {};
  return made("structure", std::move(node));
}

Datatype Datatype::resized(const Datatype& type, std::int64_t lower_bound, std::int64_t extent) {
  Node node;
  node.form = Form::bounds;
  node.lower = lower_bound;
  node.upper = Checked("resized", Code::invalid_type).add(lower_bound, extent);
  node.children = {type.node().form == Form::bounds ? type.node().children[0] : type};
  return made("resized", std::move(node));
}

std::int64_t Datatype::size() const { return node_->size; }
std::int64_t Datatype::lower_bound() const { return node_->lower; }
std::int64_t Datatype::extent() const { return node_->extent(); }
std::int64_t Datatype::true_lower_bound() const { return node_->true_lower; }
std::int64_t Datatype::true_extent() const { return node_->true_upper - node_->true_lower; }
std::int64_t Datatype::elements() const { return node_->signature.elements; }
std::uint64_t Datatype::hash() const { return node_->hash; }

Signature Datatype::signature(std::int64_t count) const {
  check_count("signature", "count", count);
  Checked("signature", Code::invalid_type).multiply(count, size());
  return datatype::repeated(node_->signature, count);
}

Signature Datatype::signature_of_first(std::int64_t elements, std::int64_t count) const {
  const std::int64_t all = signature(count).elements;
  if (elements < 0 || elements > all)
    throw Error(Code::invalid_size, "signature_of_first",
                "elements is " + std::to_string(elements) + ", expected 0.." + std::to_string(all));
  return datatype::signature_of_first(*this, count, elements);
}

bool operator==(const Datatype& a, const Datatype& b) {
  if (a.node_ == b.node_) return true;
  const Node &x = *a.node_, &y = *b.node_;
  return x.hash == y.hash && x.form == y.form && x.kind == y.kind && x.count == y.count && x.stride == y.stride &&
         x.lower == y.lower && x.upper == y.upper && x.alignment == y.alignment && x.lengths == y.lengths &&
         x.displacements == y.displacements && x.children == y.children;
}

}  // namespace dcgn
