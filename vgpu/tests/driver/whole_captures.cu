// Steps of whole_program.cu about what must not wait: writes of constants, frees and first launches while a stream is
// captured. In a module of their own, which has nothing that needs its whole form at once.
#include "whole_program.hpp"

#include <atomic>
#include <thread>

namespace {

__global__ void hold_on(volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void add_to(int* data, int add) { data[thread_number()] += add; }
__constant__ int weights[4] = {1, 2, 3, 4};
__global__ void add_words(int* to) {
  to[thread_number()] = weights[0] + 10 * weights[1] + 100 * weights[2] + 1000 * weights[3];
}
// Asynchronous writes of a constant do not wait; each reaches all GPUs.
void held_writes() {
  const cudaStream_t held = stream_of_its_own();
  int *flag = on_host(), *to = allocate<int>(large);
  CHECK(cudaDeviceSynchronize());
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, weights));
  *static_cast<volatile int*>(flag) = 1;
  hold_on<<<1, 1, 0, held>>>(flag);
  add_words<<<blocks, 256, 0, held>>>(to);
  CHECK(cudaStreamSynchronize(held));
  *static_cast<volatile int*>(flag) = 0;
  hold_on<<<1, 1, 0, held>>>(flag);
  const auto at = [&](int word) { return reinterpret_cast<CUdeviceptr>(address) + 4 * word; };
  expect(of_driver<decltype(cuMemsetD32Async)>("cuMemsetD32Async")(at(1), 7, 1, held) == CUDA_SUCCESS, "a memset");
  expect(of_driver<decltype(cuMemsetD16Async)>("cuMemsetD16Async")(at(2), 0, 2, held) == CUDA_SUCCESS, "a memset");
  *static_cast<volatile int*>(flag) = 1;
  add_words<<<blocks, 256, 0, held>>>(to);
  CHECK(cudaStreamSynchronize(held));
  for (const int sum : read(to, large)) expect(sum == 1 + 70 + 4000, "writes of a constant");
}

// Memory may go while a stream is captured in relaxed mode.
void freed_in_capture() {
  const cudaStream_t stream = stream_of_its_own();
  int *data = allocate<int>(large), *other = allocate<int>(large), *third = allocate<int>(large);
  CHECK(cudaDeviceSynchronize());
  add_to<<<blocks, 256, 0, stream>>>(data, 1);
  CHECK(cudaDeviceSynchronize());
  cudaGraph_t graph;
  cudaGraphExec_t runs;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  add_to<<<blocks, 256, 0, stream>>>(data, 2);
  CHECK(cudaFree(other));
  add_to<<<blocks, 256, 0, stream>>>(data, 3);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&runs, graph, 0));
  CHECK(cudaGraphLaunch(runs, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(third));
  for (const int value : read(data, large)) expect(value == 6, "a capture during which memory was freed");
}

// The first whole launch of a module, while another thread captures its own stream.
__global__ void one_block(int* to) { to[thread_number()] = weights[0]; }
void captured_meanwhile() {
  const cudaStream_t stream = stream_of_its_own();
  int *data = allocate<int>(large), *to = allocate<int>(32);
  CHECK(cudaDeviceSynchronize());
  std::atomic<int> stage{0};
  const auto reach = [&](int next) {
    while (stage != next) std::this_thread::yield();
  };
  std::thread other([&] {
    add_to<<<blocks, 256, 0, cudaStreamPerThread>>>(data, 1);
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaMemsetAsync(data, 0, large * sizeof(int), cudaStreamPerThread));
    stage = 1;
    reach(2);
    cudaGraph_t graph;
    cudaGraphExec_t runs;
    CHECK(cudaStreamEndCapture(cudaStreamPerThread, &graph));
    CHECK(cudaGraphInstantiate(&runs, graph, 0));
    CHECK(cudaGraphLaunch(runs, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  });
  reach(1);
  one_block<<<1, 32, 0, stream>>>(to);
  CHECK(cudaStreamSynchronize(stream));
  stage = 2;
  other.join();
  for (const int value : read(to, 32)) expect(value == 1, "a whole launch during a capture");
  for (const int value : read(data, large)) expect(value == 0, "a capture during a whole launch");
}

}  // namespace

Steps steps_of_captures() { return {STEP(held_writes), STEP(freed_in_capture), STEP(captured_meanwhile)}; }
