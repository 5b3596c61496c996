// Parts of arrays as types: MPI's subarray and darray.
#include <dcgn/datatype.hpp>
#include <dcgn/error.hpp>

#include "base/checked.hpp"
#include "datatype/node.hpp"

#include <algorithm>
#include <string>

namespace dcgn {
namespace {

using Counts = Datatype::Counts;

[[noreturn]] void refuse(const char* call, const std::string& what, std::int64_t value, const std::string& expected) {
  throw Error(Code::invalid_type, call, what + " is " + std::to_string(value) + ", expected " + expected);
}

std::string entry(const char* list, std::size_t i) { return std::string(list) + "[" + std::to_string(i) + "]"; }

void check_dimensions(const char* call, const char* list, std::size_t found, std::size_t dimensions) {
  if (found != dimensions)
    throw Error(
        Code::invalid_type, call,
        std::to_string(found) + " " + list + ", expected " + std::to_string(dimensions) + ", one for each of sizes");
}

void check_sizes(const char* call, const Counts& sizes) {
  if (sizes.empty()) throw Error(Code::invalid_type, call, "0 sizes, expected one for each dimension");
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 1) refuse(call, entry("sizes", i), sizes[i], "1 or more");
}

// Dimensions from the one that is next to itself in memory to the one that is furthest apart.
std::vector<std::size_t> inside_out(std::size_t dimensions, Datatype::Order order) {
  std::vector<std::size_t> result(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) result[i] = order == Datatype::Order::c ? dimensions - 1 - i : i;
  return result;
}

// What one process has of a dimension: `blocks` of `length`, `step` apart, from `first` on, and a shorter last one.
struct Share {
  std::int64_t first = 0, blocks = 0, length = 0, step = 0, rest = 0;
};

Share share(Datatype::Distribution distribution, std::int64_t size, std::int64_t block, std::int64_t processes,
            std::int64_t coordinate, std::size_t dimension) {
  const Checked checked("darray", Code::invalid_type);
  switch (distribution) {
    case Datatype::Distribution::none: return {0, 1, size, 0, 0};
    case Datatype::Distribution::block: {
      if (block == Datatype::default_block) block = (size - 1) / processes + 1;
      if (size > checked.multiply(block, processes))
        refuse("darray", entry("blocks", dimension), block,
               "at least " + std::to_string((size - 1) / processes + 1) + ", so that " + std::to_string(processes) +
                   " of them hold " + std::to_string(size));
      const std::int64_t first = std::min(size, block * coordinate);
      return {first, 1, std::min(block, size - first), 0, 0};
    }
    case Datatype::Distribution::cyclic: break;
  }
  if (block == Datatype::default_block) block = 1;
  block = std::min(block, size);
  const std::int64_t step = checked.multiply(block, processes), first = std::min(size, block * coordinate);
  const std::int64_t left = size - first;
  const std::int64_t whole = left / step + (left % step >= block);
  return {first, whole, block, step, left % step >= block ? 0 : left % step};
}

}  // namespace

Datatype Datatype::subarray(const Counts& sizes, const Counts& subsizes, const Counts& starts, Order order,
                            const Datatype& type) {
  check_sizes("subarray", sizes);
  check_dimensions("subarray", "subsizes", subsizes.size(), sizes.size());
  check_dimensions("subarray", "starts", starts.size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (subsizes[i] < 1 || subsizes[i] > sizes[i])
      refuse("subarray", entry("subsizes", i), subsizes[i], "1.." + std::to_string(sizes[i]));
    if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
      refuse("subarray", entry("starts", i), starts[i],
             "0.." + std::to_string(sizes[i] - subsizes[i]) + ", so that " + std::to_string(subsizes[i]) +
                 " fit into " + std::to_string(sizes[i]));
  }
  const Checked checked("subarray", Code::invalid_type);
  Datatype result = type;
  std::int64_t step = type.extent(), offset = 0;
  for (const std::size_t i : inside_out(sizes.size(), order)) {
    result = loop("subarray", subsizes[i], step, result);
    offset = checked.add(offset, checked.multiply(starts[i], step));
    step = checked.multiply(step, sizes[i]);
  }
  return resized(displaced("subarray", offset, result), 0, step);
}

Datatype Datatype::darray(int rank, const Counts& sizes, const std::vector<Distribution>& distributions,
                          const Counts& blocks, const Counts& processes, Order order, const Datatype& type) {
  check_sizes("darray", sizes);
  check_dimensions("darray", "distributions", distributions.size(), sizes.size());
  check_dimensions("darray", "blocks", blocks.size(), sizes.size());
  check_dimensions("darray", "processes", processes.size(), sizes.size());
  const Checked checked("darray", Code::invalid_type);
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (processes[i] < 1) refuse("darray", entry("processes", i), processes[i], "1 or more");
    if (distributions[i] == Distribution::none && processes[i] != 1)
      refuse("darray", entry("processes", i), processes[i], "1 where a dimension is not distributed");
    if (blocks[i] < 1 && blocks[i] != default_block)
      refuse("darray", entry("blocks", i), blocks[i], "1 or more, or default_block");
    ranks = checked.multiply(ranks, processes[i]);
  }
  if (rank < 0 || rank >= ranks) refuse("darray", "rank", rank, "0.." + std::to_string(ranks - 1));

  Counts coordinates(sizes.size());
  std::int64_t left = rank;
  for (std::size_t i = sizes.size(); i-- > 0; left /= processes[i]) coordinates[i] = left % processes[i];

  Datatype result = type;
  std::int64_t step = type.extent();
  for (const std::size_t i : inside_out(sizes.size(), order)) {
    const Share s = share(distributions[i], sizes[i], blocks[i], processes[i], coordinates[i], i);
    const std::int64_t apart = checked.multiply(s.step, step);
    const Datatype whole = loop("darray", s.blocks, apart, loop("darray", s.length, step, result));
    const Datatype rest = loop("darray", s.rest, step, result);
    // Not by their extents: the steps say where all is.
    result = structure({1, 1}, {checked.multiply(s.first, step), checked.multiply(s.first + s.blocks * s.step, step)},
                       {whole, rest});
    step = checked.multiply(step, sizes[i]);
  }
  return resized(result, 0, step);
}

}  // namespace dcgn
