// Where the pages of a virtual GPU's buffer lie. Parts are the virtual GPU's devices, numbered in the order in which it
// was given them.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace dcgn::virtual_gpu {

// Made by the functions of its kinds.
struct Placement {
  enum class Kind {
    chunked,      // as many runs of pages as there are parts, in their order: what a part's blocks use is its own where
                  // blocks and data go in the same order (the 2014 paper, section III.B)
    interleaved,  // runs of pages dealt out to the parts in turn (section III.C)
    owner,        // all on one part
    replicated,   // a copy on each part, for what kernels only read
    listed,       // each page where a list says: what VirtualGpu::sample() gives
  };

  // Of each kind: what it takes is said beside the kinds.
  static Placement chunked() { return {}; }
  // `pages` at a time.
  static Placement interleaved(std::size_t pages = 1) { return {.kind = Kind::interleaved, .pages = pages}; }
  static Placement owner(int part) { return {.kind = Kind::owner, .part = part}; }
  static Placement replicated() { return {.kind = Kind::replicated}; }
  // A part for each page.
  static Placement listed(std::vector<int> parts) { return {.kind = Kind::listed, .parts = std::move(parts)}; }

  // What these set.
  Kind kind = Kind::chunked;
  std::size_t pages = 1;
  int part = 0;
  std::vector<int> parts{};
};

// What a change of placement has cost.
struct PlacementCost {
  std::size_t bytes_moved = 0;  // from one part to another
  double seconds = 0;           // from the call to its end, waiting for work that was under way left out
};

}  // namespace dcgn::virtual_gpu
