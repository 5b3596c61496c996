// Graphs: nodes in an order in which they may run, and what a stream records into them.
#pragma once

#include "vgpu/src/emulated_driver/driver.hpp"

namespace dcgn::virtual_gpu::emulated {

struct Graph;

struct Node {
  Graph* graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  std::vector<Node*> after;
  Work run;                             // empty: nothing is done
  KernelLaunch kernel;                  // of a kernel
  CUDA_MEMCPY3D copy{};                 // of a copy that was added as one
  CUDA_MEMSET_NODE_PARAMS fill{};       // of a fill, likewise
  CUDA_HOST_NODE_PARAMS host{};         // of a call on the host, likewise
  CUDA_MEM_ALLOC_NODE_PARAMS memory{};  // of memory; dptr alone where it is freed
  Event* event = nullptr;
  Graph* child = nullptr;
  bool enabled = true;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

// Ready to be launched: the nodes as they were.
struct Executable {
  std::vector<std::unique_ptr<Node>> nodes;  // in their order
  std::map<Node*, Node*> copies;             // by those of the graph
};

struct Capture {
  Graph* graph = nullptr;
  Stream* origin = nullptr;
  unsigned long long id = 0;
  bool spoiled = false;
};

// With state().mutex held.
Node& add_node(Graph& graph, CUgraphNodeType type, std::vector<Node*> after);
// A capture that was waited for, or asked about, gives no graph. What the call returns that has done so.
CUresult spoil(Capture& capture);
// What the stream is given while it is captured.
Node& record_node(Stream& stream, CUgraphNodeType type, Work run);

}  // namespace dcgn::virtual_gpu::emulated
