// Graphs: recorded, made ready and launched.
#include "vgpu/src/emulated_driver/graph.hpp"

#include <algorithm>

using namespace dcgn::virtual_gpu::emulated;

namespace dcgn::virtual_gpu::emulated {

Node& add_node(Graph& graph, CUgraphNodeType type, std::vector<Node*> after) {
  graph.nodes.push_back(std::make_unique<Node>());
  Node& node = *graph.nodes.back();
  node.graph = &graph;
  node.type = type;
  node.after = std::move(after);
  return node;
}

CUresult spoil(Capture& capture) {
  capture.spoiled = true;
  for (Stream* stream : state().streams)
    if (stream->capture == &capture) stream->spoiled = true;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

Node& record_node(Stream& stream, CUgraphNodeType type, Work run) {
  Node& node = add_node(*stream.capture->graph, type, stream.tail);
  node.run = std::move(run);
  stream.tail = {&node};
  return node;
}

namespace {

// In an order in which each comes behind what it waits for; empty where there is a circle.
std::vector<Node*> ordered(const Graph& graph) {
  std::vector<Node*> all;
  std::set<const Node*> placed;
  while (all.size() < graph.nodes.size()) {
    const std::size_t before = all.size();
    for (const auto& node : graph.nodes)
      if (placed.count(node.get()) == 0 &&
          std::all_of(node->after.begin(), node->after.end(), [&](Node* one) { return placed.count(one) != 0; })) {
        placed.insert(node.get());
        all.push_back(node.get());
      }
    if (all.size() == before) return {};
  }
  return all;
}

void launch(const std::vector<std::unique_ptr<Node>>& nodes, Stream& stream);

void launch(const Graph& graph, Stream& stream) {
  for (const Node* node : ordered(graph)) {
    std::vector<std::unique_ptr<Node>> one;
    one.push_back(std::make_unique<Node>(*node));
    launch(one, stream);
  }
}

void launch(const std::vector<std::unique_ptr<Node>>& nodes, Stream& stream) {
  for (const auto& node : nodes) {
    if (!node->enabled) continue;
    if (node->child)
      launch(*node->child, stream);
    else if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD)
      record(*node->event, stream);
    else if (node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
      wait(stream, *node->event);
    else if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
      give(stream, [kernel = node->kernel] { kernel.run(); });
    else if (node->run)
      give(stream, node->run);
  }
}

Graph& graph_of(CUgraph graph) { return *reinterpret_cast<Graph*>(graph); }
Executable& executable_of(CUgraphExec exec) { return *reinterpret_cast<Executable*>(exec); }
CUgraphNode handle(const Node* node) { return reinterpret_cast<CUgraphNode>(const_cast<Node*>(node)); }

CUresult begin_capture(CUstream stream, Graph* graph, std::vector<Node*> after) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  if (&its == &device_at(its.device).legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (its.capture) return CUDA_ERROR_ILLEGAL_STATE;
  its.capture = new Capture{graph ? graph : new Graph(), &its, state().next_id++};  // events may name it to the end
  its.tail = std::move(after);
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (!stream.capture) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

template <class Handles>
CUresult list(const std::vector<Node*>& nodes, Handles* handles, std::size_t* count) {
  if (!count) return CUDA_ERROR_INVALID_VALUE;
  if (handles)
    for (std::size_t i = 0; i < *count; ++i) handles[i] = i < nodes.size() ? handle(nodes[i]) : nullptr;
  *count = handles ? std::min(*count, nodes.size()) : nodes.size();
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* exec, CUgraph graph) {
  const Guard guard(state().mutex);
  const std::vector<Node*> nodes = ordered(graph_of(graph));
  if (nodes.empty() && !graph_of(graph).nodes.empty()) return CUDA_ERROR_INVALID_VALUE;
  auto* const made = new Executable();
  for (Node* node : nodes) {
    made->nodes.push_back(std::make_unique<Node>(*node));
    made->copies[node] = made->nodes.back().get();
  }
  return *exec = reinterpret_cast<CUgraphExec>(made), CUDA_SUCCESS;
}

}  // namespace

}  // namespace dcgn::virtual_gpu::emulated

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) { return begin_capture(stream, nullptr, {}); }
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData*,
                                     size_t count, CUstreamCaptureMode) {
  std::vector<Node*> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(reinterpret_cast<Node*>(after[i]));
  return begin_capture(stream, &graph_of(graph), std::move(nodes));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  const Capture* const capture = its.capture;
  if (graph) *graph = nullptr;
  if (!capture || capture->origin != &its)
    return capture ? CUDA_ERROR_STREAM_CAPTURE_UNMATCHED : CUDA_ERROR_ILLEGAL_STATE;
  for (Stream* other : state().streams) {
    if (other->capture != capture) continue;
    other->capture = nullptr;
    other->spoiled = false;
    other->tail.clear();
  }
  if (capture->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (graph) *graph = reinterpret_cast<CUgraph>(capture->graph);
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  return *status = status_of(*stream_of(stream)), CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** after, const CUgraphEdgeData** edges, size_t* count) {
  if (!current() && is_default(stream)) return CUDA_ERROR_INVALID_CONTEXT;
  const Guard guard(state().mutex);
  const Stream& its = *stream_of(stream);
  *status = status_of(its);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (id) *id = its.capture->id;
  if (graph) *graph = reinterpret_cast<CUgraph>(its.capture->graph);
  if (after) *after = reinterpret_cast<const CUgraphNode*>(its.tail.data());
  if (edges) *edges = nullptr;
  if (count) *count = its.tail.size();
  return CUDA_SUCCESS;
}
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                   const CUgraphNode** after, size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, after, nullptr, count);
}
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* nodes, const CUgraphEdgeData*, size_t count,
                                              unsigned flags) {
  const Guard guard(state().mutex);
  Stream& its = *stream_of(stream);
  if (!its.capture) return CUDA_ERROR_ILLEGAL_STATE;
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) its.tail.clear();
  for (std::size_t i = 0; i < count; ++i) its.tail.push_back(reinterpret_cast<Node*>(nodes[i]));
  return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  return *graph = reinterpret_cast<CUgraph>(new Graph()), CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) { return graph ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; }  // see Capture
