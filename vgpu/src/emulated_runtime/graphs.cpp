// The runtime's calls about graphs.
#include "vgpu/src/emulated_runtime/runtime.hpp"

#include <cstring>

using namespace dcgn::virtual_gpu::emulated_runtime;

namespace {

// Kernels are given by their functions of the host's.
template <class Parameters>
cudaError_t kernel_of(CUDA_KERNEL_NODE_PARAMS& k, const Parameters& p) {
  k = {};
  if (const cudaError_t wrong = find_function(k.func, p.func); wrong != cudaSuccess) return keep(wrong);
  k.gridDimX = p.gridDim.x, k.gridDimY = p.gridDim.y, k.gridDimZ = p.gridDim.z;
  k.blockDimX = p.blockDim.x, k.blockDimY = p.blockDim.y, k.blockDimZ = p.blockDim.z;
  k.sharedMemBytes = p.sharedMemBytes;
  k.kernelParams = p.kernelParams;
  k.extra = p.extra;
  return cudaSuccess;
}

CUDA_MEMSET_NODE_PARAMS fill_of(const cudaMemsetParams& p) {
  return {address_of(p.dst), p.pitch, p.value, p.elementSize, p.width, p.height};
}

// What is the same in both stays as it is.
cudaError_t parameters_of(CUgraphNodeParams& d, const cudaGraphNodeParams& p) {
  static_assert(sizeof d == sizeof p);
  std::memcpy(&d, &p, sizeof d);
  if (p.type == cudaGraphNodeTypeKernel) {
    CUDA_KERNEL_NODE_PARAMS k;
    if (const cudaError_t wrong = kernel_of(k, p.kernel); wrong != cudaSuccess) return wrong;
    d.kernel = {k.func,      k.gridDimX,       k.gridDimY,     k.gridDimZ, k.blockDimX, k.blockDimY,
                k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra,    nullptr,     nullptr};
  } else if (p.type == cudaGraphNodeTypeMemcpy) {
    d.memcpy = {};
    d.memcpy.copyParams = copy_of(p.memcpy.copyParams);
  }
  return cudaSuccess;
}

CUcontext current_context() {
  CUcontext context = nullptr;
  if (prepare() == cudaSuccess) static_cast<void>(DCGN_DRIVER(cuCtxGetCurrent)(&context));
  return context;
}

const CUgraphEdgeData* as_edges(const cudaGraphEdgeData* edges) {
  return reinterpret_cast<const CUgraphEdgeData*>(edges);
}
CUgraphEdgeData* as_edges(cudaGraphEdgeData* edges) { return reinterpret_cast<CUgraphEdgeData*>(edges); }

cudaMemcpy3DParms copy_1d(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.srcPtr = {const_cast<void*>(from), bytes, bytes, 1};
  p.dstPtr = {to, bytes, bytes, 1};
  p.extent = {bytes, 1, 1};
  p.kind = kind;
  return p;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): CUDA's names
extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) { return DCGN_CALL(cuGraphCreate, graph, flags); }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return DCGN_CALL(cuGraphDestroy, graph); }
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) { return DCGN_CALL(cuGraphClone, clone, graph); }
cudaError_t cudaGraphNodeFindInClone(cudaGraphNode_t* found, cudaGraphNode_t node, cudaGraph_t clone) {
  return DCGN_CALL(cuGraphNodeFindInClone, found, node, clone);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return DCGN_CALL(cuGraphInstantiate, exec, graph, flags);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  return cudaGraphInstantiateWithFlags(exec, graph, flags);
}
DCGN_BOTH(cudaGraphInstantiateWithParams, _ptsz,
          (cudaGraphExec_t * exec, cudaGraph_t graph, cudaGraphInstantiateParams* p),
          { return cudaGraphInstantiateWithFlags(exec, graph, p->flags); })
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t exec, unsigned long long* flags) {
  cuuint64_t its = 0;
  const cudaError_t result = DCGN_CALL(cuGraphExecGetFlags, exec, &its);
  return *flags = its, result;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return DCGN_CALL(cuGraphExecDestroy, exec); }
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  return DCGN_CALL(cuGraphExecUpdate, exec, graph, reinterpret_cast<CUgraphExecUpdateResultInfo*>(result));
}
DCGN_BOTH(cudaGraphLaunch, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
          { return DCGN_CALL(cuGraphLaunch, exec, meant(own, stream)); })
