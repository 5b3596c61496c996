// Copies of a buffer that are made by themselves, one on each part, for launches that only read it or only reduce into
// it.
#pragma once

#include "vgpu/src/machine.hpp"
#include "vgpu/src/ptx/reduction.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace dcgn::virtual_gpu {

// By part; none for a part that has all of the buffer itself. Empty until they are made.
using RangesOfParts = std::vector<std::unique_ptr<Range>>;

struct LocalCopies {
  RangesOfParts ranges;
  bool current = false;  // hold what the buffer does
  bool possible = true;  // false: there is no room, or the buffer is reached by other ways
  // Launches that would have gained, or did, since the buffer was written; and how many there must be for copies. As
  // who does not know how long to go on renting should buy when the rent has come to the price: a copy moves about what
  // a launch reads. More where copies were written over before so many launches had used them.
  unsigned reads = 0, enough = first_enough;
  unsigned uses = 0;         // launches that read these copies
  std::uint64_t writes = 0;  // how often the buffer was written so far
  // When they were made, for other streams than that whose work it was; that is null when they are there. Of small ones
  // there is no marker: others do not use them before that stream is idle.
  std::unique_ptr<Marker> made;
  const Parts* made_by = nullptr;
  // Streams whose work may be writing the buffer still: from another one no copies are made meanwhile, since their
  // stream does not wait for that.
  std::vector<const Parts*> writers;

  static constexpr unsigned first_enough = 2, most_enough = 64, few_uses = 4;

  // The buffer's content changes, by work of this stream.
  void invalidate(const Parts* by) {
    if (std::find(writers.begin(), writers.end(), by) == writers.end()) writers.push_back(by);
    if (current) enough = uses >= few_uses ? first_enough : enough >= most_enough ? most_enough : 2 * enough;
    current = false;
    reads = uses = 0;
    ++writes;
  }
  // Whether no other stream than `reader` writes the buffer.
  bool settled(const Parts* reader) {
    std::erase_if(writers, [&](const Parts* writer) { return writer != reader && writer->idle(); });
    return std::all_of(writers.begin(), writers.end(), [&](const Parts* writer) { return writer == reader; });
  }
};

// Sums of a buffer's that other parts than the buffer's own keep while a launch runs, and add to it in the end.
struct ReducedCopies {
  RangesOfParts ranges;
  std::optional<ptx::Reduction> of{};        // whose identity they hold, if no work of `by` has failed since
  std::optional<ptx::Reduction> used_for{};  // what the launch does that uses them
  unsigned failures = 0;                     // of `by`, when it used them
  // Whose work may be using them: no other stream does meanwhile, or it might be done before what it reduced is joined.
  const Parts* by = nullptr;
  bool possible = true;  // false: there is no room

  static constexpr std::size_t most_bytes = std::size_t{256} << 10;  // of a buffer
};

// Eight bytes of an argument, a pointer into a buffer that has copies.
struct LocalWord {
  std::size_t argument = 0, offset = 0;
  const std::byte* begin = nullptr;  // of the buffer
  const RangesOfParts* ranges = nullptr;
};

}  // namespace dcgn::virtual_gpu
