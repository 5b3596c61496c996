// One launch of a kernel that is split, piece by piece.
#pragma once

#include "virtual_gpu/chunks.hpp"
#include "virtual_gpu/machine.hpp"
#include "virtual_gpu/ptx/block_index.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <map>
#include <vector>

namespace dcgn::virtual_gpu {

class Gpu;

// Where arguments hold pointers into replicated buffers, copies of them for each part.
class PartArguments {
 public:
  PartArguments(const Gpu& gpu, const std::vector<Argument>& arguments) : gpu_(gpu), arguments_(arguments) {}

  // The places of a part's arguments, until the next call.
  void fill(int part, std::vector<const void*>& parameters);

 private:
  const void* of_part(int part, std::size_t index);

  const Gpu& gpu_;
  const std::vector<Argument>& arguments_;
  std::map<std::size_t, std::vector<std::byte>> changed_;
};

class SplitLaunch {
 public:
  SplitLaunch(const Gpu& gpu, const Launch& launch, const std::vector<Argument>& arguments);
  SplitLaunch(const SplitLaunch&) = delete;
  SplitLaunch& operator=(const SplitLaunch&) = delete;

  void run(Binary& binary, std::size_t kernel, int part, const Chunk& piece, dcgn::Stream& stream);

 private:
  PartArguments arguments_;
  const ptx::GridShape grid_;
  Launch of_piece_;
  ptx::SplitArguments split_;
  std::vector<const void*> parameters_;
};

}  // namespace dcgn::virtual_gpu
