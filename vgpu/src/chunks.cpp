#include "vgpu/src/chunks.hpp"

#include <algorithm>

namespace dcgn::virtual_gpu {

std::vector<Chunk> split_evenly(std::uint64_t blocks, int parts, std::uint64_t step) {
  const std::uint64_t steps = (blocks + step - 1) / step, n = static_cast<std::uint64_t>(parts);
  std::vector<Chunk> chunks;
  for (std::uint64_t part = 0; part < n; ++part) {
    // steps * p / n, rounded up, without the product, which might not fit.
    const auto begin = [&](std::uint64_t p) {
      return std::min(blocks, (steps / n * p + (steps % n * p + n - 1) / n) * step);
    };
    chunks.push_back({begin(part), begin(part + 1) - begin(part)});
  }
  return chunks;
}

std::uint64_t blocks_of_a_page(std::uint64_t blocks, int parts, std::size_t bytes, std::size_t page_bytes) {
  if (blocks == 0 || bytes % blocks != 0) return 1;
  const std::size_t each = bytes / blocks;
  if (each == 0 || page_bytes % each != 0) return 1;
  const std::uint64_t step = page_bytes / each;
  return blocks / step >= 32 * static_cast<std::uint64_t>(parts) ? step : 1;
}

std::uint64_t step_of_slices(const ptx::GridShape& grid, int parts, std::uint64_t step) {
  const std::uint64_t row = grid.x, slice = grid.z > 1 ? row * grid.y : row;
  const std::uint64_t slices = grid.z > 1 ? grid.z : grid.y, n = static_cast<std::uint64_t>(parts);
  const std::uint64_t at_a_time = std::max<std::uint64_t>(1, (step + slice / 2) / slice);
  const std::uint64_t steps = (slices + at_a_time - 1) / at_a_time;
  const std::uint64_t most = (steps + n - 1) / n * at_a_time;  // slices of a part
  return 32 * most * n <= 33 * slices ? at_a_time * slice : step;
}

StealingQueue::StealingQueue(std::vector<Chunk> chunks, std::uint64_t least)
    : left_(std::move(chunks)), least_(std::max<std::uint64_t>(least, 1)) {}

std::uint64_t StealingQueue::piece_of(const Chunk& chunk) const {
  return std::min({chunk.count, most_blocks, std::max(least_, chunk.count / 2)});
}

std::optional<Chunk> StealingQueue::take(int part) {
  Chunk& own = left_[static_cast<std::size_t>(part)];
  if (own.count != 0) {
    const Chunk piece{own.first, piece_of(own)};
    own.first += piece.count;
    own.count -= piece.count;
    return piece;
  }
  Chunk& most =
      *std::max_element(left_.begin(), left_.end(), [](const Chunk& a, const Chunk& b) { return a.count < b.count; });
  if (most.count == 0) return std::nullopt;
  const std::uint64_t count = piece_of(most);
  most.count -= count;
  stolen_ += count;
  return Chunk{most.first + most.count, count};
}

}  // namespace dcgn::virtual_gpu
