// The one public macro: marks a function that runs on the host and, when nvcc compiles it, on a GPU.
#pragma once

#if defined(__CUDACC__)
#define DCGN_HOST_DEVICE __host__ __device__
#else
#define DCGN_HOST_DEVICE
#endif
