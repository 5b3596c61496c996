// The driver's calls for programs whose null stream is each thread's own.
#include "vgpu/src/emulated_driver/driver.hpp"

namespace {

CUstream own(CUstream stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

// Behind an asynchronous call of the thread's own stream.
CUresult wait(CUresult result) { return result == CUDA_SUCCESS ? cuStreamSynchronize(CU_STREAM_PER_THREAD) : result; }

}  // namespace

#define DCGN_OWN_STREAM(name, parameters, ...) \
  CUresult name##_ptsz parameters { return name(__VA_ARGS__); }
#define DCGN_OWN_DEFAULT(name, parameters, call) \
  CUresult name##_ptds parameters { return call; }

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

DCGN_OWN_STREAM(cuLaunchKernel,
                (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                 unsigned shared, CUstream s, void** values, void** extra),
                f, gx, gy, gz, bx, by, bz, shared, own(s), values, extra)
DCGN_OWN_STREAM(cuLaunchCooperativeKernel,
                (CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                 unsigned shared, CUstream s, void** values),
                f, gx, gy, gz, bx, by, bz, shared, own(s), values)
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction f, void** values, void** extra) {
  CUlaunchConfig meant = *config;
  meant.hStream = own(config->hStream);
  return cuLaunchKernelEx(&meant, f, values, extra);
}
DCGN_OWN_STREAM(cuLaunchHostFunc, (CUstream s, CUhostFn f, void* data), own(s), f, data)
DCGN_OWN_STREAM(cuGraphLaunch, (CUgraphExec exec, CUstream s), exec, own(s))
DCGN_OWN_STREAM(cuStreamSynchronize, (CUstream s), own(s))
DCGN_OWN_STREAM(cuStreamQuery, (CUstream s), own(s))
DCGN_OWN_STREAM(cuStreamWaitEvent, (CUstream s, CUevent event, unsigned flags), own(s), event, flags)
DCGN_OWN_STREAM(cuStreamAddCallback, (CUstream s, CUstreamCallback f, void* data, unsigned flags), own(s), f, data,
                flags)
DCGN_OWN_STREAM(cuStreamBeginCapture_v2, (CUstream s, CUstreamCaptureMode mode), own(s), mode)
DCGN_OWN_STREAM(cuStreamEndCapture, (CUstream s, CUgraph* graph), own(s), graph)
DCGN_OWN_STREAM(cuStreamIsCapturing, (CUstream s, CUstreamCaptureStatus* status), own(s), status)
DCGN_OWN_STREAM(cuStreamGetFlags, (CUstream s, unsigned* flags), own(s), flags)
DCGN_OWN_STREAM(cuStreamGetPriority, (CUstream s, int* priority), own(s), priority)
DCGN_OWN_STREAM(cuStreamWaitValue32_v2, (CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags), own(s), at,
                value, flags)
DCGN_OWN_STREAM(cuStreamWaitValue64_v2, (CUstream s, CUdeviceptr at, cuuint64_t value, unsigned flags), own(s), at,
                value, flags)
DCGN_OWN_STREAM(cuStreamWriteValue32_v2, (CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags), own(s), at,
                value, flags)
DCGN_OWN_STREAM(cuStreamWriteValue64_v2, (CUstream s, CUdeviceptr at, cuuint64_t value, unsigned flags), own(s), at,
                value, flags)
DCGN_OWN_STREAM(cuStreamBatchMemOp_v2, (CUstream s, unsigned n, CUstreamBatchMemOpParams* all, unsigned flags), own(s),
                n, all, flags)
DCGN_OWN_STREAM(cuEventRecord, (CUevent event, CUstream s), event, own(s))
DCGN_OWN_STREAM(cuEventRecordWithFlags, (CUevent event, CUstream s, unsigned flags), event, own(s), flags)
DCGN_OWN_STREAM(cuMemAllocAsync, (CUdeviceptr * at, size_t n, CUstream s), at, n, own(s))
DCGN_OWN_STREAM(cuMemAllocFromPoolAsync, (CUdeviceptr * at, size_t n, CUmemoryPool pool, CUstream s), at, n, pool,
                own(s))
DCGN_OWN_STREAM(cuMemFreeAsync, (CUdeviceptr at, CUstream s), at, own(s))
DCGN_OWN_STREAM(cuMemPrefetchAsync_v2, (CUdeviceptr at, size_t n, CUmemLocation where, unsigned flags, CUstream s), at,
                n, where, flags, own(s))
