// Options of the assembler as the driver's calls take them.
#pragma once

#include "vgpu/src/assembler_options.hpp"

#include <cuda.h>

namespace dcgn::virtual_gpu {

struct JitOption {
  CUjit_option number;
  AssemblerOptions::Value AssemblerOptions::*member;
};

inline constexpr JitOption jit_options[] = {
    {CU_JIT_MAX_REGISTERS, &AssemblerOptions::max_registers},
    {CU_JIT_THREADS_PER_BLOCK, &AssemblerOptions::threads_per_block},
    {CU_JIT_OPTIMIZATION_LEVEL, &AssemblerOptions::optimization_level},
    {CU_JIT_CACHE_MODE, &AssemblerOptions::cache_mode},
#if CUDA_VERSION >= 13000
    {CU_JIT_MIN_CTA_PER_SM, &AssemblerOptions::min_blocks_per_multiprocessor},
    {CU_JIT_MAX_THREADS_PER_BLOCK, &AssemblerOptions::max_threads_per_block},
    {CU_JIT_OVERRIDE_DIRECTIVE_VALUES, &AssemblerOptions::override_directives},
#endif
    {CU_JIT_FTZ, &AssemblerOptions::flush_denormals},
    {CU_JIT_PREC_DIV, &AssemblerOptions::precise_division},
    {CU_JIT_PREC_SQRT, &AssemblerOptions::precise_roots},
    {CU_JIT_FMA, &AssemblerOptions::contract},
};

}  // namespace dcgn::virtual_gpu
