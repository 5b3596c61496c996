#include "vgpu/src/split_launch.hpp"

#include "vgpu/src/gpu.hpp"

#include <cstring>
#include <utility>

namespace dcgn::virtual_gpu {

PartArguments::PartArguments(const Gpu& gpu, const std::vector<Argument>& arguments,
                             const std::vector<LocalWord>& local, int part) {
  places.reserve(arguments.size() + sizeof(ptx::SplitArguments) / sizeof(std::uint32_t));
  for (const Argument& argument : arguments) places.push_back(argument.value);
  const auto pointer_at = [&](std::size_t number, std::size_t offset) {
    const void* address = nullptr;
    std::memcpy(&address, static_cast<const std::byte*>(arguments[number].value) + offset, sizeof address);
    return address;
  };
  if (part != 0 && gpu.has_replicated())
    for (std::size_t n = 0; n < arguments.size(); ++n)
      for (std::size_t at = 0; at + sizeof(void*) <= arguments[n].bytes; at += sizeof(void*)) {
        const void* const address = pointer_at(n, at);
        const void* const own = gpu.on_part(part, address);
        if (own != address) change(arguments[n], n, at, own);
      }
  for (const LocalWord& word : local) {
    const Range* const range = (*word.ranges)[static_cast<std::size_t>(part)].get();
    if (!range) continue;
    const auto* const own = static_cast<const std::byte*>(range->address());
    const auto* const given = static_cast<const std::byte*>(pointer_at(word.argument, word.offset));
    change(arguments[word.argument], word.argument, word.offset, own + (given - word.begin));
  }
}

void PartArguments::change(const Argument& argument, std::size_t number, std::size_t offset, const void* address) {
  if (places[number] == argument.value) {
    const auto* const given = static_cast<const std::byte*>(argument.value);
    places[number] = changed_.emplace_back(given, given + argument.bytes).data();
  }
  std::memcpy(const_cast<std::byte*>(static_cast<const std::byte*>(places[number])) + offset, &address, sizeof address);
}

CopiedArguments::CopiedArguments(const std::vector<Argument>& arguments) {
  constexpr std::size_t alignment = 16;
  std::size_t end = 0;
  for (const Argument& argument : arguments) end += (argument.bytes + alignment - 1) / alignment * alignment;
  values_.resize(end);
  arguments_.reserve(arguments.size());
  std::byte* to = values_.data();
  for (const Argument& argument : arguments) {
    std::memcpy(to, argument.value, argument.bytes);
    arguments_.push_back({to, argument.bytes});
    to += (argument.bytes + alignment - 1) / alignment * alignment;
  }
}

SplitLaunch::SplitLaunch(const Gpu& gpu, const Launch& launch, const std::vector<Argument>& arguments,
                         std::vector<LocalWord> local)
    : gpu_(gpu),
      launch_(launch),
      arguments_(arguments),
      local_(std::move(local)),
      grid_{launch.grid.x, launch.grid.y, launch.grid.z} {}

void SplitLaunch::run(Binary& binary, std::size_t kernel, int part, const Chunk& piece, dcgn::Stream& stream) const {
  const ptx::SplitArguments split{grid_.index_of(piece.first), grid_};
  PartArguments arguments(gpu_, arguments_.arguments(), local_, part);
  for (const std::uint32_t* word :
       {&split.first.x, &split.first.y, &split.first.z, &split.grid.x, &split.grid.y, &split.grid.z})
    arguments.places.push_back(word);
  Launch of_piece = launch_;
  const ptx::GridShape shape = ptx::launch_shape(grid_, piece.first, piece.count);
  of_piece.grid = Dim3(shape.x, shape.y, shape.z);
  binary.launch(kernel, part, stream, of_piece, false, arguments.places);
}

}  // namespace dcgn::virtual_gpu
