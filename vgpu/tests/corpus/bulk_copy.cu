// Asynchronous copies: by threads, and in bulk with a barrier in shared memory, as tensor-memory code has them.
#include <cuda/barrier>
#include <cuda_pipeline.h>

extern "C" __global__ void staged(const float4* in, float4* out) {
  __shared__ float4 tile[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[i], 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[i] = tile[127 - threadIdx.x];
}

extern "C" __global__ void bulk(const int* in, int* out) {
  __shared__ alignas(128) int tile[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  if (threadIdx.x == 0) {
    init(&full, blockDim.x);
    cuda::device::experimental::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  cuda::barrier<cuda::thread_scope_block>::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::experimental::cp_async_bulk_global_to_shared(tile, in + blockIdx.x * 256, sizeof tile, full);
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof tile);
  } else {
    token = full.arrive();
  }
  full.wait(static_cast<cuda::barrier<cuda::thread_scope_block>::arrival_token&&>(token));
  out[blockIdx.x * 256 + threadIdx.x] = tile[threadIdx.x] + 1;
}

extern "C" __global__ void bulk_add(int* out) {
  __shared__ alignas(16) int tile[4];
  tile[threadIdx.x & 3] = 1;
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 16;" ::"l"(out),
                 "r"(static_cast<unsigned>(__cvta_generic_to_shared(tile)))
                 : "memory");
}
