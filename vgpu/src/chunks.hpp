// Which part runs which blocks of a grid. Blocks are numbered with x fastest, and a chunk is a run of numbers (the 2014
// paper, section III.B).
#pragma once

#include "vgpu/src/ptx/block_index.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace dcgn::virtual_gpu {

struct Chunk {
  std::uint64_t first = 0, count = 0;
};

// Most blocks of one launch.
inline constexpr std::uint64_t most_blocks = 0x7fffffff;

// A chunk for each of `parts` parts, some empty where there are fewer blocks than parts; none has more than `step`
// blocks more than another. Chunks begin at multiples of `step` blocks.
std::vector<Chunk> split_evenly(std::uint64_t blocks, int parts, std::uint64_t step = 1);

// How many blocks use a page of a buffer of `bytes` bytes, if blocks use it in their order: chunks of multiples of that
// begin where pages do. 1 where no whole number of blocks does, and where chunks would be uneven by more than 1/32.
std::uint64_t blocks_of_a_page(std::uint64_t blocks, int parts, std::size_t bytes, std::size_t page_bytes);

// A step near `step` with which chunks are whole planes of a grid, or whole rows of one plane (ptx::launch_shape()).
// `step` itself where chunks would be uneven by more than 1/32.
std::uint64_t step_of_slices(const ptx::GridShape& grid, int parts, std::uint64_t step);

// The blocks of one launch, given out piece by piece: a part that has none left takes from the end of what the part
// with most has left (the paper's CTA stealing).
class StealingQueue {
 public:
  // Pieces get smaller towards the end, down to `least` blocks.
  StealingQueue(std::vector<Chunk> chunks, std::uint64_t least);

  // For `part`, the next to run; nothing when all are given out.
  std::optional<Chunk> take(int part);
  // Blocks that were run by another part than the chunks said.
  std::uint64_t stolen() const { return stolen_; }

 private:
  std::uint64_t piece_of(const Chunk& chunk) const;

  std::vector<Chunk> left_;
  std::uint64_t least_, stolen_ = 0;
};

}  // namespace dcgn::virtual_gpu
