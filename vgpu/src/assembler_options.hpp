// What a program asks of the driver's assembler: by options that nvcc stores beside PTX in a fat binary, or by those
// of the call that loads the PTX. Rewritten PTX is assembled with the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcgn::virtual_gpu {

// Values are those of CUjit_option; empty where the assembler's default holds.
struct AssemblerOptions {
  using Value = std::optional<unsigned>;

  Value max_registers{};       // of a thread
  Value threads_per_block{};   // that are to fit
  Value optimization_level{};  // 0 to 4
  Value cache_mode{};          // of loads: 1, past the L1 cache; 2, through it
  Value min_blocks_per_multiprocessor{}, max_threads_per_block{}, override_directives{};
  Value flush_denormals{}, precise_division{}, precise_roots{}, contract{};

  bool operator==(const AssemblerOptions&) const = default;
};

struct StoredOptions {
  AssemblerOptions kept{};
  std::vector<std::string> lost{};  // that have no equal here, and change more than messages
};

// Of ptxas's command line: "-O1 -dscm=wt  -maxrregcount=64 ".
StoredOptions read_assembler_options(std::string_view text);

}  // namespace dcgn::virtual_gpu
