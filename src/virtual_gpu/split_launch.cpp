#include "virtual_gpu/split_launch.hpp"

#include "virtual_gpu/gpu.hpp"

#include <cstring>

namespace dcgn::virtual_gpu {

PartArguments::PartArguments(const Gpu& gpu, const std::vector<Argument>& arguments, int part) {
  places.reserve(arguments.size() + sizeof(ptx::SplitArguments) / sizeof(std::uint32_t));
  for (const Argument& argument : arguments) {
    places.push_back(argument.value);
    if (part == 0 || !gpu.has_replicated()) continue;
    for (std::size_t at = 0; at + sizeof(void*) <= argument.bytes; at += sizeof(void*)) {
      const void* address = nullptr;
      std::memcpy(&address, static_cast<const std::byte*>(argument.value) + at, sizeof address);
      const void* const own = gpu.on_part(part, address);
      if (own == address) continue;
      if (places.back() == argument.value) {
        const auto* const given = static_cast<const std::byte*>(argument.value);
        places.back() = changed_.emplace_back(given, given + argument.bytes).data();
      }
      std::memcpy(changed_.back().data() + at, &own, sizeof own);
    }
  }
}

void SplitLaunch::run(Binary& binary, std::size_t kernel, int part, const Chunk& piece, dcgn::Stream& stream) const {
  const ptx::SplitArguments split{grid_.index_of(piece.first), grid_};
  PartArguments arguments(gpu_, arguments_, part);
  for (const std::uint32_t* word :
       {&split.first.x, &split.first.y, &split.first.z, &split.grid.x, &split.grid.y, &split.grid.z})
    arguments.places.push_back(word);
  Launch of_piece = launch_;
  of_piece.grid = static_cast<unsigned>(piece.count);
  binary.launch(kernel, part, stream, of_piece, false, arguments.places);
}

}  // namespace dcgn::virtual_gpu