DCGN_BOTH(cudaGraphUpload, _ptsz, (cudaGraphExec_t exec, cudaStream_t stream),
          { return DCGN_CALL(cuGraphUpload, exec, meant(own, stream)); })
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  return DCGN_CALL(cuGraphNodeSetEnabled, exec, node, enabled);
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  return DCGN_CALL(cuGraphNodeGetEnabled, exec, node, enabled);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  return DCGN_CALL(cuGraphNodeGetType, node, reinterpret_cast<CUgraphNodeType*>(type));
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return DCGN_CALL(cuGraphGetNodes, graph, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return DCGN_CALL(cuGraphGetRootNodes, graph, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* edges,
                              size_t* count) {
  return DCGN_CALL(cuGraphGetEdges, graph, from, to, as_edges(edges), count);
}
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                         size_t* count) {
  return DCGN_CALL(cuGraphNodeGetDependencies, node, nodes, as_edges(edges), count);
}
cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                           size_t* count) {
  return DCGN_CALL(cuGraphNodeGetDependentNodes, node, nodes, as_edges(edges), count);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     const cudaGraphEdgeData* edges, size_t count) {
  return DCGN_CALL(cuGraphAddDependencies, graph, from, to, as_edges(edges), count);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                        const cudaGraphEdgeData* edges, size_t count) {
  return DCGN_CALL(cuGraphRemoveDependencies, graph, from, to, as_edges(edges), count);
}
cudaError_t cudaGraphDestroyNode(cudaGraphNode_t node) { return DCGN_CALL(cuGraphDestroyNode, node); }

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                             const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* p) {
  CUgraphNodeParams d;
  if (const cudaError_t wrong = parameters_of(d, *p); wrong != cudaSuccess) return wrong;
  const cudaError_t result = DCGN_CALL(cuGraphAddNode, node, graph, after, as_edges(edges), count, &d);
  if (result == cudaSuccess && p->type == cudaGraphNodeTypeMemAlloc)
    p->alloc.dptr = reinterpret_cast<void*>(d.alloc.dptr);
  return result;
}
cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, cudaGraphNodeParams* p) {
  CUgraphNodeParams d;
  const cudaError_t wrong = parameters_of(d, *p);
  return wrong == cudaSuccess ? DCGN_CALL(cuGraphNodeSetParams, node, &d) : wrong;
}
cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* p) {
  CUgraphNodeParams d;
  const cudaError_t wrong = parameters_of(d, *p);
  return wrong == cudaSuccess ? DCGN_CALL(cuGraphExecNodeSetParams, exec, node, &d) : wrong;
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaKernelNodeParams* p) {
  CUDA_KERNEL_NODE_PARAMS k;
  const cudaError_t wrong = kernel_of(k, *p);
  return wrong == cudaSuccess ? DCGN_CALL(cuGraphAddKernelNode, node, graph, after, count, &k) : wrong;
}
// `func` is the kernel's handle, which the calls that set it take, too.
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, cudaKernelNodeParams* p) {
  CUDA_KERNEL_NODE_PARAMS k{};
  const cudaError_t result = DCGN_CALL(cuGraphKernelNodeGetParams, node, &k);
  *p = {k.func ? static_cast<void*>(k.func) : static_cast<void*>(k.kern),
        dim3(k.gridDimX, k.gridDimY, k.gridDimZ),
        dim3(k.blockDimX, k.blockDimY, k.blockDimZ),
        k.sharedMemBytes,
        k.kernelParams,
        k.extra};
  return result;
}
cudaError_t cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const cudaKernelNodeParams* p) {
  CUDA_KERNEL_NODE_PARAMS k;
  const cudaError_t wrong = kernel_of(k, *p);
  return wrong == cudaSuccess ? DCGN_CALL(cuGraphKernelNodeSetParams, node, &k) : wrong;
}
cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* p) {
  CUDA_KERNEL_NODE_PARAMS k;
  const cudaError_t wrong = kernel_of(k, *p);
  return wrong == cudaSuccess ? DCGN_CALL(cuGraphExecKernelNodeSetParams, exec, node, &k) : wrong;
}
cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t, cudaGraphNode_t) { return cudaSuccess; }
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t, cudaKernelNodeAttrID, const cudaKernelNodeAttrValue*) {
  return cudaSuccess;
}
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t, cudaKernelNodeAttrID, cudaKernelNodeAttrValue* value) {
  return *value = cudaKernelNodeAttrValue{}, cudaSuccess;
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemcpy3DParms* p) {
  const CUDA_MEMCPY3D c = copy_of(*p);
  return DCGN_CALL(cuGraphAddMemcpyNode, node, graph, after, count, &c, current_context());
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy3DParms p = copy_1d(to, from, bytes, kind);
  return cudaGraphAddMemcpyNode(node, graph, after, count, &p);
}
cudaError_t cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, cudaMemcpy3DParms* p) {
  CUDA_MEMCPY3D c{};
  const cudaError_t result = DCGN_CALL(cuGraphMemcpyNodeGetParams, node, &c);
  return *p = copy_of(c), result;
}
cudaError_t cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  const CUDA_MEMCPY3D c = copy_of(*p);
  return DCGN_CALL(cuGraphMemcpyNodeSetParams, node, &c);
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                                           cudaMemcpyKind kind) {
  const cudaMemcpy3DParms p = copy_1d(to, from, bytes, kind);
  return cudaGraphMemcpyNodeSetParams(node, &p);
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemcpy3DParms* p) {
  const CUDA_MEMCPY3D c = copy_of(*p);
  return DCGN_CALL(cuGraphExecMemcpyNodeSetParams, exec, node, &c, current_context());
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from,
                                               size_t bytes, cudaMemcpyKind kind) {
  const cudaMemcpy3DParms p = copy_1d(to, from, bytes, kind);
  return cudaGraphExecMemcpyNodeSetParams(exec, node, &p);
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                   const cudaMemsetParams* p) {
  const CUDA_MEMSET_NODE_PARAMS f = fill_of(*p);
  return DCGN_CALL(cuGraphAddMemsetNode, node, graph, after, count, &f, current_context());
}
cudaError_t cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, cudaMemsetParams* p) {
  CUDA_MEMSET_NODE_PARAMS f{};
  const cudaError_t result = DCGN_CALL(cuGraphMemsetNodeGetParams, node, &f);
  return *p = {reinterpret_cast<void*>(f.dst), f.pitch, f.value, f.elementSize, f.width, f.height}, result;
}
cudaError_t cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const cudaMemsetParams* p) {
  const CUDA_MEMSET_NODE_PARAMS f = fill_of(*p);
  return DCGN_CALL(cuGraphMemsetNodeSetParams, node, &f);
}
cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaMemsetParams* p) {
  const CUDA_MEMSET_NODE_PARAMS f = fill_of(*p);
  return DCGN_CALL(cuGraphExecMemsetNodeSetParams, exec, node, &f, current_context());
}

cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after, size_t count,
                                 const cudaHostNodeParams* p) {
  const CUDA_HOST_NODE_PARAMS h{p->fn, p->userData};
  return DCGN_CALL(cuGraphAddHostNode, node, graph, after, count, &h);
}
cudaError_t cudaGraphHostNodeGetParams(cudaGraphNode_t node, cudaHostNodeParams* p) {
  CUDA_HOST_NODE_PARAMS h{};
  const cudaError_t result = DCGN_CALL(cuGraphHostNodeGetParams, node, &h);
  return p->fn = h.fn, p->userData = h.userData, result;
}
cudaError_t cudaGraphHostNodeSetParams(cudaGraphNode_t node, const cudaHostNodeParams* p) {
  const CUDA_HOST_NODE_PARAMS h{p->fn, p->userData};
  return DCGN_CALL(cuGraphHostNodeSetParams, node, &h);
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t node, const cudaHostNodeParams* p) {
  const CUDA_HOST_NODE_PARAMS h{p->fn, p->userData};
  return DCGN_CALL(cuGraphExecHostNodeSetParams, exec, node, &h);
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                       size_t count, cudaGraph_t child) {
  return DCGN_CALL(cuGraphAddChildGraphNode, node, graph, after, count, child);
}
cudaError_t cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t* child) {
  return DCGN_CALL(cuGraphChildGraphNodeGetGraph, node, child);
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                  size_t count) {
  return DCGN_CALL(cuGraphAddEmptyNode, node, graph, after, count);
}
cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                        size_t count, cudaEvent_t event) {
  return DCGN_CALL(cuGraphAddEventRecordNode, node, graph, after, count, event);
}
cudaError_t cudaGraphAddEventWaitNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                      size_t count, cudaEvent_t event) {
  return DCGN_CALL(cuGraphAddEventWaitNode, node, graph, after, count, event);
}
cudaError_t cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return DCGN_CALL(cuGraphEventRecordNodeGetEvent, node, event);
}
cudaError_t cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t* event) {
  return DCGN_CALL(cuGraphEventWaitNodeGetEvent, node, event);
}
cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                     size_t count, cudaMemAllocNodeParams* p) {
  static_assert(sizeof *p == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS));
  return DCGN_CALL(cuGraphAddMemAllocNode, node, graph, after, count, reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(p));
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* after,
                                    size_t count, void* memory) {
  return DCGN_CALL(cuGraphAddMemFreeNode, node, graph, after, count, address_of(memory));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
