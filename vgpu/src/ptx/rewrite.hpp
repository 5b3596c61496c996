// A module for one GPU, rewritten so that its kernels can run over several.
#pragma once

#include "vgpu/src/ptx/block_index.hpp"
#include "vgpu/src/ptx/memory_use.hpp"
#include "vgpu/src/ptx/module.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dcgn::virtual_gpu::ptx {

enum class Mode : std::uint8_t {
  split,       // a kernel is launched on each GPU with the blocks of its chunk, as a grid of one dimension
  early_exit,  // with the whole grid on each, and blocks outside of the chunk return at once: the oracle for tests
};

struct Options {
  Mode mode = Mode::split;
  std::string kernel;          // the only one to be split; all, where empty
  bool count_touches = false;  // kernels count the pages that they touch: page_touches.hpp
  bool whole = false;          // none is split: they share variables alone, and have parameters and index as before
  bool alone = false;          // nothing else works on their memory meanwhile: scopes stay what they are
};

// As .param space lays them out.
struct ParameterReport {
  std::string name;
  std::uint64_t offset, bytes, alignment;
};

// What stands against a split. The line is that of `function`, which the kernel may reach by calls.
struct Reason {
  std::string construct, function, instruction;
  std::size_t line;
};

struct Changes {
  std::size_t block_index = 0, grid_size = 0;                 // reads of %ctaid, of %nctaid
  std::size_t atomics = 0, fences = 0, ordered_accesses = 0;  // to system scope
  std::size_t variables = 0;                                  // uses of shared variables

  Changes& operator+=(const Changes& other);
};

struct KernelReport {
  std::string name;
  std::size_t line = 0;
  bool asked = true;            // false: Options::kernel is another one
  std::vector<Reason> reasons;  // why not; it is left whole
  std::vector<ParameterReport> parameters, added;
  Changes changes;                  // in it and, each once, in the functions that it may call
  std::uint64_t static_shared = 0;  // bytes of what it reaches, as they were before
  std::uint64_t record_bytes = 0;   // of static shared memory, more than before
  MemoryUse memory;
  std::vector<std::string> remarks;

  bool split() const { return asked && reasons.empty(); }
};

struct VariableReport {
  std::string name, pointer;  // no pointer: each GPU keeps its own
  std::string why_not;
  std::uint64_t bytes = 0, alignment = 0;
  bool initialized = false, constant = false, managed = false, external = false;
  // Addresses that its first content holds: of whom, and at which byte.
  struct Address {
    std::string symbol;
    std::uint64_t offset;
  };
  std::vector<Address> addresses;
};

struct Rewritten {
  std::string text;
  std::vector<KernelReport> kernels;
  std::vector<VariableReport> variables;  // in global and constant memory
};

// Kernels that are not split stay whole: their parameters and their launch are as before, on one GPU. They, too, share
// variables, and their atomics are of system scope. Throws Error(unsupported) for 32-bit addresses and for targets
// before sm_60, Error(configuration) for a kernel that is not there and for a module that was rewritten before.
Rewritten rewrite(const Module& module, const Options& options);

}  // namespace dcgn::virtual_gpu::ptx
