// Nodes of graphs, added and changed one by one.
#include "vgpu/src/emulated_driver/graph.hpp"

#include <algorithm>
#include <new>

using namespace dcgn::virtual_gpu::emulated;
using dcgn::Launch;

namespace {

Node& node_of(CUgraphNode node) { return *reinterpret_cast<Node*>(node); }

// Null where the graph has no such node.
Node* in_executable(CUgraphExec exec, CUgraphNode node) {
  const auto& copies = reinterpret_cast<Executable*>(exec)->copies;
  const auto found = copies.find(&node_of(node));
  return found == copies.end() ? nullptr : found->second;
}

CUresult set(Node& node, const CUDA_KERNEL_NODE_PARAMS& p) {
  Launch launch;
  launch.grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
  launch.block = {p.blockDimX, p.blockDimY, p.blockDimZ};
  launch.shared_bytes = p.sharedMemBytes;
  launch.resident = false;
  return prepare(node.kernel, p.func ? p.func : reinterpret_cast<CUfunction>(p.kern), launch, p.kernelParams, p.extra);
}
CUresult set(Node& node, const CUDA_MEMCPY3D& copy) { return node.copy = copy, make_copy(node.run, copy); }
CUresult set(Node& node, const CUDA_MEMSET_NODE_PARAMS& fill) { return node.fill = fill, make_fill(node.run, fill); }
CUresult set(Node& node, const CUDA_HOST_NODE_PARAMS& host) {
  node.host = host;
  return node.run = [host] { host.fn(host.userData); }, CUDA_SUCCESS;
}

CUresult set(Node& node, CUgraphNodeParams& p) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      const auto& k = p.kernel;
      return set(node, CUDA_KERNEL_NODE_PARAMS{k.func, k.gridDimX, k.gridDimY, k.gridDimZ, k.blockDimX, k.blockDimY,
                                               k.blockDimZ, k.sharedMemBytes, k.kernelParams, k.extra, k.kern, k.ctx});
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY: return set(node, p.memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      const auto& m = p.memset;
      return set(node, CUDA_MEMSET_NODE_PARAMS{m.dst, m.pitch, m.value, m.elementSize, m.width, m.height});
    }
    case CU_GRAPH_NODE_TYPE_HOST: return set(node, CUDA_HOST_NODE_PARAMS{p.host.fn, p.host.userData});
    case CU_GRAPH_NODE_TYPE_GRAPH: return node.child = reinterpret_cast<Graph*>(p.graph.graph), CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EMPTY: return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return node.event = reinterpret_cast<Event*>(p.eventWait.event), CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return node.event = reinterpret_cast<Event*>(p.eventRecord.event), CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {  // which has its address for good
      node.memory.bytesize = p.alloc.bytesize;
      const int device = p.alloc.poolProps.location.id;
      if (!is_device(device)) return CUDA_ERROR_INVALID_VALUE;
      const CUresult result = allocate(&node.memory.dptr, p.alloc.bytesize, device, Piece::Kind::device);
      if (result == CUDA_SUCCESS) leave_to_graph(node.memory.dptr);
      return p.alloc.dptr = node.memory.dptr, result;
    }
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return node.memory.dptr = p.free.dptr, CUDA_SUCCESS;
    default: return CUDA_ERROR_NOT_SUPPORTED;  // conditions, and other interfaces'
  }
}

// Made by `its_set`, or not at all.
template <class Set>
CUresult add(CUgraphNode* handle, CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraphNodeType type,
             const Set& its_set) {
  if (!handle || !graph) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard(state().mutex);
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(&node_of(after[i]));
  auto& its = *reinterpret_cast<Graph*>(graph);
  Node& node = add_node(its, type, std::move(nodes));
  const CUresult result = its_set(node);
  if (result == CUDA_SUCCESS)
    *handle = reinterpret_cast<CUgraphNode>(&node);
  else
    its.nodes.pop_back();
  return result;
}

template <class Parameters>
CUresult add_by(CUgraphNode* handle, CUgraph graph, const CUgraphNode* after, std::size_t count, CUgraphNodeType type,
                const Parameters* parameters) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  return add(handle, graph, after, count, type, [&](Node& node) { return set(node, *parameters); });
}

