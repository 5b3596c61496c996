// What there is to know of a module's kernels before they are rewritten: why each is split or not.
#pragma once

#include "vgpu/src/ptx/call_graph.hpp"
#include "vgpu/src/ptx/rewrite.hpp"

#include <string>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

// Where the kernel's parameters lie.
std::vector<ParameterReport> layout_of(const std::vector<Variable>& parameters);
// The same for those that are added in `mode` behind them.
std::vector<ParameterReport> added_parameters(const std::vector<ParameterReport>& own, Mode mode);

// Whether `instruction` reads the block's index or the grid's size.
bool reads_index(const Instruction& instruction);

class Survey {
 public:
  // Throws where nothing of the module can be rewritten.
  Survey(const Module& module, const Options& options);

  const CallGraph& calls() const { return calls_; }
  // All but the changes.
  KernelReport report(std::size_t function) const;
  // Whether a kernel has to write the record of its block.
  bool needs_record(std::size_t kernel) const;
  // Whether any does, or a function reads it.
  bool has_record() const;

 private:
  void check_module() const;
  void check_names() const;
  std::vector<Reason> reasons_in(std::size_t function) const;
  Reason reason(std::string construct, std::size_t function, std::string_view where) const;
  std::uint64_t static_shared(const std::vector<std::size_t>& functions) const;
  bool is_reader(std::size_t function) const { return !module_.functions[function].entry && readers_[function]; }

  const Module& module_;
  const Options& options_;
  CallGraph calls_;
  std::vector<bool> readers_;                 // by function: whether its own code reads index or size
  std::vector<std::vector<Reason>> reasons_;  // by function: what its own code has
};

}  // namespace dcgn::virtual_gpu::ptx
