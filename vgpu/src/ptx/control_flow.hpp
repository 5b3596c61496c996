// Basic blocks of a function, and its loops.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

struct BasicBlock {
  std::size_t begin, end;  // of instructions
  std::vector<std::size_t> next, previous;
  bool may_leave = false;  // its last instruction is a return or an exit with a guard
};

struct Loop {
  std::size_t header;
  std::vector<std::size_t> latches;  // the blocks that branch back to the header
  std::vector<bool> inside;          // by block
};

class ControlFlow {
 public:
  explicit ControlFlow(const Function& function);

  const std::vector<BasicBlock>& blocks() const { return blocks_; }
  // Whether each way from the function's beginning to `b` leads through `a`.
  bool dominates(std::size_t a, std::size_t b) const;
  // Innermost and outer ones, each by itself. Where one can be entered at several places, the header is where a walk
  // from the function's beginning enters it.
  std::vector<Loop> loops() const;

 private:
  void split();
  void connect();
  void find_dominators();
  bool reached(std::size_t block) const { return position_[block] != unreached; }

  static constexpr std::size_t unreached = static_cast<std::size_t>(-1);

  const Function& function_;
  std::vector<BasicBlock> blocks_;
  std::vector<std::size_t> order_;      // reverse postorder
  std::vector<std::size_t> position_;   // in order_
  std::vector<std::size_t> dominator_;  // immediate
};

}  // namespace dcgn::virtual_gpu::ptx
