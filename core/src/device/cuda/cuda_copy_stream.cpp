#include "cuda_copy_stream.hpp"

#include "cuda_driver.hpp"

#include <dcgn/arch/atomic.hpp>

namespace dcgn::device {

namespace {

constexpr int events_made_beforehand = 16;

struct HostWrite {
  std::uint32_t* word;
  std::uint32_t value;
};

void do_host_write(void* argument) {
  const std::unique_ptr<const HostWrite> write(static_cast<const HostWrite*>(argument));
  store_release(*write->word, write->value);
}

}  // namespace

CudaEvent::CudaEvent(int device) : device_(device) {
  const CurrentDevice current(device, "CopyEngine");
  check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "CopyEngine", "cudaEventCreateWithFlags",
             device);
}

CudaEvent::~CudaEvent() {
  // At process end the driver may be gone already; its events then are, too.
  static_cast<void>(cudaEventDestroy(event_));
}

void CudaEvent::synchronize() const {
  check_cuda(cudaEventSynchronize(event_), "copy", "cudaEventSynchronize", device_);
}

EventPool::EventPool(int device) : device_(device) {
  for (int i = 0; i < events_made_beforehand; ++i) free_.push_back(std::make_unique<CudaEvent>(device));
}

std::unique_ptr<CudaEvent> EventPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto event = std::move(free_.back());
      free_.pop_back();
      return event;
    }
  }
  return std::make_unique<CudaEvent>(device_);
}

void EventPool::give_back(std::unique_ptr<CudaEvent> event) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(event));
}

CopyStream::~CopyStream() {
  // What fails here is seen by the next call on this device.
  static_cast<void>(cudaStreamSynchronize(stream_.get()));
}

void CopyStream::synchronize() {
  check_cuda(cudaStreamSynchronize(stream_.get()), "copy", "cudaStreamSynchronize", device());
}

bool CopyStream::busy() const {
  const cudaError_t state = cudaStreamQuery(stream_.get());
  if (state == cudaErrorNotReady) return true;
  check_cuda(state, "copy", "cudaStreamQuery", device());
  return false;
}

void CopyStream::copy(void* to, const void* from, std::size_t bytes, CopyRecord::Way way) {
  const CurrentDevice current(device(), "copy");
  const CopyTimes::Span span(times_, stream_.get(), way, bytes);
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "copy", "cudaMemcpyAsync", device());
}

void CopyStream::copy_within(void* to, const void* from, std::size_t bytes) {
#if CUDART_VERSION >= 13000
  const CurrentDevice current(device(), "copy");
  const CopyTimes::Span span(times_, stream_.get(), CopyRecord::Way::within, bytes);
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first = 0;
  check_cuda(cudaMemcpyBatchAsync(&to, &from, &bytes, 1, &attributes, &first, 1, stream_.get()), "copy",
             "cudaMemcpyBatchAsync", device());
#else
  copy(to, from, bytes, CopyRecord::Way::within);  // this CUDA takes no wishes
#endif
}

void CopyStream::record(const CudaEvent& event) {
  const CurrentDevice current(device(), "copy");
  check_cuda(cudaEventRecord(event.get(), stream_.get()), "copy", "cudaEventRecord", device());
}

void CopyStream::wait(const CudaEvent& event) {
  const CurrentDevice current(device(), "copy");
  check_cuda(cudaStreamWaitEvent(stream_.get(), event.get(), 0), "copy", "cudaStreamWaitEvent", device());
}

void CopyStream::write(std::uint32_t* word, std::uint32_t value) {
  const CurrentDevice current(device(), "copy");
  // The default has a fence of system scope before the write.
  check_driver(driver().stream_write_value(stream_.get(), reinterpret_cast<CUdeviceptr>(word), value,
                                           CU_STREAM_WRITE_VALUE_DEFAULT),
               "copy", "cuStreamWriteValue32", device());
}

void CopyStream::write_on_host(std::uint32_t* word, std::uint32_t value) {
  const CurrentDevice current(device(), "copy");
  auto write = std::make_unique<HostWrite>(HostWrite{word, value});
  check_cuda(cudaLaunchHostFunc(stream_.get(), do_host_write, write.get()), "copy", "cudaLaunchHostFunc", device());
  static_cast<void>(write.release());  // do_host_write() has it
}

}  // namespace dcgn::device
