// The driver's calls about streams and events.
#include "vgpu/src/emulated_driver/driver.hpp"
#include "vgpu/src/emulated_driver/graph.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace dcgn::virtual_gpu::emulated;

namespace {

constexpr int least_priority = 0, greatest_priority = -5;

thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

Event& event_of(CUevent event) { return *reinterpret_cast<Event*>(event); }

// What is asked for is soon done: who asks will ask again.
CUresult ask(Stream& stream, std::uint64_t number) {
  const auto error = static_cast<CUresult>(device_at(stream.device).error.load());
  if (error != CUDA_SUCCESS || stream.done >= number) return error;
  stream.wanted = true;
  state().changed.notify_all();
  return CUDA_ERROR_NOT_READY;
}

// An event of a capture, which is never passed: who asks spoils the capture.
CUresult captured(const Event& event) {
  if (!event.capture) return CUDA_SUCCESS;
  static_cast<void>(spoil(*event.capture));
  return CUDA_ERROR_CAPTURED_EVENT;
}

void call(Stream& stream, const CUDA_HOST_NODE_PARAMS& host) {
  Work work = [host] { host.fn(host.userData); };
  if (stream.capture)
    record_node(stream, CU_GRAPH_NODE_TYPE_HOST, std::move(work)).host = host;
  else
    give(stream, std::move(work));
}

template <class T>
bool holds(const volatile T* at, T value, unsigned flags) {
  const T now = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  switch (flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<std::make_signed_t<T>>(now - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return now == value;
    case CU_STREAM_WAIT_VALUE_AND: return (now & value) != 0;
    default: return ~(now | value) != 0;  // NOR
  }
}

template <class T>
CUresult wait_value(CUstream stream, CUdeviceptr address, T value, unsigned flags) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  give(*stream_of(stream), [address, value, flags] {
    while (!holds(reinterpret_cast<const volatile T*>(address), value, flags))  // as long as the program lets it
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  return CUDA_SUCCESS;
}

template <class T>
CUresult write_value(CUstream stream, CUdeviceptr address, T value) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  give(*stream_of(stream),
       [address, value] { __atomic_store_n(reinterpret_cast<T*>(address), value, __ATOMIC_RELEASE); });
  return CUDA_SUCCESS;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return std::swap(*mode, capture_mode), CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = least_priority;
  if (greatest) *greatest = greatest_priority;
  return CUDA_SUCCESS;
}
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  if (!stream || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard(state().mutex);
  *stream = reinterpret_cast<CUstream>(
      make_stream(current()->device, flags, std::clamp(priority, greatest_priority, least_priority)));
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
// Its work is done all the same, and nobody waits for it here.
CUresult cuStreamDestroy_v2(CUstream stream) {
  if (is_default(stream)) return CUDA_ERROR_INVALID_HANDLE;
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  its.ended = its.wanted = true;
  its.capture = nullptr;
  its.spoiled = false;
  state().changed.notify_all();
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  if (its.capture) return spoil(*its.capture);
  finish(guard, its, its.given);
  return standing(stream);
}
CUresult cuStreamQuery(CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  return its.capture ? spoil(*its.capture) : ask(its, its.given);
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  return *priority = stream_of(stream)->priority, CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  return *flags = stream_of(stream)->flags, CUDA_SUCCESS;
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  return *id = stream_of(stream)->id, CUDA_SUCCESS;
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  return *device = stream_of(stream)->device, CUDA_SUCCESS;
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  return *context = reinterpret_cast<CUcontext>(&device_at(stream_of(stream)->device).primary), CUDA_SUCCESS;
}
CUresult cuStreamCopyAttributes(CUstream, CUstream) { return CUDA_SUCCESS; }  // they are about speed
CUresult cuStreamSetAttribute(CUstream, CUstreamAttrID, const CUstreamAttrValue*) { return CUDA_SUCCESS; }
CUresult cuStreamGetAttribute(CUstream, CUstreamAttrID, CUstreamAttrValue* value) {
  return *value = CUstreamAttrValue{}, CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  return call(*stream_of(stream), {function, data}), CUDA_SUCCESS;
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  give(*stream_of(stream), [stream, function, data] { function(stream, CUDA_SUCCESS, data); });
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  if (const CUresult wrong = standing(); wrong != CUDA_SUCCESS) return wrong;
  auto* const made = new Event();  // moments of it may be waited for to the end
  made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
  return *event = reinterpret_cast<CUevent>(made), CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) { return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; }
CUresult cuEventRecord(CUevent event, CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  const Guard guard(state().mutex);
  return record(event_of(event), *stream_of(stream)), CUDA_SUCCESS;
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) { return cuEventRecord(event, stream); }
CUresult cuEventQuery(CUevent event) {
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  const Guard guard(state().mutex);
  if (const CUresult wrong = captured(event_of(event)); wrong != CUDA_SUCCESS) return wrong;
  const Moment& moment = event_of(event).moment;
  return moment.stream ? ask(*moment.stream, moment.number) : CUDA_SUCCESS;
}
CUresult cuEventSynchronize(CUevent event) {
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  Guard guard(state().mutex);
  if (const CUresult wrong = captured(event_of(event)); wrong != CUDA_SUCCESS) return wrong;
  const Moment moment = event_of(event).moment;
  if (!moment.stream) return CUDA_SUCCESS;
  finish(guard, *moment.stream, moment.number);
  return static_cast<CUresult>(device_at(moment.stream->device).error.load());
}
CUresult cuEventElapsedTime_v2(float* ms, CUevent from, CUevent to) {
  if (!from || !to) return CUDA_ERROR_INVALID_HANDLE;
  const Guard guard(state().mutex);
  const Event &first = event_of(from), &second = event_of(to);
  if (!first.timed || !second.timed || !first.moment.stream || !second.moment.stream) return CUDA_ERROR_INVALID_HANDLE;
  for (const Event* one : {&first, &second})
    if (one->moment.stream->done < one->moment.number) return CUDA_ERROR_NOT_READY;
  *ms = std::chrono::duration<float, std::milli>(second.time - first.time).count();
  return CUDA_SUCCESS;
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return cuEventElapsedTime_v2(ms, from, to); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  if (!event) return CUDA_ERROR_INVALID_HANDLE;
  const Guard guard(state().mutex);
  return wait(*stream_of(stream), event_of(event)), CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  return wait_value(stream, address, value, flags);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned flags) {
  return wait_value(stream, address, value, flags);
}
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned) {
  return write_value(stream, address, value);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, cuuint64_t value, unsigned) {
  return write_value(stream, address, value);
}
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned n, CUstreamBatchMemOpParams* all, unsigned) {
  for (unsigned i = 0; i < n; ++i) {
    CUresult result = CUDA_SUCCESS;
    switch (all[i].operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        result =
            cuStreamWaitValue32_v2(stream, all[i].waitValue.address, all[i].waitValue.value, all[i].waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        result =
            cuStreamWaitValue64_v2(stream, all[i].waitValue.address, all[i].waitValue.value64, all[i].waitValue.flags);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        result = cuStreamWriteValue32_v2(stream, all[i].writeValue.address, all[i].writeValue.value, 0);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        result = cuStreamWriteValue64_v2(stream, all[i].writeValue.address, all[i].writeValue.value64, 0);
        break;
      default: break;  // barriers: all is in order
    }
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
