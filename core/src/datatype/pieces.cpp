#include "datatype/pieces.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace dcgn::datatype {

std::int64_t PieceSide::unit() const {
  const auto bits =
      (leaf ? unit_of(*leaf) : 16) | static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(base) & 15);
  return bits & -bits;
}

PieceSide piece_of(const Side& side, std::int64_t at) {
  at += side.begin;
  if (!side.layout) return {nullptr, side.memory, at, std::numeric_limits<std::int64_t>::max()};
  const Leaf& leaf = side.layout->leaf_of(at);
  return {&leaf, side.memory + leaf.displacement, at - leaf.begin, leaf.end() - at};
}

Pattern pattern_of(const PieceSide& side) { return side.leaf ? datatype::pattern_of(*side.leaf) : Pattern::flat; }

bool is_same(const PieceSide& a, const PieceSide& b) {
  if (!a.leaf || !b.leaf || a.begin != b.begin) return false;
  const Leaf &x = *a.leaf, &y = *b.leaf;
  return x.num_loops == y.num_loops && std::equal(x.loops.begin(), x.loops.begin() + x.num_loops, y.loops.begin()) &&
         x.bytes_inside == y.bytes_inside && x.table == y.table && x.triangle == y.triangle;
}

bool is_sparse(const PieceSide& side) {
  return side.leaf && 4 * side.leaf->bytes_inside <= std::abs(side.leaf->loops[0].stride);
}

// Whether the ends of rows had better be fetched before they are written. Where a row ends inside a sector of 32 bytes,
// the memory has to read that before it can write it, which the cache asks for at its leisure; if what lies beside it
// is written, too, it pays to ask early (H200, rows of 40 bytes every 64: 845 GB/s without, 1040 with), else not (rows
// of 8 bytes every 64: 390 and 300): 64 bytes are fetched. What fits the cache is there already, as a rule, or soon.
bool is_better_prefetched(const Device& device, const PieceSide& side, std::int64_t bytes) {
  if (!side.leaf || side.leaf->triangle) return false;
  const Leaf& leaf = *side.leaf;
  const auto cache = static_cast<std::int64_t>(device.properties().cache_bytes);
  const std::int64_t step =
      leaf.num_loops ? std::abs(leaf.loops[static_cast<std::size_t>(leaf.num_loops - 1)].stride) : leaf.bytes_inside;
  if (leaf.one_row_inside() && bytes / leaf.bytes_inside * step <= cache) return false;
  std::int64_t bits = leaf.bytes_inside | static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(side.base));
  for (int i = 0; i < leaf.num_loops; ++i) bits |= leaf.loops[static_cast<std::size_t>(i)].stride;
  if (!leaf.table)
    return bits % sector_bytes != 0 && leaf.num_loops > 0 &&
           (leaf.bytes_inside > sector_bytes || step < 2 * sector_bytes);
  return leaf.table->bytes() / leaf.table->rows() > sector_bytes;
}

int loop_along(const PieceSide& side, std::int64_t word_bytes) {
  if (!side.leaf || !side.leaf->one_row_inside() || side.leaf->bytes_inside != word_bytes) return -1;
  const Leaf& leaf = *side.leaf;
  constexpr std::int64_t least_count = 8, short_step = 32, long_step = 64;  // bytes: a sector of a GPU's memory, two
  const auto step = [&](int i) { return std::abs(leaf.loops[static_cast<std::size_t>(i)].stride); };
  const auto count = [&](int i) { return leaf.loops[static_cast<std::size_t>(i)].count; };
  const int innermost = leaf.num_loops - 1;
  if (innermost < 1 || count(innermost) < least_count || step(innermost) < long_step) return -1;
  for (int i = 0; i < innermost; ++i)
    if (count(i) >= least_count && step(i) < short_step) return i;
  return -1;
}

std::optional<Triangle> rows_of(const PieceSide& side) {
  const Leaf& leaf = *side.leaf;
  switch (pattern_of(side)) {
    case Pattern::loop: return Triangle{leaf.loops[0].count, leaf.bytes_inside, 0, leaf.loops[0].stride};
    case Pattern::triangle: return leaf.num_loops == 0 ? leaf.triangle : std::nullopt;
    case Pattern::flat:
    case Pattern::loops:
    case Pattern::rows:
    case Pattern::table:
    case Pattern::any:
    case Pattern::same: break;
  }
  return std::nullopt;
}

namespace {

// Arithmetic in 32 bits can name the words of so many.
constexpr std::int64_t most_short_words = std::int64_t{1} << 30;

// The same bytes, counted from as far on as can be: the row that has the first of them, where there is no more than a
// loop; and the last word that arithmetic must be able to name.
PieceSide nearer(PieceSide side) {
  const Pattern pattern = pattern_of(side);
  if (pattern == Pattern::flat) {
    side.base += side.begin;
    side.begin = 0;
  } else if (pattern == Pattern::loop) {
    const std::int64_t turns = side.begin / side.leaf->bytes_inside;
    side.base += turns * side.leaf->loops[0].stride;
    side.begin -= turns * side.leaf->bytes_inside;
  }
  return side;
}
std::int64_t last_word(const PieceSide& side, std::int64_t words, std::int64_t word_bytes) {
  return pattern_of(side) <= Pattern::loop ? side.begin / word_bytes + words : side.leaf->bytes() / word_bytes;
}

}  // namespace

ByIndex by_index(const std::vector<Piece>& pieces, std::int64_t word_bytes) {
  ByIndex result;
  for (Piece piece : pieces) {
    const bool can_split = pattern_of(piece.from) <= Pattern::loop && pattern_of(piece.to) <= Pattern::loop;
    for (std::int64_t left = piece.words; left > 0;) {
      piece.from = nearer(piece.from);
      piece.to = nearer(piece.to);
      piece.words = can_split ? std::min(left, most_short_words / 2) : left;
      const bool is_short = std::max(last_word(piece.from, piece.words, word_bytes),
                                     last_word(piece.to, piece.words, word_bytes)) < most_short_words;
      (is_short ? result.shorter : result.longer).push_back(piece);
      left -= piece.words;
      piece.from.begin += piece.words * word_bytes;
      piece.to.begin += piece.words * word_bytes;
    }
  }
  return result;
}

void launch(const Queue& queue, std::int64_t blocks, unsigned threads, std::size_t shared_bytes,
            detail::KernelImage image, Keep keep) {
  // cudaFree() waits for kernels; an emulated GPU's memory goes at once.
  const bool keeps = !keep.empty();
  if (keeps)
    image.emulated = [run = std::move(image.emulated), keep = std::move(keep)](gpu::Context& context) { run(context); };
  // A tile a block, where a block costs less than it takes for blocks with several to come to the end together.
  std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (queue.most_blocks > 0)
    most = queue.most_blocks;
  else if (queue.device.kind() == DeviceKind::emulated)
    most = std::int64_t{8} * queue.device.properties().multiprocessors;
  const Launch shape{.grid = static_cast<unsigned>(std::min(blocks, most)),
                     .block = threads,
                     .shared_bytes = shared_bytes,
                     .resident = false};
  queue.device.launch(queue.stream, shape, image);
  if (queue.recording)
    *queue.recording = {queue.recording->launches + 1, queue.recording->keeps || keeps, shape, std::move(image)};
}

}  // namespace dcgn::datatype
