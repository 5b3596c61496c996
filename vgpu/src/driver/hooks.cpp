// How the program gets the functions of this library: by their names, or by cuGetProcAddress(), of which CUDA's runtime
// has all of them.
#include "vgpu/src/driver/real.hpp"

#include <cuda.h>

#include <string_view>

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

// Forms that cuda.h does not declare, or has another meant by.
#undef cuGetProcAddress
#undef cuGraphAddNode
#undef cuGraphAddKernelNode
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync
CUresult cuGraphAddKernelNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS_v1*);
CUresult cuGraphKernelNodeSetParams(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
CUresult cuGraphAddNode(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*);
CUresult cuMemcpyBatchAsync(CUdeviceptr*, CUdeviceptr*, size_t*, size_t, CUmemcpyAttributes*, size_t*, size_t, size_t*,
                            CUstream);
decltype(cuMemcpyBatchAsync) cuMemcpyBatchAsync_ptsz;
CUresult cuMemcpy3DBatchAsync(size_t, CUDA_MEMCPY3D_BATCH_OP*, size_t*, unsigned long long, CUstream);
decltype(cuMemcpy3DBatchAsync) cuMemcpy3DBatchAsync_ptsz;
CUresult cuCtxCreate_v2(CUcontext*, unsigned, CUdevice);
CUresult cuCtxCreate_v3(CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice);
decltype(cuLaunchKernel) cuLaunchKernel_ptsz;
decltype(cuStreamSynchronize) cuStreamSynchronize_ptsz;
decltype(cuStreamQuery) cuStreamQuery_ptsz;
decltype(cuLaunchKernelEx) cuLaunchKernelEx_ptsz;
decltype(cuLaunchCooperativeKernel) cuLaunchCooperativeKernel_ptsz;
decltype(cuGraphLaunch) cuGraphLaunch_ptsz;
decltype(cuStreamBeginCapture_v2) cuStreamBeginCapture_v2_ptsz;
decltype(cuStreamBeginCaptureToGraph) cuStreamBeginCaptureToGraph_ptsz;
decltype(cuStreamEndCapture) cuStreamEndCapture_ptsz;
decltype(cuMemAllocAsync) cuMemAllocAsync_ptsz;
decltype(cuMemAllocFromPoolAsync) cuMemAllocFromPoolAsync_ptsz;
decltype(cuMemFreeAsync) cuMemFreeAsync_ptsz;
decltype(cuMemcpy) cuMemcpy_ptds;
decltype(cuMemcpyAsync) cuMemcpyAsync_ptsz;
decltype(cuMemcpyHtoD_v2) cuMemcpyHtoD_v2_ptds;
decltype(cuMemcpyHtoDAsync_v2) cuMemcpyHtoDAsync_v2_ptsz;
decltype(cuMemcpyDtoH_v2) cuMemcpyDtoH_v2_ptds;
decltype(cuMemcpyDtoHAsync_v2) cuMemcpyDtoHAsync_v2_ptsz;
decltype(cuMemcpyDtoD_v2) cuMemcpyDtoD_v2_ptds;
decltype(cuMemcpyDtoDAsync_v2) cuMemcpyDtoDAsync_v2_ptsz;
decltype(cuMemcpyPeer) cuMemcpyPeer_ptds;
decltype(cuMemcpyPeerAsync) cuMemcpyPeerAsync_ptsz;
decltype(cuMemcpy2D_v2) cuMemcpy2D_v2_ptds;
decltype(cuMemcpy2DUnaligned_v2) cuMemcpy2DUnaligned_v2_ptds;
decltype(cuMemcpy2DAsync_v2) cuMemcpy2DAsync_v2_ptsz;
decltype(cuMemcpy3D_v2) cuMemcpy3D_v2_ptds;
decltype(cuMemcpy3DAsync_v2) cuMemcpy3DAsync_v2_ptsz;
decltype(cuMemcpy3DPeer) cuMemcpy3DPeer_ptds;
decltype(cuMemcpy3DPeerAsync) cuMemcpy3DPeerAsync_ptsz;
decltype(cuMemcpyAtoD_v2) cuMemcpyAtoD_v2_ptds;
decltype(cuMemcpyDtoA_v2) cuMemcpyDtoA_v2_ptds;
decltype(cuMemcpyBatchAsync_v2) cuMemcpyBatchAsync_v2_ptsz;
decltype(cuMemcpy3DBatchAsync_v2) cuMemcpy3DBatchAsync_v2_ptsz;
decltype(cuStreamWriteValue32_v2) cuStreamWriteValue32_v2_ptsz;
decltype(cuStreamWriteValue64_v2) cuStreamWriteValue64_v2_ptsz;
decltype(cuStreamBatchMemOp_v2) cuStreamBatchMemOp_v2_ptsz;
decltype(cuMemsetD8_v2) cuMemsetD8_v2_ptds;
decltype(cuMemsetD8Async) cuMemsetD8Async_ptsz;
decltype(cuMemsetD16_v2) cuMemsetD16_v2_ptds;
decltype(cuMemsetD16Async) cuMemsetD16Async_ptsz;
decltype(cuMemsetD32_v2) cuMemsetD32_v2_ptds;
decltype(cuMemsetD32Async) cuMemsetD32Async_ptsz;
decltype(cuMemsetD2D8_v2) cuMemsetD2D8_v2_ptds;
decltype(cuMemsetD2D8Async) cuMemsetD2D8Async_ptsz;
decltype(cuMemsetD2D16_v2) cuMemsetD2D16_v2_ptds;
decltype(cuMemsetD2D16Async) cuMemsetD2D16Async_ptsz;
decltype(cuMemsetD2D32_v2) cuMemsetD2D32_v2_ptds;
decltype(cuMemsetD2D32Async) cuMemsetD2D32Async_ptsz;

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags);
CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

