// One launch of a kernel that is split, piece by piece.
#pragma once

#include "vgpu/src/chunks.hpp"
#include "vgpu/src/local_copies.hpp"
#include "vgpu/src/machine.hpp"
#include "vgpu/src/ptx/block_index.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <cstddef>
#include <deque>
#include <vector>

namespace dcgn::virtual_gpu {

class Gpu;

// The places of one part's arguments: where these hold pointers into replicated buffers, or into others of which the
// launch reads copies, of copies that hold the part's.
class PartArguments {
 public:
  PartArguments(const Gpu& gpu, const std::vector<Argument>& arguments, const std::vector<LocalWord>& local, int part);
  PartArguments(const PartArguments&) = delete;
  PartArguments& operator=(const PartArguments&) = delete;

  std::vector<const void*> places;

 private:
  void change(const Argument& argument, std::size_t number, std::size_t offset, const void* address);

  std::deque<std::vector<std::byte>> changed_;
};

// Arguments and what they point to, for work that outlives the call.
class CopiedArguments {
 public:
  explicit CopiedArguments(const std::vector<Argument>& arguments);
  CopiedArguments(const CopiedArguments&) = delete;
  CopiedArguments& operator=(const CopiedArguments&) = delete;

  const std::vector<Argument>& arguments() const { return arguments_; }

 private:
  std::vector<std::byte> values_;
  std::vector<Argument> arguments_;  // in values_
};

// Has what it needs itself, but for the Gpu: a thread may be at it still when the call has given up.
class SplitLaunch {
 public:
  SplitLaunch(const Gpu& gpu, const Launch& launch, const std::vector<Argument>& arguments,
              std::vector<LocalWord> local);
  SplitLaunch(const SplitLaunch&) = delete;
  SplitLaunch& operator=(const SplitLaunch&) = delete;

  // May be called for several parts at once.
  void run(Binary& binary, std::size_t kernel, int part, const Chunk& piece, dcgn::Stream& stream) const;

 private:
  const Gpu& gpu_;
  const Launch launch_;
  const CopiedArguments arguments_;
  const std::vector<LocalWord> local_;
  const ptx::GridShape grid_;
};

}  // namespace dcgn::virtual_gpu
