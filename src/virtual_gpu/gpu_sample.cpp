// Placement by what a few blocks touch.
#include "virtual_gpu/gpu.hpp"
#include "virtual_gpu/ptx/page_touches.hpp"
#include "virtual_gpu/split_launch.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <bit>
#include <string>

namespace dcgn::virtual_gpu {

namespace {

// Of a part's chunk, so many blocks at equal distances.
std::vector<Chunk> chosen_blocks(const Chunk& chunk, std::uint64_t count) {
  std::vector<Chunk> blocks;
  count = std::min(count, chunk.count);
  for (std::uint64_t i = 0; i < count; ++i) blocks.push_back({chunk.first + chunk.count / count * i, 1});
  return blocks;
}

}  // namespace

std::vector<Gpu::Saved> Gpu::save() {
  std::vector<Saved> saved;
  for (auto& [address, buffer] : buffers_) {
    saved.push_back({buffer.range->address(), buffer.bytes, machine_->reserve(buffer.pages)});
    copy(own_stream(), saved.back().content->address(), saved.back().buffer, buffer.bytes);
  }
  own_stream().synchronize();
  return saved;
}

void Gpu::restore(const std::vector<Saved>& saved) {
  for (const Saved& one : saved) copy(own_stream(), one.buffer, one.content->address(), one.bytes);
  own_stream().synchronize();
}

Placement Gpu::sample(void* memory, std::uint64_t blocks, const Kernel& kernel, const Launch& launch,
                      const std::vector<Argument>& arguments) {
  const auto [all, whole] = check_launch(kernel, launch, arguments);
  const Buffer& buffer = buffer_at("sample", memory);
  if (parts() == 1) return Placement::chunked();
  if (whole)
    throw Error(
        Code::unsupported, "sample",
        kernel.info().name + " cannot be split: " + kernel.info().reasons.front() + "; expected another kernel");
  synchronize_all();
  const std::unique_ptr<Binary> counting = kernel.code_->make_counting();
  const std::vector<Saved> saved = save();

  const std::size_t pages = buffer.pages.pages(), each = static_cast<std::size_t>(parts());
  const std::vector<Chunk> chunks = split_evenly(all, parts(), step_for(all, arguments));
  SplitLaunch split(*this, launch, arguments);
  std::vector<unsigned long long> touches(pages * each), of_part(pages);
  for (int part = 0; part < parts(); ++part) {
    const DeviceBuffer<unsigned long long> counts(device(part), pages);
    device(part).fill(counts.data(), 0, counts.size_bytes());
    const ptx::TouchCounter counter{reinterpret_cast<std::uintptr_t>(on_part(part, memory)), buffer.bytes,
                                    static_cast<std::uint64_t>(std::countr_zero(buffer.pages.page_bytes())),
                                    reinterpret_cast<std::uintptr_t>(counts.data())};
    std::size_t bytes = 0;
    device(part).copy(counting->variable(part, ptx::touch_counter_name, bytes), &counter, sizeof counter);
    Parts& streams = *own_stream().parts_;
    streams.order();
    for (const Chunk& block : chosen_blocks(chunks[static_cast<std::size_t>(part)], (blocks + each - 1) / each))
      split.run(*counting, kernel.index_, part, block, streams.use(part));
    own_stream().synchronize();
    counts.download(of_part.data());
    for (std::size_t page = 0; page < pages; ++page)
      touches[page * each + static_cast<std::size_t>(part)] = of_part[page];
  }
  restore(saved);
  return Placement::listed(owners_by_touches(touches, parts()));
}

}  // namespace dcgn::virtual_gpu
