#include "type_tree.hpp"

namespace dcgn::test {
namespace {

void append_run(TypeMap& map, const TypeMap& one, std::int64_t length, std::int64_t displacement) {
  for (std::int64_t i = 0; i < length; ++i) map.append(one, displacement + i * one.extent());
}

// Whether a darray gives index `i` of dimension `d` to the process of that coordinate; HPF's rules.
bool has_index(const TypeTree& tree, std::size_t d, std::int64_t coordinate, std::int64_t i) {
  const std::int64_t n = tree.sizes[d], p = tree.processes[d];
  std::int64_t block = tree.blocks[d];
  switch (tree.distributions[d]) {
    case Datatype::Distribution::none: return true;
    case Datatype::Distribution::block:
      if (block == Datatype::default_block) block = (n + p - 1) / p;
      return i / block == coordinate;
    case Datatype::Distribution::cyclic: return i / (block == Datatype::default_block ? 1 : block) % p == coordinate;
  }
  return false;
}

// Elements of an array in memory order, those for which all indices are taken.
template <class Takes>
TypeMap of_array(const TypeTree& tree, const TypeMap& one, Takes takes) {
  TypeMap map;
  const std::size_t n = tree.sizes.size();
  std::vector<std::size_t> slowest_first(n);
  for (std::size_t i = 0; i < n; ++i) slowest_first[i] = tree.order == Datatype::Order::c ? i : n - 1 - i;
  std::int64_t all = 1;
  for (const std::int64_t size : tree.sizes) all *= size;
  for (std::int64_t at = 0; at < all; ++at) {
    std::int64_t left = at;
    bool taken = true;
    for (std::size_t i = n; i-- > 0;) {
      const std::size_t d = slowest_first[i];
      taken = taken && takes(d, left % tree.sizes[d]);
      left /= tree.sizes[d];
    }
    if (taken) map.append(one, at * one.extent());
  }
  map.lower_marker = 0;
  map.upper_marker = all * one.extent();
  return map;
}

}  // namespace

TypeMap repeated(const TypeMap& one, std::int64_t count) {
  TypeMap map;
  append_run(map, one, count, 0);
  return map;
}

TypeMap type_map(const TypeTree& tree) {
  TypeMap map;
  if (tree.maker == Maker::basic) {
    map.entries = {{0, tree.kind}};
    const bool complex = tree.kind == ElementKind::complex64 || tree.kind == ElementKind::complex128;
    map.alignment = complex ? bytes_of(tree.kind) / 2 : bytes_of(tree.kind);
    return map;
  }
  std::vector<TypeMap> children;
  for (const TypeTree& child : tree.children) children.push_back(type_map(child));
  const TypeMap& one = children[0];
  const std::int64_t extent = one.extent();
  switch (tree.maker) {
    case Maker::basic: break;
    case Maker::contiguous: append_run(map, one, tree.count, 0); break;
    case Maker::vector:
    case Maker::hvector:
      for (std::int64_t i = 0; i < tree.count; ++i)
        append_run(map, one, tree.length, i * tree.stride * (tree.maker == Maker::vector ? extent : 1));
      break;
    case Maker::indexed:
    case Maker::hindexed:
      for (std::size_t i = 0; i < tree.lengths.size(); ++i)
        append_run(map, one, tree.lengths[i], tree.displacements[i] * (tree.maker == Maker::indexed ? extent : 1));
      break;
    case Maker::indexed_block:
    case Maker::hindexed_block:
      for (const std::int64_t displacement : tree.displacements)
        append_run(map, one, tree.length, displacement * (tree.maker == Maker::indexed_block ? extent : 1));
      break;
    case Maker::structure:
      for (std::size_t i = 0; i < children.size(); ++i)
        append_run(map, children[i], tree.lengths[i], tree.displacements[i]);
      map.padded = true;
      break;
    case Maker::subarray:
      map = of_array(tree, one, [&](std::size_t d, std::int64_t i) {
        return i >= tree.starts[d] && i < tree.starts[d] + tree.subsizes[d];
      });
      break;
    case Maker::darray: {
      std::vector<std::int64_t> coordinates(tree.sizes.size());
      std::int64_t left = tree.rank;
      for (std::size_t d = tree.sizes.size(); d-- > 0; left /= tree.processes[d])
        coordinates[d] = left % tree.processes[d];
      map = of_array(tree, one, [&](std::size_t d, std::int64_t i) { return has_index(tree, d, coordinates[d], i); });
      break;
    }
    case Maker::resized:
      map = one;
      map.lower_marker = tree.length;
      map.upper_marker = tree.length + tree.stride;
      break;
  }
  return map;
}

std::string to_text(const TypeTree& tree) {
  constexpr const char* names[makers] = {"",          "contiguous", "vector",        "hvector",
                                         "indexed",   "hindexed",   "indexed_block", "hindexed_block",
                                         "structure", "subarray",   "darray",        "resized"};
  if (tree.maker == Maker::basic) return to_string(tree.kind);
  std::string text = std::string(names[static_cast<int>(tree.maker)]) + "(";
  const auto list = [&](const char* name, const TypeTree::Counts& values) {
    if (values.empty()) return;
    text += std::string(name) + " {";
    for (const std::int64_t value : values) text += std::to_string(value) + " ";
    text.back() = '}';
    text += ", ";
  };
  text += std::to_string(tree.count) + ", " + std::to_string(tree.length) + ", " + std::to_string(tree.stride) + ", ";
  list("lengths", tree.lengths);
  list("displacements", tree.displacements);
  list("sizes", tree.sizes);
  if (tree.maker == Maker::subarray) {
    list("subsizes", tree.subsizes);
    list("starts", tree.starts);
  } else if (tree.maker == Maker::darray) {
    list("blocks", tree.blocks);
    list("processes", tree.processes);
    text += "distributions {";
    for (const auto distribution : tree.distributions) text += std::to_string(static_cast<int>(distribution)) + " ";
    text += "}, rank " + std::to_string(tree.rank) + ", ";
  }
  if (!tree.sizes.empty()) text += tree.order == Datatype::Order::c ? "C, " : "Fortran, ";
  for (const TypeTree& child : tree.children) text += to_text(child) + (&child == &tree.children.back() ? ")" : ", ");
  return text;
}

Datatype datatype_of(const TypeTree& tree) {
  if (tree.maker == Maker::basic) return Datatype::of(tree.kind);
  std::vector<Datatype> children;
  for (const TypeTree& child : tree.children) children.push_back(datatype_of(child));
  const Datatype& one = children[0];
  switch (tree.maker) {
    case Maker::basic: break;
    case Maker::contiguous: return Datatype::contiguous(tree.count, one);
    case Maker::vector: return Datatype::vector(tree.count, tree.length, tree.stride, one);
    case Maker::hvector: return Datatype::hvector(tree.count, tree.length, tree.stride, one);
    case Maker::indexed: return Datatype::indexed(tree.lengths, tree.displacements, one);
    case Maker::hindexed: return Datatype::hindexed(tree.lengths, tree.displacements, one);
    case Maker::indexed_block: return Datatype::indexed_block(tree.length, tree.displacements, one);
    case Maker::hindexed_block: return Datatype::hindexed_block(tree.length, tree.displacements, one);
    case Maker::structure: return Datatype::structure(tree.lengths, tree.displacements, children);
    case Maker::subarray: return Datatype::subarray(tree.sizes, tree.subsizes, tree.starts, tree.order, one);
    case Maker::darray:
      return Datatype::darray(tree.rank, tree.sizes, tree.distributions, tree.blocks, tree.processes, tree.order, one);
    case Maker::resized: return Datatype::resized(one, tree.length, tree.stride);
  }
  return {};
}

namespace {

void fill_array(std::mt19937_64& random, TypeTree& tree) {
  tree.order = random() % 2 ? Datatype::Order::c : Datatype::Order::fortran;
  const std::int64_t dimensions = pick(random, 1, 3);
  std::int64_t ranks = 1;
  for (std::int64_t d = 0; d < dimensions; ++d) {
    const std::int64_t size = pick(random, 1, 6), part = pick(random, 1, size);
    tree.sizes.push_back(size);
    tree.subsizes.push_back(part);
    tree.starts.push_back(pick(random, 0, size - part));
    const auto distribution = static_cast<Datatype::Distribution>(pick(random, 0, 2));
    const std::int64_t processes = distribution == Datatype::Distribution::none ? 1 : pick(random, 1, 3);
    const std::int64_t least = distribution == Datatype::Distribution::block ? (size + processes - 1) / processes : 1;
    tree.distributions.push_back(distribution);
    tree.processes.push_back(processes);
    tree.blocks.push_back(random() % 2 ? Datatype::default_block : least + pick(random, 0, 2));
    ranks *= processes;
  }
  tree.rank = static_cast<int>(pick(random, 0, ranks - 1));
}

TypeTree any_tree(std::mt19937_64& random, int depth) {
  constexpr ElementKind kinds[] = {ElementKind::byte,    ElementKind::int8,      ElementKind::int16,
                                   ElementKind::int32,   ElementKind::int64,     ElementKind::uint16,
                                   ElementKind::uint64,  ElementKind::float32,   ElementKind::float64,
                                   ElementKind::boolean, ElementKind::complex64, ElementKind::complex128};
  TypeTree tree;
  if (depth == 0) {
    tree.kind = kinds[random() % std::size(kinds)];
    return tree;
  }
  tree.maker = static_cast<Maker>(pick(random, 1, makers - 1));
  const bool regular = random() % 3 == 0;  // as much that is regular as that is not
  const std::int64_t parts = pick(random, 0, 5), first_length = pick(random, 0, 4), growth = pick(random, -1, 1);
  const std::int64_t first = pick(random, -20, 20), step = pick(random, -9, 9);
  tree.count = pick(random, 0, 6);
  tree.length = pick(random, 0, 4);
  tree.stride = tree.maker == Maker::hvector ? pick(random, -70, 70) : pick(random, -6, 6);
  for (std::int64_t i = 0; i < parts; ++i) {
    tree.lengths.push_back(regular ? std::max<std::int64_t>(0, first_length + i * growth) : pick(random, 0, 4));
    const std::int64_t scale =
        tree.maker == Maker::hindexed || tree.maker == Maker::hindexed_block || tree.maker == Maker::structure ? 8 : 1;
    tree.displacements.push_back(regular ? first + i * step * scale : pick(random, -20 * scale, 20 * scale));
  }
  if (tree.maker == Maker::subarray || tree.maker == Maker::darray) fill_array(random, tree);
  if (tree.maker == Maker::resized) {
    tree.length = pick(random, -40, 40);
    tree.stride = pick(random, -100, 200);
  }
  const std::int64_t children = tree.maker == Maker::structure ? std::max<std::int64_t>(1, parts) : 1;
  if (tree.maker == Maker::structure && parts == 0) {
    tree.lengths.push_back(pick(random, 0, 2));
    tree.displacements.push_back(first);
  }
  for (std::int64_t i = 0; i < children; ++i)
    tree.children.push_back(any_tree(random, static_cast<int>(pick(random, i == 0 ? depth - 1 : 0, depth - 1))));
  return tree;
}

// At most so many elements has the tree.
std::int64_t bound(const TypeTree& tree) {
  std::int64_t times = 1;
  switch (tree.maker) {
    case Maker::basic: return 1;
    case Maker::contiguous: times = tree.count; break;
    case Maker::vector:
    case Maker::hvector: times = tree.count * tree.length; break;
    case Maker::indexed:
    case Maker::hindexed:
      times = 0;
      for (const std::int64_t length : tree.lengths) times += length;
      break;
    case Maker::indexed_block:
    case Maker::hindexed_block: times = tree.length * static_cast<std::int64_t>(tree.displacements.size()); break;
    case Maker::structure: {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < tree.children.size(); ++i) sum += tree.lengths[i] * bound(tree.children[i]);
      return sum;
    }
    case Maker::subarray:
    case Maker::darray:
      for (const std::int64_t size : tree.sizes) times *= size;
      break;
    case Maker::resized: break;
  }
  return times * bound(tree.child());
}

}  // namespace

TypeTree random_tree(std::mt19937_64& random, int depth, std::int64_t most) {
  for (;;) {
    TypeTree tree = any_tree(random, depth);
    const std::int64_t elements = bound(tree);
    if (elements <= most && (elements > 0 || random() % 8 == 0)) return tree;
  }
}

}  // namespace dcgn::test