DCGN_OWN_STREAM(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), to, from, n, own(s))
DCGN_OWN_STREAM(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, size_t n, CUstream s), to, from, n, own(s))
DCGN_OWN_STREAM(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, size_t n, CUstream s), to, from, n, own(s))
DCGN_OWN_STREAM(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s), to, from, n, own(s))
DCGN_OWN_STREAM(cuMemcpyPeerAsync,
                (CUdeviceptr to, CUcontext its, CUdeviceptr from, CUcontext other, size_t n, CUstream s), to, its, from,
                other, n, own(s))
DCGN_OWN_STREAM(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D* its, CUstream s), its, own(s))
DCGN_OWN_STREAM(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D* its, CUstream s), its, own(s))
DCGN_OWN_STREAM(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER* its, CUstream s), its, own(s))
DCGN_OWN_STREAM(cuMemcpyBatchAsync_v2,
                (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t n, CUmemcpyAttributes* attributes,
                 size_t* indices, size_t count, CUstream s),
                to, from, bytes, n, attributes, indices, count, own(s))
DCGN_OWN_STREAM(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t n, CUstream s), to, value, n, own(s))
DCGN_OWN_STREAM(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t n, CUstream s), to, value, n, own(s))
DCGN_OWN_STREAM(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t n, CUstream s), to, value, n, own(s))
DCGN_OWN_STREAM(cuMemsetD2D8Async, (CUdeviceptr to, size_t pitch, unsigned char value, size_t w, size_t h, CUstream s),
                to, pitch, value, w, h, own(s))
DCGN_OWN_STREAM(cuMemsetD2D16Async,
                (CUdeviceptr to, size_t pitch, unsigned short value, size_t w, size_t h, CUstream s), to, pitch, value,
                w, h, own(s))
DCGN_OWN_STREAM(cuMemsetD2D32Async, (CUdeviceptr to, size_t pitch, unsigned value, size_t w, size_t h, CUstream s), to,
                pitch, value, w, h, own(s))

DCGN_OWN_DEFAULT(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t n), wait(cuMemcpyAsync_ptsz(to, from, n, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, size_t n),
                 wait(cuMemcpyHtoDAsync_v2_ptsz(to, from, n, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, size_t n),
                 wait(cuMemcpyDtoHAsync_v2_ptsz(to, from, n, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t n),
                 cuMemcpyDtoDAsync_v2_ptsz(to, from, n, nullptr))
DCGN_OWN_DEFAULT(cuMemcpyPeer, (CUdeviceptr to, CUcontext its, CUdeviceptr from, CUcontext other, size_t n),
                 wait(cuMemcpyPeerAsync_ptsz(to, its, from, other, n, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpy2D_v2, (const CUDA_MEMCPY2D* its), wait(cuMemcpy2DAsync_v2_ptsz(its, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D* its), wait(cuMemcpy2DAsync_v2_ptsz(its, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpy3D_v2, (const CUDA_MEMCPY3D* its), wait(cuMemcpy3DAsync_v2_ptsz(its, nullptr)))
DCGN_OWN_DEFAULT(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER* its), wait(cuMemcpy3DPeerAsync_ptsz(its, nullptr)))
DCGN_OWN_DEFAULT(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t n),
                 cuMemsetD8Async_ptsz(to, value, n, nullptr))
DCGN_OWN_DEFAULT(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t n),
                 cuMemsetD16Async_ptsz(to, value, n, nullptr))
DCGN_OWN_DEFAULT(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t n),
                 cuMemsetD32Async_ptsz(to, value, n, nullptr))
DCGN_OWN_DEFAULT(cuMemsetD2D8_v2, (CUdeviceptr to, size_t pitch, unsigned char value, size_t w, size_t h),
                 cuMemsetD2D8Async_ptsz(to, pitch, value, w, h, nullptr))
DCGN_OWN_DEFAULT(cuMemsetD2D16_v2, (CUdeviceptr to, size_t pitch, unsigned short value, size_t w, size_t h),
                 cuMemsetD2D16Async_ptsz(to, pitch, value, w, h, nullptr))
DCGN_OWN_DEFAULT(cuMemsetD2D32_v2, (CUdeviceptr to, size_t pitch, unsigned value, size_t w, size_t h),
                 cuMemsetD2D32Async_ptsz(to, pitch, value, w, h, nullptr))

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
