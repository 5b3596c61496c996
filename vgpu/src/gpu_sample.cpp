// Placement by what a few blocks touch.
#include "vgpu/src/gpu.hpp"
#include "vgpu/src/ptx/page_touches.hpp"
#include "vgpu/src/split_launch.hpp"

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
  for (auto& [address, buffer] : buffers_)  // all before any copy, which would be under way where there is no more room
    saved.push_back({buffer.range->address(), buffer.bytes, machine_->reserve(buffer.pages)});
  for (const Saved& one : saved) copy(own_stream(), one.content->address(), one.buffer, one.bytes);
  own_stream().synchronize();
  return saved;
}

void Gpu::restore(const std::vector<Saved>& saved) {
  for (const Saved& one : saved) copy(own_stream(), one.buffer, one.content->address(), one.bytes);
  own_stream().synchronize();
}

std::vector<unsigned long long> Gpu::count_touches(void* memory, const std::vector<std::vector<Chunk>>& blocks,
                                                   Binary& counting, std::size_t kernel, const SplitLaunch& split) {
  const Buffer& buffer = buffer_at("sample", memory);
  const std::size_t pages = buffer.pages.pages(), each = static_cast<std::size_t>(parts());
  std::vector<unsigned long long> touches(pages * each), of_part(pages);
  for (int part = 0; part < parts(); ++part) {
    const DeviceBuffer<unsigned long long> counts(device(part), pages);
    device(part).fill(counts.data(), 0, counts.size_bytes());
    const ptx::TouchCounter counter{reinterpret_cast<std::uintptr_t>(on_part(part, memory)), buffer.bytes,
                                    static_cast<std::uint64_t>(std::countr_zero(buffer.pages.page_bytes())),
                                    reinterpret_cast<std::uintptr_t>(counts.data())};
    std::size_t bytes = 0;
    device(part).copy(counting.variable(part, ptx::touch_counter_name, bytes), &counter, sizeof counter);
    Parts& streams = *own_stream().parts_;
    for (const Chunk& block : blocks[static_cast<std::size_t>(part)])
      split.run(counting, kernel, part, block, streams.use(part));
    own_stream().synchronize();
    counts.download(of_part.data());
    for (std::size_t page = 0; page < pages; ++page)
      touches[page * each + static_cast<std::size_t>(part)] = of_part[page];
  }
  return touches;
}

std::vector<Placement> Gpu::sample(const std::vector<void*>& memory, std::uint64_t blocks, const Kernel& kernel,
                                   const Launch& launch, const std::vector<Argument>& arguments) {
  const auto [all, whole] = check_launch(kernel, launch, arguments);
  for (const void* buffer : memory) buffer_at("sample", buffer);
  if (parts() == 1) return std::vector<Placement>(memory.size());
  if (whole)
    throw Error(
        Code::unsupported, "sample",
        kernel.info().name + " cannot be split: " + kernel.info().reasons.front() + "; expected another kernel");
  synchronize_all();
  const std::unique_ptr<Binary> counting = kernel.code_->make_counting();
  const auto parts_here = static_cast<std::uint64_t>(parts());
  const std::uint64_t of_each = (blocks + parts_here - 1) / parts_here;
  std::vector<std::vector<Chunk>> chosen;
  for (const Chunk& chunk : split_evenly(all, parts(), step_for(launch, arguments)))
    chosen.push_back(chosen_blocks(chunk, of_each));
  const SplitLaunch split(*this, launch, arguments, {});
  const std::vector<Saved> saved = save();
  std::vector<Placement> placements;
  for (void* buffer : memory) {
    placements.push_back(
        Placement::listed(owners_by_touches(count_touches(buffer, chosen, *counting, kernel.index_, split), parts())));
    restore(saved);
  }
  return placements;
}

}  // namespace dcgn::virtual_gpu
