// The runtime's calls about streams, their capture, and events.
#include "vgpu/src/emulated_runtime/runtime.hpp"

using namespace dcgn::virtual_gpu::emulated_runtime;

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return DCGN_CALL(cuStreamCreateWithPriority, stream, flags, priority);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return DCGN_CALL(cuStreamCreate, stream, flags);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return DCGN_CALL(cuStreamDestroy, stream); }

DCGN_BOTH(cudaStreamSynchronize, _ptsz, (cudaStream_t stream),
          { return DCGN_CALL(cuStreamSynchronize, meant(own, stream)); })
DCGN_BOTH(cudaStreamQuery, _ptsz, (cudaStream_t stream), { return DCGN_CALL(cuStreamQuery, meant(own, stream)); })
DCGN_BOTH(cudaStreamWaitEvent, _ptsz, (cudaStream_t stream, cudaEvent_t event, unsigned flags),
          { return DCGN_CALL(cuStreamWaitEvent, meant(own, stream), event, flags); })
DCGN_BOTH(cudaStreamGetPriority, _ptsz, (cudaStream_t stream, int* priority),
          { return DCGN_CALL(cuStreamGetPriority, meant(own, stream), priority); })
DCGN_BOTH(cudaStreamGetFlags, _ptsz, (cudaStream_t stream, unsigned* flags),
          { return DCGN_CALL(cuStreamGetFlags, meant(own, stream), flags); })
DCGN_BOTH(cudaStreamGetId, _ptsz, (cudaStream_t stream, unsigned long long* id),
          { return DCGN_CALL(cuStreamGetId, meant(own, stream), id); })
DCGN_BOTH(cudaStreamGetDevice, _ptsz, (cudaStream_t stream, int* device),
          { return DCGN_CALL(cuStreamGetDevice, meant(own, stream), device); })
DCGN_BOTH(cudaStreamCopyAttributes, _ptsz, (cudaStream_t to, cudaStream_t from),
          { return DCGN_CALL(cuStreamCopyAttributes, meant(own, to), meant(own, from)); })
DCGN_BOTH(cudaStreamGetAttribute, _ptsz, (cudaStream_t, cudaStreamAttrID, cudaStreamAttrValue* value),
          { return *value = cudaStreamAttrValue{}, cudaSuccess; })
DCGN_BOTH(cudaStreamSetAttribute, _ptsz, (cudaStream_t, cudaStreamAttrID, const cudaStreamAttrValue*),
          { return cudaSuccess; })
DCGN_BOTH(cudaLaunchHostFunc, _ptsz, (cudaStream_t stream, cudaHostFn_t function, void* data),
          { return DCGN_CALL(cuLaunchHostFunc, meant(own, stream), function, data); })
DCGN_BOTH(cudaStreamAddCallback, _ptsz,
          (cudaStream_t stream, cudaStreamCallback_t function, void* data, unsigned flags), {
            return DCGN_CALL(cuStreamAddCallback, meant(own, stream), reinterpret_cast<CUstreamCallback>(function),
                             data, flags);
          })

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return DCGN_CALL(cuThreadExchangeStreamCaptureMode, reinterpret_cast<CUstreamCaptureMode*>(mode));
}
DCGN_BOTH(cudaStreamBeginCapture, _ptsz, (cudaStream_t stream, cudaStreamCaptureMode mode),
          { return DCGN_CALL(cuStreamBeginCapture, meant(own, stream), static_cast<CUstreamCaptureMode>(mode)); })
DCGN_BOTH(cudaStreamBeginCaptureToGraph, _ptsz,
          (cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* after, const cudaGraphEdgeData* edges,
           size_t count, cudaStreamCaptureMode mode),
          {
            return DCGN_CALL(cuStreamBeginCaptureToGraph, meant(own, stream), graph, after,
                             reinterpret_cast<const CUgraphEdgeData*>(edges), count,
                             static_cast<CUstreamCaptureMode>(mode));
          })
DCGN_BOTH(cudaStreamEndCapture, _ptsz, (cudaStream_t stream, cudaGraph_t* graph),
          { return DCGN_CALL(cuStreamEndCapture, meant(own, stream), graph); })
DCGN_BOTH(cudaStreamIsCapturing, _ptsz, (cudaStream_t stream, cudaStreamCaptureStatus* status), {
  return DCGN_CALL(cuStreamIsCapturing, meant(own, stream), reinterpret_cast<CUstreamCaptureStatus*>(status));
})
DCGN_BOTH(cudaStreamGetCaptureInfo, _ptsz,
          (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
           const cudaGraphNode_t** after, const cudaGraphEdgeData** edges, size_t* count),
          {
            cuuint64_t its_id = 0;
            const cudaError_t result =
                DCGN_CALL(cuStreamGetCaptureInfo, meant(own, stream), reinterpret_cast<CUstreamCaptureStatus*>(status),
                          &its_id, graph, after, reinterpret_cast<const CUgraphEdgeData**>(edges), count);
            if (id) *id = its_id;
            return result;
          })
DCGN_BOTH(cudaStreamUpdateCaptureDependencies, _ptsz,
          (cudaStream_t stream, cudaGraphNode_t* nodes, const cudaGraphEdgeData* edges, size_t count, unsigned flags), {
            return DCGN_CALL(cuStreamUpdateCaptureDependencies, meant(own, stream), nodes,
                             reinterpret_cast<const CUgraphEdgeData*>(edges), count, flags);
          })

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return DCGN_CALL(cuEventCreate, event, flags);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return DCGN_CALL(cuEventDestroy, event); }
DCGN_BOTH(cudaEventRecord, _ptsz, (cudaEvent_t event, cudaStream_t stream),
          { return DCGN_CALL(cuEventRecord, event, meant(own, stream)); })
DCGN_BOTH(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t event, cudaStream_t stream, unsigned flags),
          { return DCGN_CALL(cuEventRecordWithFlags, event, meant(own, stream), flags); })
cudaError_t cudaEventQuery(cudaEvent_t event) { return DCGN_CALL(cuEventQuery, event); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return DCGN_CALL(cuEventSynchronize, event); }
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return DCGN_CALL(cuEventElapsedTime, ms, from, to);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
