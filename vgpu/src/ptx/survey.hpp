// What there is to know of a module's kernels before they are rewritten: why each is split or not.
#pragma once

#include "vgpu/src/ptx/call_graph.hpp"
#include "vgpu/src/ptx/own_addresses.hpp"
#include "vgpu/src/ptx/rewrite.hpp"
#include "vgpu/src/ptx/shared_variables.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
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
  Survey(const Module& module, const Options& options, const SharedVariables& variables);

  const CallGraph& calls() const { return calls_; }
  // All but the changes.
  KernelReport report(std::size_t function) const;
  // Whether a kernel writes the record of its block.
  bool writes_record(std::size_t kernel) const { return needs_record(kernel) && !crowded_[kernel]; }
  // Whether a function, if it reads index or size, reads them from the record.
  bool reads_record(std::size_t function) const;
  // Whether any kernel writes the record, or a function reads it.
  bool has_record() const;

 private:
  void check_module() const;
  void check_names() const;
  bool has_index() const { return options_.mode == Mode::split && !options_.whole; }
  void find_crowded();
  std::vector<Reason> reasons_in(std::size_t function, const std::vector<StoredAddress>& stored) const;
  std::optional<std::string> function_refusal(const Function& function, const Instruction& instruction) const;
  std::optional<std::string> variable_refusal(const Function& function, const Instruction& instruction) const;
  std::optional<Reason> shared_memory_reason(std::size_t kernel, const std::vector<std::size_t>& reached) const;
  bool needs_record(std::size_t kernel) const;
  Reason reason(std::string construct, std::size_t function, std::string_view where) const;
  std::uint64_t static_shared(const std::vector<std::size_t>& functions) const;

  const Module& module_;
  const Options& options_;
  const SharedVariables& variables_;
  CallGraph calls_;
  std::map<std::string_view, std::string> foreign_;  // by variable: why none may name it
  std::set<std::string_view> functions_;             // variables that lead to addresses of functions
  std::vector<bool> readers_;                        // by function: whether its own code reads index or size
  std::vector<bool> crowded_;  // by function: whether it is a kernel in whose shared memory the record has no room
  std::map<std::size_t, std::size_t> readers_of_crowded_;  // functions that read the hardware's index, of which kernel
  std::vector<std::vector<Reason>> reasons_;               // by function: what its own code has
};

}  // namespace dcgn::virtual_gpu::ptx
