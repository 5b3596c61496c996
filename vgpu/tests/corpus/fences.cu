// Fences, ordered loads and stores, reductions and volatile reads of every scope, from C++ and from inline PTX.
#include <cuda/atomic>

extern "C" __global__ void publish(int* data, int* flag, int* late) {
  data[blockIdx.x] = 1;
  __threadfence();
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("fence.sc.gpu;" ::: "memory");
  asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
  asm volatile("red.global.max.s32 [%0], 1;" ::"l"(flag) : "memory");
  int seen;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
  late[blockIdx.x] = seen;
  __threadfence_block();
  __threadfence_system();
}

extern "C" __global__ void scoped(int* value) {
  cuda::atomic_ref<int, cuda::thread_scope_device> on_device(*value);
  cuda::atomic_ref<int, cuda::thread_scope_system> on_system(*value);
  cuda::atomic_ref<int, cuda::thread_scope_block> in_block(*value);
  on_device.fetch_add(1, cuda::memory_order_acq_rel);
  on_system.fetch_add(1);
  in_block.fetch_add(1);
  on_device.store(on_device.load(cuda::memory_order_acquire) + 1, cuda::memory_order_release);
}
