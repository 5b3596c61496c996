// What the engine's sources are compiled to: by the host's compiler what runs on the host, by nvcc what runs on a GPU
// and nothing else. So the device library has no second copy of what the library has.
#pragma once

#if defined(__CUDA_ARCH__) || !defined(__CUDACC__)
#define DCGN_COMPILED_HERE 1
#else
#define DCGN_COMPILED_HERE 0
#endif