template <class Parameters>
CUresult change(CUgraphNode node, Parameters* parameters) {
  if (!node || !parameters) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard(state().mutex);
  return set(node_of(node), *parameters);
}
template <class Parameters>
CUresult change(CUgraphExec exec, CUgraphNode node, Parameters* parameters) {
  if (!exec || !node || !parameters) return CUDA_ERROR_INVALID_VALUE;
  const Guard guard(state().mutex);
  Node* const its = in_executable(exec, node);
  return its ? set(*its, *parameters) : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*,
                           size_t count, CUgraphNodeParams* parameters) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, after, count, parameters->type, [&](Node& its) { return set(its, *parameters); });
}
#undef cuGraphAddNode  // the form without edges
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                        CUgraphNodeParams* parameters) {
  return cuGraphAddNode_v2(node, graph, after, nullptr, count, parameters);
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) { return change(node, parameters); }
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  return change(exec, node, parameters);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* p) {
  return add_by(node, graph, after, count, CU_GRAPH_NODE_TYPE_KERNEL, p);
}
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* p) {
  const Guard guard(state().mutex);
  KernelLaunch& its = node_of(node).kernel;
  if (!its.function) return CUDA_ERROR_INVALID_VALUE;
  its.places.clear();
  for (const auto& parameter : its.function->module->details(*its.function).parameters)
    its.places.push_back(its.parameters.data() + parameter.offset);
  const dcgn::Dim3 grid = its.launch.grid, block = its.launch.block;
  *p = {its.handle,        grid.x,  grid.y,  grid.z,
        block.x,           block.y, block.z, static_cast<unsigned>(its.launch.shared_bytes),
        its.places.data(), nullptr, nullptr, nullptr};
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) { return change(node, p); }
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* p) {
  return change(exec, node, p);
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode, CUgraphNode) { return CUDA_SUCCESS; }  // they are about speed
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode, CUkernelNodeAttrID, const CUkernelNodeAttrValue*) {
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode, CUkernelNodeAttrID, CUkernelNodeAttrValue* value) {
  return *value = CUkernelNodeAttrValue{}, CUDA_SUCCESS;
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMCPY3D* p, CUcontext) {
  return add_by(node, graph, after, count, CU_GRAPH_NODE_TYPE_MEMCPY, p);
}
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* p) {
  const Guard guard(state().mutex);
  return *p = node_of(node).copy, CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* p) { return change(node, p); }
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* p, CUcontext) {
  return change(exec, node, p);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  return add_by(node, graph, after, count, CU_GRAPH_NODE_TYPE_MEMSET, p);
}
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* p) {
  const Guard guard(state().mutex);
  return *p = node_of(node).fill, CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p) { return change(node, p); }
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* p,
                                        CUcontext) {
  return change(exec, node, p);
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                            const CUDA_HOST_NODE_PARAMS* p) {
  return add_by(node, graph, after, count, CU_GRAPH_NODE_TYPE_HOST, p);
}
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* p) {
  const Guard guard(state().mutex);
  return *p = node_of(node).host, CUDA_SUCCESS;
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) { return change(node, p); }
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* p) {
  return change(exec, node, p);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                  CUgraph child) {
  CUgraph own = nullptr;
  const CUresult result = cuGraphClone(&own, child);
  if (result != CUDA_SUCCESS) return result;
  return add(node, graph, after, count, CU_GRAPH_NODE_TYPE_GRAPH,
             [&](Node& its) { return its.child = reinterpret_cast<Graph*>(own), CUDA_SUCCESS; });
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* child) {
  return *child = reinterpret_cast<CUgraph>(node_of(node).child), CUDA_SUCCESS;
}
CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count) {
  return add(node, graph, after, count, CU_GRAPH_NODE_TYPE_EMPTY, [](Node&) { return CUDA_SUCCESS; });
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                   CUevent event) {
  return add(node, graph, after, count, CU_GRAPH_NODE_TYPE_EVENT_RECORD,
             [&](Node& its) { return its.event = reinterpret_cast<Event*>(event), CUDA_SUCCESS; });
}
CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                 CUevent event) {
  return add(node, graph, after, count, CU_GRAPH_NODE_TYPE_WAIT_EVENT,
             [&](Node& its) { return its.event = reinterpret_cast<Event*>(event), CUDA_SUCCESS; });
}
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* event) {
  return *event = reinterpret_cast<CUevent>(node_of(node).event), CUDA_SUCCESS;
}
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* event) {
  return *event = reinterpret_cast<CUevent>(node_of(node).event), CUDA_SUCCESS;
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  CUgraphNodeParams parameters{};
  parameters.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  parameters.alloc.poolProps = p->poolProps;
  parameters.alloc.bytesize = p->bytesize;
  const CUresult result = cuGraphAddNode_v2(node, graph, after, nullptr, count, &parameters);
  return p->dptr = parameters.alloc.dptr, result;
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* p) {
  return *p = node_of(node).memory, CUDA_SUCCESS;
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t count,
                               CUdeviceptr address) {
  return add(node, graph, after, count, CU_GRAPH_NODE_TYPE_MEM_FREE,
             [&](Node& its) { return its.memory.dptr = address, CUDA_SUCCESS; });
}
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* address) {
  return *address = node_of(node).memory.dptr, CUDA_SUCCESS;
}
CUresult cuDeviceGraphMemTrim(CUdevice) { return CUDA_SUCCESS; }

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
