#include "virtual_gpu/split_launch.hpp"

#include "virtual_gpu/gpu.hpp"

#include <cstring>

namespace dcgn::virtual_gpu {

void PartArguments::fill(int part, std::vector<const void*>& parameters) {
  const bool as_given = part == 0 || !gpu_.has_replicated();
  for (std::size_t i = 0; i < arguments_.size(); ++i) parameters[i] = as_given ? arguments_[i].value : of_part(part, i);
}

const void* PartArguments::of_part(int part, std::size_t index) {
  const Argument& argument = arguments_[index];
  std::vector<std::byte>* changed = nullptr;
  for (std::size_t at = 0; at + sizeof(void*) <= argument.bytes; at += sizeof(void*)) {
    const void* address = nullptr;
    std::memcpy(&address, static_cast<const std::byte*>(argument.value) + at, sizeof address);
    const void* const own = gpu_.on_part(part, address);
    if (own == address) continue;
    if (!changed) {
      const auto* const given = static_cast<const std::byte*>(argument.value);
      changed = &changed_[index];
      changed->assign(given, given + argument.bytes);
    }
    std::memcpy(changed->data() + at, &own, sizeof own);
  }
  return changed ? changed->data() : argument.value;
}

SplitLaunch::SplitLaunch(const Gpu& gpu, const Launch& launch, const std::vector<Argument>& arguments)
    : arguments_(gpu, arguments),
      grid_{launch.grid.x, launch.grid.y, launch.grid.z},
      of_piece_(launch),
      split_{{}, grid_},
      parameters_(arguments.size()) {
  for (const std::uint32_t* word :
       {&split_.first.x, &split_.first.y, &split_.first.z, &split_.grid.x, &split_.grid.y, &split_.grid.z})
    parameters_.push_back(word);
}

void SplitLaunch::run(Binary& binary, std::size_t kernel, int part, const Chunk& piece, dcgn::Stream& stream) {
  arguments_.fill(part, parameters_);
  split_.first = grid_.index_of(piece.first);
  of_piece_.grid = static_cast<unsigned>(piece.count);
  binary.launch(kernel, part, stream, of_piece_, false, parameters_);
}

}  // namespace dcgn::virtual_gpu
