// Steps of emulated_program.cu that go wrong. After those of kernels the context is of no more use.
#include "emulated_program.hpp"

namespace {

// Who waits for what is recorded, or asks for it, gets no graph; the stream is of use again.
unsigned spoiled_captures() {
  const cudaStream_t stream = own_stream();
  int* const memory = device<int>(n);
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  for (int way = 0; way < 5; ++way) {
    cudaGraph_t graph;
    cudaStreamCaptureStatus status;
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add_number<<<blocks, 256, 0, stream>>>(memory, 1);
    CHECK(cudaEventRecord(event, stream));
    const cudaError_t told = way == 0   ? cudaStreamSynchronize(stream)
                             : way == 1 ? cudaStreamQuery(stream)
                             : way == 2 ? cudaEventSynchronize(event)
                             : way == 3 ? cudaEventQuery(event)
                                        : cudaDeviceSynchronize();
    expect(told == (way == 2 || way == 3 ? cudaErrorCapturedEvent : cudaErrorStreamCaptureUnsupported), "a wait");
    CHECK(cudaStreamIsCapturing(stream, &status));
    expect(status == cudaStreamCaptureStatusInvalidated, "a capture that was waited for");
    expect(cudaMemsetAsync(memory, 0, 4, stream) == cudaErrorStreamCaptureInvalidated, "work for it");
    expect(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated && !graph, "its graph");
    CHECK(cudaMemsetAsync(memory, 0, n * sizeof(int), stream));
    add_number<<<blocks, 256, 0, stream>>>(memory, way);
    CHECK(cudaStreamSynchronize(stream));
    expect_all(memory, way, 1, "work behind it");
  }
  static_cast<void>(cudaGetLastError());
  CHECK(cudaFree(memory));
  return 5;
}

__global__ void out_of_bounds(int* to) { to[thread_number() + (1 << 24)] = 1; }
__global__ void fail_if(bool fails) {
  if (fails) __trap();
}
unsigned configurations() {
  int* const to = device<int>(n);
  add_number<<<1, 2048>>>(to, 0);
  expect(cudaPeekAtLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaErrorInvalidConfiguration,
         "too many threads");
  expect(cudaMemcpy(to, to, 4 * n + 4, cudaMemcpyDeviceToDevice) == cudaErrorInvalidValue, "a copy that is too long");
  expect(cudaFree(to + 1) == cudaErrorInvalidValue, "an address that was not given");
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  expect(cudaMallocArray(&array, &format, 4, 4) == cudaErrorNotSupported, "what is not emulated");
  expect(cudaGetLastError() == cudaErrorNotSupported, "that it is not");
  void* much = nullptr;
  expect(cudaMalloc(&much, size_t{1} << 40) == cudaErrorMemoryAllocation, "too much memory");
  static_cast<void>(cudaGetLastError());
  CHECK(cudaFree(to));
  return 1;
}
unsigned fault() {
  int* const to = device<int>(n);
  out_of_bounds<<<blocks, 256>>>(to);
  expect(cudaDeviceSynchronize() == cudaErrorIllegalAddress, "memory that is not there");
  expect(cudaMalloc(reinterpret_cast<void**>(const_cast<int**>(&to)), 4) == cudaErrorIllegalAddress, "an error that lasts");
  return 1;
}
// By the last block, which another GPU may run.
__global__ void out_of_bounds_at_last(int* to) {
  if (blockIdx.x == gridDim.x - 1) to[std::size_t{1} << 28] = 1;
}
unsigned far_fault() {
  int* const to = device<int>(n);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  out_of_bounds_at_last<<<blocks, 256, 0, stream>>>(to);
  expect(cudaStreamSynchronize(stream) == cudaErrorIllegalAddress, "a wait for a stream");
  int found = 0;
  expect(cudaMemcpy(&found, to, 4, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress, "a copy that waits");
  return 1;
}
// Who asks is told, too, whichever GPU has faulted: by a stream, by an event, by what frees.
template <class Call>
unsigned told_of_fault(const Call& call) {
  int *const to = device<int>(n), *const other = device<int>(n);
  const cudaStream_t stream = own_stream();
  cudaEvent_t event;
  CHECK(cudaEventCreate(&event));
  CHECK(cudaDeviceSynchronize());
  out_of_bounds_at_last<<<blocks, 256, 0, stream>>>(to);
  CHECK(cudaEventRecord(event, stream));
  cudaError_t told = cudaErrorNotReady;
  while (told == cudaErrorNotReady) told = call(stream, event, to);
  expect(told == cudaErrorIllegalAddress, "a fault that a call tells");
  for (const cudaError_t error : {cudaStreamQuery(stream), cudaEventQuery(event), cudaFree(other), cudaGetLastError()})
    expect(error == cudaErrorIllegalAddress, "a fault that all calls tell");
  return 1;
}
unsigned fault_by_stream() {
  return told_of_fault([](cudaStream_t stream, cudaEvent_t, int*) { return cudaStreamQuery(stream); });
}
unsigned fault_by_event() {
  return told_of_fault([](cudaStream_t, cudaEvent_t event, int*) { return cudaEventQuery(event); });
}
unsigned fault_by_free() {
  return told_of_fault([](cudaStream_t, cudaEvent_t, int* memory) { return cudaFree(memory); });
}
unsigned trap() {
  fail_if<<<4, 32>>>(true);
  expect(cudaDeviceSynchronize() == cudaErrorLaunchFailure, "a trap");
  return 1;
}

}  // namespace

Steps steps_of_errors() {
  return {STEP(spoiled_captures), STEP(configurations), STEP(fault),         STEP(far_fault),
          STEP(fault_by_stream),  STEP(fault_by_event), STEP(fault_by_free), STEP(trap)};
}
