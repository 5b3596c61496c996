// Buffers that a launch only reduces into, by atomics whose results nobody uses: each part that does not have the
// buffer reduces into a copy of its own, and behind the launch adds that to the buffer. So atomics do not meet on a
// link, and a counter's not at one GPU (histogram and k-means, 2014 paper, Table II).
#include "vgpu/src/gpu.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dcgn::virtual_gpu {

namespace {

constexpr std::size_t clear_kernel = 0, join_kernel = 1;  // of ptx::joining_kernels()

Launch shape_for(std::uint64_t values) {
  constexpr unsigned threads = 256, most_blocks_of_it = 256;
  return {.grid = std::min(static_cast<unsigned>((values + threads - 1) / threads), most_blocks_of_it),
          .block = threads};
}

}  // namespace

void Gpu::reduce_apart(Parts& streams, const KernelInfo& kernel, const ptx::MemoryUse& memory,
                       const std::vector<Argument>& arguments, std::vector<LocalWord>& words) {
  if (memory.follows_pointers || !native_atomics_ ||
      std::none_of(memory.pointers.begin(), memory.pointers.end(), [](const auto& use) { return use.reduced; }))
    return;
  // Words of the arguments that may lead to memory, and what is done there where it is one reduction.
  struct Word {
    std::size_t argument, offset;
    std::uintptr_t address;
    const ptx::Reduction* reduction;
  };
  std::vector<Word> all;
  for (std::size_t a = 0; a < arguments.size(); ++a)
    for (std::size_t at = 0; at + sizeof(void*) <= arguments[a].bytes; ++at) {
      const std::uint64_t offset = kernel.parameters[a].offset + at;
      const bool whole_word = offset % sizeof(void*) == 0;
      const ptx::PointerUse* const use = whole_word ? memory.at(offset) : nullptr;
      if (!use && (whole_word || !memory.may_be_pointer(offset))) continue;
      std::uintptr_t address = 0;
      std::memcpy(&address, static_cast<const std::byte*>(arguments[a].value) + at, sizeof address);
      // Through an address in no memory, as that of an array's element 0, the kernel may reach any buffer.
      if (address != 0 && use && use->address && buffers_near(address).empty() &&
          machine_->memory_at(address) == MemoryKind::none)
        return;
      all.push_back({a, at, address, use && use->reduced ? &*use->reduced : nullptr});
    }
  for (const Word& word : all) {
    Buffer* const buffer = word.reduction ? buffer_reached_from(word.address) : nullptr;
    if (!buffer) continue;
    const bool alone = std::all_of(all.begin(), all.end(), [&](const Word& other) {
      const std::vector<Buffer*> near = buffers_near(other.address);
      return std::find(near.begin(), near.end(), buffer) == near.end() ||
             (other.reduction && *other.reduction == *word.reduction);
    });
    const bool used = std::any_of(words.begin(), words.end(),
                                  [&](const LocalWord& other) { return other.ranges == &buffer->reduced.ranges; });
    if (used || (alone && use_reduced(streams, *buffer, *word.reduction)))
      words.push_back({word.argument, word.offset, static_cast<const std::byte*>(buffer->range->address()),
                       &buffer->reduced.ranges});
  }
}

bool Gpu::use_reduced(Parts& streams, Buffer& buffer, const ptx::Reduction& reduction) {
  ReducedCopies& reduced = buffer.reduced;
  if (buffer.single || !reduced.possible || buffer.kind == Placement::Kind::replicated ||
      buffer.bytes > ReducedCopies::most_bytes || buffer.bytes < reduction.bytes() ||
      (reduced.by && reduced.by != &streams && !reduced.by->idle()))
    return false;
  if (reduced.ranges.empty()) {
    const std::size_t bytes = buffer.pages.bytes();
    if (fits_local(bytes)) reduced.ranges = reserve_copies(buffer);
    reduced.possible = !reduced.ranges.empty();
    if (!reduced.possible) return false;
    local_bytes_ += bytes;
  }
  if (reduced.of != reduction || reduced.by->failures() != reduced.failures) {
    const std::uint64_t count = buffer.pages.bytes() / reduction.bytes();
    for (int part = 0; part < parts(); ++part)
      if (const Range* const range = reduced.ranges[static_cast<std::size_t>(part)].get()) {
        void* const to = range->address();
        joining_code(reduction).launch(clear_kernel, part, streams.use_beside(part), shape_for(count), false,
                                       {&to, &count});
      }
  }
  reduced.by = &streams;
  reduced.failures = streams.failures();
  reduced.used_for = reduction;
  reduced.of.reset();  // until they are joined
  return true;
}

void Gpu::join_reduced(Parts& streams, const std::vector<LocalWord>& words) {
  std::vector<const RangesOfParts*> joined;
  for (const LocalWord& word : words) {
    Buffer& buffer = *buffer_with(word.begin);
    const RangesOfParts& ranges = buffer.reduced.ranges;
    if (word.ranges != &ranges || std::find(joined.begin(), joined.end(), &ranges) != joined.end()) continue;
    joined.push_back(&ranges);
    ++statistics.reductions;
    const ptx::Reduction& reduction = *buffer.reduced.used_for;
    const std::uint64_t count = buffer.bytes / reduction.bytes();
    void* const to = buffer.range->address();
    for (int part = 0; part < parts(); ++part)
      if (const Range* const range = ranges[static_cast<std::size_t>(part)].get()) {
        void* const from = range->address();
        joining_code(reduction).launch(join_kernel, part, streams.use(part), shape_for(count), false,
                                       {&to, &from, &count});
      }
    buffer.reduced.of = reduction;
  }
}

Binary& Gpu::joining_code(const ptx::Reduction& reduction) {
  std::unique_ptr<Binary>& code = joining_code_[reduction];
  if (!code)
    code = machine_->load("joining by " + reduction.operation + "." + reduction.type, ptx::joining_module(reduction),
                          ptx::joining_kernels(), false, {});
  return *code;
}

void Gpu::drop_reduced(Buffer& buffer) {
  if (!buffer.reduced.ranges.empty()) local_bytes_ -= buffer.pages.bytes();
  buffer.reduced = {};
}

}  // namespace dcgn::virtual_gpu