CUresult cuGraphClone(CUgraph* clone, CUgraph graph) {
  const Guard guard(state().mutex);
  auto* const made = new Graph();
  std::map<Node*, Node*> copies;
  for (const auto& node : graph_of(graph).nodes) {
    made->nodes.push_back(std::make_unique<Node>(*node));
    made->nodes.back()->graph = made;
    copies[node.get()] = made->nodes.back().get();
  }
  for (const auto& node : made->nodes)
    for (Node*& one : node->after) one = copies.at(one);
  return *clone = reinterpret_cast<CUgraph>(made), CUDA_SUCCESS;
}
CUresult cuGraphNodeFindInClone(CUgraphNode* found, CUgraphNode original, CUgraph clone) {
  const Guard guard(state().mutex);
  const Node& its = *reinterpret_cast<Node*>(original);
  const auto& nodes = its.graph->nodes;
  const auto at = std::find_if(nodes.begin(), nodes.end(), [&](const auto& one) { return one.get() == &its; });
  const auto number = static_cast<std::size_t>(at - nodes.begin());
  if (number >= graph_of(clone).nodes.size()) return CUDA_ERROR_INVALID_VALUE;
  return *found = handle(graph_of(clone).nodes[number].get()), CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  const CUresult result = instantiate(exec, graph);
  parameters->hErrNode_out = nullptr;
  parameters->result_out = result == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  return result;
}
CUresult cuGraphExecGetFlags(CUgraphExec, cuuint64_t* flags) { return *flags = 0, CUDA_SUCCESS; }
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  const Guard guard(state().mutex);
  delete &executable_of(exec);  // streams have their own copies of what they were given
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  if (const CUresult wrong = standing(stream); wrong != CUDA_SUCCESS) return wrong;
  const Guard guard(state().mutex);
  launch(executable_of(exec).nodes, *stream_of(stream));
  return CUDA_SUCCESS;
}
// A graph of the same nodes: what is in them may differ.
CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* result) {
  const Guard guard(state().mutex);
  Executable& its = executable_of(exec);
  const std::vector<Node*> nodes = ordered(graph_of(graph));
  *result = {};
  const auto same = [](const Node* one, const std::unique_ptr<Node>& other) { return one->type == other->type; };
  if (!std::equal(nodes.begin(), nodes.end(), its.nodes.begin(), its.nodes.end(), same)) {
    result->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    *its.nodes[i] = *nodes[i];
    its.copies[nodes[i]] = its.nodes[i].get();
  }
  result->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  const Guard guard(state().mutex);
  return executable_of(exec).copies.at(reinterpret_cast<Node*>(node))->enabled = enabled != 0, CUDA_SUCCESS;
}
CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  const Guard guard(state().mutex);
  return *enabled = executable_of(exec).copies.at(reinterpret_cast<Node*>(node))->enabled, CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return *type = reinterpret_cast<Node*>(node)->type, CUDA_SUCCESS;
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const Guard guard(state().mutex);
  std::vector<Node*> all;
  for (const auto& node : graph_of(graph).nodes) all.push_back(node.get());
  return list(all, nodes, count);
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  const Guard guard(state().mutex);
  std::vector<Node*> all;
  for (const auto& node : graph_of(graph).nodes)
    if (node->after.empty()) all.push_back(node.get());
  return list(all, nodes, count);
}
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
  const Guard guard(state().mutex);
  std::vector<Node*> begins, ends;
  for (const auto& node : graph_of(graph).nodes)
    for (Node* before : node->after) begins.push_back(before), ends.push_back(node.get());
  std::size_t same = *count;
  if (data) std::fill_n(data, *count, CUgraphEdgeData{});
  static_cast<void>(list(ends, to, &same));
  return list(begins, from, count);
}
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  const Guard guard(state().mutex);
  if (data) std::fill_n(data, *count, CUgraphEdgeData{});
  return list(reinterpret_cast<Node*>(node)->after, nodes, count);
}
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  const Guard guard(state().mutex);
  std::vector<Node*> all;
  auto* const its = reinterpret_cast<Node*>(node);
  for (const auto& other : its->graph->nodes)
    if (std::find(other->after.begin(), other->after.end(), its) != other->after.end()) all.push_back(other.get());
  if (data) std::fill_n(data, *count, CUgraphEdgeData{});
  return list(all, nodes, count);
}
CUresult cuGraphAddDependencies_v2(CUgraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*,
                                   size_t count) {
  const Guard guard(state().mutex);
  for (std::size_t i = 0; i < count; ++i)
    reinterpret_cast<Node*>(to[i])->after.push_back(reinterpret_cast<Node*>(from[i]));
  return CUDA_SUCCESS;
}
CUresult cuGraphRemoveDependencies_v2(CUgraph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData*,
                                      size_t count) {
  const Guard guard(state().mutex);
  for (std::size_t i = 0; i < count; ++i)
    std::erase(reinterpret_cast<Node*>(to[i])->after, reinterpret_cast<Node*>(from[i]));
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
  const Guard guard(state().mutex);
  auto* const its = reinterpret_cast<Node*>(node);
  Graph& graph = *its->graph;
  for (const auto& other : graph.nodes) std::erase(other->after, its);
  std::erase_if(graph.nodes, [&](const auto& one) { return one.get() == its; });
  return CUDA_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