namespace {

// A function as cuGetProcAddress() knows it.
struct Hook {
  std::string_view name;
  int since;         // the version of CUDA from which on it has this form
  void* function;    // for the legacy default stream
  void* own_thread;  // for the thread's own; the same where it has none
};

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}
template <class Function>
Hook hook(std::string_view name, int since, Function* function) {
  return {name, since, address(function), address(function)};
}
template <class Function>
Hook hook(std::string_view name, int since, Function* function, Function* own_thread) {
  return {name, since, address(function), address(own_thread)};
}

// Of several forms the latest comes last. Not cuDeviceGetCount: see there.
const Hook hooks[] = {
    hook("cuInit", 2000, &cuInit),
    hook("cuGetProcAddress", 11030, &cuGetProcAddress),
    hook("cuGetProcAddress", 12000, &cuGetProcAddress_v2),
    hook("cuDeviceTotalMem", 3020, &cuDeviceTotalMem_v2),
    hook("cuCtxCreate", 3020, &cuCtxCreate_v2),
    hook("cuCtxCreate", 11040, &cuCtxCreate_v3),
    hook("cuCtxCreate", 12050, &cuCtxCreate_v4),
    hook("cuCtxDestroy", 4000, &cuCtxDestroy_v2),
    hook("cuDevicePrimaryCtxReset", 7000, &cuDevicePrimaryCtxReset_v2),
    hook("cuCtxSynchronize", 2000, &cuCtxSynchronize),
    hook("cuCtxSynchronize", 13000, &cuCtxSynchronize_v2),
    hook("cuCtxSetLimit", 3010, &cuCtxSetLimit),
    hook("cuStreamCreate", 2000, &cuStreamCreate),
    hook("cuStreamCreateWithPriority", 5050, &cuStreamCreateWithPriority),
    hook("cuGreenCtxStreamCreate", 12050, &cuGreenCtxStreamCreate),
    hook("cuStreamDestroy", 4000, &cuStreamDestroy_v2),
    hook("cuStreamSynchronize", 2000, &cuStreamSynchronize, &cuStreamSynchronize_ptsz),
    hook("cuEventSynchronize", 2000, &cuEventSynchronize),
    hook("cuStreamQuery", 2000, &cuStreamQuery, &cuStreamQuery_ptsz),
    hook("cuEventQuery", 2000, &cuEventQuery),
    hook("cuStreamBeginCapture", 10010, &cuStreamBeginCapture_v2, &cuStreamBeginCapture_v2_ptsz),
    hook("cuStreamBeginCaptureToGraph", 12030, &cuStreamBeginCaptureToGraph, &cuStreamBeginCaptureToGraph_ptsz),
    hook("cuStreamEndCapture", 10000, &cuStreamEndCapture, &cuStreamEndCapture_ptsz),

    hook("cuModuleLoad", 2000, &cuModuleLoad),
    hook("cuModuleLoadData", 2000, &cuModuleLoadData),
    hook("cuModuleLoadDataEx", 2010, &cuModuleLoadDataEx),
    hook("cuModuleLoadFatBinary", 2000, &cuModuleLoadFatBinary),
    hook("cuModuleUnload", 2000, &cuModuleUnload),
    hook("cuModuleGetFunction", 2000, &cuModuleGetFunction),
    hook("cuModuleEnumerateFunctions", 12040, &cuModuleEnumerateFunctions),
    hook("cuModuleGetGlobal", 3020, &cuModuleGetGlobal_v2),
    hook("cuLibraryLoadData", 12000, &cuLibraryLoadData),
    hook("cuLibraryLoadFromFile", 12000, &cuLibraryLoadFromFile),
    hook("cuLibraryUnload", 12000, &cuLibraryUnload),
    hook("cuLibraryGetKernel", 12000, &cuLibraryGetKernel),
    hook("cuLibraryEnumerateKernels", 12040, &cuLibraryEnumerateKernels),
    hook("cuLibraryGetModule", 12000, &cuLibraryGetModule),
    hook("cuLibraryGetGlobal", 12000, &cuLibraryGetGlobal),
    hook("cuKernelGetFunction", 12000, &cuKernelGetFunction),
    hook("cuFuncSetAttribute", 9000, &cuFuncSetAttribute),
    hook("cuKernelSetAttribute", 12000, &cuKernelSetAttribute),

    hook("cuLaunchKernel", 4000, &cuLaunchKernel, &cuLaunchKernel_ptsz),
    hook("cuLaunchKernelEx", 11060, &cuLaunchKernelEx, &cuLaunchKernelEx_ptsz),
    hook("cuLaunchCooperativeKernel", 9000, &cuLaunchCooperativeKernel, &cuLaunchCooperativeKernel_ptsz),
    hook("cuGraphAddKernelNode", 10000, &cuGraphAddKernelNode),
    hook("cuGraphKernelNodeSetParams", 10000, &cuGraphKernelNodeSetParams),
    hook("cuGraphExecKernelNodeSetParams", 10010, &cuGraphExecKernelNodeSetParams),
    hook("cuGraphAddKernelNode", 12000, &cuGraphAddKernelNode_v2),
    hook("cuGraphKernelNodeSetParams", 12000, &cuGraphKernelNodeSetParams_v2),
    hook("cuGraphExecKernelNodeSetParams", 12000, &cuGraphExecKernelNodeSetParams_v2),
    hook("cuGraphAddNode", 12020, &cuGraphAddNode),
    hook("cuGraphAddNode", 12030, &cuGraphAddNode_v2),
    hook("cuGraphNodeSetParams", 12020, &cuGraphNodeSetParams),
    hook("cuGraphExecNodeSetParams", 12020, &cuGraphExecNodeSetParams),
    hook("cuGraphLaunch", 10000, &cuGraphLaunch, &cuGraphLaunch_ptsz),

    hook("cuMemAlloc", 3020, &cuMemAlloc_v2),
    hook("cuMemAllocPitch", 3020, &cuMemAllocPitch_v2),
    hook("cuMemAllocAsync", 11020, &cuMemAllocAsync, &cuMemAllocAsync_ptsz),
    hook("cuMemAllocFromPoolAsync", 11020, &cuMemAllocFromPoolAsync, &cuMemAllocFromPoolAsync_ptsz),
    hook("cuMemAllocManaged", 6000, &cuMemAllocManaged),
    hook("cuMemPoolCreate", 11020, &cuMemPoolCreate),
    hook("cuMemPoolDestroy", 11020, &cuMemPoolDestroy),
    hook("cuMemPoolImportFromShareableHandle", 11020, &cuMemPoolImportFromShareableHandle),
    hook("cuMemFree", 3020, &cuMemFree_v2),
    hook("cuMemFreeAsync", 11020, &cuMemFreeAsync, &cuMemFreeAsync_ptsz),
    hook("cuMemSetAccess", 10020, &cuMemSetAccess),
    hook("cuMemUnmap", 10020, &cuMemUnmap),
    hook("cuIpcOpenMemHandle", 11000, &cuIpcOpenMemHandle_v2),
    hook("cuExternalMemoryGetMappedBuffer", 10000, &cuExternalMemoryGetMappedBuffer),
    hook("cuGraphicsResourceGetMappedPointer", 3020, &cuGraphicsResourceGetMappedPointer_v2),
    hook("cuGraphAddMemAllocNode", 11040, &cuGraphAddMemAllocNode),
    hook("cuMemGetAddressRange", 3020, &cuMemGetAddressRange_v2),
    hook("cuMemGetHandleForAddressRange", 11070, &cuMemGetHandleForAddressRange),
    hook("cuMemGetInfo", 3020, &cuMemGetInfo_v2),
    hook("cuMemHostAlloc", 2020, &cuMemHostAlloc),
    hook("cuMemAllocHost", 3020, &cuMemAllocHost_v2),
    hook("cuMemFreeHost", 2000, &cuMemFreeHost),
    hook("cuMemHostRegister", 6050, &cuMemHostRegister_v2),
    hook("cuMemHostUnregister", 4000, &cuMemHostUnregister),
    hook("cuPointerGetAttribute", 4000, &cuPointerGetAttribute),
    hook("cuPointerGetAttributes", 7000, &cuPointerGetAttributes),

    hook("cuMemcpy", 4000, &cuMemcpy, &cuMemcpy_ptds),
    hook("cuMemcpyAsync", 4000, &cuMemcpyAsync, &cuMemcpyAsync_ptsz),
    hook("cuMemcpyHtoD", 3020, &cuMemcpyHtoD_v2, &cuMemcpyHtoD_v2_ptds),
    hook("cuMemcpyHtoDAsync", 3020, &cuMemcpyHtoDAsync_v2, &cuMemcpyHtoDAsync_v2_ptsz),
    hook("cuMemcpyDtoH", 3020, &cuMemcpyDtoH_v2, &cuMemcpyDtoH_v2_ptds),
    hook("cuMemcpyDtoHAsync", 3020, &cuMemcpyDtoHAsync_v2, &cuMemcpyDtoHAsync_v2_ptsz),
    hook("cuMemcpyDtoD", 3020, &cuMemcpyDtoD_v2, &cuMemcpyDtoD_v2_ptds),
    hook("cuMemcpyDtoDAsync", 3020, &cuMemcpyDtoDAsync_v2, &cuMemcpyDtoDAsync_v2_ptsz),
    hook("cuMemcpyPeer", 4000, &cuMemcpyPeer, &cuMemcpyPeer_ptds),
    hook("cuMemcpyPeerAsync", 4000, &cuMemcpyPeerAsync, &cuMemcpyPeerAsync_ptsz),
    hook("cuMemcpy2D", 3020, &cuMemcpy2D_v2, &cuMemcpy2D_v2_ptds),
    hook("cuMemcpy2DUnaligned", 3020, &cuMemcpy2DUnaligned_v2, &cuMemcpy2DUnaligned_v2_ptds),
    hook("cuMemcpy2DAsync", 3020, &cuMemcpy2DAsync_v2, &cuMemcpy2DAsync_v2_ptsz),
    hook("cuMemcpy3D", 3020, &cuMemcpy3D_v2, &cuMemcpy3D_v2_ptds),
    hook("cuMemcpy3DAsync", 3020, &cuMemcpy3DAsync_v2, &cuMemcpy3DAsync_v2_ptsz),
    hook("cuMemcpy3DPeer", 4000, &cuMemcpy3DPeer, &cuMemcpy3DPeer_ptds),
    hook("cuMemcpy3DPeerAsync", 4000, &cuMemcpy3DPeerAsync, &cuMemcpy3DPeerAsync_ptsz),
    hook("cuMemcpyAtoD", 3020, &cuMemcpyAtoD_v2, &cuMemcpyAtoD_v2_ptds),
    hook("cuMemcpyDtoA", 3020, &cuMemcpyDtoA_v2, &cuMemcpyDtoA_v2_ptds),
    hook("cuMemcpyBatchAsync", 12080, &cuMemcpyBatchAsync, &cuMemcpyBatchAsync_ptsz),
    hook("cuMemcpy3DBatchAsync", 12080, &cuMemcpy3DBatchAsync, &cuMemcpy3DBatchAsync_ptsz),
    hook("cuMemcpyBatchAsync", 13000, &cuMemcpyBatchAsync_v2, &cuMemcpyBatchAsync_v2_ptsz),
    hook("cuMemcpy3DBatchAsync", 13000, &cuMemcpy3DBatchAsync_v2, &cuMemcpy3DBatchAsync_v2_ptsz),
    hook("cuStreamWriteValue32", 8000, &cuStreamWriteValue32_v2, &cuStreamWriteValue32_v2_ptsz),
    hook("cuStreamWriteValue64", 9000, &cuStreamWriteValue64_v2, &cuStreamWriteValue64_v2_ptsz),
    hook("cuStreamBatchMemOp", 8000, &cuStreamBatchMemOp_v2, &cuStreamBatchMemOp_v2_ptsz),
    hook("cuMemsetD8", 3020, &cuMemsetD8_v2, &cuMemsetD8_v2_ptds),
    hook("cuMemsetD8Async", 3020, &cuMemsetD8Async, &cuMemsetD8Async_ptsz),
    hook("cuMemsetD16", 3020, &cuMemsetD16_v2, &cuMemsetD16_v2_ptds),
    hook("cuMemsetD16Async", 3020, &cuMemsetD16Async, &cuMemsetD16Async_ptsz),
    hook("cuMemsetD32", 3020, &cuMemsetD32_v2, &cuMemsetD32_v2_ptds),
    hook("cuMemsetD32Async", 3020, &cuMemsetD32Async, &cuMemsetD32Async_ptsz),
    hook("cuMemsetD2D8", 3020, &cuMemsetD2D8_v2, &cuMemsetD2D8_v2_ptds),
    hook("cuMemsetD2D8Async", 3020, &cuMemsetD2D8Async, &cuMemsetD2D8Async_ptsz),
    hook("cuMemsetD2D16", 3020, &cuMemsetD2D16_v2, &cuMemsetD2D16_v2_ptds),
    hook("cuMemsetD2D16Async", 3020, &cuMemsetD2D16Async, &cuMemsetD2D16Async_ptsz),
    hook("cuMemsetD2D32", 3020, &cuMemsetD2D32_v2, &cuMemsetD2D32_v2_ptds),
    hook("cuMemsetD2D32Async", 3020, &cuMemsetD2D32Async, &cuMemsetD2D32Async_ptsz),
};

// Ours in place of what the driver has found.
void replace(const char* name, void** function, int version, cuuint64_t flags) {
  const Hook* found = nullptr;
  for (const Hook& one : hooks)
    if (one.name == name && one.since <= version) found = &one;
  if (found)
    *function = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0 ? found->own_thread : found->function;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  using Get = CUresult(const char*, void**, int, cuuint64_t);
  const CUresult result = DCGN_REAL_AS(Get, "cuGetProcAddress")(name, function, version, flags);
  if (result == CUDA_SUCCESS && function && *function) replace(name, function, version, flags);
  return result;
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  const CUresult result = DCGN_REAL(cuGetProcAddress_v2)(name, function, version, flags, status);
  if (result == CUDA_SUCCESS && function && *function) replace(name, function, version, flags);
  return result;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
