// Copies of a buffer that are made by themselves, one on each part, for launches that only read it.
#pragma once

#include "vgpu/src/machine.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace dcgn::virtual_gpu {

struct LocalCopies {
  std::vector<std::unique_ptr<Range>> ranges;  // by part; empty until they are made
  bool current = false;                        // hold what the buffer does
  bool possible = true;                        // false: there is no room, or the buffer is reached by other ways
  // Launches that would have gained, or did, since the buffer was written; and how many there must be for copies. As
  // who does not know how long to go on renting should buy when the rent has come to the price: a copy moves about what
  // a launch reads. More where copies were written over before so many launches had used them.
  unsigned reads = 0, enough = first_enough;
  unsigned uses = 0;  // launches that read these copies
  // When they were made, for other streams than that whose work it was.
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
  }
  // Whether no other stream than `reader` writes the buffer.
  bool settled(const Parts* reader) {
    std::erase_if(writers, [&](const Parts* writer) { return writer != reader && writer->idle(); });
    return std::all_of(writers.begin(), writers.end(), [&](const Parts* writer) { return writer == reader; });
  }
};

// Eight bytes of an argument, a pointer into a buffer that has copies.
struct LocalWord {
  std::size_t argument = 0, offset = 0;
  const std::byte* begin = nullptr;  // of the buffer
  const LocalCopies* copies = nullptr;
};

}  // namespace dcgn::virtual_gpu
